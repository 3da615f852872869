// The shape of one_hot where only data tells the number of classes.
#include "taeda/ops/counted.h"

#include "taeda/ops/embedding/operators.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda {

TAEDA_COUNTED(one_hot, Tensor, (const Tensor& self, int64_t num_classes)) {
  TAEDA_CHECK(self.dtype() == DType::Int64,
              "one_hot is only applicable to index tensor of type LongTensor.");
  SymIntVec sizes(self.sym_sizes());
  TAEDA_CHECK(num_classes >= 0 || self.sym_numel() > SymInt(0),
              "Can not infer total number of classes from empty tensor.");
  sizes.push_back(num_classes < 0 ? new_count({.least = 1, .of = self}) : SymInt(num_classes));
  return OutSpec(SymIntList(sizes), DType::Int64, Device(DeviceType::Meta)).allocate();
}

}  // namespace taeda
