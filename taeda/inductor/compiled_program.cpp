// Tracing, guards and versions of programs of C++.
#include "taeda/inductor/compiled_program.h"

#include <algorithm>

#include "taeda/aot/compiled_function.h"
#include "taeda/autograd/autocast.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/log.h"
#include "taeda/base/str.h"
#include "taeda/dispatch/levels.h"
#include "taeda/fx/shared_inputs.h"
#include "taeda/inductor/compile.h"
#include "taeda/inductor/segments.h"

namespace taeda::inductor {
namespace {

// What the thread says about calls of operators.
struct Modes {
  bool has_grad = autograd::grad_enabled();
  bool is_inference = is_inference_mode();
  bool casts[2] = {autocast::is_enabled(DeviceType::CPU), autocast::is_enabled(DeviceType::CUDA)};
  DType default_dtype = taeda::default_dtype();
  DType cast_dtypes[2] = {autocast::dtype_of(DeviceType::CPU),
                          autocast::dtype_of(DeviceType::CUDA)};

  bool operator==(const Modes&) const = default;
};

struct InputGuard {
  DType dtype;
  Device device;
  Layout layout;
  int64_t rank;
  bool requires_grad;

  explicit InputGuard(const Tensor& t)
      : dtype(t.dtype()),
        device(t.device()),
        layout(t.layout()),
        rank(t.dim()),
        requires_grad(autograd::requires_grad(t)) {}
  bool operator==(const InputGuard&) const = default;
};

std::vector<InputGuard> guards_of(const std::vector<Tensor>& inputs) {
  return std::vector<InputGuard>(inputs.begin(), inputs.end());
}

// Sizes, strides and offset of each input, the numbers that guards speak of.
std::vector<int64_t> numbers_of(const std::vector<Tensor>& inputs) {
  std::vector<int64_t> numbers;
  for (const Tensor& t : inputs) {
    numbers.insert(numbers.end(), t.sizes().begin(), t.sizes().end());
    numbers.insert(numbers.end(), t.strides().begin(), t.strides().end());
    numbers.push_back(t.storage_offset());
  }
  return numbers;
}

std::vector<fx::GuardInput> symbols_of(fx::ShapeEnv& env, const std::vector<Tensor>& fakes) {
  std::vector<fx::GuardInput> symbols;
  for (size_t i = 0; i < fakes.size(); ++i) {
    const auto add = [&](const char* what, const SymInt& number) {
      symbols.push_back({str("input ", i, what), env.expr(number)});
    };
    for (const SymInt& size : fakes[i].sym_sizes()) add(".size", size);
    for (const SymInt& stride : fakes[i].sym_strides()) add(".stride", stride);
    add(".offset", fakes[i].impl()->sym_storage_offset());
  }
  return symbols;
}

fx::Sharing sharing_of(const std::vector<Tensor>& inputs) {
  return fx::Sharing(std::vector<Value>(inputs.begin(), inputs.end()));
}

// Inputs that are the tensor of an earlier one, with that one.
std::vector<std::pair<size_t, size_t>> duplicates_of(const std::vector<Tensor>& inputs) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (inputs[i].is_same(inputs[j])) {
        found.emplace_back(i, j);
        break;
      }
  return found;
}

// The input as the trace sees it. Inputs that share memory have constant sizes.
Tensor fake_of(fx::FakeMode& mode, const Tensor& t, size_t number, bool is_constant) {
  if (is_constant) return mode.from_tensor(t);
  const auto g = mode.options().shape_env->create_geometry(
      t.sizes(), t.strides(), t.storage_offset(), str("input ", number));
  const Tensor fake = mode.from_tensor(t, g.sizes, g.strides, g.offset);
  autograd::set_requires_grad(fake, autograd::requires_grad(t));
  return fake;
}

void check_inputs(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    TAEDA_CHECK(inputs[i].defined(), "a compiled program takes tensors; input ", i,
                " is an undefined one");
}

// Inputs of another trace or transform, which is to see the operators, and memory that stands for
// other numbers than it holds.
bool runs_as_it_is(const std::vector<Tensor>& inputs) {
  return !dispatch::modes().empty() ||
         std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
           return t.impl()->has_symbolic_sizes() || dispatch::wrapper_of(t) || t.is_conj() ||
                  t.is_neg();
         });
}

}  // namespace

struct CompiledProgram::Version {
  Modes modes;
  std::vector<InputGuard> guards;
  std::vector<std::pair<size_t, size_t>> duplicates;
  fx::Sharing sharing;  // where the program writes
  bool writes = false;
  IntrusivePtr<fx::ShapeEnv> env;  // has the expressions of `sizes`
  fx::GuardSet sizes;
  std::shared_ptr<aot::CompiledFunction> function;
  std::vector<std::shared_ptr<CompiledGraph>> plans;

