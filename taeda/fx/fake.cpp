// Runs operators on fake tensors.
#include "taeda/fx/fake.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/levels.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/hidden_writes.h"
#include "taeda/fx/regions.h"
#include "taeda/fx/shapes/sym_expr_node.h"
#include "taeda/ops/counted.h"

namespace taeda::fx {
namespace {

using dispatch::map_tensors;
using dispatch::Operator;
using dispatch::Stack;
using dispatch::Tag;
using dispatch::Value;

FakeErrors fake_errors{};

[[noreturn]] void refuse(void (*raise)(const Operator&), const Operator& op, const char* what) {
  if (raise) raise(op);
  fail(ErrorKind::NotImplemented, op.full_name(), ": ", what,
       " of a fake tensor depends on values it does not have");
}

thread_local constinit FakeMode* running = nullptr;

// Marks the mode whose operator runs, until the end of the scope.
class Running {
 public:
  explicit Running(FakeMode& mode) : saved_(std::exchange(running, &mode)) {}
  ~Running() { running = saved_; }
  Running(const Running&) = delete;

 private:
  FakeMode* saved_;
};

constexpr KeySet kBelow = KeySet(Key::Fake) | KeySet(Key::Python);

void tag(const Tensor& t, const IntrusivePtr<FakeMode>& mode, Device device) {
  TensorImpl* impl = t.impl();
  impl->set_keys(impl->keys() | KeySet(Key::Fake));
  TensorExtra& extra = impl->extra();
  extra.wrapper = mode;
  extra.fake_device = device;
}

Device with_index(Device d) {
  if (d.index < 0 && !d.is_cpu() && !d.is_meta()) d.index = 0;
  return d;
}

// The device that the arguments agree on: zero-dim CPU tensors follow the others.
class CommonDevice {
 public:
  CommonDevice(const Operator& op, std::optional<DeviceType> preferred)
      : op_(op), preferred_(preferred) {}

  void add(const Tensor& t) {
    if (t.impl()->is_wrapped_number()) return;
    const Device d = t.device();
    const bool yields = t.dim() == 0 && d.is_cpu();
    if (!device_) {
      device_ = d;
      can_yield_ = yields;
    } else if (*device_ != d && !yields) {
      if (!can_yield_ && is_preferred(*device_)) return;
      if (!can_yield_ && !is_preferred(d)) refuse_mix(d);
      device_ = d;
      can_yield_ = false;
    } else if (!yields) {
      can_yield_ = false;
    }
  }
  std::optional<Device> get() const { return device_; }

 private:
  bool is_preferred(Device d) const { return preferred_ && d.type == *preferred_; }
  [[noreturn]] void refuse_mix(Device other) const {
    if (fake_errors.device_mismatch) fake_errors.device_mismatch(op_, *device_, other);
    fail(ErrorKind::Runtime,
         "Expected all tensors to be on the same device, but found at least two devices, ",
         device_->text(), " and ", other.text(), "! (in ", op_.full_name(), ")");
  }

