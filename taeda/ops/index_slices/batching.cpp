// Batching rules of operators that take an index vector along one dimension.
#include "taeda/ops/index_slices/batching.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {
namespace {

// The arguments of one call over the whole batch: tensors with the batch in front, and an index for
// every element of `source` where indices differ between examples.
struct Slices {
  Tensor self, index;
  int64_t dim;
  bool is_number;

  Slices(const Batched& self_, int64_t d, const Batched& index_)
      : dim(wrap_dim(d, self_.rank()) + 1), is_number(self_.rank() == 0) {
    const SymInt& size = batch_context().size;
    self = self_.front_expanded(size);
    if (is_number) self = self.unsqueeze(-1);
    index = index_.front();
    if (index_.rank() == 0) index = index.unsqueeze(-1);
  }
  // The index spread along every dimension of `like`, for gather and scatter.
  Tensor spread(const Tensor& like) const {
    Tensor at = index;
    for (int64_t d = 1; d < dim; ++d) at = at.unsqueeze(1);
    for (int64_t d = dim + 1; d < like.dim(); ++d) at = at.unsqueeze(-1);
    SymIntVec sizes(like.sym_sizes());
    sizes[static_cast<size_t>(dim)] = index.sym_size(-1);
    return at.expand(sizes);
  }
  Batched done(const Tensor& out) const { return {is_number ? out.squeeze(-1) : out, 0}; }
};

Tensor source_of(const Batched& source) {
  const SymInt& size = batch_context().size;
  const Tensor x = source.front_expanded(size);
  return source.rank() == 0 ? x.unsqueeze(-1) : x;
}

}  // namespace

Batched index_select(const Batched& self, int64_t dim, const Batched& index) {
  if (!self.is_batched() && self.rank() > 0) {
    // One selection with all examples' indices, whose dimension is then split.
    const int64_t d = wrap_dim(dim, self.rank());
    const Tensor at = index.rank() == 0 ? index.front().unsqueeze(-1) : index.front();
    const Tensor out = self.value.index_select(d, at.reshape({SymInt(-1)}));
    SymIntVec sizes(out.sym_sizes());
    sizes[static_cast<size_t>(d)] = at.sym_size(1);
    sizes.insert(static_cast<size_t>(d), at.sym_size(0));
    return {out.reshape(sizes), d};
  }
  const Slices s(self, dim, index);
  if (!index.is_batched()) return s.done(s.self.index_select(s.dim, s.index));
  return s.done(s.self.gather(s.dim, s.spread(s.self)));
}

Batched index_add(const Batched& self, int64_t dim, const Batched& index, const Batched& source,
                  const Scalar& alpha) {
  const Slices s(self, dim, index);
  const Tensor from = source_of(source);
  if (!index.is_batched()) return s.done(s.self.index_add(s.dim, s.index, from, alpha));
  return s.done(
      s.self.scatter_add(s.dim, s.spread(s.self), alpha.equals(1) ? from : from.mul(alpha)));
}

Batched index_copy(const Batched& self, int64_t dim, const Batched& index, const Batched& source) {
  const Slices s(self, dim, index);
  const Tensor from = source_of(source);
  if (!index.is_batched()) return s.done(s.self.index_copy(s.dim, s.index, from));
  return s.done(s.self.scatter(s.dim, s.spread(s.self), from));
}

Batched index_fill_int_Scalar(const Batched& self, int64_t dim, const Batched& index,
                              const Scalar& value) {
  const Slices s(self, dim, index);
  if (!index.is_batched()) return s.done(s.self.index_fill(s.dim, s.index, value));
  return s.done(s.self.scatter(s.dim, s.spread(s.self), value));
}

Batched index_fill_int_Tensor(const Batched& self, int64_t dim, const Batched& index,
                              const Batched& value) {
  TAEDA_CHECK(value.rank() == 0,
              "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.rank(), " dimension(s).");
  const Slices s(self, dim, index);
  if (!index.is_batched() && !value.is_batched())
    return s.done(s.self.index_fill(s.dim, s.index, value.value));
  const Batched all(s.index, index.is_batched() ? 0 : -1);
  Slices each = s;
  each.index = all.front_expanded(batch_context().size);
  const Tensor at = each.spread(s.self);
  const Tensor v = value.front_aligned(s.self.dim() - 1).to(s.self.dtype()).expand(at.sym_sizes());
  return s.done(s.self.scatter(s.dim, at, v));
}

}  // namespace taeda::batch
