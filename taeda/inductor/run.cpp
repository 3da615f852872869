// Running plans.
//
// Note [States of runs]: a run needs arrays by memory and by symbol. They belong to a state, which
// the plan keeps for its next run; as many states exist as runs were under way at once. So a run
// allocates its arena and its outputs, and calls allocate what they return.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <exception>

#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/write_watch.h"
#include "taeda/base/env.h"
#include "taeda/base/parallel.h"
#include "taeda/core/generator.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/bind.h"
#include "taeda/inductor/laid_out.h"
#include "taeda/inductor/partial_writes.h"
#include "taeda/inductor/plan_parts.h"
#include "taeda/ops/functions.h"

namespace taeda::inductor {

bool is_strict() {
  static const bool strict = env_int("TAEDA_COMPILE_STRICT", 0) != 0;
  return strict;
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr KeySet kTracking = KeySet(Key::Autograd) | KeySet(Key::ADInplaceOrView);
constexpr KeySet kPlain = KeySet(Key::Dense) | KeySet(DeviceType::CPU);

// Equal bits, or two numbers that are none: which of several a machine gives is not defined.
template <class Bits>
bool same_floats(const char* a, const char* b, size_t bytes, Bits infinity) {
  constexpr Bits kUnsigned = static_cast<Bits>(~Bits{0}) >> 1;
  for (size_t i = 0; i < bytes; i += sizeof(Bits)) {
    Bits x, y;
    std::memcpy(&x, a + i, sizeof x);
    std::memcpy(&y, b + i, sizeof y);
    if (x != y && ((x & kUnsigned) <= infinity || (y & kUnsigned) <= infinity)) return false;
  }
  return true;
}

bool same_elements(const char* a, const char* b, size_t bytes, DType dtype) {
  switch (dtype) {
    case DType::Float:
    case DType::ComplexFloat: return same_floats<uint32_t>(a, b, bytes, 0x7f800000);
    case DType::Double:
    case DType::ComplexDouble: return same_floats<uint64_t>(a, b, bytes, 0x7ff0000000000000);
    case DType::Half: return same_floats<uint16_t>(a, b, bytes, 0x7c00);
    case DType::BFloat16: return same_floats<uint16_t>(a, b, bytes, 0x7f80);
    default: return bytes == 0 || std::memcmp(a, b, bytes) == 0;
  }
}

// A state of the plan for the length of a run.
class StateScope {
 public:
  explicit StateScope(CompiledGraph::Parts& plan) : plan_(plan) {
    {
      const std::lock_guard lock(plan.run_mutex);
      if (!plan.free_states.empty()) {
        state_ = std::move(plan.free_states.back());
        plan.free_states.pop_back();
        return;
      }
    }
    state_ = std::make_unique<RunState>();
    state_->symbols.resize(plan.program->symbols.size());
    state_->memories.resize(plan.program->memories.size());
    state_->holders.resize(plan.program->memories.size());
    state_->numbers.resize(2 * plan.program->streams.size());
  }
  ~StateScope() {
    for (Tensor& holder : state_->holders) holder.reset();
    state_->stack.clear();
    const std::lock_guard lock(plan_.run_mutex);
    plan_.free_states.push_back(std::move(state_));
  }
  StateScope(const StateScope&) = delete;
  RunState& state() { return *state_; }

 private:
  CompiledGraph::Parts& plan_;
  std::unique_ptr<RunState> state_;
};

class Run {
 public:
  Run(CompiledGraph::Parts& plan, RunState& state)
      : plan_(plan), program_(*plan.program), state_(state) {}

  void take_symbols(const std::vector<Value>& inputs);
  // Whether a number is below all that the trace took it for: the sizes 0 and 1, whose programs may
  // be others. To be asked before numbers of the run are worked out.
  bool is_below_traced_range() const;
  // False where elements of an input shared memory in the trace, and lie otherwise now.
  bool take_inputs(const std::vector<Value>& inputs);
  // Whether a view would read other places than eager's or none: Note [Named places].
  bool has_other_places(const std::vector<Value>& inputs) const;
  void take_memory();
  // Reserves the random numbers of kernels behind a call; -1: of those behind none.
  void reserve_streams(int call);
  // False where an index is out of range.
  bool run_steps();
  // Brings elements of inputs back that calls replaced: Note [Partial writes].
  void undo_partial_writes();
  // Writes to inputs are there; those of inputs that were laid out anew are brought back.
  void count_writes(const std::vector<Value>& inputs);
  std::vector<Value> results();

 private:
  const Tensor& checked_input(const Value& given, size_t i) const;
  int64_t number_of(const SymbolBinding& binding, const Value& input) const;
  // Puts a tensor into the memory of a value, in the layout that was traced.
  void hold(int value, Tensor t);
  Tensor tensor_of(int value);
  // The same for a reader that neither keeps it nor writes to it: what holds the memory, if it can.
  Tensor operand_of(int value);
  Value argument(const CallArgument& given);
  // Puts the arguments of a call on the stack, as tensors of their own or as operands.
  template <class Of>
  void push_arguments(size_t step, dispatch::Stack& stack, Of&& tensor);
  void run_call(size_t step);
  bool run_partial_write(size_t step);
  void check_form(const KernelStep& kernel) const;
  bool run_step(size_t step, bool is_checked, bool is_timed);
  // Products side by side, and those that are large one by one.
  bool run_family(size_t first);
  double work_of(size_t step) const;
  // A product, with the kernels that fill and finish its blocks.
  bool run_product(size_t step, bool may_be_native, dispatch::Stack& stack);
  bool run_product(size_t step, bool may_be_native) {
    return run_product(step, may_be_native, state_.stack);
  }
  bool run_block(const KernelStep& kernel, bool may_be_native, std::array<int64_t, 4> block,
                 void* to = nullptr) const;
  bool packs_operands(int second, const TensorShape& result) const;
  // Writes an operand to its memory.
  bool write_operand(const OperandStep& operand, bool may_be_native) const;
  // Calls f(kernel, launch) for the kernels of a step without a call.
  template <class F>
  void for_each_launch(size_t step, F&& f) const {
    const PlanStep& one = plan_.steps[step];
    const KernelLaunch* single = state_.layout->singles[step].data();
    for (const auto& kernel : one.leading) f(*kernel, *single++);
    f(*one.kernel, state_.layout->launches[step]);
    for (const auto& kernel : one.trailing) f(*kernel, *single++);
  }
  bool run_kernel(size_t step);
  bool run_both_forms(size_t step);
  bool compare_forms(FunctionRef<bool(bool is_native)> run, bool is_native,
                     const std::vector<int>& written, const std::string& text);

  // What brings elements back that a call replaced.
  struct Undo {
    dispatch::Operator* write;
    dispatch::Stack arguments;
  };

  CompiledGraph::Parts& plan_;
  const Program& program_;
  RunState& state_;
  Tensor arena_;
  std::vector<Undo> undos_;
};

// An input of the dtype and rank that were traced.
const Tensor& Run::checked_input(const Value& given, size_t i) const {
  TAEDA_CHECK_TYPE(given.is<Tensor>() && given.get<Tensor>().defined(), "input ", i,
                   " is no tensor");
  const Tensor& t = given.get<Tensor>();
  const TracedKind& like = plan_.kinds[i];
  TAEDA_CHECK(t.dtype() == like.dtype && t.dim() == like.dim && t.device() == like.device, "input ",
              i, " is a ", t.dim(), "-dimensional tensor of ", t.dtype(), " on ", t.device(),
              ", and was traced as a ", like.dim, "-dimensional one of ", like.dtype, " on ",
              like.device);
  return t;
}

void Run::hold(int value, Tensor t) {
  const TensorShape& shape = state_.layout->shapes[value];
  if ((t.keys() & kLazyValues) != shape.flags) t = with_flags(t, shape.flags);
  t = laid_out(std::move(t), shape);
  const int memory = shape.memory;
  // Geometries count from the start of the storage as it was traced.
  state_.memories[memory] = static_cast<char*>(t.data()) - shape.offset * t.element_size();
  state_.holders[memory] = std::move(t);
}

int64_t Run::number_of(const SymbolBinding& binding, const Value& input) const {
  if (binding.of == SymbolBinding::Of::Number) return input.to_int();
  const Tensor& t = checked_input(input, binding.input);
  switch (binding.of) {
    case SymbolBinding::Of::Size: return t.sizes()[binding.dim];
    case SymbolBinding::Of::Stride: return t.strides()[binding.dim];
    default: return t.storage_offset();
  }
}

void Run::take_symbols(const std::vector<Value>& inputs) {
  TAEDA_CHECK_TYPE(inputs.size() == program_.inputs.size(), "a compiled graph of ",
                   program_.inputs.size(), " inputs was given ", inputs.size());
  for (const SymbolBinding& binding : plan_.bindings) {
    int64_t& symbol = state_.symbols[binding.symbol];
    if (program_.symbols[binding.symbol]->kind == SymKind::Float) {
      symbol = std::bit_cast<int64_t>(inputs[binding.input].to_double());
      continue;
    }
    // Sizes that no value of the symbol gives are refused below, where sizes are compared.
    const int64_t rest = binding.rest ? (*binding.rest)(state_.symbols.data()) : 0;
    symbol = (number_of(binding, inputs[binding.input]) - binding.offset - rest) / binding.scale;
  }
}

bool Run::is_below_traced_range() const {
  for (size_t s = 0; s < state_.symbols.size(); ++s)
    if (program_.symbols[s]->kind != SymKind::Float &&
        state_.symbols[s] < program_.symbols[s]->range.lo)
      return true;
  return false;
}

bool Run::take_inputs(const std::vector<Value>& inputs) {
  if (!state_.layout || state_.layout->symbols != state_.symbols)
    state_.layout = plan_.layout_of(state_.symbols);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int value = program_.inputs[i].value;
    if (value < 0) continue;
    if (program_.inputs[i].is_float) {
      const Tensor number = make_tensor({}, DType::Double, Device(DeviceType::CPU));
      *static_cast<double*>(number.data()) = inputs[i].to_double();
      hold(value, number);
      continue;
    }
    const Tensor& t = checked_input(inputs[i], i);
    const TensorShape& shape = state_.layout->shapes[value];
    const IntList sizes = t.sizes();
    for (size_t d = 0; d < sizes.size(); ++d)
      TAEDA_CHECK(sizes[d] == shape.sizes[d], "input ", i, " has size ", sizes[d], " in dimension ",
                  d, ", and was traced with ", shape.sizes[d]);
    if (!has_strides(t, shape) && !do_elements_lie_apart(shape)) return false;
    hold(value, t);
  }
  for (const int value : plan_.constants) {
    const Tensor& t =
        program_.constants[program_.memories[program_.values[value].geometry.memory].number];
    TAEDA_CHECK(t.sizes() == IntList(state_.layout->shapes[value].sizes), "the constant ",
                program_.values[value].name, " has other sizes than when it was traced");
    hold(value, t);
  }
  return true;
}

bool Run::has_other_places(const std::vector<Value>& inputs) const {
  const RunLayout& layout = *state_.layout;
  return std::any_of(layout.reaches.begin(), layout.reaches.end(), [&](const Reach& reach) {
    const TensorShape& shape = layout.shapes[reach.root];
    const Memory& memory = program_.memories[shape.memory];
    if (memory.kind != Memory::Kind::Input && memory.kind != Memory::Kind::Constant)
      return reach.bytes > layout.numels[shape.memory] * item_size(memory.dtype);
    const Tensor& t = memory.kind == Memory::Kind::Input ? inputs[memory.number].get<Tensor>()
                                                         : program_.constants[memory.number];
    return t.storage_offset() != shape.offset || !has_strides(t, shape) ||
           reach.bytes > static_cast<int64_t>(t.storage()->nbytes());
  });
}

void Run::take_memory() {
  const RunLayout& layout = *state_.layout;
  plan_.arena_bytes.store(layout.arena.bytes, std::memory_order_relaxed);
  if (layout.arena.bytes > 0) {
    arena_ = make_tensor({layout.arena.bytes}, DType::UInt8, Device(DeviceType::CPU));
    char* start = static_cast<char*>(arena_.data());
    for (size_t i = 0; i < plan_.temporaries.size(); ++i)
      state_.memories[plan_.temporaries[i]] = start + layout.arena.offsets[i];
  }
  for (size_t m = 0; m < program_.memories.size(); ++m) {
    if (program_.memories[m].kind != Memory::Kind::Output) continue;
    Tensor made =
        make_tensor({layout.numels[m]}, program_.memories[m].dtype, Device(DeviceType::CPU));
    state_.memories[m] = static_cast<char*>(made.data());
    state_.holders[m] = std::move(made);
  }
}

void Run::reserve_streams(int call) {
  for (size_t i = 0; i < program_.streams.size(); ++i) {
    if (program_.streams[i].after != call) continue;
    const PhiloxRange range =
        default_cpu_generator().reserve_range(plan_.stream_counters[i](state_.symbols.data()));
    state_.numbers[2 * i].value = range.seed;
    state_.numbers[2 * i + 1].value = range.offset;
  }
}

// A value as a tensor of its own over the memory that it lies in.
Tensor Run::tensor_of(int index) {
  const TensorShape& shape = state_.layout->shapes[index];
  const Tensor& held = state_.holders[shape.memory];
  const Tensor& holder = held.defined() ? held : arena_;
  const char* start = static_cast<const char*>(holder.storage()->data());
  const int64_t before = (state_.memories[shape.memory] - start) / item_size(shape.dtype);
  Tensor made = make_alias(holder, shape.sizes, shape.strides, shape.offset + before);
  if (made.dtype() != shape.dtype) made.impl()->set_dtype(shape.dtype);
  if ((made.keys() & kLazyValues) != shape.flags)
    made.impl()->set_keys((made.keys() - kLazyValues) | shape.flags);
  return made;
}

Value Run::argument(const CallArgument& given) {
  if (given.tensor >= 0) return tensor_of(given.tensor);
  if (given.number)
    return number_value(given.number, plan_.call_numbers.at(given.number)(state_.symbols.data()));
  if (!given.is_list) return given.constant;
  auto list = std::make_shared<Value::List>();
  for (const CallArgument& item : given.list) list->push_back(argument(item));
  return list;
}

Tensor Run::operand_of(int index) {
  const TensorShape& shape = state_.layout->shapes[index];
  const Tensor& held = state_.holders[shape.memory];
  const char* at = state_.memories[shape.memory] + shape.offset * item_size(shape.dtype);
  const bool is_whole = held.defined() && held.dtype() == shape.dtype && held.data() == at &&
                        (held.keys() & kLazyValues) == shape.flags &&
                        held.sizes() == IntList(shape.sizes) &&
                        held.strides() == IntList(shape.strides);
  return is_whole ? held : tensor_of(index);
}

template <class Of>
void Run::push_arguments(size_t index, dispatch::Stack& stack, Of&& tensor) {
  const CallStep& step = *plan_.steps[index].call;
  stack.clear();
  for (size_t i = 0; i < step.call->arguments.size(); ++i)
    if (step.call->arguments[i].tensor >= 0)
      stack.emplace_back(tensor(step.call->arguments[i].tensor));
    else if (step.has_tensor[i])
      stack.push_back(
          fx::coerce(argument(step.call->arguments[i]), step.schema->arguments[i].type));
    else
      stack.push_back(state_.layout->arguments[index][i]);
}

// Kernels read what a call gave as its fake kernel described it.
void check_result(const dispatch::Operator& op, const Tensor& t, const TensorShape& shape) {
  TAEDA_CHECK(t.dtype() == shape.dtype && t.sizes() == IntList(shape.sizes), "[", op.full_name(),
              "] the operator gave a tensor of sizes ", t.sizes(), " and ", t.dtype(),
              ", its fake kernel one of sizes ", IntList(shape.sizes), " and ", shape.dtype,
              "; taeda.library.opcheck tests operators");
}

void Run::run_call(size_t index) {
  const CallStep& step = *plan_.steps[index].call;
  dispatch::Stack& stack = state_.stack;
  push_arguments(index, stack, [this](int value) { return tensor_of(value); });
  dispatch::call_boxed(*step.call->op, stack);
  size_t next = 0;
  for (const Value& v : stack)
    dispatch::for_each_tensor(v, [&](const Tensor& t) {
      TAEDA_INTERNAL_CHECK(next < step.call->results.size(), step.call->op->full_name(),
                           " gave more tensors than in the trace");
      const int value = step.call->results[next++];
      check_result(*step.call->op, t, state_.layout->shapes[value]);
      hold(value, t);
    });
  TAEDA_INTERNAL_CHECK(next == step.call->results.size(), step.call->op->full_name(), " gave ",
                       next, " tensors where the trace had ", step.call->results.size());
  stack.clear();
  if (step.call->draws) reserve_streams(step.call->number);
}

// False where the elements to be replaced cannot be read: an index is out of range.
bool Run::run_partial_write(size_t index) {
  const PartialWriter& writer = *plan_.steps[index].call->call->in_place;
  dispatch::Stack& stack = state_.stack;
  push_arguments(index, stack, [this](int value) { return tensor_of(value); });
  const auto places = stack.begin() + static_cast<ptrdiff_t>(writer.num_places);
  dispatch::Stack old(stack.begin(), places);
  old.insert(old.end(), writer.more_to_read.begin(), writer.more_to_read.end());
  try {
    dispatch::call_boxed(*writer.read, old);
  } catch (const Error&) {
    return false;
  }
  Undo& undo = undos_.emplace_back();
  undo.write = writer.write_back;
  undo.arguments.assign(stack.begin(), places);
  undo.arguments.push_back(std::move(old.at(0)));
  undo.arguments.insert(undo.arguments.end(), writer.more_to_write_back.begin(),
                        writer.more_to_write_back.end());
  dispatch::call_boxed(*writer.write, stack);
  stack.clear();
  return true;
}

void Run::undo_partial_writes() {
  for (; !undos_.empty(); undos_.pop_back())
    dispatch::call_boxed(*undos_.back().write, undos_.back().arguments);
}

// The first exception of some threads.
class FirstError {
 public:
  template <class F>
  void guard(F&& f) {
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

bool Run::run_block(const KernelStep& kernel, bool may_be_native, std::array<int64_t, 4> block,
                    void* to) const {
  SmallVector<int64_t, 16> symbols;
  for (const int64_t symbol : state_.symbols) symbols.push_back(symbol);
  for (const int64_t number : block) symbols.push_back(number);
  return kernel.run_block(may_be_native, state_.memories.data(), symbols.data(),
                          state_.numbers.data(), to);
}

bool Run::write_operand(const OperandStep& operand, bool may_be_native) const {
  constexpr int64_t kGrainElements = 32768;
  const TensorShape& shape = state_.layout->shapes[operand.value];
  const size_t rank = shape.sizes.size();
  const int64_t rows = shape.sizes[rank - 2], cols = shape.sizes[rank - 1];
  const int64_t batch = rank == 3 ? shape.sizes[0] : 1;
  const int64_t lines = operand.is_by_columns ? cols : rows;  // of one matrix
  const int64_t length = operand.is_by_columns ? rows : cols;
  if (batch == 0 || lines == 0 || length == 0) return true;
  char* const start = state_.memories[operand.memory];
  std::atomic<bool> is_good{true};
  const auto write = [&](int64_t first, int64_t last) {
    while (first < last) {
      const int64_t row = first / lines * rows, line = first % lines;
      const int64_t count = std::min(last - first, lines - line);
      const std::array<int64_t, 4> block = operand.is_by_columns
                                               ? std::array<int64_t, 4>{row, rows, line, count}
                                               : std::array<int64_t, 4>{row + line, count, 0, cols};
      char* to = start + first * length * item_size(shape.dtype);
      if (!run_block(*operand.kernel, may_be_native, block, to)) is_good = false;
      first += count;
    }
  };
  parallel_for(0, batch * lines, std::max<int64_t>(kGrainElements / length, 1), write);
  return is_good;
}

// Whether a product with this second operand and result packs its operands.
bool Run::packs_operands(int second, const TensorShape& result) const {
  const TensorShape& b = state_.layout->shapes[second];
  const size_t rank = result.sizes.size();
  const int64_t depth = b.sizes[rank - 2];
  // A matrix that a batch shares makes one tall product of it; and blocks of shallow matrices are
  // so small that calls of a kernel cost more than a pass over memory.
  constexpr int64_t kLeastBatchDepth = 128;
  if (rank == 3 && (b.strides[0] == 0 || depth < kLeastBatchDepth)) return false;
  return cpu::packs_operands(result.dtype, result.sizes[rank - 2], result.sizes[rank - 1], depth);
}

bool Run::run_product(size_t index, bool may_be_native, dispatch::Stack& stack) {
  const PlanStep& step = plan_.steps[index];
  push_arguments(index, stack, [this](int value) { return operand_of(value); });
  const int result = step.call->call->results[0];
  const TensorShape& shape = state_.layout->shapes[result];
  if (program_.memories[shape.memory].kind == Memory::Kind::Called)
    hold(result,
         make_tensor_strided(shape.sizes, shape.strides, shape.dtype, Device(DeviceType::CPU)));
  Tensor out = operand_of(result);
  std::atomic<bool> is_good{true};
  FirstError error;
  // Blocks come from threads of the product, which must not end early.
  const auto run = [&](const KernelStep& kernel, std::array<int64_t, 4> block, void* to) {
    error.guard([&] {
      if (!run_block(kernel, may_be_native, block, to)) is_good = false;
    });
  };
  std::atomic<bool> has_finished{false};
  const auto finish = [&](int64_t row, int64_t rows, int64_t col, int64_t cols) {
    has_finished.store(true, std::memory_order_relaxed);
    run(*step.kernel, {row, rows, col, cols}, nullptr);
  };
  const cpu::FinishBlock finish_block(finish);
  cpu::ProductOptions options;
  if (step.kernel) options.finish = &finish_block;
  options.are_channels_columns = step.call->are_channels_columns;
  // Where both forms of a kernel are compared, the kernel does the work.
  std::optional<PostOpsOfRun> post_ops;
  if (!step.call->post_ops.empty() && !plan_.is_checked.load(std::memory_order_relaxed)) {
    post_ops.emplace(step.call->post_ops, state_.memories.data(), state_.symbols.data(),
                     shape.sizes);
    options.post_ops = &post_ops->get();
  }

  const auto filler = [&](const OperandStep& operand) {
    return [&run, &operand](int64_t row, int64_t rows, int64_t col, int64_t cols, void* to) {
      run(*operand.kernel, {row, rows, col, cols}, to);
    };
  };
  using Filler = decltype(filler(step.operands[0]));
  std::array<std::optional<Filler>, 2> fillers;
  std::array<std::optional<cpu::FillBlock>, 2> fills;
  for (const OperandStep& operand : step.operands) {
    if (!packs_operands(step.call->call->arguments[step.call->product->second].tensor, shape)) {
      if (!write_operand(operand, may_be_native)) return false;
      continue;
    }
    fillers[operand.is_second].emplace(filler(operand));
    fills[operand.is_second].emplace(
        cpu::FillBlock{*fillers[operand.is_second], operand.is_by_columns});
    (operand.is_second ? options.fill_b : options.fill_a) = &*fills[operand.is_second];
  }

  std::shared_ptr<cpu::PackedMatrix> panels;
  if (PackedWeights* weights = step.call->weights.get()) {
    const TensorShape& part = state_.layout->shapes[weights->value()];
    panels = weights->panels_of(state_.holders[part.memory], part);
  }
  options.packed = panels.get();
  step.call->product->run(stack, out, options);
  step.is_finished_by_library = options.post_ops && !has_finished && out.numel() > 0;
  stack.clear();
  error.rethrow();
  return is_good;
}

// Multiply-adds of a product.
double Run::work_of(size_t index) const {
  const CallStep& step = *plan_.steps[index].call;
  const TensorShape& shape = state_.layout->shapes[step.call->results[0]];
  const TensorShape& second =
      state_.layout->shapes[step.call->arguments[step.product->second].tensor];
  double work = static_cast<double>(second.sizes[second.sizes.size() - 2]);
  for (const int64_t size : shape.sizes) work *= static_cast<double>(size);
  return work;
}

bool Run::run_family(size_t first) {
  constexpr double kSmallWork = 1 << 20;  // that threads would share with more waiting than work
  constexpr double kGrainWork = 1 << 18;  // that is worth a thread
  SmallVector<size_t, 16> small;
  double most = 1;  // multiply-adds of one of them
  const auto take = [&](size_t member) {
    const double work = work_of(member);
    if (work > kSmallWork) return run_product(member, true);
    small.push_back(member);
    most = std::max(most, work);
    return true;
  };
  bool is_good = take(first);
  for (const size_t member : plan_.steps[first].family) is_good = is_good && take(member);
  if (!is_good) return false;
  std::atomic<bool> are_good{true};
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(kGrainWork / most));
  parallel_for(0, static_cast<int64_t>(small.size()), grain, [&](int64_t begin, int64_t end) {
    const autograd::NoGrad no_grad;
    const ExcludeKeys without_casts(Key::Autocast);
    dispatch::Stack stack;
    for (int64_t i = begin; i < end; ++i)
      if (!run_product(small[static_cast<size_t>(i)], true, stack)) are_good = false;
  });
  return are_good;
}

void Run::check_form(const KernelStep& kernel) const {
  TAEDA_CHECK(!plan_.needs_native.load(std::memory_order_relaxed) || kernel.form().is_native(),
              "a kernel of this plan is not compiled, and the plan runs native kernels only",
              plan_.problem.empty() ? "" : ": ", plan_.problem);
}

bool Run::run_kernel(size_t index) {
  bool is_good = true;
  for_each_launch(index, [&](const KernelStep& kernel, const KernelLaunch& launch) {
    is_good = is_good && kernel.run(state_.memories.data(), launch, state_.numbers.data());
  });
  return is_good;
}

// Compares what both forms of a step's kernels write.
bool Run::run_both_forms(size_t index) {
  const PlanStep& step = plan_.steps[index];
  bool is_good = true;
  if (!step.call) {
    for_each_launch(index, [&](const KernelStep& kernel, const KernelLaunch& launch) {
      const auto run = [&](bool is_native) {
        return kernel.run_as(is_native, state_.memories.data(), launch, state_.numbers.data());
      };
      is_good = is_good && compare_forms(run, kernel.form().is_native(), kernel.written(),
                                         kernel.form().text());
    });
    return is_good;
  }
  bool is_native = true;
  std::string text;
  step.for_each_kernel([&](const KernelStep& kernel) {
    is_native &= kernel.form().is_native();
    text += kernel.form().text();
  });
  const std::vector<int> written =
      step.kernel ? step.kernel->written()
                  : std::vector<int>{program_.values[step.call->call->results[0]].geometry.memory};
  return compare_forms([&](bool native) { return run_product(index, native); }, is_native, written,
                       text);
}

bool Run::compare_forms(FunctionRef<bool(bool is_native)> run, bool is_native,
                        const std::vector<int>& written, const std::string& text) {
  if (!is_native) return run(false);
  const auto content = [&](int memory) {
    const char* at = state_.memories[memory];
    const int64_t bytes = state_.layout->numels[memory] *
                          static_cast<int64_t>(item_size(program_.memories[memory].dtype));
    return std::vector<char>(at, at + bytes);
  };
  // Inputs are read where they are written. Memory of a library's result is there behind the call.
  std::vector<std::pair<int, std::vector<char>>> before;
  for (const int memory : written)
    if (program_.memories[memory].kind == Memory::Kind::Input)
      before.emplace_back(memory, content(memory));
  const bool is_good = run(false);
  std::vector<std::vector<char>> interpreted;
  for (const int memory : written) interpreted.push_back(content(memory));
  for (const auto& [memory, bytes] : before)
    std::copy(bytes.begin(), bytes.end(), state_.memories[memory]);
  TAEDA_CHECK(run(true) == is_good, "a native kernel found an index out of range where the ",
              "interpreted one did not, or the other way round:\n", text);
  if (!is_good) return false;
  for (size_t i = 0; i < interpreted.size(); ++i) {
    const int memory = written[i];
    TAEDA_CHECK(same_elements(state_.memories[memory], interpreted[i].data(), interpreted[i].size(),
                              program_.memories[memory].dtype),
                "native and interpreted kernels differ in what they write to memory ", memory, " (",
                program_.memories[memory].dtype, "):\n", text);
  }
  return true;
}

bool Run::run_steps() {
  const bool is_checked = plan_.is_checked.load(std::memory_order_relaxed);
  const bool is_timed = plan_.is_timed.load(std::memory_order_relaxed);
  // Before anything is written.
  if (plan_.needs_native.load(std::memory_order_relaxed))
    for (const PlanStep& step : plan_.steps)
      step.for_each_kernel([&](const KernelStep& kernel) { check_form(kernel); });
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const PlanStep& step = plan_.steps[i];
    if (step.leader >= 0) continue;
    bool is_good = true;
    if (step.family.empty() || is_checked || is_timed) {
      is_good = run_step(i, is_checked, is_timed);
      for (const size_t member : step.family)
        is_good = is_good && run_step(member, is_checked, is_timed);
    } else {
      is_good = run_family(i);
    }
    if (!is_good) return false;
    for (const int memory : step.dying) state_.holders[memory].reset();
  }
  if (is_timed) ++plan_.timed_runs;
  return true;
}

bool Run::run_step(size_t index, bool is_checked, bool is_timed) {
  const PlanStep& step = plan_.steps[index];
  const auto start = is_timed ? Clock::now() : Clock::time_point();
  bool is_good = true;
  if (is_checked && (step.kernel || !step.operands.empty()))
    is_good = run_both_forms(index);
  else if (step.call && step.call->product)
    is_good = run_product(index, true);
  else if (step.call && step.call->call->in_place)
    is_good = run_partial_write(index);
  else if (step.call)
    run_call(index);
  else
    is_good = run_kernel(index);
  if (is_timed) step.nanoseconds += (Clock::now() - start).count();
  return is_good;
}

void Run::count_writes(const std::vector<Value>& inputs) {
  const auto count = [&](const Write& write) {
    const Tensor& t = inputs[static_cast<size_t>(write.input)].get<Tensor>();
    const Tensor& held = state_.holders[state_.layout->shapes[write.value].memory];
    if (!held.is_same(t))
      t.copy_(held);
    else
      autograd::count_write(t);
  };
  std::ranges::for_each(program_.writes, count);
  std::ranges::for_each(program_.partial_writes, count);
}

std::vector<Value> Run::results() {
  std::vector<Value> all;
  all.reserve(program_.results.size());
  for (size_t i = 0; i < program_.results.size(); ++i) {
    const Program::Result& result = program_.results[i];
    if (result.value >= 0)
      all.push_back(tensor_of(result.value));
    else if (result.number)
      all.push_back(number_value(result.number, state_.layout->numbers[i]));
    else
      all.push_back(result.constant);
  }
  return all;
}

}  // namespace

