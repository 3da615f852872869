// Making plans.
#include "taeda/inductor/plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "taeda/fx/bind.h"
#include "taeda/inductor/join.h"
#include "taeda/inductor/partial_writes.h"
#include "taeda/inductor/plan_parts.h"
#include "taeda/inductor/product_blocks.h"
#include "taeda/inductor/product_families.h"
#include "taeda/inductor/units.h"
#include "taeda/symbolic/polynomial.h"

namespace taeda::inductor {

namespace {

bool holds_tensor(const CallArgument& argument) {
  return argument.tensor >= 0 ||
         std::any_of(argument.list.begin(), argument.list.end(), holds_tensor);
}

template <class F>
void for_each_argument(const std::vector<CallArgument>& all, F&& f) {
  for (const CallArgument& argument : all) {
    f(argument);
    for_each_argument(argument.list, f);
  }
}

bool has_zero(const Place& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const Expr* e) { return e->is_constant(0); });
}

// Values without elements are not computed, and groups of nothing else do not run.
void drop_empty(Program& program, std::vector<Group>& groups) {
  for (Group& group : groups)
    std::erase_if(group.units, [&](const GroupUnit& member) {
      const Unit& unit = program.units[member.unit];
      if (!unit.definition || !has_zero(unit.definition->sizes)) return false;
      // Readers in other groups load it, from memory of no elements; others compute it in place.
      const int id = unit.definition->id;
      if (program.geometry[id].memory < 0) program.unit_of_definition[id] = -1;
      return true;
    });
  std::erase_if(groups, [](const Group& group) {
    const auto is_empty = [](const DomainAxis& axis) {
      return !axis.is_row && axis.extent->is_constant(0);
    };
    return group.units.empty() || std::any_of(group.axes.begin(), group.axes.end(), is_empty);
  });
}

// Of units that write to inputs.
void store_sources(Program& program, const std::vector<int>& units) {
  std::unordered_set<const Definition*> found;
  for (const int unit : units) found.insert(program.units[unit].definition);
  for (Write& write : program.writes) {
    if (!found.count(program.values[write.value].definition)) continue;
    TAEDA_INTERNAL_CHECK(!write.is_stored, "a write to an input cannot be placed");
    write.is_stored = true;
  }
}

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

CallStep CompiledGraph::Parts::call_step(const Unit& unit, const Group& group) const {
  const Call& call = *unit.call;
  CallStep step{&call, unit.name, &fx::schema_of(*call.op), {}};
  for (const CallArgument& argument : call.arguments)
    step.has_tensor.push_back(holds_tensor(argument));
  const cpu::ProductOperator* product = product_of(*program, call);
  if (!product) return step;
  const int second = call.arguments.at(product->second).tensor;
  const Memory& memory = program->memories[program->values[second].geometry.memory];
  if (product->may_be_packed && memory.is_frozen)
    step.weights = std::make_unique<PackedWeights>(second);
  // A plan runs products of matrices by itself, which skips the dispatcher, and convolutions where
  // kernels are part of them.
  if (!product->has_channels || group.product >= 0 || !group.operands.empty() || step.weights)
    step.product = product;
  step.are_channels_columns = group.are_channels_columns;
  return step;
}

