// Batching rules of joins.
#include "taeda/ops/join/batching.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {
namespace {

// Whether every example is an empty vector, which joins tensors of any shape.
bool is_skipped(const Batched& b) {
  return b.rank() == 1 && b.front().sym_sizes().back() == SymInt(0);
}

}  // namespace

Batched cat(const BatchedList& tensors, int64_t dim) {
  const Batched* model = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TAEDA_CHECK(tensors[i].rank() > 0, "zero-dimensional tensor (at position ", i,
                ") cannot be concatenated");
    if (!model && !is_skipped(tensors[i])) model = &tensors[i];
  }
  const int64_t along = wrap_dim(dim, model ? model->rank() : 1) + 1;
  std::vector<Tensor> each;
  for (const Batched& b : tensors)
    each.push_back(model && is_skipped(b) ? b.value.reshape({SymInt(0)})
                                          : b.front_expanded(batch_context().size));
  return {taeda::cat(each, along), 0};
}

}  // namespace taeda::batch
