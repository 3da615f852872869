// Elements at places along a dimension that a tensor holds.
#include "taeda/ops/gather_scatter/lowerings.h"
#include "taeda/ops/index_map.h"

namespace taeda::lowering {
namespace {

// An index without elements may have any number of dimensions: there is nothing to do for it then.
bool names_nothing(const Tensor& self, const Tensor& index) {
  return self.dim() != index.dim() && self.dim() > 0 && index.dim() > 0;
}

}  // namespace

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& out) {
  if (names_nothing(self, index)) return filled(out, 0);
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &i = l.of(index);
  l.define(out, [&x, &i, along = vector_dim(dim, self)](Emitter& e, const Place& at) {
    const NamedPlace named(e, x, at, along, e.read(i, at));
    return named.checked(e, e.read(x, named.place));
  });
}

// Elements of the source one after the other, as in eager kernels.
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                 const Tensor& out) {
  if (self.dtype() == DType::Bool) return;
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &i = l.of(index), &added = l.of(src);
  const auto kept = [&x](Emitter& e, const Place& at) { return e.read(x, at); };
  if (names_nothing(self, index)) return l.define(out, kept);
  add_up(out, kept,
         {i.sizes, [&x, &i, &added, along = vector_dim(dim, self)](Emitter& e, const Place& at) {
            const NamedPlace named(e, x, at, along, e.read(i, at));
            const Sym value = e.read(added, vector_place(e.pool(), at, added.sizes.size()));
            return Scatter::Update{named.place, named.checked(e, value)};
          }});
}

}  // namespace taeda::lowering
