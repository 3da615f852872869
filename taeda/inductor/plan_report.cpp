// Plans for people.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "taeda/base/str.h"
#include "taeda/inductor/lower.h"
#include "taeda/inductor/plan_parts.h"
#include "taeda/inductor/units.h"

namespace taeda::inductor {

namespace {

using fx::Node;

// The line of the user's code in a stack trace: its last frame.
std::string line_of(const Node& node) {
  const Value trace = node.meta_value("stack_trace");
  if (!trace.is<std::string>()) return "";
  std::string text = trace.get<std::string>();
  const size_t frame = text.rfind("  File ");
  if (frame != std::string::npos) text = text.substr(frame + 2);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const size_t end = text.find('\n');
  if (end == std::string::npos) return text;
  const size_t code = text.find_first_not_of(" \n", end);
  return text.substr(0, end) + (code == std::string::npos ? "" : ": " + text.substr(code));
}

// The bytes of a value's elements.
const Expr* bytes_of(symbolic::ExprPool& pool, const TensorValue& value) {
  const Expr* bytes = pool.integer(static_cast<int64_t>(item_size(value.fake.dtype())));
  for (const Expr* size : value.geometry.sizes) bytes = pool.mul(bytes, size);
  return bytes;
}

}  // namespace

// A product whose blocks the step finishes: they are read in the cache, and where another value
// takes their memory, written nowhere else.
void CompiledGraph::Parts::note_product(const Group& group, PlanStep& step) {
  const Call& call = *program->units[group.product].call;
  const TensorValue& result = program->values[call.results[0]];
  if (!group.is_in_place) step.values.insert(step.values.begin(), call.node->name());
  step.nodes.push_back(str(call.node->name(), " = ", call.op->full_name()));
  if (std::string line = line_of(*call.node); !line.empty()) step.lines.push_back(std::move(line));
  step.unwritten.push_back(program->pool->mul(bytes_of(*program->pool, result),
                                              program->pool->integer(group.is_in_place ? 2 : 1)));
}

// Nodes whose values are computed where they are read belong to each kernel that reads them.
void CompiledGraph::Parts::note_origins(const fx::Graph& graph) {
  std::unordered_map<std::string, const Node*> nodes;
  for (const Node& node : graph) nodes[node.name()] = &node;
  std::unordered_map<std::string, const TensorValue*> values;
  for (const TensorValue& value : program->values) values.emplace(value.name, &value);
  std::unordered_set<std::string> stored;
  for (const Unit& unit : program->units)
    if (unit.kind != Unit::Kind::Reduction) stored.insert(unit.name);

  for (size_t s = 0; s < steps.size(); ++s) {
    PlanStep& step = steps[s];
    std::vector<const Node*> open;
    std::unordered_set<const Node*> seen;
    const auto visit = [&](const std::string& name) {
      const auto found = nodes.find(name);
      if (found != nodes.end() && seen.insert(found->second).second) open.push_back(found->second);
    };
    std::unordered_set<std::string> given;
    const auto visit_units = [&](const Group& group) {
      for (const GroupUnit& member : group.units) {
        const Unit& unit = program->units[member.unit];
        if (unit.kind == Unit::Kind::Reduction) continue;  // of no node
        // A node with several results has a unit for each.
        if (given.insert(unit.name).second) step.values.push_back(unit.name);
        visit(unit.name);
      }
    };
    visit_units(groups[s]);
    for (const Group& joined : groups[s].joined) visit_units(joined);
    // Notes open nodes, and where they are computed, what is computed inside of them.
    const auto follow = [&](bool is_computed) {
      while (!open.empty()) {
        const Node* node = open.back();
        open.pop_back();
        const dispatch::Operator* op = node->target().op();
        step.nodes.push_back(op ? str(node->name(), " = ", op->full_name()) : node->name());
        if (std::string line = line_of(*node); !line.empty()) step.lines.push_back(std::move(line));
        if (!stored.count(node->name()) && values.count(node->name())) {
          const auto uses = static_cast<int64_t>(node->users().size());
          step.unwritten.push_back(program->pool->mul(
              bytes_of(*program->pool, *values[node->name()]), program->pool->integer(1 + uses)));
        }
        if (!is_computed) continue;
        for (const Node* input : node->inputs().list())
          if (input->op() == fx::OpCode::CallFunction && !stored.count(input->name()))
            visit(input->name());
      }
    };
    follow(step.kernel != nullptr);
    if (groups[s].product >= 0) note_product(groups[s], step);
    for (const Group& operand : groups[s].operands) {
      const std::string& name = program->units[operand.units[0].unit].name;
      step.unwritten.push_back(program->pool->mul(bytes_of(*program->pool, *values.at(name)),
                                                  program->pool->integer(2)));
      visit(name);
      follow(true);
    }
    std::reverse(step.nodes.begin(), step.nodes.end());
    std::sort(step.lines.begin(), step.lines.end());
    step.lines.erase(std::unique(step.lines.begin(), step.lines.end()), step.lines.end());
  }
}

namespace {

std::vector<int64_t> traced_symbols(const Program& program) {
  std::vector<int64_t> values;
  for (const Expr* symbol : program.symbols)
    values.push_back(symbol->has_hint ? symbol->value.integer : 1);
  return values;
}

// The value that lies in each memory, by name.
std::vector<std::string> memory_names(const Program& program) {
  std::vector<std::string> names(program.memories.size());
  for (const TensorValue& value : program.values)
    if (const int memory = value.geometry.memory; memory >= 0 && names[memory].empty())
      names[memory] = value.name;
  for (const Reduction& reduction : program.reductions) {
    if (static_cast<size_t>(reduction.id) >= program.result_memory.size()) break;
    for (const int memory : program.result_memory[reduction.id])
      if (memory >= 0) names[memory] = reduction.body;
  }
  return names;
}

void add_call_bytes(const std::vector<CallArgument>& arguments, const Program& program,
                    const std::vector<int64_t>& bytes, int64_t& total) {
  for (const CallArgument& argument : arguments) {
    if (argument.tensor >= 0) {
      const int memory = program.values[argument.tensor].geometry.memory;
      if (memory >= 0) total += bytes[memory];
    }
    add_call_bytes(argument.list, program, bytes, total);
  }
}

}  // namespace

PlanReport CompiledGraph::report() const {
  Parts& plan = *parts_;
  plan.adopt();  // a plan of frozen inputs may not run again
  const Program& program = *plan.program;
  std::shared_ptr<const RunLayout> layout;
  {
    const std::lock_guard lock(plan.run_mutex);
    if (!plan.layouts.empty()) layout = plan.layouts.back();
  }
  if (!layout) layout = plan.layout_of(traced_symbols(program));

  PlanReport report;
  std::unordered_set<const KernelForm*> forms;
  std::vector<int64_t> bytes;
  for (size_t m = 0; m < program.memories.size(); ++m) {
    bytes.push_back(layout->numels[m] * static_cast<int64_t>(item_size(program.memories[m].dtype)));
    if (program.memories[m].kind == Memory::Kind::Output) report.output_bytes += bytes.back();
  }
  const int64_t runs = std::max<int64_t>(plan.timed_runs.load(), 1);
  for (const PlanStep& step : plan.steps) {
    StepReport& one = report.steps.emplace_back();
    one.is_kernel = !step.call;
    one.values = step.values;
    one.nodes = step.nodes;
    one.lines = step.lines;
    one.seconds = static_cast<double>(step.nanoseconds.load()) * 1e-9 / static_cast<double>(runs);
    for (const Expr* e : step.unwritten)
      one.bytes_saved += program_of(e, program.symbols)(layout->symbols.data());
    std::unordered_set<int> in_cache;  // memories whose blocks a product has in the cache
    if (step.call) {
      ++report.calls;
      one.name = step.call->call->op->full_name();
      report.called.push_back(one.name);
      if (is_library(*step.call->call->op))
        report.library_calls.push_back(one.name);
      else if (!step.call->call->only_checks)
        report.fallbacks.push_back(one.name);
      if (step.call->weights) one.packed_bytes = step.call->weights->bytes();
      for (const PlannedPostOp& planned : step.call->post_ops)
        one.post_ops.push_back(cpu::kPostOpNames[static_cast<size_t>(planned.op.kind)]);
      one.is_finished_by_library = step.is_finished_by_library;
      add_call_bytes(step.call->call->arguments, program, bytes, one.bytes_read);
      for (const int result : step.call->call->results) {
        const int memory = program.values[result].geometry.memory;
        one.bytes_written += bytes[memory];
        in_cache.insert(memory);
      }
    }
    for (const OperandStep& operand : step.operands) {
      one.bytes_read -= bytes[operand.memory];
      in_cache.insert(operand.memory);
      one.prologues.push_back(
          str("kernel", report.kernels + static_cast<int>(one.prologues.size())));
    }
    if (step.kernel)
      (step.call ? one.epilogue : one.name) =
          str("kernel", report.kernels + static_cast<int>(one.prologues.size()));
    one.is_native = true;
    one.singles = static_cast<int>(step.leading.size() + step.trailing.size());
    const PlanStep& leader = step.leader < 0 ? step : plan.steps[static_cast<size_t>(step.leader)];
    if (!leader.family.empty()) one.family = static_cast<int>(leader.family.size()) + 1;
    if (step.kernel) one.members = static_cast<int>(step.kernel->num_members());
    step.for_each_kernel([&](const KernelStep& kernel) {
      ++report.kernels;
      forms.insert(&kernel.form());
      report.native += kernel.form().is_native();
      one.is_native &= kernel.form().is_native();
      const std::unordered_set<int> written(kernel.written().begin(), kernel.written().end());
      for (const int memory : kernel.memories())
        if (!in_cache.count(memory))
          (written.count(memory) ? one.bytes_written : one.bytes_read) += bytes[memory];
    });
    one.is_native &= step.kernel || !step.operands.empty();
    // Kernels of one element are part of the one that they share a launch with.
    const auto is_native = [](const auto& kernel) { return kernel->form().is_native(); };
    for (const auto* all : {&step.leading, &step.trailing}) {
      report.kernels -= static_cast<int>(all->size());
      report.native -= static_cast<int>(std::count_if(all->begin(), all->end(), is_native));
    }
  }
  const std::vector<std::string> names = memory_names(program);
  for (size_t i = 0; i < plan.temporaries.size(); ++i) {
    const int memory = plan.temporaries[i];
    report.arena.push_back({names[memory], plan.lifetimes[i].first, plan.lifetimes[i].last,
                            layout->arena.offsets[i], bytes[memory]});
  }
  report.arena_bytes = layout->arena.bytes;
  report.distinct_kernels = static_cast<int>(forms.size());
  report.runs_by_eager = plan.eager_runs.load();
  report.seconds = plan.seconds;
  {
    const std::lock_guard lock(plan.native_mutex);
    report.problem = plan.problem;
  }
  return report;
}

namespace {

std::string call_text(const PlanStep& step) {
  return str("call ", step.call->call->op->full_name(), " (", step.call->name, ")",
             step.kernel ? ", its blocks finished by\n" : "\n\n");
}

std::string joined_text(const KernelStep& kernel) {
  const size_t others = kernel.num_members() - 1;
  return others == 0 ? "" : str("joined with ", others, " equal ones\n");
}

}  // namespace

std::string CompiledGraph::text() const {
  std::string text;
  for (const PlanStep& step : parts_->steps) {
    for (const OperandStep& operand : step.operands)
      text += "operand, filled where it is packed, by\n" + operand.kernel->form().text() + "\n";
    if (step.call) text += call_text(step);
    for (const auto& kernel : step.leading)
      text += kernel->form().text() + joined_text(*kernel) + "before\n";
    if (step.kernel) text += step.kernel->form().text() + joined_text(*step.kernel);
    for (const auto& kernel : step.trailing)
      text += "and then\n" + kernel->form().text() + joined_text(*kernel);
    if (step.kernel) text += "\n";
  }
  return text;
}

std::string CompiledGraph::source() const {
  const std::lock_guard lock(printing());
  std::string text;
  int number = 0;
  for (const PlanStep& step : parts_->steps) {
    if (step.call) text += "// " + call_text(step);
    if (!step.kernel && step.operands.empty()) continue;
    for (const std::string& node : step.nodes) text += "// " + node + "\n";
    for (const std::string& line : step.lines) text += "// " + line + "\n";
    step.for_each_kernel(
        [&](KernelStep& kernel) { text += kernel.form().source(str("kernel", number++)) + "\n"; });
  }
  return text;
}

}  // namespace taeda::inductor
