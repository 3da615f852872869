// Questions about numbers that only data tells.
//
// A shape rule may ask whether two numbers stand in a relation. For plain numbers and those with
// hints the answer is theirs (and a guard); where only data tells there may be none, and the rule
// goes on without it or states what must hold, which a run of the program checks.
#pragma once

#include <optional>

#include "taeda/core/symint.h"

namespace taeda {

// The answers for symbolic numbers; set once by the layer that has shape environments.
struct UnbackedRules {
  std::optional<bool> (*known)(SymOp op, const SymInt& a, const SymInt& b);
  bool (*likely)(SymOp op, const SymInt& a, const SymInt& b);
  bool (*expect)(SymOp op, const SymInt& a, const SymInt& b);
  bool (*expect_size)(const SymInt& a);
  void (*learn)(SymOp op, const SymInt& a, const SymInt& b);
  void (*learn_size)(const SymInt& a);
  SymInt (*number_of)(const char* function, SymIntList of);
  std::optional<bool> (*lies_within)(const SymNode& number, double low, double high);
};
TAEDA_API void set_unbacked_rules(const UnbackedRules& rules);

// Whether `a op b`, guarded on where they are symbolic.
TAEDA_API bool holds(SymOp op, const SymInt& a, const SymInt& b);
// Whether `a op b`; nothing where only data tells.
TAEDA_API std::optional<bool> known(SymOp op, const SymInt& a, const SymInt& b);
inline bool is_known(SymOp op, const SymInt& a, const SymInt& b) {
  return known(op, a, b).value_or(false);
}
// Whether `a op b`; where only data tells, under the guesses that optimizations work with. Adds no
// guard there: who relies on the answer states it.
TAEDA_API bool is_likely(SymOp op, const SymInt& a, const SymInt& b);
// States that `a op b`: false where it does not hold, checked by a run where only data tells.
TAEDA_API bool expect(SymOp op, const SymInt& a, const SymInt& b);
// States that a number is a size: not negative, and neither 0 nor 1 where shape rules ask.
TAEDA_API bool expect_size(const SymInt& a);
// The same of a number that a rule made, where they follow from how it did so: nothing checks them.
TAEDA_API void learn(SymOp op, const SymInt& a, const SymInt& b);
TAEDA_API void learn_size(const SymInt& a);
// A number that only a run tells: this function of these numbers, the same one for the same ones.
// At least one of them is symbolic.
TAEDA_API SymInt number_of(const char* function, SymIntList of);
// Whether low <= number <= high, guarded on; nothing where only data tells. The limits of an
// integer are whole and below 2^53.
TAEDA_API std::optional<bool> lies_within(const SymNode& number, double low, double high);

}  // namespace taeda
