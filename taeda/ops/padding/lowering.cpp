// Borders of one number.
#include "taeda/ops/padding/lowerings.h"

namespace taeda::lowering {

void constant_pad_nd(const Tensor& self, SymIntList pad, const Scalar& value, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  // Pairs of numbers from the last dimension on.
  Place before(x.sizes.size(), l.pool().integer(0));
  std::vector<bool> is_padded(x.sizes.size());
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    const size_t d = x.sizes.size() - 1 - i / 2;
    before[d] = l.integer(pad[i]);
    is_padded[d] = !before[d]->is_constant(0) || !l.integer(pad[i + 1])->is_constant(0);
  }
  l.define(out, [&x, before, is_padded, value, dtype = out.dtype()](Emitter& e, const Place& at) {
    Place place;
    SymMask inside(true);
    for (size_t d = 0; d < at.size(); ++d) {
      place.push_back(e.pool().subtract(at[d], before[d]));
      if (!is_padded[d]) continue;
      const Sym here = e.index(place[d]);
      inside = inside & (here >= e.index(e.pool().integer(0))) & (here < e.index(x.sizes[d]));
    }
    const Sym part = e.read_if(inside, x, place);
    const Sym border = kernel::as_stored(e.graph(), e.constant(value, e.type_of(part)), dtype);
    return Sym(where(inside, part, border));
  });
}

}  // namespace taeda::lowering
