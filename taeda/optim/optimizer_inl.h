// The bodies of the templates of optimizer.h.
#pragma once

#include <deque>
#include <optional>
#include <tuple>

#include "taeda/autograd/guards.h"
#include "taeda/core/constants.h"
#include "taeda/ops/functions.h"
#include "taeda/optim/optimizer.h"

namespace taeda::optim {

// Fields of options and states in archives, as PyTorch's C++ has them: an option that is not set is
// None, a tensor that is not set is missing, tensors in a row are a list.
class FieldWriter {
 public:
  explicit FieldWriter(serialization::OutputArchive& archive) : archive_(archive) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(const char* name, const T& value) {
    archive_.write(name, dispatch::Value(value));
  }
  void operator()(const char* name, const Tensor& value) {
    if (value.defined()) archive_.write(name, dispatch::Value(value));
  }
  template <class... T>
  void operator()(const char* name, const std::tuple<T...>& value) {
    std::apply([&](const T&... item) { write_list(name, {boxed(item)...}); }, value);
  }
  void operator()(const char* name, const std::vector<double>& values) {
    write_list(name, dispatch::Value::List(values.begin(), values.end()));
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& value) {
    archive_.write(name, boxed(value));
  }
  void operator()(const char* name, const std::deque<Tensor>& items) {
    archive_.write(name, dispatch::Value(std::vector<Tensor>(items.begin(), items.end())));
  }

 private:
  template <class T>
  static dispatch::Value boxed(const T& value) {
    return dispatch::Value(value);
  }
  template <class T>
  static dispatch::Value boxed(const std::optional<T>& value) {
    return value ? dispatch::Value(*value) : dispatch::Value();
  }
  void write_list(const char* name, dispatch::Value::List items) {
    archive_.write(name,
                   dispatch::Value(std::make_shared<dispatch::Value::List>(std::move(items))));
  }

  serialization::OutputArchive& archive_;
};

class FieldReader {
 public:
  explicit FieldReader(const serialization::InputArchive& archive) : archive_(archive) {}
  void operator()(const char* name, int64_t& value) { archive_.read(name, value); }
  void operator()(const char* name, double& value) { archive_.read(name, value); }
  void operator()(const char* name, bool& value) {
    int64_t number = 0;
    archive_.read(name, number);
    value = number != 0;
  }
  void operator()(const char* name, Tensor& value) {
    value.reset();
    archive_.try_read(name, value, /*is_buffer=*/true);
  }
  template <class... T>
  void operator()(const char* name, std::tuple<T...>& value) {
    const dispatch::Value::List items = list(name);
    TAEDA_CHECK(items.size() == sizeof...(T), "'", name, "' of the archive has ", items.size(),
                " numbers, expected ", sizeof...(T));
    size_t i = 0;
    std::apply([&](T&... item) { (unbox(items[i++], item), ...); }, value);
  }
  void operator()(const char* name, std::vector<double>& values) {
    values.clear();
    for (const dispatch::Value& item : list(name)) values.push_back(item.to_double());
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& value) {
    dispatch::Value read;
    value.reset();
    if (!archive_.try_read(name, read) || read.is_none()) return;
    TAEDA_CHECK(read.is<T>(), "'", name, "' of the archive is ", read.kind_name());
    value = read.get<T>();
  }
  void operator()(const char* name, std::deque<Tensor>& items) {
    items.clear();
    for (const dispatch::Value& item : list(name)) items.push_back(item.toTensor());
  }

 private:
  static void unbox(const dispatch::Value& item, double& value) { value = item.to_double(); }
  static void unbox(const dispatch::Value& item, std::optional<double>& value) {
    value = item.is_none() ? std::nullopt : std::optional<double>(item.to_double());
  }
  dispatch::Value::List list(const char* name) const {
    using List = std::shared_ptr<dispatch::Value::List>;
    dispatch::Value read;
    archive_.read(name, read);
    TAEDA_CHECK(read.is<List>(), "'", name, "' of the archive is ", read.kind_name(),
                ", expected a list");
    return *read.get<List>();
  }

