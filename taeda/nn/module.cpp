// Parameters, buffers and submodules by name.
#include "taeda/nn/module.h"

#include <cxxabi.h>

#include <cstdlib>
#include <ostream>
#include <sstream>
#include <typeinfo>
#include <unordered_set>

#include "taeda/autograd/guards.h"
#include "taeda/nn/layer.h"
#include "taeda/ops/functions.h"
#include "taeda/serialization/archive.h"

namespace taeda::nn {
namespace {

void check_name(const char* what, const std::string& name) {
  TAEDA_CHECK(!name.empty(), what, " name must not be empty");
  TAEDA_CHECK(name.find('.') == std::string::npos, what, " name must not contain a dot (got '",
              name, "')");
}

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

}  // namespace

std::string type_text(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : type.name();
}

namespace {

constexpr std::string_view kOwnNamespace = "taeda::nn::";

std::string& printed_namespace() {
  static std::string name(kOwnNamespace);
  return name;
}

}  // namespace

const std::string& layer_namespace() { return printed_namespace(); }
bool set_layer_namespace(std::string name) {
  printed_namespace() = std::move(name);
  return true;
}

std::string layer_name(const Module& layer) {
  std::string name = layer.name();
  if (name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

Module::Module(std::string name) {
  if (!name.empty()) name_ = std::move(name);
}

const std::string& Module::name() const {
  // Only now is the class known: the constructor of a base sees its own.
  if (!name_) {
    name_ = type_text(typeid(*this));
    if (name_->starts_with(kOwnNamespace))
      name_->replace(0, kOwnNamespace.size(), layer_namespace());
  }
  return *name_;
}

Module::Ptr Module::clone(const std::optional<Device>&) const {
  fail(ErrorKind::Runtime, "clone() has not been implemented for ", name(),
       ". Subclass nn::Cloneable<", name(),
       "> instead of nn::Module to inherit the ability to clone.");
}

Module::Ptr Module::self() const {
  // The functions that return modules promise modules that may be changed, as PyTorch's do.
  const std::shared_ptr<const Module> found = weak_from_this().lock();
  TAEDA_CHECK(
      found != nullptr,
      "It looks like you attempted to retrieve your top-level module as a shared_ptr, but it is "
      "not stored in a shared_ptr. Use std::make_shared<",
      name(),
      "> instead of creating your module on the stack, or do not include the module itself.");
  return std::const_pointer_cast<Module>(found);
}

// Calls function(path, module) for every module below this one, parents first.
template <class Function>
void Module::each_module(const std::string& prefix, const Function& function) const {
  for (const auto& child : children_) {
    const std::string path = joined(prefix, child.key());
    function(path, child.value());
    child.value()->each_module(path, function);
  }
}

void Module::apply(const std::function<void(Module&)>& function) {
  function(*this);
  each_module("", [&](const std::string&, const Ptr& module) { function(*module); });
}

void Module::apply(const std::function<void(const Module&)>& function) const {
  function(*this);
  each_module("", [&](const std::string&, const Ptr& module) { function(*module); });
}

void Module::apply(const std::function<void(const std::string&, Module&)>& function,
                   const std::string& name_prefix) {
  function(name_prefix, *this);
  each_module(name_prefix,
              [&](const std::string& path, const Ptr& module) { function(path, *module); });
}

void Module::apply(const std::function<void(const std::string&, const Module&)>& function,
                   const std::string& name_prefix) const {
  function(name_prefix, *this);
  each_module(name_prefix,
              [&](const std::string& path, const Ptr& module) { function(path, *module); });
}

void Module::apply(const std::function<void(const std::string&, const Ptr&)>& function,
                   const std::string& name_prefix) const {
  function(name_prefix, self());
  each_module(name_prefix, function);
}

void Module::apply(const std::function<void(const Ptr&)>& function) const {
  function(self());
  each_module("", [&](const std::string&, const Ptr& module) { function(module); });
}

OrderedDict<std::string, Tensor> Module::collected(Tensors Module::* member, bool recurse) const {
  Tensors out;
  const auto add = [&](const std::string& prefix, const Tensors& tensors) {
    for (const auto& item : tensors) {
      if (item.value().defined()) out.insert(joined(prefix, item.key()), item.value());
    }
  };
  add("", this->*member);
  if (!recurse) return out;
  each_module("", [&](const std::string& path, const Ptr& module) { add(path, *module.*member); });
  return out;
}

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  return collected(&Module::parameters_, recurse);
}

OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  return collected(&Module::buffers_, recurse);
}

std::vector<Tensor> Module::parameters(bool recurse) const {
  return named_parameters(recurse).values();
}

std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }

std::vector<Module::Ptr> Module::modules(bool include_self) const {
  return named_modules("", include_self).values();
}

OrderedDict<std::string, Module::Ptr> Module::named_modules(const std::string& name_prefix,
                                                            bool include_self) const {
  OrderedDict<std::string, Ptr> out;
  if (include_self) out.insert(name_prefix, self());
  each_module(name_prefix,
              [&](const std::string& path, const Ptr& module) { out.insert(path, module); });
  return out;
}

void Module::train(bool on) {
  for (auto& child : children_) child.value()->train(on);
  is_training_ = on;
}

