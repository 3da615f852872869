// Brackets with index tensors.
#include "taeda/ops/indexing/lowerings.h"

#include <algorithm>

#include "taeda/ops/index_map.h"

namespace taeda::lowering {

// Note [Where indexed dimensions go]: index tensors are broadcast to one shape. It takes the place
// of the dimensions they stand for where those are neighbours, and comes first otherwise.
void index_Tensor(const Tensor& self, TensorList indices, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  std::vector<std::pair<size_t, const Definition*>> indexed;  // dimension and its places
  size_t rank = 0;                                            // of the broadcast shape
  for (size_t d = 0; d < indices.size(); ++d) {
    const Tensor& index = indices[d];
    if (!index.defined()) continue;
    if (!is_integral(index.dtype()) || index.dtype() == DType::UInt8) return;  // masks are calls
    indexed.emplace_back(d, &l.of(index));
    rank = std::max(rank, static_cast<size_t>(index.dim()));
  }
  if (indexed.empty()) return;
  const bool are_neighbours = indexed.back().first - indexed.front().first + 1 == indexed.size();
  const size_t first = are_neighbours ? indexed.front().first : 0;
  l.define(out, [&x, indexed, rank, first, sizes = l.sizes(out)](Emitter& e, const Place& at) {
    Place shared, shared_sizes, place;
    for (size_t d = 0; d < rank; ++d) {
      shared.push_back(at[first + d]);
      shared_sizes.push_back(sizes[first + d]);
    }
    size_t next = 0;
    for (size_t d = 0; d < x.sizes.size(); ++d) {
      const auto found = std::find_if(indexed.begin(), indexed.end(),
                                      [&](const auto& one) { return one.first == d; });
      if (found == indexed.end()) {
        if (next == first) next += rank;
        place.push_back(at[next++]);
        continue;
      }
      const Definition& index = *found->second;
      const Place there = broadcast_place(e.pool(), shared_sizes, index.sizes, shared);
      place.push_back(e.indirect(e.read(index, there), x.sizes[d], true));
    }
    return e.read(x, place);
  });
}

}  // namespace taeda::lowering
