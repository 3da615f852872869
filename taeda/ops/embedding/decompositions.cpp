// one_hot as a comparison with a range.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/embedding/operators.h"
#include "taeda/ops/functions.h"

namespace taeda {

TAEDA_DECOMPOSITION(one_hot, (const Tensor& self, int64_t num_classes)) {
  const int64_t classes =
      num_classes < 0 ? taeda::_local_scalar_dense(taeda::amax(self)).to_int() + 1 : num_classes;
  const Tensor range = taeda::arange(Scalar(classes), DType::Int64, {}, self.device());
  return taeda::eq(self.unsqueeze(-1), range).to(DType::Int64);
}

}  // namespace taeda
