// Parts of tensors.
#include "taeda/ops/view_part/lowerings.h"

namespace taeda::lowering {

void select_int(const Tensor& self, int64_t dim, SymInt index, const Tensor& out) {
  Lowering& l = Lowering::current();
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const SymInt size = self.sym_size(static_cast<int64_t>(along));
  const Expr* at_index = l.integer(index < SymInt(0) ? index + size : index);
  l.view(out, self, [along, at_index](const Place& at) {
    Place place;
    for (size_t d = 0; d <= at.size(); ++d)
      place.push_back(d == along ? at_index : at[d < along ? d : d - 1]);
    return place;
  });
}

void slice_Tensor(const Tensor& self, int64_t dim, std::optional<SymInt> start,
                  std::optional<SymInt>, SymInt step, const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const SymInt size = self.sym_size(static_cast<int64_t>(along));
  SymInt first = start.value_or(SymInt(0));
  if (first < SymInt(0)) first = first + size;
  if (first < SymInt(0)) first = SymInt(0);
  if (first > size) first = size;
  const Expr *from = l.integer(first), *by = l.integer(step);
  l.view(out, self, [&pool, along, from, by](const Place& at) {
    Place place = at;
    place[along] = pool.add(from, pool.mul(by, at[along]));
    return place;
  });
}

}  // namespace taeda::lowering
