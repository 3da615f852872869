// Derivative helpers of elements put into places.
#pragma once

#include "taeda/core/tensor.h"
#include "taeda/ops/placement/functions.h"

namespace taeda::gradients {

TAEDA_API Tensor put_self_backward(const Tensor& grad, const Tensor& index, bool accumulate);
TAEDA_API Tensor put_source_backward(const Tensor& grad, const Tensor& index, SymIntList sizes);
TAEDA_API Tensor masked_scatter_self_backward(const Tensor& grad, const Tensor& mask,
                                              SymIntList sizes);
// The gradients under the mask in order, then zeros up to the source's size.
TAEDA_API Tensor masked_scatter_source_backward(const Tensor& grad, const Tensor& mask,
                                                SymIntList sizes);
TAEDA_API Tensor index_reduce_self_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                            const Tensor& index, const Tensor& source,
                                            std::string_view reduce, bool include_self,
                                            const Tensor& result);
TAEDA_API Tensor index_reduce_source_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                              const Tensor& index, const Tensor& source,
                                              std::string_view reduce, bool include_self,
                                              const Tensor& result);
TAEDA_API Tensor index_reduce_forward(const Tensor& self, const Tensor& self_tangent, int64_t dim,
                                      const Tensor& index, const Tensor& source,
                                      const Tensor& source_tangent, std::string_view reduce,
                                      bool include_self, const Tensor& result);
TAEDA_API Tensor unsafe_masked_index_backward(const Tensor& grad, const Tensor& mask,
                                              TensorList indices, SymIntList sizes);
TAEDA_API Tensor unsafe_masked_index_forward(const Tensor& tangent, const Tensor& mask,
                                             TensorList indices);

}  // namespace taeda::gradients
