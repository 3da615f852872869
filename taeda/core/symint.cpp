// The symbolic side of SymInt and Scalar: hands over to the node of whichever operand has one.
#include "taeda/core/constant_sym_node.h"
#include "taeda/core/scalar.h"

namespace taeda {

SymInt SymInt::apply_symbolic(SymOp op, const SymInt& a, const SymInt& b) {
  IntrusivePtr<SymNode> r =
      a.is_symbolic() ? a.node()->binary(op, b.word_, true) : b.node()->binary(op, a.word_, false);
  if (const auto* constant = dynamic_cast<const ConstantSymNode*>(r.get()))
    return SymInt(constant->value());
  return SymInt(std::move(r));
}

bool SymInt::test_symbolic(SymOp op, const SymInt& a, const SymInt& b) {
  return a.is_symbolic() ? a.node()->guard_bool(op, b.word_, true)
                         : b.node()->guard_bool(op, a.word_, false);
}

Scalar Scalar::specialized() const {
  switch (kind_) {
    case Kind::Bool: return Scalar(node_->guard_truth(__FILE__, __LINE__));
    case Kind::Float: return Scalar(node_->guard_float(__FILE__, __LINE__));
    default: return Scalar(node_->guard_int(__FILE__, __LINE__));
  }
}

Scalar Scalar::negated() const {
  if (kind_ != Kind::Int) return -specialized();
  return Scalar(-SymInt(IntrusivePtr<SymNode>::share(node_)));
}

}  // namespace taeda