bool has_memory(const Value& given) {
  if (!given.is<Tensor>() || !given.get<Tensor>().defined()) return true;
  return given.get<Tensor>().keys() - kTracking - kLazyValues == kPlain;
}

std::vector<Value> CompiledGraph::run(const std::vector<Value>& inputs) {
  Parts& plan = *parts_;
  std::unique_ptr<kernel::CompileQueue::FirstRun> first_run;
  if (plan.num_pending.load(std::memory_order_acquire) > 0) {
    first_run = plan.begin_first_run();
    plan.adopt();
  }
  if (!plan.has_forms.load(std::memory_order_acquire)) plan.make_forms();
  const autograd::NoGrad no_grad;
  // Casts are part of the graph.
  const ExcludeKeys without_casts(Key::Autocast);
  // Fake tensors, transforms and tensors of other classes have operators of their own.
  if (!std::all_of(inputs.begin(), inputs.end(), has_memory)) return plan.eager(inputs);
  // Kernels draw from counters, which another engine has not.
  const bool has_streams = !plan.program->streams.empty();
  GeneratorImpl& generator = default_cpu_generator().impl();
  if (has_streams && generator.engine() != RandomEngine::Philox) return plan.eager(inputs);
  const auto before = has_streams ? std::optional(generator.get_state()) : std::nullopt;
  {
    StateScope scope(plan);
    Run run(plan, scope.state());
    run.take_symbols(inputs);
    if (run.is_below_traced_range()) return plan.eager(inputs);
    if (!run.take_inputs(inputs)) return plan.eager(inputs);
    // Operators that find nothing at an index have an error of their own.
    if (scope.state().layout->has_empty_extent) return plan.eager(inputs);
    if (run.has_other_places(inputs)) return plan.eager(inputs);
    run.take_memory();
    run.reserve_streams(-1);
    for (const auto* writes : {&plan.program->writes, &plan.program->partial_writes})
      for (const Write& write : *writes)
        autograd::before_write(inputs[static_cast<size_t>(write.input)].get<Tensor>());
    bool is_good = false;
    try {
      is_good = run.run_steps();
    } catch (...) {
      run.undo_partial_writes();
      throw;
    }
    if (is_good) {
      run.count_writes(inputs);
      return run.results();
    }
    run.undo_partial_writes();
  }
  // The inputs are as they were, so eager operators find the same index and say what is wrong.
  if (before) generator.set_state(*before);
  ++plan.eager_runs;
  std::vector<Value> results = plan.eager(inputs);
  TAEDA_CHECK(!is_strict(),
              "TAEDA_COMPILE_STRICT: a kernel found an index out of range, and eager ",
              "operators did not");
  return results;
}

}  // namespace taeda::inductor
