// Elements that take those of another tensor in order: a running count of the mask says which.
#include "taeda/ops/index_map.h"
#include "taeda/ops/placement/lowerings.h"

namespace taeda::lowering {

void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source,
                    const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  const Definition &x = l.of(self), &taken = l.of(mask), &values = l.of(source);
  const Place sizes = l.sizes(out);
  const auto numel = [&pool](const Place& of) {
    const Expr* n = pool.integer(1);
    for (const Expr* size : of) n = pool.mul(n, size);
    return n;
  };
  const Place line{numel(sizes)}, many{numel(values.sizes)};
  const auto is_taken = [&taken, sizes](Emitter& e, const Place& at) {
    const Sym found = e.read(taken, broadcast_place(e.pool(), sizes, taken.sizes, at));
    return e.cast(found, Type::Mask);
  };
  const Reduction& running = l.scan("sum", line, 0, [=](Emitter& e, const Place& at) {
    const Place place = reshaped_place(e.pool(), line, sizes, at);
    return std::vector<Sym>{e.cast(is_taken(e, place), Type::I64)};
  });
  const Definition& counts = l.define(
      DType::Int64, line,
      [&running](Emitter& e, const Place& at) { return e.result(running, 0, at); }, true);
  l.define(out, [=, &x, &values, &counts](Emitter& e, const Place& at) {
    const SymMask takes = SymMask::from_id(is_taken(e, at).id);
    const Sym count = e.read(counts, reshaped_place(e.pool(), sizes, line, at));
    // More than there are is an error of the run.
    const Sym one = e.constant(1, Type::I64);
    const Expr* place =
        e.indirect(where(takes, count - one, e.constant(0, Type::I64)), many[0], false);
    const Sym given =
        e.read_if(takes, values, reshaped_place(e.pool(), many, values.sizes, {place}));
    return where(takes, given, e.read(x, broadcast_place(e.pool(), sizes, x.sizes, at)));
  });
}

}  // namespace taeda::lowering
