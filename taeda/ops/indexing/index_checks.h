// Argument checks that the indexing operators share.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// The index's shape against the indexed tensor's (and the source's) for gather and scatter.
TAEDA_API void check_gather(const Tensor& self, int64_t dim, const Tensor& index);
TAEDA_API void check_scatter(const Tensor& self, int64_t dim, const Tensor& index,
                             const Tensor* src);

// "unsupported operation: some elements of the input tensor and the written-to tensor refer to a
// single memory location": unlike pointwise writes, the same elements in the same order clash too.
TAEDA_API void check_disjoint(const Tensor& written, const Tensor& input);

// Whether elements share their memory, as those of an expanded tensor do.
TAEDA_API bool repeats_elements(const Tensor& t);
// Warns where they do: `op` fills the tensor with one value, which PyTorch still lets it do.
void warn_of_repeats(const Tensor& self, std::string_view op);

}  // namespace taeda
