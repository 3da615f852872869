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

inline kernel::Draw uniform_draw(DType dtype) {
  switch (dtype) {
    case DType::BFloat16: return kernel::Draw::Uniform8;
    case DType::Half: return kernel::Draw::Uniform11;
    case DType::Float8E4M3: return kernel::Draw::Uniform4;
    case DType::Float8E5M2: return kernel::Draw::Uniform3;
    case DType::Double: return kernel::Draw::Uniform53;
    default: return kernel::Draw::Uniform24;
  }
}

// A value of a stream of uniform numbers, as eager kernels spread them over [from, to).
inline Lowering::ValueFn uniform_numbers(const Tensor& out, double from, double to) {
  const bool is_double = out.dtype() == DType::Double;
  const ElementDraws draws(out, is_double ? 2 : 1);
  // The largest value below the upper bound, which rounding must not reach.
  double low = from, width = to - from, last = from < to ? std::nextafter(to, from) : to;
  if (!is_double) {
    const float lo = static_cast<float>(from), hi = static_cast<float>(to);
    low = lo;
    width = hi - lo;
    last = lo < hi ? std::nextafter(hi, lo) : hi;
  }
  const kernel::Draw what = uniform_draw(out.dtype());
  return [draws, what, low, width, last](Emitter& e, const Place& at) {
    const Sym x = draws.draw(e, what, at) * Sym(width) + Sym(low);
    return where(x < Sym(last), x, Sym(last));
  };
}

}  // namespace taeda::lowering
