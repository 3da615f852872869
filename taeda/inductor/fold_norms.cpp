// Noting convolutions, and norms behind them.
#include "taeda/inductor/fold_norms.h"

#include <unordered_map>

#include "taeda/autograd/grad_mode.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/convolution/operators.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/operators.h"
#include "taeda/ops/operators.h"

namespace taeda::inductor {

using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;

namespace {

// All of them take input, weight and bias first.
bool is_convolution(const Operator& op) {
  return &op == &ops::conv1d || &op == &ops::conv2d || &op == &ops::conv3d;
}

Tensor tensor_at(const Stack& stack, size_t i) {
  return stack.at(i).is<Tensor>() ? stack.at(i).get<Tensor>() : Tensor();
}

// A call, and its tensors in the state in which they came and went.
struct Convolution {
  Operator* op;
  Stack arguments;
  Tensor result;
  uint32_t versions[4];  // input, filters, bias, result

  Tensor tensor(size_t i) const { return i < 3 ? tensor_at(arguments, i) : result; }
  void note_versions() {
    for (size_t i = 0; i < 4; ++i) versions[i] = tensor(i).defined() ? tensor(i).version() : 0;
  }
  // Whether the same call would give the same result now.
  bool is_unchanged() const {
    for (size_t i = 0; i < 4; ++i)
      if (tensor(i).defined() && tensor(i).version() != versions[i]) return false;
    return true;
  }
};

class NormFolder final : public dispatch::Mode {
 public:
  explicit NormFolder(IntrusivePtr<dispatch::Mode> next) : next_(std::move(next)) {
    is_before_autograd = true;
  }

  bool offer_early(Operator& op, Stack& stack) override {
    if (autograd::grad_enabled()) return next_ && next_->offer_early(op, stack);
    if (is_convolution(op)) {
      Convolution made{&op, stack, {}, {}};
      dispatch::call_boxed(op, stack);
      made.result = stack.at(0).get<Tensor>();
      made.note_versions();
      const TensorImpl* const key = made.result.impl();
      known_[key] = std::move(made);
      return true;
    }
    if (&op == &ops::batch_norm && fold(stack)) return true;
    return next_ && next_->offer_early(op, stack);
  }
  bool offer(Operator& op, Stack& stack) override {
    run(op, stack);
    return true;
  }
  void run(Operator& op, Stack& stack) override { dispatch::call_boxed(op, stack); }

 private:
  // batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, ...)
  bool fold(Stack& stack) {
    const auto found = known_.find(tensor_at(stack, 0).impl());
    if (found == known_.end() || !found->second.is_unchanged()) return false;
    const Tensor mean = tensor_at(stack, 3), variance = tensor_at(stack, 4);
    const Tensor filters = tensor_at(found->second.arguments, 1);
    // Without a batch the norm's channels are the convolution's rows.
    if (found->second.result.dim() != filters.dim()) return false;
    if (stack.at(5).get<bool>() || !mean.defined() || !variance.defined()) return false;
    const Tensor parts[] = {tensor_at(stack, 1), tensor_at(stack, 2), mean, variance};
    const DType dtype = filters.dtype();
    if (dtype != DType::Float && dtype != DType::Double) return false;
    for (const Tensor& part : parts)
      if (part.defined() && part.dtype() != dtype) return false;
    Tensor scale = variance.add(Scalar(stack.at(7).to_double())).rsqrt();
    if (parts[0].defined()) scale = scale.mul(parts[0]);
    Stack again = found->second.arguments;
    Tensor per_filter = scale;
    for (int64_t d = 1; d < filters.dim(); ++d) per_filter = per_filter.unsqueeze(-1);
    const Tensor bias = tensor_at(again, 2);
    Tensor shift = (bias.defined() ? bias.sub(mean) : mean.neg()).mul(scale);
    if (parts[1].defined()) shift = shift.add(parts[1]);
    again[1] = Value(filters.mul(per_filter));
    again[2] = Value(shift);
    dispatch::call_boxed(*found->second.op, again);
    stack = std::move(again);
    return true;
  }

  IntrusivePtr<dispatch::Mode> next_;
  std::unordered_map<const TensorImpl*, Convolution> known_;
};

}  // namespace

IntrusivePtr<dispatch::Mode> make_norm_folder(IntrusivePtr<dispatch::Mode> next) {
  return make_intrusive<NormFolder>(std::move(next));
}

}  // namespace taeda::inductor
