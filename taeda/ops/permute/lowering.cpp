// Dimensions in another order.
#include "taeda/ops/permute/lowerings.h"

namespace taeda::lowering {

void permute(const Tensor& self, IntList dims, const Tensor& out) {
  const size_t ndim = dims.size();
  SmallVector<size_t, 5> to;
  for (int64_t d : dims) to.push_back(static_cast<size_t>(wrap_dim(d, self.dim())));
  Lowering::current().view(out, self, [to, ndim](const Place& at) {
    Place place(ndim, nullptr);
    for (size_t d = 0; d < ndim; ++d) place[to[d]] = at[d];
    return place;
  });
}

}  // namespace taeda::lowering