  const Operator& op_;
  std::optional<DeviceType> preferred_;
  std::optional<Device> device_;
  bool can_yield_ = true;
};

// Position of the argument that says where the result lives; the schema's size if there is none.
size_t device_argument(const dispatch::Schema& schema) {
  size_t i = 0;
  while (i < schema.arguments.size() && schema.arguments[i].type.base != "Device") ++i;
  return i;
}

bool is_fake_argument(const Tensor& t) { return is_fake(t) || t.impl()->is_wrapped_number(); }

}  // namespace

void set_fake_errors(const FakeErrors& errors) { fake_errors = errors; }

IntrusivePtr<FakeMode> fake_mode_of(const Tensor& t) {
  if (!is_fake(t)) return nullptr;
  return IntrusivePtr<FakeMode>::share(
      static_cast<FakeMode*>(t.impl()->extra_or_null()->wrapper.get()));
}

void set_fake_device(const Tensor& t, Device device) {
  TAEDA_CHECK_TYPE(is_fake(t), "only a fake tensor stands for another device");
  t.impl()->extra().fake_device = with_index(device);
}

FakeMode* running_fake_mode() { return running; }

FakeMode* active_fake_mode() {
  const dispatch::ModeStack& modes = dispatch::modes();
  for (size_t i = modes.size(); i-- > 0;)
    if (auto* mode = dynamic_cast<FakeMode*>(modes[i].get())) return mode;
  return nullptr;
}

// ---- making fakes ----

void FakeMode::forget_dead() {
  std::erase_if(fakes_,
                [](const auto& e) { return !e.second.key.lock() || !e.second.fake.lock(); });
  std::erase_if(reals_, [](const auto& e) { return !e.second.key.lock(); });
  std::erase_if(constants_, [](const auto& e) { return !e.second.key.lock(); });
  std::erase_if(storages_, [](const auto& e) { return !e.second.key.lock(); });
  std::erase_if(values_, [](const auto& e) { return !e.second.key.lock(); });
  std::erase_if(value_storages_, [](const auto& e) { return !e.second.key.lock(); });
  std::erase_if(numbers_, [](const auto& e) { return !e.second.key.lock(); });
}

Tensor FakeMode::make_fake(const Tensor& like, SymIntList sizes, SymIntList strides,
                           SymInt offset) {
  const ExcludeKeys below(KeySet(Key::Fake) | KeySet(Key::Python) | KeySet(Key::Autograd) |
                          KeySet(Key::ADInplaceOrView));
  Tensor t = make_tensor({0}, like.dtype(), DeviceType::Meta);
  const auto bytes = static_cast<int64_t>(like.storage()->nbytes());
  t.impl()->set_storage(make_tensor({bytes}, DType::UInt8, DeviceType::Meta).storage());
  KnownStorage& known = storages_[like.storage().get()];
  if (known.key.lock().get() == like.storage().get()) {
    t.impl()->set_storage(known.fake);  // and its version, which counts the writes since
  } else {
    known = {WeakPtr<StorageImpl>(like.storage()), t.storage()};
    known.fake->version().store(like.storage()->version().load());
  }
  t.impl()->set_sym_geometry(sizes, strides, std::move(offset));
  KeySet keys = t.keys();
  for (const Key k : {Key::Conjugate, Key::Negative})
    if (like.keys().has(k)) keys = keys | KeySet(k);
  if (like.is_inference()) keys = keys - KeySet(Key::ADInplaceOrView);
  t.impl()->set_keys(keys);
  tag(t, IntrusivePtr<FakeMode>::share(this), with_index(like.device()));
  return t;
}

Tensor FakeMode::from_tensor(const Tensor& real, SymIntList sizes, SymIntList strides,
                             SymInt offset) {
  Tensor fake = make_fake(real, sizes, strides, std::move(offset));
  if (options_.propagates_values) copy_values(real, fake);
  if (real.impl()->requires_grad_flag()) fake.impl()->set_requires_grad_flag(true);
  return fake;
}

Tensor FakeMode::from_tensor(const Tensor& real) {
  if (fake_mode_of(real).get() == this) return real;
  if (Tensor known = known_fake(real); known.defined()) return known;
  Tensor fake =
      from_tensor(real, real.sym_sizes(), real.sym_strides(), real.impl()->sym_storage_offset());
  remember(real, fake);
  return fake;
}

Tensor FakeMode::known_fake(const Tensor& real) const {
  const auto it = fakes_.find(real.impl());
  if (it == fakes_.end() || !it->second.key.lock()) return {};
  return Tensor(it->second.fake.lock());
}

std::vector<std::pair<Storage, Storage>> FakeMode::known_storages() const {
  std::vector<std::pair<Storage, Storage>> known;
  for (const auto& [_, entry] : storages_)
    if (Storage real = entry.key.lock()) known.emplace_back(std::move(real), entry.fake);
  return known;
}

void FakeMode::remember(const Tensor& real, const Tensor& fake) {
  if (fakes_.size() % 1024 == 1023) forget_dead();
  fakes_[real.impl()] = {WeakPtr<TensorImpl>(real.impl_ptr()),
                         WeakPtr<TensorImpl>(fake.impl_ptr())};
}

void FakeMode::note_real(const Tensor& fake, const Tensor& real) {
  reals_[fake.impl()] = {WeakPtr<TensorImpl>(fake.impl_ptr()),
                         WeakPtr<TensorImpl>(real.impl_ptr())};
}

Tensor FakeMode::real_of(const Tensor& fake) const {
  const auto it = reals_.find(fake.impl());
  if (it == reals_.end() || !it->second.key.lock()) return {};
  IntrusivePtr<TensorImpl> real = it->second.real.lock();
  return real ? Tensor(std::move(real)) : Tensor();
}

Tensor FakeMode::from_constant(const Tensor& real) {
  Tensor fake = from_tensor(real);
  if (real.numel() <= kLargestConstant)
    constants_[fake.impl()] = {WeakPtr<TensorImpl>(fake.impl_ptr()), real};
  return fake;
}

Tensor FakeMode::constant_of(const Tensor& fake) const {
  auto it = constants_.find(fake.impl());
  return it != constants_.end() && it->second.key.lock() ? it->second.value : Tensor();
}

void FakeMode::forget_constants(const Tensor& written) {
  const StorageImpl* memory = written.storage().get();
  std::erase_if(constants_, [&](const auto& e) {
    const IntrusivePtr<TensorImpl> fake = e.second.key.lock();
    return !fake || fake->storage().get() == memory;
  });
}

// ---- running operators ----

// One operator call, from the arguments as they came to tagged results.
struct FakeMode::Call {
  FakeMode& mode;
  Operator& op;
  Stack& stack;
  const dispatch::Schema& schema;
  Device device;

