// Slices at places that a tensor holds.
#include "taeda/ops/index_map.h"
#include "taeda/ops/index_slices/lowerings.h"

namespace taeda::lowering {
namespace {

// The number of the slice of `x` that the slice at a place is.
Sym slice_number(Emitter& e, const Definition& index, const Place& at, size_t along) {
  const Place number = at.empty() ? Place() : Place{at[along]};
  return e.read(index, vector_place(e.pool(), number, index.sizes.size()));
}

}  // namespace

void index_select(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &i = l.of(index);
  l.define(out, [&x, &i, along = vector_dim(dim, self)](Emitter& e, const Place& at) {
    const NamedPlace named(e, x, at, along, slice_number(e, i, at, along));
    return named.checked(e, e.read(x, named.place));
  });
}

// Slices of the source one after the other, as in eager kernels.
void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha, const Tensor& out) {
  if (self.dtype() == DType::Bool) return;
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &i = l.of(index), &added = l.of(source);
  const size_t along = vector_dim(dim, self);
  const bool is_scaled = !alpha.equals(1);
  add_up(out, [&x](Emitter& e, const Place& at) { return e.read(x, at); },
         {added.sizes, [&x, &i, &added, along, is_scaled, scale = l.number(alpha),
                        dtype = dtype_of_sums(out)](Emitter& e, const Place& at) {
            const NamedPlace named(e, x, at, along, slice_number(e, i, at, along));
            const Sym value = named.checked(e, e.read(added, at));
            if (!is_scaled) return Scatter::Update{named.place, value};
            const Sym by = kernel::as_stored(e.graph(), scale(e, e.type_of(value)), dtype);
            return Scatter::Update{named.place, value * by};
          }});
}

}  // namespace taeda::lowering