  const serialization::InputArchive& archive_;
};

// The addresses of the fields, in their order.
template <class T>
std::vector<void*> field_addresses(T& value) {
  std::vector<void*> addresses;
  value.each([&](const char*, auto& field) { addresses.push_back(&field); });
  return addresses;
}

template <class T>
bool has_equal_fields(const T& a, const T& b) {
  // Fields are named by one function for reading and writing.
  const std::vector<void*> others = field_addresses(const_cast<T&>(b));
  bool is_equal = true;
  size_t i = 0;
  const_cast<T&>(a).each([&]<class Field>(const char*, Field& field) {
    const Field& other = *static_cast<const Field*>(others[i++]);
    if constexpr (std::is_same_v<Field, Tensor>) {
      is_equal &= field.defined() == other.defined() && (!field.defined() || field.equal(other));
    } else {
      is_equal &= field == other;
    }
  });
  return is_equal;
}

template <class Derived>
void OptionsOf<Derived>::inherit(const OptimizerOptions& defaults) {
  const auto* given = dynamic_cast<const Derived*>(&defaults);
  if (given == nullptr) return;
  Derived fresh, copy = *given;
  const std::vector<void*> starts = field_addresses(fresh), inherited = field_addresses(copy);
  size_t i = 0;
  static_cast<Derived&>(*this).each([&]<class Field>(const char*, Field& field) {
    if (field == *static_cast<const Field*>(starts[i])) {
      field = *static_cast<const Field*>(inherited[i]);
    }
    ++i;
  });
}

template <class Derived>
void OptionsOf<Derived>::serialize(serialization::OutputArchive& archive) const {
  const_cast<Derived&>(static_cast<const Derived&>(*this)).each(FieldWriter(archive));
}

template <class Derived>
void OptionsOf<Derived>::serialize(serialization::InputArchive& archive) {
  static_cast<Derived&>(*this).each(FieldReader(archive));
}

// Note [Optimizers in archives]: the layout is that of PyTorch's C++. Parameters have numbers,
// which stand for their addresses there; states lie below the numbers.
template <class Options, class State>
void OptimizerWith<Options, State>::save(serialization::OutputArchive& archive) const {
  using serialization::OutputArchive;
  const auto count = [](size_t n) { return taeda::scalar_tensor(static_cast<int64_t>(n), kLong); };
  OutputArchive states, groups;
  groups.write("param_groups/size", count(param_groups().size()));
  size_t group_number = 0, number = 0;
  for (const OptimizerParamGroup& group : param_groups()) {
    OutputArchive group_archive, options;
    group_archive.write("params/size", count(group.params().size()));
    for (size_t i = 0; i < group.params().size(); ++i) {
      const std::string key = std::to_string(++number);
      group_archive.write(str("params/", i), dispatch::Value(key));
      const State* found = state_of(group.params()[i]);
      if (!found) continue;
      OutputArchive state;
      // Fields are named by one function for reading and writing.
      const_cast<State*>(found)->each(FieldWriter(state));
      states.write(key, state);
    }
    const_cast<Options&>(static_cast<const Options&>(group.options())).each(FieldWriter(options));
    group_archive.write("options", options);
    groups.write(str("param_groups/", group_number++), group_archive);
  }
  archive.write("pytorch_version", dispatch::Value("1.5.0"));
  archive.write("state", states);
  archive.write("param_groups", groups);
}

template <class Options, class State>
void OptimizerWith<Options, State>::load(serialization::InputArchive& archive) {
  using serialization::InputArchive;
  InputArchive states, groups;
  archive.read("state", states);
  archive.read("param_groups", groups);
  int64_t group_count = 0, group_number = 0;
  groups.read("param_groups/size", group_count);
  TAEDA_CHECK(group_count == static_cast<int64_t>(param_groups().size()),
              "loaded state dict has a different number of parameter groups");
  state().clear();
  for (OptimizerParamGroup& group : param_groups()) {
    InputArchive group_archive, options;
    groups.read(str("param_groups/", group_number++), group_archive);
    int64_t count = 0;
    group_archive.read("params/size", count);
    TAEDA_CHECK(count == static_cast<int64_t>(group.params().size()),
                "loaded state dict contains a parameter group that has a different size than the "
                "optimizer's parameter group");
    group_archive.read("options", options);
    static_cast<Options&>(group.options()).each(FieldReader(options));
    for (size_t i = 0; i < group.params().size(); ++i) {
      dispatch::Value key;
      group_archive.read(str("params/", i), key);
      TAEDA_CHECK(key.isString(), "'params/", i, "' of the archive is ", key.kind_name());
      InputArchive state;
      if (states.try_read(key.toStringRef(), state))
        made_state(group.params()[i]).each(FieldReader(state));
    }
  }
}

template <class Options, class State>
Tensor StepwiseOptimizer<Options, State>::step(Optimizer::LossClosure closure) {
  Tensor loss;
  if (closure) {
    const AutoGradMode with_grad(true);
    loss = closure();
  }
  const NoGradGuard no_grad;
  for (OptimizerParamGroup& group : this->param_groups()) {
    const auto& options = static_cast<const Options&>(group.options());
    for (Tensor& parameter : group.params()) {
      const Tensor grad = parameter.grad();
      if (grad.defined()) update(parameter, grad, options, this->made_state(parameter));
    }
  }
  return loss;
}

}  // namespace taeda::optim
