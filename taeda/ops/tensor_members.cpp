// Members of Tensor that are made of operators and have none of their own.
#include <limits>

#include "taeda/ops/functions.h"

namespace taeda {

Tensor& Tensor::operator=(const Tensor& values) && { return copy_(values); }
Tensor& Tensor::operator=(const Scalar& value) && { return fill_(value); }

Tensor Tensor::operator[](const Tensor& i) const {
  TAEDA_CHECK_INDEX(i.defined(), "Can only index with tensors that are defined");
  TAEDA_CHECK_INDEX(i.dim() == 0, "Can only index with tensors that are scalars (zero-dim)");
  TAEDA_CHECK_INDEX(is_integral(i.dtype(), /*include_bool=*/false),
                    "Can only index tensors with integral scalars");
  return select(0, i.item<int64_t>());
}

bool Tensor::is_nonzero() const {
  TAEDA_CHECK(numel() == 1, "Boolean value of Tensor with ", numel() == 0 ? "no" : "more than one",
              numel() == 0 ? " values" : " value", " is ambiguous");
  return ne(Scalar(0)).item<bool>();
}

Tensor Tensor::norm(const std::optional<Scalar>& p, IntList dim, bool keepdim,
                    std::optional<DType> dtype) const {
  if (dtype) return to(*dtype).norm(p, dim, keepdim);
  const double order = p ? p->to<double>() : 2.0;
  const Tensor magnitudes = abs();
  if (order == std::numeric_limits<double>::infinity()) return magnitudes.amax(dim, keepdim);
  if (order == -std::numeric_limits<double>::infinity()) return magnitudes.amin(dim, keepdim);
  if (order == 0) return magnitudes.ne(Scalar(0)).to(magnitudes.dtype()).sum(dim, keepdim);
  if (order == 1) return magnitudes.sum(dim, keepdim);
  const Tensor total =
      (order == 2 ? magnitudes.mul(magnitudes) : magnitudes.pow(Scalar(order))).sum(dim, keepdim);
  // The root of zero has no slope: the derivative there is zero.
  const Tensor is_zero = total.eq(Scalar(0));
  return total.masked_fill(is_zero, Scalar(1))
      .pow(Scalar(1 / order))
      .masked_fill(is_zero, Scalar(0));
}

}  // namespace taeda