void Module::convert(const std::function<Tensor(const Tensor&)>& converted) {
  for (auto& child : children_) child.value()->convert(converted);
  const NoGradGuard no_grad;
  for (Tensors* tensors : {&parameters_, &buffers_}) {
    for (auto& item : *tensors) {
      if (item.value().defined()) item.value().set_data(converted(item.value()));
    }
  }
}

void Module::to(Device device, DType dtype, bool non_blocking) {
  convert([&](const Tensor& t) {
    // Counts and flags keep their dtype.
    return t.to(device, is_floating(t.dtype()) ? dtype : t.dtype(), non_blocking);
  });
}

void Module::to(DType dtype, bool non_blocking) {
  convert([&](const Tensor& t) { return is_floating(t.dtype()) ? t.to(dtype, non_blocking) : t; });
}

void Module::to(Device device, bool non_blocking) {
  convert([&](const Tensor& t) { return t.to(device, t.dtype(), non_blocking); });
}

void Module::take_tensors(const Module& from, const std::optional<Device>& device) {
  const char* hint =
      " after calling reset(). Are you sure you called register_parameter(), register_buffer() and "
      "register_module() inside reset() and not the constructor?";
  for (Tensors Module::* member : {&Module::parameters_, &Module::buffers_}) {
    Tensors& into = this->*member;
    TAEDA_CHECK(into.size() == (from.*member).size(),
                "The cloned module does not have the same number of tensors as the original module",
                hint);
    for (const auto& item : from.*member) {
      if (!item.value().defined()) continue;
      const Tensor data = item.value().detach().clone();
      into[item.key()].set_data(device ? data.to(*device, data.dtype()) : data);
    }
  }
  TAEDA_CHECK(children_.size() == from.children_.size(),
              "The cloned module does not have the same number of child modules as the original "
              "module",
              hint);
  for (const auto& child : from.children_) {
    children_[child.key()]->take_tensors(*child.value(), device);
  }
}

void clear_gradients(const std::vector<Tensor>& parameters, bool set_to_none) {
  for (const Tensor& parameter : parameters) {
    Tensor& grad = parameter.mutable_grad();
    if (!grad.defined()) continue;
    if (set_to_none) {
      grad.reset();
    } else {
      grad = grad.detach();
      grad.zero_();
    }
  }
}

void Module::zero_grad(bool set_to_none) {
  for (auto& child : children_) child.value()->zero_grad(set_to_none);
  clear_gradients(parameters(/*recurse=*/false), set_to_none);
}

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_name("Parameter", name);
  if (tensor.defined()) {
    TAEDA_CHECK(!requires_grad || is_floating(tensor.dtype()) || is_complex(tensor.dtype()),
                "The tensor of parameter '", name,
                "' cannot require gradients: only floating point and complex tensors can, got ",
                tensor.dtype());
    tensor.set_requires_grad(requires_grad);
  }
  return parameters_.insert(std::move(name), std::move(tensor));
}

Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_name("Buffer", name);
  return buffers_.insert(std::move(name), std::move(tensor));
}

void Module::add_child(std::string name, Ptr module) {
  check_name("Submodule", name);
  TAEDA_CHECK(module != nullptr, "Submodule '", name, "' is a null pointer");
  children_.insert(std::move(name), std::move(module));
}

void Module::unregister_module(const std::string& name) {
  TAEDA_CHECK(children_.contains(name), "No Module with name `", name, "` is registered");
  children_.erase(name);
}

void Module::save(serialization::OutputArchive& archive) const {
  for (const auto& item : parameters_) {
    if (item.value().defined()) archive.write(item.key(), item.value());
  }
  for (const auto& item : buffers_) {
    if (item.value().defined()) archive.write(item.key(), item.value(), /*is_buffer=*/true);
  }
  for (const auto& child : children_) {
    if (!child.value()->is_serializable()) continue;
    serialization::OutputArchive nested;
    child.value()->save(nested);
    archive.write(child.key(), nested);
  }
}

void Module::load(serialization::InputArchive& archive) {
  for (auto& item : parameters_) {
    if (item.value().defined()) archive.read(item.key(), item.value());
  }
  for (auto& item : buffers_) {
    if (item.value().defined()) archive.read(item.key(), item.value(), /*is_buffer=*/true);
  }
  for (const auto& child : children_) {
    // A module without tensors has no entry.
    serialization::InputArchive nested;
    const bool has_tensors =
        !child.value()->parameters().empty() || !child.value()->buffers().empty();
    if (!child.value()->is_serializable() || !has_tensors) continue;
    archive.read(child.key(), nested);
    child.value()->load(nested);
  }
}

void Module::pretty_print(std::ostream& stream) const { stream << name(); }

void Module::print(std::ostream& stream, const std::string& indentation) const {
  pretty_print(stream);
  if (children_.is_empty()) return;
  stream << "(\n";
  const std::string deeper = indentation + "  ";
  for (const auto& child : children_) {
    stream << deeper << "(" << child.key() << "): ";
    child.value()->print(stream, deeper);
    stream << "\n";
  }
  stream << indentation << ")";
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  module.print(stream, "");
  return stream;
}

}  // namespace taeda::nn