  void run() {
    convert_inputs();
    find_device();
    std::vector<const TensorImpl*> inputs;
    for (const Value& v : stack)
      for_each_tensor(v, [&](const Tensor& t) { inputs.push_back(t.impl()); });
    {
      const ExcludeKeys below(kBelow | KeySet(Key::Autograd) | KeySet(Key::ADInplaceOrView));
      const Running scope(mode);
      const FakeKernelScope as_meta;
      dispatch::call_boxed(op, stack);
    }
    const IntrusivePtr<FakeMode> self = IntrusivePtr<FakeMode>::share(&mode);
    map_tensors(stack, [&](const Tensor& t) {
      if (std::find(inputs.begin(), inputs.end(), t.impl()) != inputs.end()) return t;
      tag(t, self, device);
      return t;
    });
  }

  // An operator defined at run time: its fake kernel is a program, which sees fake tensors and
  // makes them.
  void run_as_program() {
    convert_inputs();
    if (is_only_a_write()) return stack.clear();
    const bool has_rule = dispatch::has_kernel(op, slot_of(Key::Dense, DeviceType::Meta));
    if (!has_rule && fake_errors.unsupported) fake_errors.unsupported(op);
    {
      const Running scope(mode);
      const dispatch::ActiveMode active(mode);
      op.call_boxed(op, KeySet(Key::Dense) | KeySet(DeviceType::Meta), stack);
    }
    map_tensors(stack, [&](const Tensor& t) {
      TAEDA_CHECK(is_fake(t), "the fake kernel of ", op.full_name(),
                  " returned a tensor that is not fake; make it from the arguments, or inside the "
                  "kernel");
      return t;
    });
  }

  // Writes to arguments, returns nothing, and has no fake kernel: there is nothing to make.
  bool is_only_a_write() const {
    const auto writes = [](const dispatch::Argument& a) { return a.is_written; };
    return schema.returns.empty() && std::ranges::any_of(schema.arguments, writes) &&
           !dispatch::has_kernel(op, slot_of(Key::Dense, DeviceType::Meta));
  }

  template <class Visit>
  void for_each_written(const Visit& visit) const {
    for (size_t i = 0; i < stack.size(); ++i)
      if (schema.arguments[i].is_written) for_each_tensor(stack[i], visit);
  }

  // Whether constants of a region may be among the arguments, which were looked at when the region
  // was traced.
  bool takes_regions() const {
    return std::ranges::any_of(stack, [](const Value& v) { return find_region(v) != nullptr; });
  }

  void convert_inputs() {
    map_tensors(stack, [&](const Tensor& t) {
      if (is_fake_argument(t)) {
        TAEDA_CHECK_KIND(ErrorKind::Assertion, !is_fake(t) || fake_mode_of(t).get() == &mode,
                         "Mixing fake modes NYI");
        return t;
      }
      TAEDA_CHECK_KIND(ErrorKind::Assertion, mode.options_.allow_non_fake_inputs || takes_regions(),
                       "Please convert all Tensors to FakeTensors first or instantiate "
                       "FakeTensorMode with 'allow_non_fake_inputs'. Found in aten.",
                       op.full_name(), *op.overload ? "" : ".default");
      return mode.from_tensor(t);
    });
  }

