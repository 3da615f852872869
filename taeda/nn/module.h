// The base of layers and models in C++: parameters, buffers and submodules by name.
//
// A class registers what it holds in its constructor. Tensors are handles, so a member and its
// entry share one tensor; `to` and `load` exchange the data behind both.
//
//   struct Net : taeda::nn::Module {
//     Net() : fc(register_module("fc", taeda::nn::Linear(4, 2))) {}
//     Tensor forward(const Tensor& x) { return fc->forward(x).relu(); }
//     taeda::nn::Linear fc;
//   };
//
// Not safe for changes from several threads at once.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/nn/ordered_dict.h"

namespace taeda::serialization {
class OutputArchive;
class InputArchive;
}  // namespace taeda::serialization

namespace taeda::nn {

template <class Contained>
class ModuleHolder;

// The namespace in front of the names of layers that are printed: "taeda::nn::", and "torch::nn::"
// in a program that includes <torch/nn.h>. It is set while the program starts.
TAEDA_API const std::string& layer_namespace();
TAEDA_API bool set_layer_namespace(std::string name);

class TAEDA_API Module : public std::enable_shared_from_this<Module> {
 public:
  using Ptr = std::shared_ptr<Module>;

  Module() : Module(std::string()) {}
  // A name for printing; without one it is that of the class.
  explicit Module(std::string name);
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  Module(Module&&) noexcept = default;
  Module& operator=(Module&&) noexcept = default;
  virtual ~Module() = default;

  const std::string& name() const;

  // A copy with tensors of its own, on `device` where one is given. Cloneable has it.
  virtual Ptr clone(const std::optional<Device>& device = std::nullopt) const;

  // Calls the function for this module, then for all below it; with their names, which follow the
  // prefix, where it takes them.
  void apply(const std::function<void(Module&)>& function);
  void apply(const std::function<void(const Module&)>& function) const;
  void apply(const std::function<void(const std::string&, Module&)>& function,
             const std::string& name_prefix = "");
  void apply(const std::function<void(const std::string&, const Module&)>& function,
             const std::string& name_prefix = "") const;
  void apply(const std::function<void(const Ptr&)>& function) const;
  void apply(const std::function<void(const std::string&, const Ptr&)>& function,
             const std::string& name_prefix = "") const;

  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  // These need the module to be held by a shared pointer where they include it.
  std::vector<Ptr> modules(bool include_self = true) const;
  OrderedDict<std::string, Ptr> named_modules(const std::string& name_prefix = "",
                                              bool include_self = true) const;
  std::vector<Ptr> children() const { return children_.values(); }
  OrderedDict<std::string, Ptr> named_children() const { return children_; }

  virtual void train(bool on = true);
  void eval() { train(false); }
  virtual bool is_training() const noexcept { return is_training_; }

  virtual void to(Device device, DType dtype, bool non_blocking = false);
  virtual void to(DType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  virtual void zero_grad(bool set_to_none = true);

  virtual void pretty_print(std::ostream& stream) const;
  virtual bool is_serializable() const { return true; }
  // Parameters and buffers by name, those of submodules below theirs.
  virtual void save(serialization::OutputArchive& archive) const;
  virtual void load(serialization::InputArchive& archive);

  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <class M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    children_[name] = module;
    return module;
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

  // The module as a subclass, or null.
  template <class M>
  auto* as() noexcept {
    return dynamic_cast<typename Contained<M>::type*>(this);
  }
  template <class M>
  const auto* as() const noexcept {
    return dynamic_cast<const typename Contained<M>::type*>(this);
  }

 protected:
  // The class behind a holder's name: nn::Linear stands for nn::LinearImpl.
  template <class M, class = void>
  struct Contained {
    using type = M;
  };
  template <class M>
  struct Contained<M, std::void_t<typename M::ContainedType>> {
    using type = typename M::ContainedType;
  };

  void add_child(std::string name, Ptr module);
  // Copies the tensors of a module of the same structure, on `device` where one is given.
  void take_tensors(const Module& from, const std::optional<Device>& device);

  OrderedDict<std::string, Tensor> parameters_{"Parameter"};
  OrderedDict<std::string, Tensor> buffers_{"Buffer"};
  OrderedDict<std::string, Ptr> children_{"Submodule"};

 private:
  using Tensors = OrderedDict<std::string, Tensor>;

  Tensors collected(Tensors Module::* member, bool recurse) const;
  template <class Function>
  void each_module(const std::string& prefix, const Function& function) const;
  Ptr self() const;
  void convert(const std::function<Tensor(const Tensor&)>& converted);
  void print(std::ostream& stream, const std::string& indentation) const;
  friend TAEDA_API std::ostream& operator<<(std::ostream& stream, const Module& module);

  mutable std::optional<std::string> name_;
  bool is_training_ = true;
};

TAEDA_API std::ostream& operator<<(std::ostream& stream, const Module& module);

// Forgets the gradients of parameters, or fills them with zeros.
TAEDA_API void clear_gradients(const std::vector<Tensor>& parameters, bool set_to_none);

}  // namespace taeda::nn