  // Tensors from elsewhere have no gradients, which would go unnoticed.
  void check_constants() const {
    for (const auto& [name, t] : function->traced().constants)
      TAEDA_CHECK(!modes.has_grad || !autograd::requires_grad(t),
                  "a compiled program uses a tensor of shape ", t.sizes(),
                  " that requires gradients and is none of its inputs; pass it as an argument");
  }
  // `own`, `numbers`: the guards of the inputs, and the numbers that guards speak of.
  bool takes(const std::vector<Tensor>& inputs, const std::vector<InputGuard>& own,
             const std::vector<int64_t>& numbers) const {
    const auto is_same = [&](const auto& pair) {
      return inputs[pair.first].is_same(inputs[pair.second]);
    };
    return modes == Modes() && guards == own && !sizes.first_failure(numbers) &&
           std::all_of(duplicates.begin(), duplicates.end(), is_same) &&
           (!writes || sharing.holds_for(sharing_of(inputs)));
  }
};

CompiledProgram::CompiledProgram(Function function, ProgramOptions options)
    : function_(std::move(function)), options_(options) {}
CompiledProgram::~CompiledProgram() = default;

std::shared_ptr<const CompiledProgram::Version> CompiledProgram::find(
    const std::vector<Tensor>& inputs) const {
  const std::vector<InputGuard> guards = guards_of(inputs);
  const std::vector<int64_t> numbers = numbers_of(inputs);
  for (const auto& version : versions_)
    if (version->takes(inputs, guards, numbers)) return version;
  return nullptr;
}

std::shared_ptr<const CompiledProgram::Version> CompiledProgram::make(
    const std::vector<Tensor>& inputs) const {
  auto made = std::make_shared<Version>();
  made->guards = guards_of(inputs);
  made->duplicates = duplicates_of(inputs);
  made->sharing = sharing_of(inputs);
  made->env = make_intrusive<fx::ShapeEnv>();
  const auto mode = make_intrusive<fx::FakeMode>(
      fx::FakeMode::Options{.allow_non_fake_inputs = true, .shape_env = made->env});
  std::vector<bool> is_constant(inputs.size(), !options_.is_dynamic);
  for (const std::vector<size_t>& memory : made->sharing.inputs)
    for (const size_t i : memory) is_constant[i] = true;
  aot::AotOptions options;
  for (size_t i = 0; i < inputs.size(); ++i)
    options.fakes.push_back(fake_of(*mode, inputs[i], i, is_constant[i]));
  const std::vector<Tensor> fakes = options.fakes;
  options.fake_mode = mode;
  options.stays_on_thread = true;
  options.decompose = decompose_for_lowering;
  options.keeps_plain_writes = true;
  // Gradients of gradients are compiled later, when the version is not changed any more.
  const Native native = options_.native;
  auto plans = std::make_shared<std::vector<std::shared_ptr<CompiledGraph>>>();
  options.forward = options.backward = [plans = std::weak_ptr(plans), native](
                                           const fx::Graph& graph, fx::AttributeReader read) {
    Segments compiled = compile_segments(graph, read);
    for (const auto& plan : compiled.plans) {
      if (native == Native::Wait) plan->compile_native();
      if (native == Native::Background) plan->start_native();
    }
    if (const auto all = plans.lock())
      all->insert(all->end(), compiled.plans.begin(), compiled.plans.end());
    return std::move(compiled.run);
  };
  options.again = [function = function_](std::vector<Value> values) {
    std::vector<Tensor> given;
    for (const Value& v : values) given.push_back(v.get<Tensor>());
    auto results = std::make_shared<Value::List>();
    for (const Tensor& t : function(given)) results->emplace_back(t);
    return Value(std::move(results));
  };
  const std::vector<Value> values(inputs.begin(), inputs.end());
  made->function = aot::compile(options.again, values, options);
  made->check_constants();
  made->writes = !made->function->traced().written.empty();
  made->sizes = made->env->guard_set(symbols_of(*made->env, fakes));
  made->plans = std::move(*plans);
  return made;
}

std::vector<Tensor> CompiledProgram::operator()(const std::vector<Tensor>& inputs) {
  check_inputs(inputs);
  if (runs_as_it_is(inputs)) return function_(inputs);
  std::shared_ptr<const Version> version;
  {
    const std::lock_guard lock(mutex_);
    version = find(inputs);
    if (!version && versions_.size() < kMostVersions) {
      version = make(inputs);
      versions_.push_back(version);
      if (versions_.size() == kMostVersions)
        warn(str("a program was compiled ", kMostVersions,
                 " times for inputs of other kinds; for more of them it runs as it is"));
    }
  }
  if (!version) return function_(inputs);
  version->check_constants();
  const std::vector<Value> values(inputs.begin(), inputs.end());
  std::vector<Tensor> results;
  for (const Value& v : (*version->function)(values))
    results.push_back(v.is<Tensor>() ? v.get<Tensor>() : Tensor());
  return results;
}

size_t CompiledProgram::num_versions() const {
  const std::lock_guard lock(mutex_);
  return versions_.size();
}

void CompiledProgram::wait() {
  constexpr int kPauseMs = 1000;
  const auto versions = [&] {
    const std::lock_guard lock(mutex_);
    return versions_;
  }();
  for (const auto& version : versions)
    for (const auto& plan : version->plans)
      while (!plan->wait_native(kPauseMs)) {
      }
}

std::vector<std::string> CompiledProgram::texts() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& version : versions_)
    for (const auto& plan : version->plans) all.push_back(plan->text());
  return all;
}

}  // namespace taeda::inductor
