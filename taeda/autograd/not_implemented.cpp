// Autograd of operators that were defined at run time without a derivative.
//
// Their kernels run as they are: one made of differentiable operators is differentiated through.
// Results that came out without a history, though an argument requires gradients, get one that
// warns when a backward run meets it and passes nothing on.
#include "taeda/autograd/variable.h"
#include "taeda/base/log.h"
#include "taeda/dispatch/dispatcher.h"

namespace taeda::autograd {
namespace {

using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;

class WarnNotImplemented final : public Node {
 public:
  explicit WarnNotImplemented(std::string op) : op_(std::move(op)) {}
  const char* name() const override { return "WarnNotImplemented"; }
  void apply(Span<Tensor>, std::vector<Tensor>&) override {
    warn(str(op_,
             ": an autograd kernel was not registered to the Autograd key(s) but we are trying to "
             "backprop through it. This may lead to silently incorrect behavior. This behavior is "
             "deprecated and will be removed in a future version of PyTorch. If your operator is "
             "differentiable, please ensure you have registered an autograd kernel to the correct "
             "Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). "
             "If your operator is not differentiable, or to squash this warning and use the "
             "previous behavior, please register torch::CppFunction::makeFallthrough() to "
             "DispatchKey::Autograd."));
  }

 private:
  std::string op_;
};

std::vector<Tensor> tensors_on(const Stack& stack) {
  std::vector<Tensor> out;
  for (const Value& v : stack) for_each_tensor(v, [&](const Tensor& t) { out.push_back(t); });
  return out;
}

bool is_among(const Tensor& t, const std::vector<Tensor>& list) {
  for (const Tensor& other : list)
    if (t.is_same(other)) return true;
  return false;
}

void run(const Operator& op, KeySet keys, Stack& stack, void*) {
  const std::vector<Tensor> inputs = tensors_on(stack);
  const bool is_recording = should_record(TensorList(inputs));
  EdgeList edges;
  if (is_recording) edges = collect_edges(TensorList(inputs));
  Operator& callee = const_cast<Operator&>(op);
  callee.call_boxed(callee, keys & KeySet::below(Key::Autograd), stack);
  if (!is_recording) return;
  IntrusivePtr<Node> node;
  uint32_t nr = 0;
  for (const Tensor& t : tensors_on(stack)) {
    if (!is_differentiable(t) || requires_grad(t) || t.is_view() || is_among(t, inputs)) continue;
    if (!node) {
      node = make_intrusive<WarnNotImplemented>(dispatch::qualified_name(op));
      node->set_next_edges(std::move(edges));
    }
    set_history(t, node, nr++);
  }
}

const bool is_not_implemented_registered =
    (dispatch::set_builtin_fallback(Key::Autograd, {&run, nullptr}, "autograd not implemented"),
     true);

}  // namespace
}  // namespace taeda::autograd
