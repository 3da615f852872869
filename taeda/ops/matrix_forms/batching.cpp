// The batching rule of cross products: dimensions counted from the end stay.
#include "taeda/ops/matrix_forms/batching.h"

#include <algorithm>

#include "taeda/ops/functions.h"
#include "taeda/ops/matrix_forms/functions.h"

namespace taeda::batch {

Batched linalg_cross(const Batched& self, const Batched& other, int64_t dim) {
  const int64_t rank = std::max(self.rank(), other.rank());
  const int64_t from_end = wrap_dim(dim, rank) - rank;
  const Tensor a = self.is_batched() ? self.front_aligned(rank) : self.value.unsqueeze(0),
               b = other.is_batched() ? other.front_aligned(rank) : other.value.unsqueeze(0);
  return {taeda::linalg_cross(a, b, from_end), 0};
}

}  // namespace taeda::batch
