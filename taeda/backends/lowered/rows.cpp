// Splitting dimensions into kept ones and rows.
#include "taeda/backends/lowered/rows.h"

#include "taeda/backends/lowered/compiled.h"

namespace taeda::lowered {

namespace {

// The dimensions with bit `wanted` in the set.
Domain part_of(IntList sizes, uint64_t bits, bool wanted, const std::vector<IntVec>& strides) {
  Domain part({}, std::vector<IntVec>(strides.size()));
  for (size_t d = 0; d < sizes.size(); ++d) {
    if ((bits >> d & 1) != wanted) continue;
    part.sizes.push_back(sizes[d]);
    for (size_t i = 0; i < strides.size(); ++i) part.strides[i].push_back(strides[i][d]);
  }
  return part;
}

}  // namespace

Rows::Rows(std::string_view name, Device device, IntList sizes, uint64_t bits,
           std::vector<IntVec> strides)
    : launch(name, device) {
  Domain outer = part_of(sizes, bits, false, strides), row = part_of(sizes, bits, true, strides);
  for (int64_t size : row.sizes) length_ *= size;
  int64_t count = 1;
  for (int64_t size : outer.sizes) count *= size;
  launch.reduces(count, length_);
  is_long_ = are_few_and_long(count, length_);
  outer.arrange();
  row.merge();
  kept = launch.axes(outer.sizes);
  launch.fact(static_cast<int64_t>(kept.size()));
  reduced = launch.axes(row.sizes);
  for (size_t i = 0; i < strides.size(); ++i) {
    IntVec all = outer.strides[i];
    for (int64_t stride : row.strides[i]) all.push_back(stride);
    strides_.push_back(std::move(all));
  }
}

Sym Rows::position(KernelBuilder& k) const {
  const kernel::Expr* at = k.integer(0);
  for (int axis : reduced) {
    at = k.pool().mul(at, k.extent(axis));
    if (!k.extent(axis)->is_constant(1)) at = k.pool().add(at, k.var(axis));
  }
  return k.index(at);
}

IntVec result_strides(const Tensor& out, int64_t ndim, uint64_t reduced, bool keepdim) {
  IntVec strides(static_cast<size_t>(ndim), 0);
  size_t next = 0;
  for (int64_t d = 0; d < ndim; ++d) {
    const bool is_reduced = reduced >> d & 1;
    if (!is_reduced) strides[d] = out.strides()[next];
    if (keepdim || !is_reduced) ++next;
  }
  return strides;
}

}  // namespace taeda::lowered
