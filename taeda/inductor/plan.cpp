// Running plans.
#include "taeda/inductor/plan.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "taeda/autograd/grad_mode.h"
#include "taeda/base/log.h"
#include "taeda/base/parallel.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/bind.h"
#include "taeda/inductor/units.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/native/compile_queue.h"
#include "taeda/kernel/native/compiler.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/schedule/schedule.h"
#include "taeda/ops/functions.h"

namespace taeda::inductor {

using kernel::IndexProgram;

namespace {

// Elements that a thread is worth.
constexpr int64_t kGrainElements = 32768;
constexpr size_t kKernelsPerSource = 8;

IndexProgram program_of(const Expr* e, const std::vector<const Expr*>& symbols) {
  return IndexProgram(e, [&](const Expr* symbol) {
    const auto found = std::find(symbols.begin(), symbols.end(), symbol);
    TAEDA_INTERNAL_CHECK(found != symbols.end(), "a size depends on ", symbolic::text_of(symbol));
    return static_cast<int>(found - symbols.begin());
  });
}

// Elements that one index of the first axis stands for.
const Expr* work_of(symbolic::ExprPool& pool, const kernel::Loop& loop, size_t first_axis) {
  const Expr* axes = pool.integer(1);
  for (size_t i = first_axis; i < loop.axes.size(); ++i) {
    const auto symbols = symbolic::symbols_of(loop.axes[i].extent);
    const bool is_plain = std::none_of(symbols.begin(), symbols.end(), [&](const Expr* s) {
      return s->name[0] == 'i' || s->name[0] == 'o';
    });
    if (is_plain) axes = pool.mul(axes, loop.axes[i].extent);
  }
  const Expr* steps = pool.integer(0);
  for (const kernel::Step& step : loop.steps)
    if (const auto* inner = std::get_if<kernel::Loop>(&step))
      steps = pool.add(steps, work_of(pool, *inner, 0));
    else
      steps = pool.add(steps, pool.integer(1));
  return pool.mul(axes, steps);
}

// Iterations of a kept axis own what they write, unless elements collide.
bool can_split(const kernel::Loop& loop) {
  return loop.axes[0].role == kernel::Role::Kept && loop.axes[0].binding != kernel::Binding::Serial;
}

}  // namespace

// ---- kernels ----
KernelStep::KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols)
    : kernel_(std::move(made.kernel)), memories_(std::move(made.memories)) {
  kernel::Kernel& k = kernel_;
  kernel::schedule_for_cpu(k);
  text_ = kernel::dump(k);
  for (const kernel::Step& step : k.steps)
    if (const auto* loop = std::get_if<kernel::Loop>(&step))
      loops_.push_back({program_of(loop->axes[0].extent, symbols),
                        program_of(work_of(*k.pool, *loop, 1), symbols), can_split(*loop)});
  interpreter_ = std::make_unique<kernel::TileInterpreter>(k);
}

std::string KernelStep::source(const std::string& name) {
  kernel_.name = name;
  return kernel::print_cpu_kernel(kernel_);
}

void KernelStep::set_native(std::shared_ptr<kernel::NativeModule> module, const std::string& name) {
  auto made = std::make_unique<Native>();
  for (size_t i = 0; i < loops_.size(); ++i)
    made->functions.push_back(module->function<NativeFn>(str(name, "_", i)));
  made->module = std::move(module);
  owned_ = std::move(made);
  native_.store(owned_.get(), std::memory_order_release);
}

bool KernelStep::run(char* const* memories, const int64_t* symbols) const {
  SmallVector<char*, 16> buffers;
  for (int memory : memories_) buffers.push_back(memories[memory]);
  int64_t error[2] = {0, 0};
  const kernel::LaunchArguments arguments{buffers.data(), symbols, nullptr, error};
  const Native* native = native_.load(std::memory_order_acquire);
  for (size_t i = 0; i < loops_.size(); ++i) {
    const LoopInfo& loop = loops_[i];
    const int64_t extent = loop.extent(symbols);
    const auto part = [&](int64_t begin, int64_t end) {
      if (native)
        native->functions[i](buffers.data(), symbols, nullptr, error, begin, end);
      else
        interpreter_->run(static_cast<int>(i), arguments, begin, end);
    };
    if (!loop.is_parallel) {
      part(0, extent);
      continue;
    }
    const int64_t work = std::max<int64_t>(loop.work(symbols), 1);
    parallel_for(0, extent, std::max<int64_t>(kGrainElements / work, 1), part);
  }
  return error[0] == 0;
}

