// Indexed reads and writes outside the core set as functions of index, index_put and
// scatter_reduce.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"

namespace taeda {
namespace {

// index_put of slices along one dimension; tensors without dimensions count as one element.
Tensor put_slices(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& values,
                  bool accumulate) {
  if (self.dim() == 0) {
    const Tensor line = values.dim() == 0 ? values.unsqueeze(0) : values;
    return taeda::squeeze(put_slices(self.unsqueeze(0), 0, index, line, accumulate), int64_t{0});
  }
  std::vector<Tensor> indices(static_cast<size_t>(wrap_dim(dim, self.dim())));
  indices.push_back((index.dim() == 0 ? index.unsqueeze(0) : index).to(DType::Int64));
  return taeda::index_put(self, indices, values, accumulate);
}

std::string_view reduction_of(std::string_view reduce) {
  return reduce == "add" ? "sum" : reduce == "multiply" ? "prod" : reduce;
}

}  // namespace

TAEDA_DECOMPOSITION(index_add, (const Tensor& self, int64_t dim, const Tensor& index,
                                const Tensor& source, const Scalar& alpha)) {
  return put_slices(self.contiguous(), dim, index, alpha.equals(1) ? source : source * alpha, true);
}
TAEDA_DECOMPOSITION(index_copy,
                    (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source)) {
  return put_slices(self.contiguous(), dim, index, source, false);
}
TAEDA_DECOMPOSITION(index_fill_int_Scalar,
                    (const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value)) {
  const Tensor filling = taeda::scalar_tensor(value, self.dtype(), {}, self.device());
  return put_slices(self, dim, index, filling, false);
}
TAEDA_DECOMPOSITION(index_fill_int_Tensor,
                    (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value)) {
  return put_slices(self, dim, index, value.to(self.dtype()), false);
}

TAEDA_DECOMPOSITION(take, (const Tensor& self, const Tensor& index)) {
  return ops::index_Tensor(self.reshape({SymInt(-1)}), std::vector<Tensor>{index});
}

TAEDA_DECOMPOSITION(scatter_reduce, (const Tensor& self, int64_t dim, const Tensor& index,
                                     const Tensor& src, std::string_view reduce)) {
  return ops::scatter_reduce_two(self, dim, index, src, reduction_of(reduce), true);
}
TAEDA_DECOMPOSITION(scatter_value_reduce, (const Tensor& self, int64_t dim, const Tensor& index,
                                           const Scalar& value, std::string_view reduce)) {
  const Tensor src = taeda::full(index.sym_sizes(), value, self.dtype(), {}, self.device());
  return ops::scatter_reduce_two(self, dim, index, src, reduction_of(reduce), true);
}

}  // namespace taeda
