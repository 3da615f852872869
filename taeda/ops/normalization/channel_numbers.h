// Numbers per channel as eager kernels read them: doubles, with one number for all that have none.
#pragma once

#include "taeda/ops/lowering.h"

namespace taeda::lowering {

class ChannelNumbers {
 public:
  ChannelNumbers(const Tensor& t, double otherwise)
      : numbers_(t.defined() ? &Lowering::current().of(t) : nullptr), otherwise_(otherwise) {}
  Sym wide(Emitter& e, const Expr* channel) const {
    if (!numbers_) return e.constant(otherwise_, Type::F64);
    return e.cast(e.read(*numbers_, {channel}), Type::F64);
  }

 private:
  const Definition* numbers_;
  double otherwise_;
};

}  // namespace taeda::lowering
