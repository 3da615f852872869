// Attention with several heads as a function.
#pragma once

#include <tuple>

#include "taeda/nn/options/attention.h"

namespace taeda::nn::functional {

// The output (length, batch, features), and the weights where they are asked for. Without a batch
// the tensors have a dimension less. A mask is true, or minus infinity, where a key is not seen.
TAEDA_API std::tuple<Tensor, Tensor> multi_head_attention_forward(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const MultiheadAttentionForwardFuncOptions& options);

namespace attention {

// Whether there is a batch; an error where the numbers of dimensions do not fit together. Masks may
// be undefined.
TAEDA_API bool check_shapes(const Tensor& query, const Tensor& key, const Tensor& value,
                            const Tensor& key_padding_mask, const Tensor& attn_mask,
                            int64_t num_heads);

}  // namespace attention
}  // namespace taeda::nn::functional
