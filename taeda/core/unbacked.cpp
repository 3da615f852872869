// Relations of plain numbers, and the hooks for symbolic ones.
#include "taeda/core/unbacked.h"

namespace taeda {
namespace {

UnbackedRules symbolic_rules{};

bool is_plain(const SymInt& a, const SymInt& b) { return !a.is_symbolic() && !b.is_symbolic(); }

}  // namespace

bool holds(SymOp op, const SymInt& a, const SymInt& b) {
  switch (op) {
    case SymOp::Eq: return a == b;
    case SymOp::Ne: return a != b;
    case SymOp::Lt: return a < b;
    case SymOp::Le: return a <= b;
    case SymOp::Gt: return a > b;
    case SymOp::Ge: return a >= b;
    default: fail(ErrorKind::Internal, "no relation of numbers");
  }
}

void set_unbacked_rules(const UnbackedRules& rules) { symbolic_rules = rules; }

std::optional<bool> known(SymOp op, const SymInt& a, const SymInt& b) {
  if (is_plain(a, b) || !symbolic_rules.known) return holds(op, a, b);
  return symbolic_rules.known(op, a, b);
}

bool is_likely(SymOp op, const SymInt& a, const SymInt& b) {
  if (is_plain(a, b) || !symbolic_rules.likely) return holds(op, a, b);
  return symbolic_rules.likely(op, a, b);
}

bool expect(SymOp op, const SymInt& a, const SymInt& b) {
  if (is_plain(a, b) || !symbolic_rules.expect) return holds(op, a, b);
  return symbolic_rules.expect(op, a, b);
}

bool expect_size(const SymInt& a) {
  if (!a.is_symbolic() || !symbolic_rules.expect_size) return a >= SymInt(0);
  return symbolic_rules.expect_size(a);
}

void learn(SymOp op, const SymInt& a, const SymInt& b) {
  if (!is_plain(a, b) && symbolic_rules.learn) symbolic_rules.learn(op, a, b);
}

void learn_size(const SymInt& a) {
  if (a.is_symbolic() && symbolic_rules.learn_size) symbolic_rules.learn_size(a);
}

SymInt number_of(const char* function, SymIntList of) {
  TAEDA_INTERNAL_CHECK(symbolic_rules.number_of, "symbolic numbers without their rules");
  return symbolic_rules.number_of(function, of);
}

std::optional<bool> lies_within(const SymNode& number, double low, double high) {
  if (!symbolic_rules.lies_within) return std::nullopt;
  return symbolic_rules.lies_within(number, low, high);
}

}  // namespace taeda
