// Sizes written as expressions over symbols, computed from the values of the symbols.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "taeda/base/function_ref.h"
#include "taeda/core/symint.h"

namespace taeda::exported {

using SymbolValues = std::unordered_map<std::string, int64_t>;

// `2*s0 + 1`, `(s0//2)`, `Mod(s0, 4)`, `Max(1, s0)`, `s0**2`: the forms in which shape environments
// print integers, and Python's `s0 % 4` and `max(1, s0)`; conditions such as `s0 < 9` and
// `Ne(s0, 3)` are 0 or 1. Immutable.
class TAEDA_API SizeExpression {
 public:
  // RuntimeError for other forms; nesting is bounded.
  static SizeExpression parse(std::string_view text);
  // Nothing for what is none of them, which a graph may hold: a float rounded, say.
  static std::optional<SizeExpression> try_parse(std::string_view text);

  const std::string& text() const { return text_; }
  // Whether it is one symbol alone.
  bool is_symbol() const;
  // Nothing where a symbol has no value; ZeroDivision and Overflow as integers have them.
  std::optional<int64_t> evaluate(const SymbolValues& values) const;
  // The same of symbolic values.
  SymInt build(FunctionRef<SymInt(const std::string& symbol)> value_of) const;
  // Each once, in order.
  std::vector<std::string> symbols() const;

  struct Term;

 private:
  std::string text_;
  std::shared_ptr<const Term> term_;
};

}  // namespace taeda::exported
