// The symbolic side of SymInt and Scalar (the node of whichever operand has one answers), and how
// both print.
#include <cmath>

#include "taeda/core/constant_sym_node.h"
#include "taeda/core/scalar.h"

namespace taeda {

SymInt SymInt::apply_symbolic(SymOp op, const SymInt& a, const SymInt& b) {
  IntrusivePtr<SymNode> r =
      a.is_symbolic() ? a.node()->binary(op, b.word_, true) : b.node()->binary(op, a.word_, false);
  if (const auto* constant = dynamic_cast<const ConstantSymNode*>(r.get()))
    return ConstantSymNode::as_symint(constant->value());
  return SymInt(std::move(r));
}

bool SymInt::test_symbolic(SymOp op, const SymInt& a, const SymInt& b) {
  return a.is_symbolic() ? a.node()->guard_bool(op, b.word_, true)
                         : b.node()->guard_bool(op, a.word_, false);
}

void SymInt::overflow(int64_t value) {
  TAEDA_CHECK(!is_pointer(value), "an int that cannot be represented as a SymInt: ", value);
  fail(ErrorKind::Runtime, "integer overflow in arithmetic on sizes, of ", value);
}

void SymInt::release_node(int64_t word) {
  reinterpret_cast<SymNode*>(static_cast<uint64_t>(word) & ~(3ULL << 62))->release();
}

void append(std::string& out, const SymInt& v) {
  if (v.is_symbolic())
    out.append(v.node()->text());
  else
    append_int(out, v.word());
}

template void append(std::string& out, Span<int64_t> values);
template void append(std::string& out, Span<SymInt> values);

void Scalar::release_node() const { node_->release(); }

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

Scalar Scalar::root() const {
  IntrusivePtr<SymNode> made = is_symbolic_ ? node_->root() : IntrusivePtr<SymNode>();
  return made ? Scalar(std::move(made)) : Scalar(std::sqrt(to_double()));
}

Scalar Scalar::reciprocal() const {
  IntrusivePtr<SymNode> made = is_symbolic_ ? node_->reciprocal() : IntrusivePtr<SymNode>();
  return made ? Scalar(std::move(made)) : Scalar(1 / to_double());
}

void append(std::string& out, const Scalar& s) {
  if (s.is_symbolic()) {
    out += s.node()->text();
    return;
  }
  switch (s.kind()) {
    case Scalar::Kind::Bool: append(out, s.to_bool()); break;
    case Scalar::Kind::Float: append(out, s.to_double()); break;
    case Scalar::Kind::Complex:
      out += str("(", s.to_complex().re, "+", s.to_complex().im, "j)");
      break;
    default: append(out, s.to_int());
  }
}

}  // namespace taeda
