// Derivative helpers of pooling.
#include "taeda/ops/pooling/gradients.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor picked_from_planes(const Tensor& t, const Tensor& indices, int64_t spatial) {
  return t.flatten(-spatial, -1)
      .gather(-1, indices.flatten(-spatial, -1))
      .reshape(indices.sym_sizes());
}

}  // namespace taeda::gradients
