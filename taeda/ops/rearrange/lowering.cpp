// Elements in another order, and more than once.
#include "taeda/ops/rearrange/lowerings.h"

namespace taeda::lowering {

void flip(const Tensor& self, IntList dims, const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  std::vector<size_t> turned;
  if (self.dim() > 0)  // a scalar counts as a vector
    for (int64_t d : dims) turned.push_back(static_cast<size_t>(wrap_dim(d, self.dim())));
  l.view(out, self, [&pool, turned, sizes = l.sizes(self)](const Place& at) {
    Place place = at;
    for (size_t d : turned)
      place[d] = pool.subtract(pool.subtract(sizes[d], pool.integer(1)), at[d]);
    return place;
  });
}

void repeat(const Tensor& self, SymIntList, const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  l.view(out, self, [&pool, sizes = l.sizes(self), all = l.sizes(out)](const Place& at) {
    Place place;
    const size_t added = all.size() - sizes.size();
    for (size_t d = 0; d < sizes.size(); ++d)
      place.push_back(sizes[d] == all[added + d] ? at[added + d]
                                                 : pool.modulo(at[added + d], sizes[d]));
    return place;
  });
}

}  // namespace taeda::lowering
