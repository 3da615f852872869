// Batching rules of embeddings: several tables become one table with shifted indices.
#include "taeda/ops/embedding/batching.h"
#include "taeda/ops/convert/batching.h"
#include "taeda/ops/embedding/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {
namespace {

// Indices into the tables of all examples laid one after the other.
Tensor shifted(const Batched& indices, const SymInt& rows) {
  const SymInt& size = batch_context().size;
  const Tensor at = indices.front_expanded(size);
  Tensor start = taeda::arange(Scalar(size), at.dtype(), {}, at.device()).mul(Scalar(rows));
  for (int64_t d = 1; d < at.dim(); ++d) start = start.unsqueeze(-1);
  return at.add(start);
}

}  // namespace

Batched embedding(const Batched& weight, const Batched& indices, SymInt padding_idx,
                  bool scale_grad_by_freq, bool sparse) {
  if (!weight.is_batched())
    return {
        taeda::embedding(weight.value, indices.front(), padding_idx, scale_grad_by_freq, sparse),
        0};
  const Tensor w = weight.front();
  return {taeda::embedding(w.flatten(0, 1), shifted(indices, w.sym_size(1)), SymInt(-1),
                           scale_grad_by_freq, sparse),
          0};
}

Batched embedding_dense_backward(const Batched& grad_output, const Batched& indices,
                                 SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) {
  const SymInt& size = batch_context().size;
  Tensor grad = grad_output.front_expanded(size);
  if (padding_idx >= SymInt(0)) {
    const Tensor is_padding = indices.front_expanded(size).eq(Scalar(padding_idx)).unsqueeze(-1);
    grad = grad.masked_fill(is_padding, Scalar(0));
  }
  const Tensor out = taeda::embedding_dense_backward(
      grad, shifted(indices, num_weights), num_weights * size, SymInt(-1), scale_grad_by_freq);
  return {out.unflatten(0, {size, num_weights}), 0};
}

Batched embedding_renorm_(const Batched& self, const Batched& indices, double max_norm,
                          double norm_type) {
  TAEDA_CHECK(self.is_batched(),
              "vmap: embedding_renorm_ of a table that is the same for every example with indices "
              "that differ is not possible. Please give every example a table of its own");
  Tensor tables = self.front();
  Tensor rows = tables.reshape({SymInt(-1), tables.sym_size(-1)});
  taeda::embedding_renorm_(rows, shifted(indices, tables.sym_size(1)), max_norm, norm_type);
  if (!rows.is_alias_of(tables)) tables.copy_(rows.reshape(tables.sym_sizes()));
  return self;
}

Batched one_hot(const Batched& self, int64_t num_classes) {
  TAEDA_CHECK(num_classes >= 0,
              "vmap: one_hot needs num_classes: inferring it depends on values, which differ "
              "between examples");
  return {taeda::one_hot(self.front(), num_classes), 0};
}

Batched fill__Tensor(const Batched& self, const Batched& value) {
  TAEDA_CHECK(value.rank() == 0,
              "fill_ only supports 0-dimension value tensor but got tensor with ", value.rank(),
              " dimensions.");
  TAEDA_CHECK(self.is_batched(),
              "vmap: fill_ of a tensor that is the same for every example with values that differ "
              "is not possible. Please use out-of-place operators instead of fill_");
  Tensor x = self.front();
  x.copy_(value.front_aligned(self.rank()));
  return self;
}

}  // namespace taeda::batch
