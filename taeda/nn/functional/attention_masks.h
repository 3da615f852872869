// Masks of attention with several heads, as numbers that are added to scores.
#pragma once

#include <optional>
#include <string_view>

#include "taeda/core/tensor.h"

namespace taeda::nn::functional::attention {

// A mask as numbers: of truth values, minus infinity where true. An undefined one stays undefined.
// Warns where the mask's dtype is not `other_dtype`, that of the mask called `other_name`.
TAEDA_API Tensor canonical_mask(const Tensor& mask, std::string_view name,
                                std::optional<DType> other_dtype, std::string_view other_name,
                                DType target);

// A mask of two or three dimensions as (1 or `heads`, queries, keys).
Tensor mask_of_scores(const Tensor& mask, const SymInt& heads, const SymInt& queries,
                      const SymInt& keys);

// The mask with one more column, which hides nothing.
Tensor one_wider(const Tensor& mask);

// The sum of a mask of scores and of the mask of (batch, keys), for each head.
Tensor joined_mask(const Tensor& mask, const Tensor& padding, const SymInt& batch, int64_t heads,
                   const SymInt& keys);

}  // namespace taeda::nn::functional::attention
