// Brackets with index tensors.
#include "taeda/ops/indexing/lowerings.h"

#include <algorithm>

#include "taeda/ops/index_map.h"
#include "taeda/ops/indexing/index_shape.h"

namespace taeda::lowering {

namespace {

// Index tensors, and the dimensions of the indexed tensor that they stand for.
//
// Note [Where indexed dimensions go]: index tensors are broadcast to one shape. It takes the place
// of the dimensions they stand for where those are neighbours, and comes first otherwise.
struct IndexedDims {
  std::vector<std::pair<size_t, const Definition*>> indexed;  // dimension and its places
  size_t rank = 0;                                            // of the broadcast shape
  size_t first = 0;                                           // where that starts in the result
  Place sizes;                                                // of the indexed tensor

  // Nothing where there is no index, or a mask, which is a call.
  static std::optional<IndexedDims> of(const Tensor& self, TensorList indices) {
    Lowering& l = Lowering::current();
    IndexedDims made;
    made.sizes = l.sizes(self);
    for (size_t d = 0; d < indices.size(); ++d) {
      const Tensor& index = indices[d];
      if (!index.defined()) continue;
      if (!is_integral(index.dtype()) || index.dtype() == DType::UInt8) return {};
      made.indexed.emplace_back(d, &l.of(index));
      made.rank = std::max(made.rank, static_cast<size_t>(index.dim()));
    }
    const auto& all = made.indexed;
    if (all.empty()) return {};
    const bool are_neighbours = all.back().first - all.front().first + 1 == all.size();
    made.first = are_neighbours ? all.front().first : 0;
    return made;
  }

  // The place in the indexed tensor of one in the result, which has `shape`.
  Place place(Emitter& e, const Place& shape, const Place& at) const {
    Place shared, shared_sizes, found;
    for (size_t d = 0; d < rank; ++d) {
      shared.push_back(at[first + d]);
      shared_sizes.push_back(shape[first + d]);
    }
    size_t next = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const auto one = std::find_if(indexed.begin(), indexed.end(),
                                    [&](const auto& pair) { return pair.first == d; });
      if (one == indexed.end()) {
        if (next == first) next += rank;
        found.push_back(at[next++]);
        continue;
      }
      const Definition& index = *one->second;
      const Place there = broadcast_place(e.pool(), shared_sizes, index.sizes, shared);
      found.push_back(e.indirect(e.read(index, there), sizes[d], true));
    }
    return found;
  }
};

}  // namespace

void index_Tensor(const Tensor& self, TensorList indices, const Tensor& out) {
  const std::optional<IndexedDims> dims = IndexedDims::of(self, indices);
  if (!dims) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  l.define(out, [&x, dims, sizes = l.sizes(out)](Emitter& e, const Place& at) {
    return e.read(x, dims->place(e, sizes, at));
  });
}

// What adds up, value after value. What replaces is a call: it moves memory and computes nothing.
void index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate,
               const Tensor& out) {
  if (!accumulate || self.dtype() == DType::Bool) return;
  const std::optional<IndexedDims> dims = IndexedDims::of(self, indices);
  if (!dims) return;
  std::vector<IndexEntry> entries;
  for (size_t d = 0; d < indices.size(); ++d)
    if (indices[d].defined())
      entries.push_back({static_cast<int64_t>(d), 1, SymIntVec(indices[d].sym_sizes())});
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &added = l.of(values);
  Place sizes;
  for (const SymInt& size : IndexShape(self, entries).sizes) sizes.push_back(l.integer(size));
  l.scatter(out, [&x](Emitter& e, const Place& at) { return e.read(x, at); },
            {sizes, [dims, sizes, &added](Emitter& e, const Place& at) {
               const Place from = broadcast_place(e.pool(), sizes, added.sizes, at);
               return Scatter::Update{dims->place(e, sizes, at), e.read(added, from)};
             }});
}

}  // namespace taeda::lowering
