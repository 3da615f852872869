// Batching rules: examples as parts of one tensor, by their positions, masks or segments.
#include "taeda/ops/placement/batching.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/placement/functions.h"
#include "taeda/ops/shape.h"

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

// Each element of the mask takes the one of the source that as many true ones stand before.
Batched masked_scatter(const Batched& self, const Batched& mask, const Batched& source) {
  const SymInt& size = batch_context().size;
  const int64_t rank = std::max(self.rank(), mask.rank());
  const Tensor x = self.front_aligned(rank), is_taken = mask.front_aligned(rank);
  SymIntVec shape(broadcast_shapes(x.sym_sizes(), is_taken.sym_sizes()));
  if (!self.is_batched() && !mask.is_batched()) shape.insert(0, size);
  const Tensor taken = is_taken.expand(shape).flatten(1);
  const Tensor from = source.front_expanded(size).reshape({size, SymInt(-1)});
  // A source of nothing serves masks without a true element.
  if (from.sym_size(1) == SymInt(0)) return {x.expand(shape).clone(), 0};
  const Tensor before = (taken.cumsum(1) - Scalar(1)).clamp_min(Scalar(0));
  const Tensor values = from.gather(1, before.mul(taken)).reshape(shape);
  return {taeda::where(is_taken.expand(shape), values, x.expand(shape)), 0};
}

// The batch is one more dimension in front of the axis, for data and segments.
Batched segment_reduce(const Batched& data, std::string_view reduce, const Batched& lengths,
                       const Batched& indices, const Batched& offsets, int64_t axis, bool unsafe,
                       std::optional<Scalar> initial) {
  const SymInt& size = batch_context().size;
  const auto all = [&](const Batched& b) {
    return b.defined() ? b.front_expanded(size) : Tensor();
  };
  return {taeda::segment_reduce(all(data), reduce, all(lengths), all(indices), all(offsets),
                                wrap_dim(axis, data.rank()) + 1, unsafe, initial),
          0};
}

Batched _segment_reduce_backward(const Batched& grad, const Batched& output, const Batched& data,
                                 std::string_view reduce, const Batched& lengths,
                                 const Batched& offsets, int64_t axis,
                                 std::optional<Scalar> initial) {
  const SymInt& size = batch_context().size;
  const auto all = [&](const Batched& b) {
    return b.defined() ? b.front_expanded(size) : Tensor();
  };
  return {taeda::_segment_reduce_backward(all(grad), all(output), all(data), reduce, all(lengths),
                                          all(offsets), wrap_dim(axis, data.rank()) + 1, initial),
          0};
}

}  // namespace taeda::batch