// ---- plans ----
struct CallStep {
  const Call* call;
  const dispatch::Schema* schema;
};

// One source with some kernels, on its way through the compiler.
struct CompiledUnit {
  std::shared_future<std::string> object;
  std::vector<std::pair<KernelStep*, std::string>> kernels;  // with their names in it
};

struct CompiledGraph::Parts {
  struct Step {
    std::unique_ptr<KernelStep> kernel;
    std::optional<CallStep> call;
  };
  // Where a symbol's value comes from.
  struct Binding {
    size_t input;
    int dim;  // of the sizes; -1 for an integer itself
  };
  struct Shape {
    std::vector<IndexProgram> sizes, strides;
    IndexProgram offset;
  };

  std::unique_ptr<Program> program;
  fx::CompiledFn raise;
  std::vector<Step> steps;
  std::vector<Binding> bindings;                     // by symbol
  std::vector<Shape> shapes;                         // by value
  std::vector<IndexProgram> numels;                  // by memory
  std::vector<Lifetime> lifetimes;                   // of temporaries; bytes are those of the run
  std::vector<int> temporaries;                      // memories
  std::map<const Expr*, IndexProgram> call_numbers;  // of arguments
  std::vector<IndexProgram> numbers;                 // of results
  std::atomic<int64_t> arena_bytes{0};
  // Native kernels that are not there yet.
  std::mutex mutex;
  bool is_started = false;
  std::vector<CompiledUnit> pending;
  std::atomic<int> num_pending{0};

  void adopt(bool waits);
  void make_steps();
  void bind_symbols();
  void make_shapes();
  void find_lifetimes();
  Shape shape_of(const Geometry& g) const;
};

// Everything of one run.
struct Run {
  CompiledGraph::Parts& plan;
  std::vector<int64_t> symbols;
  std::vector<char*> memories;
  std::vector<Tensor> holders;  // by memory: the tensor whose storage it is
  Tensor arena;

  explicit Run(CompiledGraph::Parts& p)
      : plan(p),
        symbols(p.program->symbols.size()),
        memories(p.program->memories.size()),
        holders(p.program->memories.size()) {}

  const Tensor& checked_input(const Value& given, size_t i) const;
  Tensor laid_out(const Tensor& t, const CompiledGraph::Parts::Shape& shape) const;
  void take_inputs(const std::vector<Value>& inputs);
  void take_memory();
  void run_call(const CallStep& step);
  Tensor tensor_of(int value);
  Value argument(const CallArgument& given);
  std::vector<Value> results();
};

void CompiledGraph::Parts::make_steps() {
  find_units(*program);
  const std::vector<Group> groups = fuse(*program);
  assign_memory(*program, groups);
  for (const Group& group : groups) {
    Step step;
    const Unit& first = program->units[group.units[0].unit];
    if (first.kind == Unit::Kind::Call)
      step.call = CallStep{first.call, &fx::schema_of(*first.call->op)};
    else
      step.kernel =
          std::make_unique<KernelStep>(write_kernel(*program, group, "kernel"), program->symbols);
    steps.push_back(std::move(step));
  }
}

void CompiledGraph::Parts::bind_symbols() {
  for (const Expr* symbol : program->symbols) {
    std::optional<Binding> found;
    for (size_t i = 0; i < program->inputs.size() && !found; ++i) {
      const Program::Input& input = program->inputs[i];
      if (input.number == symbol) found = Binding{i, -1};
      if (input.value < 0) continue;
      const Place& sizes = program->values[input.value].geometry.sizes;
      for (size_t d = 0; d < sizes.size() && !found; ++d)
        if (sizes[d] == symbol) found = Binding{i, static_cast<int>(d)};
    }
    TAEDA_CHECK_NOT_IMPLEMENTED(found, "no input has the size ", symbolic::text_of(symbol));
    bindings.push_back(*found);
  }
}

CompiledGraph::Parts::Shape CompiledGraph::Parts::shape_of(const Geometry& g) const {
  Shape shape;
  for (const Expr* e : g.sizes) shape.sizes.push_back(program_of(e, program->symbols));
  for (const Expr* e : g.strides) shape.strides.push_back(program_of(e, program->symbols));
  shape.offset = program_of(g.offset, program->symbols);
  return shape;
}

