// Derivative helpers of embedding.
#include "taeda/ops/embedding/gradients.h"
#include "taeda/ops/embedding/functions.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, const SymInt& num_weights,
                          const SymInt& padding_idx, bool scale_grad_by_freq, bool sparse) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!sparse,
                              "embedding: sparse gradients are not supported; use sparse=False");
  return taeda::embedding_dense_backward(grad, indices, num_weights, padding_idx,
                                         scale_grad_by_freq);
}

Tensor embedding_dense_double_backward(const Tensor& grad, const Tensor& indices,
                                       const SymInt& padding_idx, bool scale_grad_by_freq) {
  const SymInt rows = grad.sym_sizes()[0];
  const Tensor index = indices.reshape({SymInt(-1)}).to(DType::Int64);
  Tensor factors = taeda::ones({rows}, grad.dtype(), {}, grad.device());
  if (scale_grad_by_freq) {
    const Tensor one = taeda::ones({index.sym_numel()}, grad.dtype(), {}, grad.device());
    factors =
        factors.div(taeda::zeros({rows}, grad.dtype(), {}, grad.device()).index_add(0, index, one));
  }
  if (padding_idx >= SymInt(0) && padding_idx < rows)
    factors.select(0, padding_idx).fill_(Scalar(0));
  const Tensor picked = grad.index_select(0, index).mul(
      factors.index_select(0, index).reshape({SymInt(-1), SymInt(1)}));
  SymIntVec sizes(indices.sym_sizes());
  sizes.push_back(grad.sym_sizes()[1]);
  return picked.reshape(sizes);
}

}  // namespace taeda::gradients
