// Checks of out='s dtype, with PyTorch's phrases.
#include "taeda/ops/out_dtype.h"

namespace taeda {

DType follow_out_dtype(DType result, const Tensor& out, std::optional<DType> asked) {
  return asked ? result : out.dtype();
}

DType cast_out_dtype(DType result, const Tensor& out, std::optional<DType> asked) {
  if (asked) return result;
  TAEDA_CHECK(can_cast(result, out.dtype()), "result type ", result,
              " can't be cast to the desired output type ", out.dtype());
  return out.dtype();
}

DType same_out_dtype(DType result, const Tensor& out) {
  TAEDA_CHECK(out.dtype() == result, "Expected the dtype for input and out to match, but got ",
              result, " for input's dtype and ", out.dtype(), " for out's dtype.");
  return result;
}

DType truth_out_dtype(const char* op, const Tensor& out) {
  TAEDA_CHECK(out.dtype() == DType::Bool || out.dtype() == DType::UInt8, op,
              " only supports bool tensor for result, got: ", out.dtype());
  return out.dtype();
}

DType logsumexp_out_dtype(DType, const Tensor& out) {
  TAEDA_CHECK(
      is_floating(out.dtype()) || is_complex(out.dtype()),
      "logsumexp(): Expected floating point type for result tensor, but got: ", out.dtype());
  return out.dtype();
}

}  // namespace taeda
