// The batching rule of cdist: examples are a leading dimension of its batch.
#include "taeda/ops/distance/batching.h"
#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {

Batched _cdist_forward(const Batched& x1, const Batched& x2, double p,
                       std::optional<int64_t> compute_mode) {
  const int64_t rank = std::max(x1.rank(), x2.rank());
  return {taeda::_cdist_forward(x1.front_aligned(rank), x2.front_aligned(rank), p, compute_mode),
          0};
}

}  // namespace taeda::batch
