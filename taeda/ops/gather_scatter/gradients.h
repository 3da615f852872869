// Derivative helpers of gather and scatter.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API Tensor gather_backward(const Tensor& grad, SymIntList sizes, int64_t dim,
                                 const Tensor& index);
// The gradient of a scattered source; elements beyond the index's shape were not used.
TAEDA_API Tensor scatter_source_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                                         SymIntList sizes);
// The two gradients of scatter_reduce; ties of amax and amin share theirs evenly.
TAEDA_API Tensor scatter_reduce_self_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                              const Tensor& index, const Tensor& src,
                                              std::string_view reduce, bool include_self,
                                              const Tensor& result);
TAEDA_API Tensor scatter_reduce_src_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                             const Tensor& index, const Tensor& src,
                                             std::string_view reduce, bool include_self,
                                             const Tensor& result);

TAEDA_API Tensor scatter_reduce_forward(const Tensor& self, const Tensor& self_tangent, int64_t dim,
                                        const Tensor& index, const Tensor& src,
                                        const Tensor& src_tangent, std::string_view reduce,
                                        bool include_self, const Tensor& result);

}  // namespace taeda::gradients
