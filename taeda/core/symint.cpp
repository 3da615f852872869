// The symbolic side of SymInt's arithmetic: hands over to the node of whichever operand has one.
#include "taeda/core/symint.h"

namespace taeda {

SymInt SymInt::apply_symbolic(SymOp op, const SymInt& a, const SymInt& b) {
  return a.is_symbolic() ? SymInt(a.node()->binary(op, b.word_, true))
                         : SymInt(b.node()->binary(op, a.word_, false));
}

bool SymInt::test_symbolic(SymOp op, const SymInt& a, const SymInt& b) {
  return a.is_symbolic() ? a.node()->guard_bool(op, b.word_, true)
                         : b.node()->guard_bool(op, a.word_, false);
}

}  // namespace taeda
