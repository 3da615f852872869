// The batching rule of put: each example's positions lie in a part of one tensor.
#include "taeda/ops/placement/batching.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/placement/functions.h"

namespace taeda::batch {

Batched put(const Batched& self, const Batched& index, const Batched& source, bool accumulate) {
  const SymInt& size = batch_context().size;
  const Tensor x = self.front_expanded(size), at = index.front_expanded(size);
  const Tensor values = source.front_expanded(size);
  SymInt length(1);
  for (int64_t d = 1; d < x.dim(); ++d) length = length * x.sym_size(d);
  SymIntVec shape(static_cast<size_t>(at.dim()), SymInt(1));
  shape[0] = size;
  const Tensor starts =
      taeda::arange(Scalar(size), DType::Int64, {}, at.device()).mul(Scalar(length)).reshape(shape);
  const Tensor inside = at.remainder(Scalar(length));
  return {taeda::put(x, inside + starts, values.reshape(at.sym_sizes()), accumulate), 0};
}

}  // namespace taeda::batch
