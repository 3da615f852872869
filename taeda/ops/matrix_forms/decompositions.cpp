// Cross products as functions of core operators.
#include "taeda/ops/matrix_forms/operators.h"

#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda {

TAEDA_DECOMPOSITION(linalg_cross, (const Tensor& self, const Tensor& other, int64_t dim)) {
  const SymIntVec sizes = broadcast_shapes(self.sym_sizes(), other.sym_sizes());
  const Tensor a = self.expand(sizes), b = other.expand(sizes);
  dim = wrap_dim(dim, a.dim());
  const auto turned = [&](const Tensor& x, int64_t by) {
    return taeda::cat({x.narrow(dim, by, 3 - by), x.narrow(dim, 0, by)}, dim);
  };
  return turned(a, 1) * turned(b, 2) - turned(a, 2) * turned(b, 1);
}

}  // namespace taeda
