// Derivative helpers of advanced indexing, masks and take.
#include "taeda/ops/indexing/gradients.h"

#include <algorithm>

#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/shape.h"

namespace taeda::gradients {
namespace {

Tensor zeros_of(SymIntList sizes, const Tensor& like) { return like.new_zeros(sizes); }

// The gradient of values that a mask alone tells the places of, without a size that only data
// tells, so that it can be traced: values say how many places there are, or go to all of them.
// Undefined where they do neither.
Tensor masked_values_backward(const Tensor& grad, TensorList indices, SymIntList sizes) {
  const auto is_given = [](const Tensor& t) { return t.defined(); };
  const auto given = std::find_if(indices.begin(), indices.end(), is_given);
  if (given == indices.end() || std::count_if(indices.begin(), indices.end(), is_given) != 1 ||
      given->dtype() != DType::Bool || given->dim() == 0)
    return {};
  // What is indexed has one dimension in place of the mask's.
  const int64_t before = given - indices.begin();
  const int64_t behind = grad.dim() - given->dim() - before;
  const int64_t at = static_cast<int64_t>(sizes.size()) - behind - 1;
  if (at >= 0 && is_known(SymOp::Ne, sizes[at], 1)) {
    std::vector<Tensor> places(indices.begin(), given);
    for (Tensor& place : given->nonzero_static(sizes[at]).unbind(1))
      places.push_back(std::move(place));
    return sum_to(taeda::index(grad, places), sizes);
  }
  if (at >= 0 && !is_known(SymOp::Eq, sizes[at], 1)) return {};
  Tensor mask = *given;
  for (int64_t d = 0; d < behind; ++d) mask = mask.unsqueeze(-1);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < given->dim(); ++d) dims.push_back(before + d);
  const Tensor sums = taeda::where(mask, grad, Scalar(0)).sum(dims);
  return sum_to(sums.unsqueeze(before), sizes);
}

}  // namespace

Tensor index_backward(const Tensor& grad, SymIntList sizes, TensorList indices) {
  return zeros_of(sizes, grad).index_put(indices, grad, /*accumulate=*/true);
}

Tensor index_put_self_backward(const Tensor& grad, TensorList indices, bool accumulate) {
  return accumulate ? grad : grad.index_put(indices, zeros_of({}, grad));
}

Tensor index_put_values_backward(const Tensor& grad, TensorList indices, SymIntList sizes) {
  const Tensor masked = masked_values_backward(grad, indices, sizes);
  return masked.defined() ? masked : sum_to(taeda::index(grad, indices), sizes);
}

Tensor take_backward(const Tensor& grad, SymIntList sizes, const Tensor& index) {
  SymInt numel = 1;
  for (const SymInt& s : sizes) numel *= s;
  const Tensor indices[] = {index};
  return zeros_of({numel}, grad).index_put(indices, grad, /*accumulate=*/true).view(sizes);
}

Tensor masked_select_backward(const Tensor& grad, SymIntList sizes, const Tensor& mask) {
  const SymIntVec shape = broadcast_shapes(sizes, mask.sym_sizes());
  const Tensor indices[] = {mask.expand(shape)};
  return sum_to(zeros_of(shape, grad).index_put(indices, grad), sizes);
}

}  // namespace taeda::gradients