void CompiledGraph::Parts::make_steps(const PlanOptions& options) {
  Stopwatch watch;
  write_parts_in_place(*program);
  find_units(*program);
  seconds.emplace_back("units", watch.lap());
  Fused fused = fuse(*program);
  while (!fused.misplaced.empty()) {
    store_sources(*program, fused.misplaced);
    find_units(*program);
    fused = fuse(*program);
  }
  groups = std::move(fused.groups);
  if (options.fuses_into_products) attach_to_products(*program, groups);
  seconds.emplace_back("fuse", watch.lap());
  assign_memory(*program, groups);
  share_result_memory(*program, groups);
  drop_empty(*program, groups);
  const auto add_memory = [this](DType dtype, const Expr* numel) {
    program->memories.push_back({Memory::Kind::Temporary, 0, dtype, numel});
    return static_cast<int>(program->memories.size()) - 1;
  };
  std::vector<const Expr*> block_sizes = program->symbols;
  for (const Expr* symbol : block_symbols(*program->pool)) block_sizes.push_back(symbol);
  KernelForms forms;
  const auto block_kernel = [&](const Group& group, GroupKernel whole) {
    return std::make_unique<KernelStep>(write_block_kernel(group, std::move(whole)), block_sizes,
                                        forms, add_memory);
  };
  const auto first_unit = [this](const Group& group) -> const Unit& {
    return program->units[group.product >= 0 ? group.product : group.units[0].unit];
  };
  std::vector<GroupStep> made;
  for (Group& group : groups) {
    GroupStep& step = made.emplace_back();
    step.group = std::move(group);
    if (first_unit(step.group).kind != Unit::Kind::Call)
      step.kernels.push_back(std::make_unique<KernelStep>(
          write_kernel(*program, step.group, "kernel"), program->symbols, forms, add_memory));
  }
  join_kernels(*program, made);
  groups.clear();
  for (GroupStep& one : made) {
    const Group& group = groups.emplace_back(std::move(one.group));
    PlanStep& step = steps.emplace_back();
    if (!one.kernels.empty()) {
      for (size_t i = 0; i < one.kernels.size(); ++i)
        if (i != one.own)
          (i < one.own ? step.leading : step.trailing).push_back(std::move(one.kernels[i]));
      step.kernel = std::move(one.kernels[one.own]);
      continue;
    }
    const Unit& first = first_unit(group);
    step.call = call_step(first, group);
    for (const Group& operand : group.operands) {
      const int value = first.call->arguments[operand.argument].tensor;
      step.operands.push_back({block_kernel(operand, write_kernel(*program, operand, "kernel")),
                               value, program->values[value].geometry.memory, operand.is_by_columns,
                               operand.argument == step.call->product->second});
    }
    if (group.product < 0) continue;
    GroupKernel whole = write_kernel(*program, group, "kernel");
    if (options.has_post_ops) step.call->post_ops = find_post_ops(*program, group, whole);
    step.kernel = block_kernel(group, std::move(whole));
  }
  if (options.batches_products) find_families(*program, groups, steps);
  seconds.emplace_back("write", watch.lap());
}

namespace {

// Finds the numbers of inputs that tell symbols.
class SymbolBinder {
 public:
  explicit SymbolBinder(const Program& program) : program_(program), pool_(*program.pool) {}

  // In an order in which each can be computed.
  std::vector<SymbolBinding> run() {
    const std::vector<const Expr*>& symbols = program_.symbols;
    for (size_t s = 0; s < symbols.size(); ++s) {
      std::optional<SymbolBinding> found = find_alone(symbols[s]);
      if (found) bind(s, std::move(*found));
    }
    // s0 + s1 tells s1 where something else tells s0.
    for (size_t before = 0; before < bindings_.size() && bindings_.size() < symbols.size();) {
      before = bindings_.size();
      for (size_t s = 0; s < symbols.size(); ++s) {
        if (known_.count(symbols[s])) continue;
        std::optional<SymbolBinding> found = find_in_sum(symbols[s]);
        if (found) bind(s, std::move(*found));
      }
    }
    for (const Expr* symbol : symbols)
      TAEDA_CHECK_NOT_IMPLEMENTED(known_.count(symbol), "no input tells the number ",
                                  symbolic::text_of(symbol));
    return std::move(bindings_);
  }

 private:
  using Of = SymbolBinding::Of;
  using Look = FunctionRef<void(const Expr* number, size_t input, Of of, size_t dim)>;

  void bind(size_t symbol, SymbolBinding found) {
    found.symbol = symbol;
    bindings_.push_back(std::move(found));
    known_.insert(program_.symbols[symbol]);
  }

