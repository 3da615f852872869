// Which dtypes out= may have where it need not be the result's own; named in the records.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// The dtype of out, in which the result is computed, unless a dtype was asked for.
TAEDA_API DType follow_out_dtype(DType result, const Tensor& out, std::optional<DType> asked);
// That of out, where the result can be cast to it and no dtype was asked for.
TAEDA_API DType cast_out_dtype(DType result, const Tensor& out, std::optional<DType> asked);
// "Expected the dtype for input and out to match, ..."
TAEDA_API DType same_out_dtype(DType result, const Tensor& out);
// bool or uint8.
TAEDA_API DType truth_out_dtype(const char* op, const Tensor& out);
TAEDA_API DType logsumexp_out_dtype(DType result, const Tensor& out);

}  // namespace taeda
