// Function: an operation whose backward is written by the user, in C++.
//
//   struct Cube : Function<Cube> {
//     static Tensor forward(AutogradContext* ctx, const Tensor& x) {
//       ctx->save_for_backward({x});
//       return mul(mul(x, x), x);
//     }
//     static std::vector<Tensor> backward(AutogradContext* ctx, std::vector<Tensor> grads) {
//       const Tensor x = ctx->get_saved_variables()[0];
//       return {mul(grads[0], mul(mul(x, x), scalar))};
//     }
//   };
//   Tensor y = Cube::apply(x);
//
// forward runs unrecorded and returns a tensor or a vector of them; backward gets a gradient for
// each and returns one for each argument of forward, undefined for arguments that are no tensors (a
// vector of tensors counts as so many arguments). Both must be safe to call from several threads.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "taeda/autograd/custom_function.h"
#include "taeda/autograd/variable.h"

namespace taeda::autograd {

class FunctionNode;

// The data that forward hands to backward.
class TAEDA_API AutogradContext {
 public:
  AutogradContext() = default;
  AutogradContext(const AutogradContext&) = delete;

  // At most once, in forward: inputs or outputs; other tensors have no second derivative.
  void save_for_backward(std::vector<Tensor> tensors) { to_save_ = std::move(tensors); }
  // In backward, checked against changes since.
  std::vector<Tensor> get_saved_variables() const;
  // Anything else.
  std::unordered_map<std::string, dispatch::Value> saved_data;

  void mark_dirty(std::vector<Tensor> inputs) { dirty_ = std::move(inputs); }
  void mark_non_differentiable(std::vector<Tensor> outputs) {
    non_differentiable_ = std::move(outputs);
  }
  // Whether backward gets zeros (the default) or undefined tensors where no gradient arrived.
  void set_materialize_grads(bool value) { materializes_ = value; }
  // Whether argument `i` wants a gradient; in forward, and in backward for the run going on.
  bool needs_input_grad(size_t i) const;

 private:
  friend class FunctionNode;
  template <class>
  friend class Function;

  std::vector<Tensor> to_save_, dirty_, non_differentiable_;
  std::vector<bool> needs_;
  bool materializes_ = true;
  FunctionNode* node_ = nullptr;  // once recorded
};

// The node of a recorded call.
class TAEDA_API FunctionNode final : public CustomNode {
 public:
  using Backward = std::vector<Tensor> (*)(AutogradContext*, std::vector<Tensor>);

  FunctionNode(std::string name, std::vector<bool> is_tensor_argument, Backward backward)
      : CustomNode(std::move(is_tensor_argument)), name_(std::move(name)), backward_(backward) {}

  AutogradContext context;

  const char* name() const override { return name_.c_str(); }
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override;
  // Ties the outputs of forward to this node, or only checks them where nothing is recorded.
  void finish(std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, bool is_recording);

 private:
  std::string name_;
  Backward backward_;
};

namespace autograd_detail {
TAEDA_API std::string function_name(const char* type_name);

// The tensors among the arguments of forward, and which arguments they are.
struct FunctionInputs {
  std::vector<Tensor> tensors;
  std::vector<bool> is_tensor;

  void add(const Tensor& t) {
    tensors.push_back(t);
    is_tensor.push_back(true);
  }
  void add(const std::vector<Tensor>& list) {
    for (const Tensor& t : list) add(t);
  }
  void add(const std::optional<Tensor>& t) { add(t ? *t : Tensor()); }
  template <class T>
    requires(!std::is_convertible_v<const T&, Tensor>)
  void add(const T&) {
    is_tensor.push_back(false);
  }
};
}  // namespace autograd_detail

template <class Self>
class Function {
 public:
  template <class F = Self, class... Args>
  static auto apply(Args&&... args) {
    autograd_detail::FunctionInputs inputs;
    (inputs.add(args), ...);
    const bool is_recording = should_record(TensorList(inputs.tensors));
    // Not F::backward itself: it may take the gradients by reference.
    const FunctionNode::Backward backward = [](AutogradContext* ctx, std::vector<Tensor> grads) {
      return F::backward(ctx, std::move(grads));
    };
    auto node = make_intrusive<FunctionNode>(autograd_detail::function_name(typeid(F).name()),
                                             inputs.is_tensor, backward);
    size_t at = 0;
    for (const bool is_tensor : inputs.is_tensor)
      node->context.needs_.push_back(is_tensor && requires_grad(inputs.tensors[at++]));
    if (is_recording) node->set_next_edges(collect_edges(TensorList(inputs.tensors)));

    // A call, not the function's type: arguments of forward may have defaults.
    using Result = decltype(F::forward(std::declval<AutogradContext*>(), std::declval<Args>()...));
    Result result = [&] {
      const NoGrad unrecorded;
      return F::forward(&node->context, std::forward<Args>(args)...);
    }();
    if constexpr (std::is_same_v<Result, Tensor>) {
      std::vector<Tensor> outputs{std::move(result)};
      node->finish(outputs, inputs.tensors, is_recording);
      return std::move(outputs[0]);
    } else {
      static_assert(std::is_same_v<Result, std::vector<Tensor>>,
                    "forward returns a Tensor or a std::vector<Tensor>");
      node->finish(result, inputs.tensors, is_recording);
      return result;
    }
  }
};

}  // namespace taeda::autograd
