// The parts of a number.
#include "taeda/ops/float_math/lowerings.h"

namespace taeda::lowering {

void frexp_Tensor(const Tensor& self, const Tensor& out0, const Tensor& out1) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  l.define(out0, [&x](Emitter& e, const Place& at) { return frexp_fraction(e.read(x, at)); });
  l.define(out1, [&x](Emitter& e, const Place& at) {
    return e.cast(frexp_exponent(e.read(x, at)), Type::I64);
  });
}

}  // namespace taeda::lowering