void CompiledGraph::Parts::make_shapes() {
  for (const TensorValue& value : program->values) shapes.push_back(shape_of(value.geometry));
  for (const Memory& memory : program->memories)
    numels.push_back(program_of(memory.numel, program->symbols));
  for (const Program::Result& result : program->results)
    numbers.push_back(result.number ? program_of(result.number, program->symbols) : IndexProgram());
}

void CompiledGraph::Parts::find_lifetimes() {
  std::vector<int> first(program->memories.size(), -1), last(program->memories.size(), -1);
  const auto touch = [&](int memory, int step) {
    if (memory < 0) return;
    if (first[memory] < 0) first[memory] = step;
    last[memory] = step;
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    const int step = static_cast<int>(s);
    if (steps[s].kernel) {
      for (int memory : steps[s].kernel->memories()) touch(memory, step);
      continue;
    }
    const auto visit = [&](auto& self, const std::vector<CallArgument>& all) -> void {
      for (const CallArgument& a : all) {
        if (a.tensor >= 0) touch(program->values[a.tensor].geometry.memory, step);
        if (a.number) call_numbers[a.number] = program_of(a.number, program->symbols);
        self(self, a.list);
      }
    };
    visit(visit, steps[s].call->call->arguments);
  }
  for (size_t m = 0; m < program->memories.size(); ++m)
    if (program->memories[m].kind == Memory::Kind::Temporary && first[m] >= 0) {
      temporaries.push_back(static_cast<int>(m));
      lifetimes.push_back({first[m], last[m], 0});
    }
}

CompiledGraph::CompiledGraph(std::unique_ptr<Program> program, fx::CompiledFn raise)
    : parts_(std::make_unique<Parts>()) {
  parts_->program = std::move(program);
  parts_->raise = std::move(raise);
  parts_->make_steps();
  parts_->bind_symbols();
  parts_->make_shapes();
  parts_->find_lifetimes();
}
CompiledGraph::~CompiledGraph() = default;

size_t CompiledGraph::num_inputs() const { return parts_->program->inputs.size(); }

// ---- a run ----
// An input of the dtype and rank that were traced.
const Tensor& Run::checked_input(const Value& given, size_t i) const {
  TAEDA_CHECK_TYPE(given.is<Tensor>() && given.get<Tensor>().defined(), "input ", i,
                   " is no tensor");
  const Tensor& t = given.get<Tensor>();
  const Tensor& like = plan.program->inputs[i].fake;
  TAEDA_CHECK(t.dtype() == like.dtype() && t.dim() == like.dim() && t.device() == like.device(),
              "input ", i, " is a ", t.dim(), "-dimensional tensor of ", t.dtype(), " on ",
              t.device(), ", and was traced as a ", like.dim(), "-dimensional one of ",
              like.dtype(), " on ", like.device());
  return t;
}

// The tensor with the strides that were traced: itself, or a copy.
Tensor Run::laid_out(const Tensor& t, const CompiledGraph::Parts::Shape& shape) const {
  IntVec strides;
  bool is_alike = true;
  for (int64_t d = 0; d < t.dim(); ++d) {
    strides.push_back(shape.strides[d](symbols.data()));
    is_alike &= t.size(d) <= 1 || t.stride(d) == strides.back();
  }
  if (is_alike) return t;
  const Tensor copy = empty_strided(t.sym_sizes(), as_symint(strides), t.dtype(), {}, t.device());
  return copy.copy_(t);
}

void Run::take_inputs(const std::vector<Value>& inputs) {
  const Program& program = *plan.program;
  TAEDA_CHECK_TYPE(inputs.size() == program.inputs.size(), "a compiled graph of ",
                   program.inputs.size(), " inputs was given ", inputs.size());
  for (size_t s = 0; s < plan.bindings.size(); ++s) {
    const auto& binding = plan.bindings[s];
    const Value& given = inputs[binding.input];
    if (binding.dim < 0) {
      symbols[s] = given.to_int();
      continue;
    }
    symbols[s] = checked_input(given, binding.input).size(binding.dim);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int value = program.inputs[i].value;
    if (value < 0) continue;
    Tensor t = checked_input(inputs[i], i);
    const auto& shape = plan.shapes[value];
    for (int64_t d = 0; d < t.dim(); ++d) {
      const int64_t size = shape.sizes[d](symbols.data());
      TAEDA_CHECK(t.size(d) == size, "input ", i, " has size ", t.size(d), " in dimension ", d,
                  ", and was traced with ", size);
    }
    t = laid_out(t, shape);
    const int memory = program.values[value].geometry.memory;
    holders[memory] = t;
    // Geometries count from the start of the storage as it was traced.
    const int64_t offset = shape.offset(symbols.data());
    memories[memory] = static_cast<char*>(t.data()) - offset * t.element_size();
  }
  for (const TensorValue& value : program.values) {
    if (value.geometry.memory < 0) continue;
    const Memory& memory = program.memories[value.geometry.memory];
    if (memory.kind != Memory::Kind::Constant) continue;
    const Tensor& t = program.constants[memory.number];
    holders[value.geometry.memory] = t;
    memories[value.geometry.memory] =
        static_cast<char*>(t.data()) - t.storage_offset() * t.element_size();
  }
}

