// A product of reflections as one matrix, in terms of other operators.
//
// Note [Products of reflections]: H_1 ... H_k with H_i = I - tau_i v_i v_i^H is I - V T V^H, where
// the columns of V are the vectors and T is an upper triangle. With D the diagonal of the tau and S
// the part of V^H V above its diagonal, T = D (I + S D)^-1, which exists whatever the tau are. So
// the product has a derivative in closed form: dT = (I - T S) dD (I - S T) - T dS T.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

struct Reflections {
  Tensor v;    // (m, k), ones on the diagonal
  Tensor top;  // its first n rows
  Tensor s, t;

  // `input` is (m, n), of which the first k columns hold vectors, and `tau` has k numbers.
  Reflections(const Tensor& input, const Tensor& tau);
  // The first n columns of the product.
  Tensor product() const;
};

}  // namespace taeda