  void for_sizes(Look look) const {
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const Program::Input& input = program_.inputs[i];
      if (input.number) look(input.number, i, Of::Number, 0);
      if (input.value < 0) continue;
      const Geometry& g = program_.values[input.value].geometry;
      for (size_t d = 0; d < g.sizes.size(); ++d) look(g.sizes[d], i, Of::Size, d);
    }
  }
  void for_strides(Look look) const {
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      if (program_.inputs[i].value < 0) continue;
      const Geometry& g = program_.values[program_.inputs[i].value].geometry;
      for (size_t d = 0; d < g.strides.size(); ++d) look(g.strides[d], i, Of::Stride, d);
      look(g.offset, i, Of::Offset, 0);
    }
  }

  // A number that is the symbol itself is preferred to one that it is a part of, and sizes are to
  // strides and offsets, which may differ from those that were traced.
  std::optional<SymbolBinding> find_alone(const Expr* symbol) const {
    std::optional<SymbolBinding> found;
    const auto look = [&](const Expr* number, size_t input, Of of, size_t dim) {
      if (found && found->scale == 1 && found->offset == 0) return;
      if (number->kind == SymKind::Float) {
        if (number == symbol) found = {input, of, 0, 1, 0};
        return;
      }
      const symbolic::Affine form = symbolic::affine_of(pool_, number);
      if (form.form != symbol || form.scale <= 0) return;
      if (!found || number == symbol)
        found = {input, of, static_cast<int>(dim), form.scale, form.offset};
    };
    for_sizes(look);
    if (!found) for_strides(look);
    return found;
  }

  // In a sum of a multiple of the symbol and of what is known.
  std::optional<SymbolBinding> find_in_sum(const Expr* symbol) const {
    std::optional<SymbolBinding> found;
    for_sizes([&](const Expr* number, size_t input, Of of, size_t dim) {
      if (found || number->kind == SymKind::Float || !is_only_unknown(symbol, number)) return;
      const Expr* rest = symbolic::substitute(pool_, number, {{symbol, pool_.integer(0)}});
      const symbolic::Affine form =
          symbolic::affine_of(pool_, pool_.add(number, pool_.negate(rest)));
      if (form.form != symbol || form.scale <= 0 || form.offset != 0) return;
      found = {input, of, static_cast<int>(dim), form.scale, 0};
      found->rest = program_of(rest, program_.symbols);
    });
    return found;
  }
  bool is_only_unknown(const Expr* symbol, const Expr* number) const {
    const std::vector<const Expr*> symbols = symbolic::symbols_of(number);
    return std::count(symbols.begin(), symbols.end(), symbol) != 0 &&
           std::all_of(symbols.begin(), symbols.end(),
                       [&](const Expr* s) { return s == symbol || known_.count(s) != 0; });
  }

  const Program& program_;
  symbolic::ExprPool& pool_;
  std::unordered_set<const Expr*> known_;
  std::vector<SymbolBinding> bindings_;
};

}  // namespace

void CompiledGraph::Parts::bind_symbols() { bindings = SymbolBinder(*program).run(); }

ShapePrograms CompiledGraph::Parts::shape_of(const Geometry& g) const {
  ShapePrograms shape;
  for (const Expr* e : g.sizes) shape.sizes.push_back(program_of(e, program->symbols));
  for (const Expr* e : g.strides) shape.strides.push_back(program_of(e, program->symbols));
  shape.offset = program_of(g.offset, program->symbols);
  return shape;
}

