// Products of reflections as products of matrices.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/factorizations/operators.h"
#include "taeda/ops/factorizations/reflections.h"

namespace taeda {

TAEDA_DECOMPOSITION(linalg_householder_product, (const Tensor& input, const Tensor& tau)) {
  return Reflections(input, tau).product();
}

}  // namespace taeda
