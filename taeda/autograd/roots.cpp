// Checks of backward's arguments.
#include "taeda/autograd/roots.h"

#include "taeda/autograd/validate.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {
namespace {

void check_grad_matches(const Tensor& root, const Tensor& grad, size_t index) {
  TAEDA_CHECK(grad.sym_sizes() == root.sym_sizes(), "Mismatch in shape: grad_output[", index,
              "] has a shape of torch.Size(", grad.sym_sizes(), ") and output[", index,
              "] has a shape of torch.Size(", root.sym_sizes(), ").");
  TAEDA_CHECK(grad.is_complex() == root.is_complex(),
              "For complex Tensors, both grad_output and output are required to have the same "
              "dtype. Mismatch in "
              "dtype: grad_output[",
              index, "] has a dtype of torch.", dtype_name(grad.dtype()), " and output[", index,
              "] has a dtype of torch.", dtype_name(root.dtype()), ".");
}

}  // namespace

Root make_root(const Tensor& root, Tensor grad, size_t index) {
  Root out;
  out.edge = gradient_edge(root);
  TAEDA_CHECK(out.edge, "element ", index,
              " of tensors does not require grad and does not have a grad_fn");
  if (grad.defined()) {
    check_grad_matches(root, grad, index);
  } else {
    TAEDA_CHECK(root.numel() == 1, "grad can be implicitly created only for scalar outputs");
    TAEDA_CHECK(root.is_floating_point(),
                "grad can be implicitly created only for real scalar outputs but got torch.",
                dtype_name(root.dtype()));
    grad = ones_like(root);
  }
  validate_gradient(out.edge.node->input_metadata(out.edge.input), grad, out.edge.node->name(),
                    index);
  out.grad = std::move(grad);
  return out;
}

}  // namespace taeda::autograd
