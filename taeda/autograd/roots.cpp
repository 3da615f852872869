// Checks of backward's arguments.
#include "taeda/autograd/roots.h"

#include "taeda/autograd/validate.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {
namespace {

void check_seed(SymIntList sizes, DType dtype, const Tensor& grad, size_t index) {
  TAEDA_CHECK(grad.sym_sizes() == sizes, "Mismatch in shape: grad_output[", index,
              "] has a shape of torch.Size(", grad.sym_sizes(), ") and output[", index,
              "] has a shape of torch.Size(", sizes, ").");
  TAEDA_CHECK(grad.is_complex() == is_complex(dtype),
              "For complex Tensors, both grad_output and output are required to have the same "
              "dtype. Mismatch in "
              "dtype: grad_output[",
              index, "] has a dtype of torch.", dtype_name(grad.dtype()), " and output[", index,
              "] has a dtype of torch.", dtype_name(dtype), ".");
}

void check_implicit(bool is_single, DType dtype) {
  TAEDA_CHECK(is_single, "grad can be implicitly created only for scalar outputs");
  TAEDA_CHECK(is_floating(dtype),
              "grad can be implicitly created only for real scalar outputs but got torch.",
              dtype_name(dtype));
}

}  // namespace

Tensor make_seed(const Tensor& root, Tensor grad, size_t index) {
  if (grad.defined()) {
    check_seed(root.sym_sizes(), root.dtype(), grad, index);
    return grad;
  }
  if (!requires_grad(root)) return grad;
  check_implicit(root.sym_numel() == SymInt(1), root.dtype());
  return ones_like(root);
}

Root make_root(const Tensor& root, Tensor seed, size_t index) {
  Edge edge = gradient_edge(root);
  TAEDA_CHECK(edge, "element ", index,
              " of tensors does not require grad and does not have a grad_fn");
  return make_root(std::move(edge), std::move(seed), index);
}

Tensor make_seed(const Edge& edge, Tensor grad, size_t index) {
  TAEDA_CHECK(edge && edge.input_nr < edge.function->num_inputs(), "element ", index,
              " of tensors is not an edge of a graph");
  const InputMetadata& like = edge.function->input_metadata(edge.input_nr);
  const SymIntList sizes(like.sizes);
  if (grad.defined()) {
    check_seed(sizes, like.dtype, grad, index);
    return grad;
  }
  bool is_single = true;
  for (const SymInt& size : sizes) is_single = is_single && size == SymInt(1);
  check_implicit(is_single, like.dtype);
  return ones(sizes, like.dtype, Layout::Strided, like.device);
}

Root make_root(Edge edge, Tensor seed, size_t index) {
  validate_gradient(edge.function->input_metadata(edge.input_nr), seed, nullptr, index);
  return {std::move(edge), std::move(seed)};
}

Edge input_edge(const Tensor& input, bool accumulate) {
  if (accumulate && input.defined()) retain_grad(input);
  TAEDA_CHECK(input.defined() && requires_grad(input),
              "One of the differentiated Tensors does not require grad");
  if (IntrusivePtr<Node> node = grad_fn(input)) return {std::move(node), output_nr(input)};
  return {try_grad_accumulator(input), 0};
}

}  // namespace taeda::autograd
