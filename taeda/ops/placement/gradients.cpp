// Derivative helpers of elements put into places.
#include "taeda/ops/placement/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gather_scatter/gradients.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/placement/rules.h"

namespace taeda::gradients {

Tensor put_self_backward(const Tensor& grad, const Tensor& index, bool accumulate) {
  if (accumulate) return grad;
  return taeda::put(grad, index, grad.new_zeros(index.sym_sizes()), false);
}
Tensor put_source_backward(const Tensor& grad, const Tensor& index, SymIntList sizes) {
  return grad.take(index).reshape(sizes);
}

Tensor masked_scatter_self_backward(const Tensor& grad, const Tensor& mask, SymIntList sizes) {
  return sum_to(grad.masked_fill(mask, Scalar(0)), sizes);
}
Tensor masked_scatter_source_backward(const Tensor& grad, const Tensor& mask, SymIntList sizes) {
  SymInt count(1);
  for (const SymInt& s : sizes) count = count * s;
  // The n-th place of the mask has element n; all other places go to an element behind the last.
  const Tensor taken = mask.expand(grad.sym_sizes()).reshape({SymInt(-1)});
  const Tensor number = taken.cumsum(0) - Scalar(1);
  const Tensor at = taeda::where(taken, number, number.new_full({}, Scalar(count)));
  const Tensor all = grad.new_zeros({count + SymInt(1)});
  return all.scatter(0, at, grad.reshape({SymInt(-1)})).narrow(0, 0, count).reshape(sizes);
}

Tensor index_reduce_self_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                  const Tensor& index, const Tensor& source,
                                  std::string_view reduce, bool include_self,
                                  const Tensor& result) {
  return scatter_reduce_self_backward(grad, self, dim, slice_index(index, source, dim), source,
                                      reduce, include_self, result);
}
Tensor index_reduce_source_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                    const Tensor& index, const Tensor& source,
                                    std::string_view reduce, bool include_self,
                                    const Tensor& result) {
  return scatter_reduce_src_backward(grad, self, dim, slice_index(index, source, dim), source,
                                     reduce, include_self, result);
}
Tensor index_reduce_forward(const Tensor& self, const Tensor& self_tangent, int64_t dim,
                            const Tensor& index, const Tensor& source, const Tensor& source_tangent,
                            std::string_view reduce, bool include_self, const Tensor& result) {
  return scatter_reduce_forward(self, self_tangent, dim, slice_index(index, source, dim), source,
                                source_tangent, reduce, include_self, result);
}

Tensor unsafe_masked_index_backward(const Tensor& grad, const Tensor& mask, TensorList indices,
                                    SymIntList sizes) {
  return taeda::_unsafe_masked_index_put_accumulate(grad.new_zeros(sizes), mask, indices, grad);
}
Tensor unsafe_masked_index_forward(const Tensor& tangent, const Tensor& mask, TensorList indices) {
  return taeda::_unsafe_masked_index(tangent, mask, indices, Scalar(0));
}

}  // namespace taeda::gradients