void Run::take_memory() {
  const Program& program = *plan.program;
  std::vector<Lifetime> lifetimes = plan.lifetimes;
  const auto bytes_of = [&](int memory) {
    return std::max<int64_t>(plan.numels[memory](symbols.data()), 1) *
           item_size(program.memories[memory].dtype);
  };
  for (size_t i = 0; i < lifetimes.size(); ++i) lifetimes[i].bytes = bytes_of(plan.temporaries[i]);
  const ArenaLayout layout = lay_out(lifetimes);
  if (layout.bytes > 0) {
    arena = empty({SymInt(layout.bytes)}, DType::UInt8);
    for (size_t i = 0; i < lifetimes.size(); ++i)
      memories[plan.temporaries[i]] = static_cast<char*>(arena.data()) + layout.offsets[i];
  }
  plan.arena_bytes.store(layout.bytes, std::memory_order_relaxed);
  for (size_t m = 0; m < program.memories.size(); ++m) {
    if (program.memories[m].kind != Memory::Kind::Output) continue;
    const int64_t numel = std::max<int64_t>(plan.numels[m](symbols.data()), 0);
    holders[m] = empty({SymInt(numel)}, program.memories[m].dtype);
    memories[m] = static_cast<char*>(holders[m].data());
  }
}

// A value as a tensor that shares its memory.
Tensor Run::tensor_of(int index) {
  const TensorValue& value = plan.program->values[index];
  const auto& shape = plan.shapes[index];
  IntVec sizes, strides;
  for (const IndexProgram& e : shape.sizes) sizes.push_back(e(symbols.data()));
  for (const IndexProgram& e : shape.strides) strides.push_back(e(symbols.data()));
  const int memory = value.geometry.memory;
  int64_t offset = shape.offset(symbols.data());
  const DType dtype = value.fake.dtype();
  if (holders[memory].defined()) {
    const Tensor& holder = holders[memory];
    const char* start = static_cast<const char*>(holder.storage()->data());
    offset += (memories[memory] - start) / item_size(dtype);
    return as_strided(holder, as_symint(sizes), as_symint(strides), SymInt(offset));
  }
  const int64_t item = item_size(dtype);
  const int64_t from_arena = (memories[memory] - static_cast<char*>(arena.data())) / item;
  return as_strided(arena.view(dtype), as_symint(sizes), as_symint(strides),
                    SymInt(offset + from_arena));
}

Value Run::argument(const CallArgument& given) {
  if (given.tensor >= 0) return tensor_of(given.tensor);
  if (given.number) return plan.call_numbers.at(given.number)(symbols.data());
  if (!given.is_list) return given.constant;
  auto list = std::make_shared<Value::List>();
  for (const CallArgument& item : given.list) list->push_back(argument(item));
  return list;
}

void Run::run_call(const CallStep& step) {
  dispatch::Stack stack;
  for (size_t i = 0; i < step.call->arguments.size(); ++i)
    stack.push_back(fx::coerce(argument(step.call->arguments[i]), step.schema->arguments[i].type));
  dispatch::call_boxed(*step.call->op, stack);
  std::vector<Tensor> made;
  for (const Value& v : stack)
    dispatch::for_each_tensor(v, [&](const Tensor& t) { made.push_back(t); });
  TAEDA_INTERNAL_CHECK(made.size() == step.call->results.size(), step.call->op->full_name(),
                       " gave ", made.size(), " tensors where the trace had ",
                       step.call->results.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const int value = step.call->results[i];
    const int memory = plan.program->values[value].geometry.memory;
    const auto& shape = plan.shapes[value];
    made[i] = laid_out(made[i], shape);
    holders[memory] = made[i];
    memories[memory] =
        static_cast<char*>(made[i].data()) - shape.offset(symbols.data()) * made[i].element_size();
  }
}

