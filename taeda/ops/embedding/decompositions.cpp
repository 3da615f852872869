// one_hot as a comparison with a range.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/embedding/operators.h"
#include "taeda/ops/functions.h"

namespace taeda {

namespace {

// 0, 1, ... for as many classes as the largest index asks for. The number may be one that only data
// tells, of which it is known that it is a size, and nothing else.
Tensor range_of_classes(const Tensor& self) {
  TAEDA_CHECK(self.sym_numel() > SymInt(0),
              "Can not infer total number of classes from empty tensor.");
  const Scalar classes = taeda::_local_scalar_dense(taeda::amax(self) + 1);
  const SymInt count = classes.is_symbolic() ? SymInt(IntrusivePtr<SymNode>::share(classes.node()))
                                             : SymInt(classes.to_int());
  return taeda::ones({count}, DType::Int64, {}, self.device()).cumsum(0) - 1;
}

}  // namespace

TAEDA_DECOMPOSITION(one_hot, (const Tensor& self, int64_t num_classes)) {
  const Tensor range = num_classes < 0
                           ? range_of_classes(self)
                           : taeda::arange(Scalar(num_classes), DType::Int64, {}, self.device());
  return taeda::eq(self.unsqueeze(-1), range).to(DType::Int64);
}

}  // namespace taeda
