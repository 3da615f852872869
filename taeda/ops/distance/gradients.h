// Derivatives of distances between rows.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// By kernels; from differences when the gradient itself is recorded.
TAEDA_API Tensor cdist_gradient(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                                const Tensor& distances, bool is_recorded);
TAEDA_API Tensor pdist_gradient(const Tensor& grad, const Tensor& self, double p,
                                const Tensor& distances, bool is_recorded);
TAEDA_API Tensor euclidean_dist_gradient(const Tensor& grad, const Tensor& x1, const Tensor& x2,
                                         const Tensor& distances);
TAEDA_API Tensor cdist_tangent(const Tensor& x1, const Tensor& x1_tangent, const Tensor& x2,
                               const Tensor& x2_tangent, double p);
TAEDA_API Tensor pdist_tangent(const Tensor& self, const Tensor& tangent, double p);

}  // namespace taeda::gradients
