// Patches of images: each element of a column is one of the image, or lies in its border.
#include "taeda/ops/patches/lowerings.h"

namespace taeda::lowering {
namespace {

// One of the dimensions of windows.
struct PatchDim {
  const Expr* image;
  int64_t kernel, dilation, padding, stride;

  const Expr* places(symbolic::ExprPool& pool) const {
    const int64_t reach = dilation * (kernel - 1) + 1 - 2 * padding;
    const Expr* room = pool.subtract(image, pool.integer(reach));
    return pool.add(pool.floor_div(room, pool.integer(stride)), pool.integer(1));
  }
  // Of element `k` of the window at a place.
  const Expr* index(symbolic::ExprPool& pool, const Expr* k, const Expr* place) const {
    const Expr* start = pool.subtract(pool.mul(place, pool.integer(stride)), pool.integer(padding));
    return pool.add(start, pool.mul(k, pool.integer(dilation)));
  }
  SymMask is_inside(Emitter& e, const Expr* i) const {
    if (padding == 0) return SymMask(true);
    return (e.index(i) >= e.constant(0, Type::I64)) & (e.index(i) < e.index(image));
  }
};

}  // namespace

void im2col(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  const size_t rank = x.sizes.size();
  PatchDim dims[2];
  for (size_t d = 0; d < 2; ++d)
    dims[d] = {x.sizes[rank - 2 + d], kernel_size[d], dilation[d], padding[d], stride[d]};
  l.define(out, [high = dims[0], wide = dims[1], rank, &x](Emitter& e, const Place& at) {
    symbolic::ExprPool& pool = e.pool();
    const Expr *column = at[rank - 3], *place = at[rank - 2], *many = wide.places(pool),
               *width = pool.integer(wide.kernel);
    const Expr* k = pool.modulo(column, pool.integer(high.kernel * wide.kernel));
    Place from = at;
    from.push_back(place);
    from[rank - 3] = pool.floor_div(column, pool.integer(high.kernel * wide.kernel));
    from[rank - 2] = high.index(pool, pool.floor_div(k, width), pool.floor_div(place, many));
    from[rank - 1] = wide.index(pool, pool.modulo(k, width), pool.modulo(place, many));
    const SymMask inside = high.is_inside(e, from[rank - 2]) & wide.is_inside(e, from[rank - 1]);
    const bool has_border = high.padding > 0 || wide.padding > 0;
    return has_border ? e.read_if(inside, x, from) : e.read(x, from);
  });
}

}  // namespace taeda::lowering
