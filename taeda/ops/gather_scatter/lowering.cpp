// Elements at places along a dimension that a tensor holds.
#include "taeda/ops/gather_scatter/lowerings.h"

namespace taeda::lowering {

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& out) {
  if (self.dim() == 0 || index.dim() == 0) return;  // scalars count as vectors: left to the call
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &i = l.of(index);
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  l.define(out, [&x, &i, along](Emitter& e, const Place& at) {
    Place place = at;
    place[along] = e.indirect(e.read(i, at), x.sizes[along], false);
    return e.read(x, place);
  });
}

// Elements of the source one after the other, as in eager kernels. Sums of 16-bit numbers are a
// call: they are kept in float until all are there.
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                 const Tensor& out) {
  if (self.dim() == 0 || index.dim() == 0) return;
  if (self.dtype() == DType::Bool || is_reduced_float(self.dtype())) return;
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &i = l.of(index), &added = l.of(src);
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  l.scatter(out, [&x](Emitter& e, const Place& at) { return e.read(x, at); },
            {i.sizes, [&x, &i, &added, along](Emitter& e, const Place& at) {
               Place to = at;
               to[along] = e.indirect(e.read(i, at), x.sizes[along], false);
               return Scatter::Update{to, e.read(added, at)};
             }});
}

}  // namespace taeda::lowering
