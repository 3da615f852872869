// Complex numbers out of two tensors of parts.
#include "taeda/ops/complex_view/lowerings.h"
#include "taeda/ops/index_map.h"

namespace taeda::lowering {

void complex(const Tensor& real, const Tensor& imag, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &re = l.of(real), &im = l.of(imag);
  const Type type = kernel::real_type(kernel::compute_type(out.dtype()));
  l.define(out, [&re, &im, sizes = l.sizes(out), type](Emitter& e, const Place& at) {
    const auto part = [&](const Definition& x) {
      return e.cast(e.read(x, broadcast_place(e.pool(), sizes, x.sizes, at)), type).id;
    };
    return Sym::from_id(e.graph().apply(kernel::Op::MakeComplex, part(re), part(im)));
  });
}

}  // namespace taeda::lowering
