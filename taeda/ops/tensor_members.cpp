// Members of Tensor that are made of operators and have none of their own.
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

}  // namespace taeda
