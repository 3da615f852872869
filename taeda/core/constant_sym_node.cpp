// Arithmetic of integers that stand as nodes.
#include "taeda/core/constant_sym_node.h"

namespace taeda {
namespace {

// Whether a word of a SymInt is the integer itself.
bool is_plain(int64_t word) { return static_cast<uint64_t>(word) >> 62 != 2; }

int64_t value_of(int64_t word) {
  if (is_plain(word)) return word;
  const auto* node = reinterpret_cast<const SymNode*>(static_cast<uint64_t>(word) & ~(3ULL << 62));
  const auto* constant = dynamic_cast<const ConstantSymNode*>(node);
  TAEDA_CHECK(constant, "arithmetic of a symbolic integer with one below -2**62");
  return constant->value();
}

}  // namespace

SymInt ConstantSymNode::as_symint(int64_t value) {
  return is_plain(value) ? SymInt(value) : SymInt(make_intrusive<ConstantSymNode>(value));
}

IntrusivePtr<SymNode> ConstantSymNode::binary(SymOp op, int64_t word_of_other, bool is_self_left) {
  const int64_t other = value_of(word_of_other);
  const int64_t a = is_self_left ? value_ : other, b = is_self_left ? other : value_;
  int64_t result = 0;
  bool is_exact = true;
  switch (op) {
    case SymOp::Add: is_exact = !__builtin_add_overflow(a, b, &result); break;
    case SymOp::Sub: is_exact = !__builtin_sub_overflow(a, b, &result); break;
    case SymOp::Mul: is_exact = !__builtin_mul_overflow(a, b, &result); break;
    case SymOp::Min: result = a < b ? a : b; break;
    case SymOp::Max: result = a > b ? a : b; break;
    default: {
      TAEDA_CHECK_KIND(ErrorKind::ZeroDivision, b != 0, "integer division or modulo by zero");
      is_exact = b != -1;  // the least integer has no opposite
      if (!is_exact) break;
      const int64_t quotient = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
      result = op == SymOp::FloorDiv ? quotient : a - quotient * b;
    }
  }
  TAEDA_CHECK(is_exact, "integer overflow in arithmetic on sizes, of ", a);
  return make_intrusive<ConstantSymNode>(result);
}

bool ConstantSymNode::guard_bool(SymOp op, int64_t word_of_other, bool is_self_left) {
  const int64_t other = value_of(word_of_other);
  const int64_t a = is_self_left ? value_ : other, b = is_self_left ? other : value_;
  switch (op) {
    case SymOp::Eq: return a == b;
    case SymOp::Ne: return a != b;
    case SymOp::Lt: return a < b;
    case SymOp::Le: return a <= b;
    case SymOp::Gt: return a > b;
    default: return a >= b;
  }
}

}  // namespace taeda