std::vector<Value> Run::results() {
  std::vector<Value> all;
  for (size_t i = 0; i < plan.program->results.size(); ++i) {
    const Program::Result& result = plan.program->results[i];
    if (result.value >= 0)
      all.push_back(tensor_of(result.value));
    else if (result.number)
      all.push_back(plan.numbers[i](symbols.data()));
    else
      all.push_back(result.constant);
  }
  return all;
}

std::vector<Value> CompiledGraph::run(const std::vector<Value>& inputs) {
  if (parts_->num_pending.load(std::memory_order_acquire) > 0) parts_->adopt(false);
  const autograd::NoGrad no_grad;
  Run run(*parts_);
  run.take_inputs(inputs);
  run.take_memory();
  for (const Parts::Step& step : parts_->steps) {
    if (step.call) {
      run.run_call(*step.call);
      continue;
    }
    // The inputs are as they were, so eager operators find the same index and say what is wrong.
    if (!step.kernel->run(run.memories.data(), run.symbols.data())) return parts_->raise(inputs);
  }
  return run.results();
}

// ---- native kernels ----
void CompiledGraph::start_native() {
  const std::lock_guard lock(parts_->mutex);
  if (parts_->is_started) return;
  parts_->is_started = true;
  // Equal kernels are compiled once; each source has a few, for compilers to work side by side.
  std::map<std::string, std::string> name_of;
  std::vector<std::string> sources;
  std::vector<std::vector<std::pair<KernelStep*, std::string>>> kernels;
  std::map<std::string, size_t> unit_of;
  for (Parts::Step& step : parts_->steps) {
    if (!step.kernel) continue;
    const auto [name, is_new] = name_of.emplace(step.kernel->text(), str("kernel", name_of.size()));
    if (is_new) {
      const size_t unit = (name_of.size() - 1) / kKernelsPerSource;
      unit_of[name->second] = unit;
      if (unit == sources.size()) {
        sources.push_back(kernel::cpu_prelude());
        kernels.emplace_back();
      }
      sources[unit] += step.kernel->source(name->second);
    }
    kernels[unit_of[name->second]].emplace_back(step.kernel.get(), name->second);
  }
  for (size_t i = 0; i < sources.size(); ++i)
    parts_->pending.push_back(
        {kernel::CompileQueue::shared().submit(sources[i]), std::move(kernels[i])});
  parts_->num_pending.store(static_cast<int>(parts_->pending.size()), std::memory_order_release);
}

// Takes native kernels that are ready; all of them, sooner or later, where it `waits`.
void CompiledGraph::Parts::adopt(bool waits) {
  std::unique_lock lock(mutex, std::defer_lock);
  if (waits)
    lock.lock();
  else if (!lock.try_lock())
    return;
  std::string problem;
  for (auto unit = pending.begin(); unit != pending.end();) {
    if (!waits && unit->object.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      ++unit;
      continue;
    }
    try {
      const auto module = kernel::NativeModule::load(unit->object.get());
      for (auto& [kernel, name] : unit->kernels) kernel->set_native(module, name);
    } catch (const Error& error) {
      problem = error.what();
    }
    unit = pending.erase(unit);
  }
  num_pending.store(static_cast<int>(pending.size()), std::memory_order_release);
  if (problem.empty()) return;
  TAEDA_CHECK(!waits, problem);
  warn(str("kernels stay interpreted, as they could not be compiled: ", problem));
}

void CompiledGraph::compile_native() {
  start_native();
  parts_->adopt(true);
}

PlanReport CompiledGraph::report() const {
  PlanReport report;
  for (const Parts::Step& step : parts_->steps) {
    if (step.kernel) {
      ++report.kernels;
      report.native += step.kernel->is_native();
    } else {
      ++report.calls;
      report.called.push_back(step.call->call->op->full_name());
    }
  }
  report.arena_bytes = parts_->arena_bytes.load(std::memory_order_relaxed);
  return report;
}

std::string CompiledGraph::text() const {
  std::string text;
  for (const Parts::Step& step : parts_->steps)
    text += step.kernel ? step.kernel->text() + "\n"
                        : str("call ", step.call->call->op->full_name(), " (",
                              step.call->call->node->name(), ")\n\n");
  return text;
}

}  // namespace taeda::inductor
