// Borders of one number, and of elements.
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
  l.define(out, [&x, before, is_padded, number = l.number(value), dtype = out.dtype()](
                    Emitter& e, const Place& at) {
    Place place;
    SymMask inside(true);
    for (size_t d = 0; d < at.size(); ++d) {
      place.push_back(e.pool().subtract(at[d], before[d]));
      if (!is_padded[d]) continue;
      const Sym here = e.index(place[d]);
      inside = inside & (here >= e.index(e.pool().integer(0))) & (here < e.index(x.sizes[d]));
    }
    const Sym part = e.read_if(inside, x, place);
    const Sym border = kernel::as_stored(e.graph(), number(e, e.type_of(part)), dtype);
    return Sym(where(inside, part, border));
  });
}

namespace {

// The place in a dimension of `size` elements that position i, which may lie outside, stands for.
using BorderFn = const Expr* (*)(symbolic::ExprPool& pool, const Expr* i, const Expr* size);

const Expr* reflected(symbolic::ExprPool& pool, const Expr* i, const Expr* size) {
  const auto distance = [&pool](const Expr* from) {
    return pool.make(symbolic::ExprOp::Max, from, pool.negate(from));
  };
  const Expr* last = pool.subtract(size, pool.integer(1));
  return pool.subtract(last, distance(pool.subtract(last, distance(i))));
}
const Expr* nearest(symbolic::ExprPool& pool, const Expr* i, const Expr* size) {
  const Expr* from = pool.make(symbolic::ExprOp::Max, i, pool.integer(0));
  return pool.make(symbolic::ExprOp::Min, from, pool.subtract(size, pool.integer(1)));
}

// Pairs of numbers from the last dimension on.
void bordered(const Tensor& self, SymIntList padding, const Tensor& out, BorderFn border) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  std::vector<const Expr*> before;
  for (size_t i = 0; i + 1 < padding.size(); i += 2) before.push_back(l.integer(padding[i]));
  l.view(out, self, [&pool, before, border, sizes = l.sizes(self)](const Place& at) {
    Place place = at;
    for (size_t k = 0; k < before.size(); ++k) {
      const size_t d = at.size() - 1 - k;
      place[d] = border(pool, pool.subtract(at[d], before[k]), sizes[d]);
    }
    return place;
  });
}

}  // namespace

void reflection_pad1d(const Tensor& self, SymIntList padding, const Tensor& out) {
  bordered(self, padding, out, reflected);
}
void reflection_pad2d(const Tensor& self, SymIntList padding, const Tensor& out) {
  bordered(self, padding, out, reflected);
}
void reflection_pad3d(const Tensor& self, SymIntList padding, const Tensor& out) {
  bordered(self, padding, out, reflected);
}
void replication_pad1d(const Tensor& self, SymIntList padding, const Tensor& out) {
  bordered(self, padding, out, nearest);
}
void replication_pad2d(const Tensor& self, SymIntList padding, const Tensor& out) {
  bordered(self, padding, out, nearest);
}
void replication_pad3d(const Tensor& self, SymIntList padding, const Tensor& out) {
  bordered(self, padding, out, nearest);
}

}  // namespace taeda::lowering
