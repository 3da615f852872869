// Slices at places that a tensor holds.
#include "taeda/ops/index_slices/lowerings.h"

namespace taeda::lowering {

void index_select(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  if (self.dim() == 0 || index.dim() == 0) return;  // scalars count as vectors: left to the call
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &i = l.of(index);
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  l.define(out, [&x, &i, along](Emitter& e, const Place& at) {
    Place place = at;
    place[along] = e.indirect(e.read(i, {at[along]}), x.sizes[along], false);
    return e.read(x, place);
  });
}

// Slices of the source one after the other, as in eager kernels. Sums of 16-bit numbers are a call:
// they are kept in float until all are there.
void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha, const Tensor& out) {
  if (self.dim() == 0 || index.dim() == 0) return;
  if (self.dtype() == DType::Bool || is_reduced_float(self.dtype())) return;
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &i = l.of(index), &added = l.of(source);
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const bool is_scaled = !alpha.equals(1);
  l.scatter(out, [&x](Emitter& e, const Place& at) { return e.read(x, at); },
            {added.sizes, [&x, &i, &added, along, is_scaled, scale = l.number(alpha),
                           dtype = out.dtype()](Emitter& e, const Place& at) {
               Place to = at;
               to[along] = e.indirect(e.read(i, {at[along]}), x.sizes[along], false);
               const Sym value = e.read(added, at);
               if (!is_scaled) return Scatter::Update{to, value};
               const Sym by = kernel::as_stored(e.graph(), scale(e, e.type_of(value)), dtype);
               return Scatter::Update{to, value * by};
             }});
}

}  // namespace taeda::lowering
