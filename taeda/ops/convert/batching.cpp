// Batching rules of functional copies, whose target may be the same for every example.
#include "taeda/ops/convert/batching.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/view_part/batching.h"

namespace taeda::batch {

Batched copy(const Batched& self, const Batched& src, bool non_blocking) {
  const Tensor into = self.front_expanded(batch_context().size);
  return {taeda::copy(into, src.front_aligned(self.rank()), non_blocking), 0};
}

Batched select_scatter(const Batched& self, const Batched& src, int64_t dim, SymInt index) {
  const SymInt size = batch_context().size;
  return {taeda::select_scatter(self.front_expanded(size), src.front_expanded(size),
                                wrap_dim(dim, self.rank()) + 1, index),
          0};
}

Batched slice_scatter(const Batched& self, const Batched& src, int64_t dim,
                      std::optional<SymInt> start, std::optional<SymInt> end, SymInt step) {
  const SymInt size = batch_context().size;
  return {taeda::slice_scatter(self.front_expanded(size), src.front_expanded(size),
                               wrap_dim(dim, self.rank()) + 1, start, end, step),
          0};
}

}  // namespace taeda::batch
