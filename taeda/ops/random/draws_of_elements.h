// Elements of a result that draw from the stream, as eager kernels let them: element i in logical
// order has place i.
#pragma once

#include <cmath>

#include "taeda/ops/lowering.h"

namespace taeda::lowering {

class ElementDraws {
 public:
  // `words`: how many 32-bit words an element takes.
  ElementDraws(const Tensor& out, int64_t words) : sizes_(Lowering::current().sizes(out)) {
    Lowering& l = Lowering::current();
    const Expr* numel = l.pool().integer(words);
    for (const Expr* size : sizes_) numel = l.pool().mul(numel, size);
    stream_ = l.reserve(l.pool().ceil_div(numel, l.pool().integer(4)));
  }

  Sym draw(Emitter& e, kernel::Draw what, const Place& at, Sym limit = {}) const {
    const Expr* place = e.pool().integer(0);
    for (size_t d = 0; d < at.size(); ++d)
      place = e.pool().add(e.pool().mul(place, sizes_[d]), at[d]);
    return e.random(what, place, stream_, limit);
  }
  // True with probability p.
  SymMask happens(Emitter& e, double p, const Place& at) const {
    const Sym word = e.cast(draw(e, kernel::Draw::Word, at), Type::F64);
    return word < e.constant(std::ceil(p * 0x1p32), Type::F64);
  }

 private:
  Place sizes_;
  kernel::RandomStream stream_;
};

}  // namespace taeda::lowering