  void find_device() {
    CommonDevice common(op, mode.options_.preferred_device);
    for (size_t i = 0; i < stack.size(); ++i) {
      for_each_tensor(stack[i], [&](const Tensor& t) { common.add(t); });
      if (i == 0 && op.traits.device_of_first) break;
    }
    const size_t at = device_argument(schema);
    const bool is_given = at < stack.size() && stack[at].is<Device>();
    device =
        is_given ? with_index(stack[at].get<Device>()) : common.get().value_or(default_device());
    if (is_given || (at < stack.size() && !common.get())) stack[at] = Device(DeviceType::Meta);
  }
};

static bool has_symbols(const Value& v) {
  if (v.is<std::vector<SymInt>>()) {
    const auto& list = v.get<std::vector<SymInt>>();
    return std::any_of(list.begin(), list.end(), [](const SymInt& s) { return s.is_symbolic(); });
  }
  return v.is<IntrusivePtr<SymNode>>() || (v.is<SymInt>() && v.get<SymInt>().is_symbolic());
}

// Whether the operator may run on known values: they are CPU tensors, and neither numbers drawn at
// random nor symbols are constants.
static bool can_run_on_values(const Operator& op, const Stack& stack) {
  if (op.has(Tag::NondeterministicSeeded)) return false;
  bool all_on_cpu = true;
  for (const Value& v : stack) {
    for_each_tensor(v, [&](const Tensor& t) { all_on_cpu &= t.device().is_cpu(); });
    all_on_cpu &= !v.is<Device>() || v.get<Device>().is_cpu();
    if (has_symbols(v)) return false;
  }
  return all_on_cpu;
}

bool FakeMode::run_on_constants(Operator& op, Stack& stack) {
  if (!can_run_on_values(op, stack)) return false;
  Stack real = stack;
  std::vector<std::pair<Tensor, Tensor>> known;  // fake, value
  bool all_known = true, has_number = false;
  map_tensors(real, [&](const Tensor& t) {
    if (!is_fake(t)) {
      all_known &= t.impl()->is_wrapped_number();
      has_number |= t.impl()->is_wrapped_number();
      return t;
    }
    const Tensor value = constant_of(t);
    all_known &= value.defined();
    if (value.defined()) known.emplace_back(t, value);
    return value.defined() ? value : t;
  });
  if (!all_known || (known.empty() && !has_number)) return false;
  // A write that changes the geometry (unsqueeze_) changes the fake itself.
  const IntList before = known.empty() ? IntList() : known[0].second.sizes();
  const IntVec sizes(before.begin(), before.end());
  {
    const ExcludeKeys below(kBelow);
    dispatch::call_boxed(op, real);
  }
  bool all_small = known.empty() || known[0].second.sizes() == IntList(sizes);
  for (const Value& v : real)
    for_each_tensor(v, [&](const Tensor& t) { all_small &= t.numel() <= kLargestConstant; });
  if (!all_small) return false;
  map_tensors(real, [&](const Tensor& t) {
    for (const auto& [fake, value] : known)
      if (value.is_same(t)) return fake;
    return from_constant(t);
  });
  stack = std::move(real);
  return true;
}

// Index masks as coordinates of the elements they take; how many those are is a new symbol.
void FakeMode::expand_masks(Stack& stack) {
  std::vector<Tensor> expanded;
  for (const Tensor& index : stack.at(1).get<std::vector<Tensor>>()) {
    if (!index.defined() || (index.dtype() != DType::Bool && index.dtype() != DType::UInt8)) {
      expanded.push_back(index);
      continue;
    }
    Operator& nonzero = *dispatch::find_operator("nonzero");
    Stack call{Value(index)};
    run(nonzero, call);
    for (int64_t d = 0; d < index.dim(); ++d)
      expanded.push_back(call.at(0).get<Tensor>().select(1, d));
  }
  stack[1] = Value(std::move(expanded));
}

namespace {

// A symbol in the range of a number that only data tells; nothing of nothing is nothing.
SymInt unbacked_count(ShapeEnv& env, const UnknownCount& wanted) {
  if (wanted.most && !wanted.most->is_symbolic() && *wanted.most == SymInt(0)) return 0;
  const Expr* unknown = env.create_unbacked();
  env.assert_given(true);
  env.check_is_size(unknown);
  const auto range = [&](const SymInt& n) { return env.facts().range(env.expr(n)); };
  const int64_t least = range(wanted.least).lo;
  const int64_t most = wanted.most ? range(*wanted.most).hi : IntRange::kMax;
  if (least > 0 || most != IntRange::kMax) env.constrain_range(unknown, {least, most});
  env.assert_given(false);
  return env.symint(unknown);
}

}  // namespace

bool FakeMode::run_value_dependent(Operator& op, Stack& stack) {
  if (op.has(Tag::DataDependentOutput)) {
    const bool is_number = schema_of(op).returns.at(0).type.base == "Scalar";
    if (!options_.shape_env || !options_.allow_scalar_outputs || !is_number)
      refuse(fake_errors.data_dependent, op, "a number");
    const DType dtype = stack[0].get<Tensor>().dtype();
    if (is_complex(dtype)) refuse(fake_errors.data_dependent, op, "a complex number");
    const SymKind kind = dtype == DType::Bool ? SymKind::Bool
                         : is_floating(dtype) ? SymKind::Float
                                              : SymKind::Int;
    ShapeEnv& env = *options_.shape_env;
    const Tensor self = stack[0].get<Tensor>();
    if (const Value* known = known_number(op, self)) {
      stack = {*known};
      return true;
    }
    stack = {Value(Scalar(IntrusivePtr<SymNode>(
        make_intrusive<SymExprNode>(options_.shape_env, env.create_unbacked(kind)))))};
    remember_number(op, self, stack[0]);
    return true;
  }
  if (!op.has(Tag::DynamicOutputShape)) return false;
  const auto unknown_count = [&](const UnknownCount& wanted) {
    if (!options_.shape_env || !options_.allow_dynamic_output_shapes)
      refuse(fake_errors.dynamic_shape, op, "the shape");
    const bool is_kept = wanted.of.defined();
    if (const Value* known = is_kept ? known_number(op, wanted.of) : nullptr)
      return known->get<SymInt>();
    const SymInt count = unbacked_count(*options_.shape_env, wanted);
    if (is_kept) remember_number(op, wanted.of, Value(count));
    return count;
  };
  if (const CountedRule* rule = find_counted_rule(op)) {
    const Device device = stack[0].get<Tensor>().device();
    (*rule)(stack, unknown_count);
    map_tensors(stack, [&](const Tensor& t) {
      Tensor out = t;
      tag(out, IntrusivePtr<FakeMode>::share(this), device);
      return out;
    });
    return true;
  }
  const bool is_counted = op.traits.counted != nullptr;
  // Other operators of Taeda (index, one_hot) read values for some arguments only, which their
  // meta kernels decide.
  const bool has_rule = dispatch::has_kernel(op, slot_of(Key::Dense, DeviceType::Meta));
  if (op.table && !is_counted && has_rule) return false;
  if (!is_counted) refuse(fake_errors.dynamic_shape, op, "the shape");
  const Tensor self = stack[0].get<Tensor>();
  Tensor out =
      op.traits.counted(self, unknown_count({.most = self.impl()->sym_numel(), .of = self}));
  tag(out, IntrusivePtr<FakeMode>::share(this), self.device());
  stack.clear();
  stack.push_back(std::move(out));
  return true;
}

const Value* FakeMode::known_number(const Operator& op, const Tensor& t) const {
  const auto it = numbers_.find({t.impl(), &op});
  const bool is_known =
      it != numbers_.end() && it->second.key.lock() && it->second.version == t.impl()->version();
  return is_known ? &it->second.number : nullptr;
}

void FakeMode::remember_number(const Operator& op, const Tensor& t, Value number) {
  if (!t.impl()->has_version_counter()) return;
  if (numbers_.size() % 1024 == 1023) forget_dead();
  numbers_[{t.impl(), &op}] = {WeakPtr<TensorImpl>(t.impl_ptr()), t.impl()->version(),
                               std::move(number)};
}

// ---- Note [Propagated values] ----

// Views of one storage get views of one copy.
void FakeMode::copy_values(const Tensor& real, const Tensor& fake) {
  // Another fake of the same tensor.
  if (const Tensor known = value_of(real); known.defined()) {
    values_[fake.impl()] = {WeakPtr<TensorImpl>(fake.impl_ptr()), known};
    return;
  }
  const bool has_memory = real.is_cpu() && !is_fake(real) && !dispatch::has_no_memory(real) &&
                          !real.impl()->has_symbolic_sizes();
  if (!has_memory) return;
  const Storage& memory = real.storage();
  KnownStorage& known = value_storages_[fake.storage().get()];
  if (known.key.lock().get() != fake.storage().get()) {
    const ExcludeKeys below(kBelow);
    Tensor bytes = make_tensor({static_cast<int64_t>(memory->nbytes())}, DType::UInt8, Device());
    if (memory->nbytes()) std::memcpy(bytes.data(), memory->data(), memory->nbytes());
    known = {WeakPtr<StorageImpl>(fake.storage()), bytes.storage()};
  }
  Tensor copy(make_intrusive<TensorImpl>(known.fake, real.dtype(), dense_keys(Device())));
  copy.impl()->set_geometry(real.sizes(), real.strides(), real.storage_offset());
  for (const Key k : {Key::Conjugate, Key::Negative})
    if (real.keys().has(k)) copy.impl()->set_keys(copy.keys() | KeySet(k));
  values_[fake.impl()] = {WeakPtr<TensorImpl>(fake.impl_ptr()), copy};
}

Tensor FakeMode::value_of(const Tensor& fake) const {
  const auto it = values_.find(fake.impl());
  return it != values_.end() && it->second.key.lock() ? it->second.value : Tensor();
}

// The integer in this run; nothing where none is known.
static std::optional<int64_t> value_in_run(const SymInt& v) {
  if (!v.is_symbolic()) return v.word();
  const SymExprNode* node = SymExprNode::from(v.node());
  const auto value = node ? node->env().value_in_run(node->expr()) : std::nullopt;
  return value ? std::optional(value->integer) : std::nullopt;
}

// The call on values: nothing where an argument has none, or where the result is not on the CPU.
std::optional<Stack> FakeMode::values_of(const Stack& stack) const {
  Stack real = stack;
  bool all = true;
  map_tensors(real, [&](const Tensor& t) {
    if (!is_fake(t)) {
      all &= t.is_cpu();
      return t;
    }
    const Tensor value = value_of(t);
    all &= value.defined();
    return value.defined() ? value : t;
  });
  for (Value& v : real) {
    all &= !v.is<Device>() || v.get<Device>().is_cpu();
    all &= !v.is<IntrusivePtr<SymNode>>();
    if (v.is<SymInt>()) {
      const auto known = value_in_run(v.get<SymInt>());
      all &= known.has_value();
      v = Value(SymInt(known.value_or(0)));
    } else if (v.is<std::vector<SymInt>>()) {
      std::vector<SymInt> numbers;
      for (const SymInt& each : v.get<std::vector<SymInt>>()) {
        const auto known = value_in_run(each);
        all &= known.has_value();
        numbers.push_back(SymInt(known.value_or(0)));
      }
      v = Value(std::move(numbers));
    }
  }
  return all ? std::optional(std::move(real)) : std::nullopt;
}

static void observe(const SymInt& unknown, int64_t value) {
  const SymExprNode* node = unknown.is_symbolic() ? SymExprNode::from(unknown.node()) : nullptr;
  if (node && node->expr()->is_symbol() && !node->expr()->has_hint)
    node->env().observe(node->expr(), ExprValue::of(value));
}

// As Python names an overload: "aten.add.Tensor", "mylib.foo.default".
static std::string python_name(const Operator& op) {
  std::string name = op.full_name();
  const size_t at = name.find("::");
  name = at == name.npos ? "aten." + name : name.replace(at, 2, ".");
  return *op.overload ? name : name + ".default";
}

// The rule of an operator must tell the sizes that its kernel gives.
static void check_sizes(const Operator& op, const Tensor& fake, const Tensor& real) {
  const auto refuse = [&](const std::string& what) {
    const std::string message =
        str("Real tensor propagation found an output ", what, ", for func: ", python_name(op));
    if (fake_errors.metadata_mismatch) fake_errors.metadata_mismatch(message);
    fail(ErrorKind::Runtime, message);
  };
  if (fake.dim() != real.dim())
    refuse(str("dimension mismatch between fake dim ", fake.dim(), " and real dim ", real.dim(),
               ", at output.dim()"));
  for (int64_t d = 0; d < fake.dim(); ++d) {
    const SymInt& size = fake.sym_sizes()[d];
    const auto known = value_in_run(size);
    if (known && *known != real.sizes()[d])
      refuse(str("size mismatch between fake shape ", size, " and real shape ", real.sizes()[d],
                 ", at output.size(", d, ")"));
    observe(size, real.sizes()[d]);
  }
}

void FakeMode::note_values(const Operator& op, const Value& fake, const Value& real) {
  if (fake.is<Tensor>() && real.is<Tensor>()) {
    const Tensor &t = fake.get<Tensor>(), &value = real.get<Tensor>();
    if (!is_fake(t) || !value.defined()) return;
    check_sizes(op, t, value);
    values_[t.impl()] = {WeakPtr<TensorImpl>(t.impl_ptr()), value};
  } else if (fake.is<std::vector<Tensor>>() && real.is<std::vector<Tensor>>()) {
    const auto &fakes = fake.get<std::vector<Tensor>>(), &reals = real.get<std::vector<Tensor>>();
    for (size_t i = 0; i < std::min(fakes.size(), reals.size()); ++i)
      note_values(op, Value(fakes[i]), Value(reals[i]));
  } else if (has_symbols(fake) && real.is_scalar()) {
    const SymNode* any =
        fake.is<SymInt>() ? fake.get<SymInt>().node() : fake.get<IntrusivePtr<SymNode>>().get();
    const SymExprNode* node = SymExprNode::from(any);
    const Scalar number = real.to_scalar();
    if (!node) return;
    node->env().observe(node->expr(), number.is_floating() ? ExprValue::of(number.to_double())
                                                           : ExprValue::of(number.to_int()));
  }
}

void FakeMode::run(Operator& op, Stack& stack) {
  const auto values = options_.propagates_values ? values_of(stack) : std::nullopt;
  run_shapes(op, stack);
  if (!values) return;
  Stack real = *values;
  const HiddenWrites writes(op, real);
  {
    const ExcludeKeys below(kBelow | KeySet(Key::Autograd) | KeySet(Key::ADInplaceOrView));
    dispatch::call_boxed(op, real);
  }
  writes.check_none();
  for (size_t i = 0; i < std::min(stack.size(), real.size()); ++i)
    note_values(op, stack[i], real[i]);
}

void FakeMode::run_shapes(Operator& op, Stack& stack) {
  if (op.traits.lifts_constant && !is_fake(stack.at(0).get<Tensor>())) {
    stack[0] = from_constant(stack[0].get<Tensor>());
    return;
  }
  Call call{*this, op, stack, schema_of(op), {}};
  if (on_write) call.for_each_written(on_write);
  if (run_on_constants(op, stack) || run_value_dependent(op, stack)) return;
  if (op.traits.mask_indices) expand_masks(stack);
  // Values that are written to are not known any longer.
  if (!constants_.empty()) call.for_each_written([&](const Tensor& t) { forget_constants(t); });
  if (op.table)
    call.run();
  else
    call.run_as_program();
}

// ---- the Fake key: fake tensors outside their mode ----
namespace {

void run_fake(const Operator& op, KeySet, Stack& stack, void*) {
  IntrusivePtr<FakeMode> mode;
  for (const Value& v : stack)
    for_each_tensor(v, [&](const Tensor& t) {
      if (!mode) mode = fake_mode_of(t);
    });
  TAEDA_INTERNAL_CHECK(mode, "the Fake key without a fake tensor");
  mode->run(const_cast<Operator&>(op), stack);
}

const bool is_fake_registered = [] {
  dispatch::set_builtin_fallback(Key::Fake, {&run_fake, nullptr}, "the mode of fake tensors");
  return true;
}();

}  // namespace

}  // namespace taeda::fx
