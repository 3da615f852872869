// Batching rules of advanced indexing and take: the batch becomes one more index.
#include "taeda/ops/indexing/batching.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/selection/batching.h"
#include "taeda/ops/shape.h"

namespace taeda::batch {
namespace {

// Positions 0..n-1 as a column in front of `rank` further dimensions.
Tensor batch_numbers(const SymInt& n, int64_t rank, const Tensor& like) {
  Tensor at = taeda::arange(Scalar(n), DType::Int64, {}, like.device());
  for (int64_t d = 0; d < rank; ++d) at = at.unsqueeze(-1);
  return at;
}

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

void check_no_batched_mask(const Batched& index) {
  TAEDA_CHECK(!index.defined() || !index.is_batched() || !is_mask(index.value),
              "vmap: We do not support batching operators that can output dynamic shape. Attempted "
              "to vmap over indexing with a mask that differs between examples; use taeda.where "
              "with the mask instead.");
}

bool any_batched(const BatchedList& indices) {
  for (const Batched& b : indices)
    if (b.defined() && b.is_batched()) return true;
  return false;
}

// Whether the indexed dimensions stand side by side: then the result keeps their place.
bool is_adjacent(const BatchedList& indices) {
  bool was_defined = false, has_ended = false;
  for (const Batched& b : indices) {
    if (b.defined() && has_ended) return false;
    has_ended |= was_defined && !b.defined();
    was_defined |= b.defined();
  }
  return true;
}

// The indices of all examples for a tensor with the batch in front: one more for the batch.
struct Widened {
  std::vector<Tensor> indices;
  int64_t rank = 0;   // of the broadcast indices of an example
  int64_t place = 0;  // where the indexed dimensions stand in an example's result

  // The number of the example is made on the device of the indices, of `self` if there are none.
  Widened(const Batched& self, const BatchedList& given, const SymInt& size) {
    bool has_seen = false;
    const bool adjacent = is_adjacent(given);
    for (const Batched& b : given) {
      check_no_batched_mask(b);
      if (b.defined()) {
        has_seen = true;
        rank = std::max(rank, is_mask(b.value) ? int64_t{1} : b.rank());
      } else if (!has_seen && adjacent) {
        ++place;
      }
    }
    const Tensor* like = &self.value;
    for (const Batched& b : given)
      if (b.defined()) like = &b.value;
    indices.push_back(batch_numbers(size, rank, *like));
    for (const Batched& b : given)
      indices.push_back(b.defined() ? b.front_aligned(rank) : Tensor());
  }
};

}  // namespace

Batched index_Tensor(const Batched& self, const BatchedList& indices) {
  const SymInt& size = batch_context().size;
  if (!any_batched(indices)) {
    std::vector<Tensor> plain{Tensor()};
    for (const Batched& b : indices) plain.push_back(b.value);
    // Indices apart from each other put their dimensions first, before the batch.
    const Tensor out = taeda::index(self.front(), plain);
    if (is_adjacent(indices)) return {out, 0};
    int64_t rank = 0;
    for (const Batched& b : indices)
      if (b.defined()) rank = std::max(rank, is_mask(b.value) ? int64_t{1} : b.rank());
    return {out, rank};
  }
  const Widened wide(self, indices, size);
  Tensor out;
  if (self.is_batched()) {
    out = taeda::index(self.front(), wide.indices);
  } else {
    std::vector<Tensor> plain;
    for (size_t i = 1; i < wide.indices.size(); ++i) plain.push_back(wide.indices[i]);
    out = taeda::index(self.value, plain);
    // The batch leads the indexed dimensions, wherever those stand.
    return {out, wide.place};
  }
  // With the batch as an index everything indexed comes first if dimensions lie between.
  if (wide.place == 0 || wide.rank == 0) return {out, 0};
  std::vector<int64_t> from, to;
  for (int64_t d = 0; d < wide.rank; ++d) {
    from.push_back(1 + d);
    to.push_back(1 + wide.place + d);
  }
  return {out.movedim(IntList(from), IntList(to)), 0};
}

Batched index_put(const Batched& self, const BatchedList& indices, const Batched& values,
                  bool accumulate) {
  const SymInt& size = batch_context().size;
  const Tensor into = self.front_expanded(size);
  const Widened wide(self, indices, size);
  // Values broadcast to an example's result: align them, then move its indexed part to the front.
  const int64_t result_rank = into.dim() - 1 - [&] {
    int64_t used = 0;
    for (const Batched& b : indices)
      if (b.defined()) used += is_mask(b.value) ? b.rank() : 1;
    return used;
  }() + wide.rank;
  Tensor v = values.is_batched() ? values.front_aligned(result_rank) : values.value;
  if (!values.is_batched())
    for (int64_t r = v.dim(); r < result_rank + 1; ++r) v = v.unsqueeze(0);
  if (wide.place > 0 && wide.rank > 0) {
    std::vector<int64_t> from, to;
    for (int64_t d = 0; d < wide.rank; ++d) {
      from.push_back(1 + wide.place + d);
      to.push_back(1 + d);
    }
    v = v.movedim(IntList(from), IntList(to));
  }
  return {taeda::index_put(into, wide.indices, v, accumulate), 0};
}

Batched masked_fill_Tensor(const Batched& self, const Batched& mask, const Batched& value) {
  TAEDA_CHECK(value.rank() == 0,
              "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.rank(), " dimension(s).");
  const int64_t rank = std::max(self.rank(), mask.rank());
  const Tensor x = self.front_aligned(rank);
  return {taeda::where(mask.front_aligned(rank), value.front_aligned(rank).to(x.dtype()), x), 0};
}

Batched masked_select(const Batched& self, const Batched& mask) {
  TAEDA_CHECK(!mask.is_batched(),
              "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
              "support this because for each batch this would return a differently shaped Tensor: "
              "use taeda.where with the mask.");
  TAEDA_CHECK(mask.value.dtype() == DType::Bool, "masked_select: expected BoolTensor for mask");
  const int64_t rank = std::max(self.rank(), mask.rank());
  const Tensor x = self.front_aligned(rank);
  SymIntVec shape = broadcast_shapes(x.sym_sizes().drop_front(1), mask.value.sym_sizes());
  const Tensor places = mask.value.expand(shape).reshape({SymInt(-1)}).nonzero();
  shape.insert(0, x.sym_size(0));
  const Tensor lines = rank == 0 ? x.unsqueeze(1) : x.expand(shape).flatten(1);
  return {lines.index_select(1, places.squeeze(1)), 0};
}

Batched take(const Batched& self, const Batched& index) {
  if (!self.is_batched()) return {taeda::take(self.value, index.front()), 0};
  const SymInt& size = batch_context().size;
  const Tensor lines = self.front().reshape({size, SymInt(-1)});
  const Tensor at = index.front_expanded(size);
  // Indices count from the end too.
  const Tensor wrapped = taeda::where(at.lt(Scalar(0)), at.add(Scalar(lines.sym_size(1))), at);
  return {lines.gather(1, wrapped.reshape({size, SymInt(-1)})).reshape(at.sym_sizes()), 0};
}

}  // namespace taeda::batch