void CompiledGraph::Parts::make_shapes() {
  for (const TensorValue& value : program->values) {
    TAEDA_CHECK_NOT_IMPLEMENTED(value.fake.device().is_cpu() || value.fake.is_meta(), "tensors on ",
                                value.fake.device(), " are not compiled yet");
    shapes.push_back(shape_of(value.geometry));
  }
  for (const Program::Input& input : program->inputs)
    kinds.push_back(input.fake.defined()
                        ? TracedKind{input.fake.dtype(), input.fake.dim(), input.fake.device()}
                        : TracedKind{});
  for (const Memory& memory : program->memories)
    numels.push_back(program_of(memory.numel, program->symbols));
  for (const Stream& stream : program->streams)
    stream_counters.push_back(program_of(stream.counters, program->symbols));
  for (const Program::Result& result : program->results)
    numbers.push_back(result.number ? program_of(result.number, program->symbols) : IndexProgram());
  for (size_t i = 0; i < program->values.size(); ++i) {
    const TensorValue& value = program->values[i];
    const int memory = value.geometry.memory;
    if (memory >= 0 && program->memories[memory].kind == Memory::Kind::Constant &&
        value.root == static_cast<int>(i))
      constants.push_back(static_cast<int>(i));
  }
}

// The first and the last step that each memory has to do with. Members of a family run with their
// first one.
void CompiledGraph::Parts::find_lifetimes() {
  std::vector<int> first(program->memories.size(), -1), last(program->memories.size(), -1);
  const auto touch = [&](int memory, size_t step) {
    if (memory < 0) return;
    if (first[memory] < 0) first[memory] = static_cast<int>(step);
    last[memory] = static_cast<int>(step);
  };
  const auto memory_of = [&](int value) { return program->values[value].geometry.memory; };
  const auto touch_all = [&](const PlanStep& step, size_t at) {
    step.for_each_kernel([&](const KernelStep& kernel) {
      for (int memory : kernel.memories()) touch(memory, at);
    });
    if (!step.call) return;
    for_each_argument(step.call->call->arguments, [&](const CallArgument& a) {
      if (a.tensor >= 0) touch(memory_of(a.tensor), at);
      if (a.number) call_numbers[a.number] = program_of(a.number, program->symbols);
    });
    for (int result : step.call->call->results) touch(memory_of(result), at);
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].leader >= 0) continue;
    touch_all(steps[s], s);
    for (const size_t member : steps[s].family) touch_all(steps[member], s);
  }
  std::unordered_set<int> kept;
  for (const Program::Result& result : program->results)
    if (result.value >= 0) kept.insert(memory_of(result.value));
  for (size_t m = 0; m < program->memories.size(); ++m) {
    if (first[m] < 0) continue;
    const int memory = static_cast<int>(m);
    const Memory::Kind kind = program->memories[m].kind;
    if (kind == Memory::Kind::Temporary) {
      temporaries.push_back(memory);
      lifetimes.push_back({first[m], last[m], 0});
    } else if (kind == Memory::Kind::Called && !kept.count(memory)) {
      steps[last[m]].dying.push_back(memory);
    }
  }
}

CompiledGraph::CompiledGraph(std::unique_ptr<Program> program, fx::CompiledFn eager,
                             const fx::Graph& graph,
                             std::vector<std::pair<std::string, double>> seconds,
                             const PlanOptions& options)
    : parts_(std::make_unique<Parts>()) {
  parts_->program = std::move(program);
  parts_->eager = std::move(eager);
  parts_->seconds = std::move(seconds);
  parts_->make_steps(options);
  parts_->bind_symbols();
  parts_->make_shapes();
  parts_->find_lifetimes();
  parts_->note_origins(graph);
}

CompiledGraph::~CompiledGraph() {
  if (!parts_->search) return;
  const std::lock_guard lock(printing());
  parts_->search->plan = nullptr;
}

size_t CompiledGraph::num_inputs() const { return parts_->program->inputs.size(); }
size_t CompiledGraph::num_steps() const { return parts_->steps.size(); }
void CompiledGraph::set_native_only() { parts_->needs_native = true; }
void CompiledGraph::set_checked(bool on) {
  parts_->is_checked = on;
  parts_->has_forms = false;
}
void CompiledGraph::set_timed(bool on) {
  parts_->timed_runs = 0;
  for (const PlanStep& step : parts_->steps) step.nanoseconds = 0;
  parts_->is_timed = on;
}

}  // namespace taeda::inductor
