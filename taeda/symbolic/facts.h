// Facts: present knowledge of the symbols, and conclusions from it.
//
// Knowledge has three forms: ranges of symbols and of forms such as s0 - s1 or Mod(s0, 2);
// replacements (s1 is s0, s0 is 4); and single conditions that fit neither. It only grows.
#pragma once

#include "taeda/symbolic/expr.h"

namespace taeda::symbolic {

class TAEDA_API Facts {
 public:
  explicit Facts(ExprPool& pool) : pool_(pool) {}

  // With everything known put in.
  const Expr* simplify(const Expr* e);
  // With the replaced symbols put in and nothing else, so that guards keep their form.
  const Expr* replace_symbols(const Expr* e) const { return substitute(pool_, e, symbols_); }
  IntRange range(const Expr* e) { return range_of(simplify(e)); }
  // The truth of a condition where it follows. When `is_size_oblivious`, unbacked sizes count as at
  // least 2.
  std::optional<bool> decide(const Expr* condition, bool is_size_oblivious = false);
  // Takes the condition as true from now on. An error when it contradicts known facts.
  void learn(const Expr* condition);
  void narrow(const Expr* e, IntRange range);
  void add_size_like(const Expr* symbol) { size_like_.insert(symbol); }
  bool is_size_like(const Expr* symbol) const { return size_like_.count(symbol) != 0; }
  const Replacements& replaced_symbols() const { return symbols_; }

 private:
  const Expr* cancel_known_divisions(const Expr* e);
  const Expr* canonical(const Expr* condition);
  const Expr* substitute_known(const Expr* e);
  // With unbacked sizes replaced by symbols of at least 2, on which the rules of construction act.
  const Expr* with_large_sizes(const Expr* e);
  IntRange range_of(const Expr* e);
  std::optional<bool> decide_known(const Expr* condition);
  std::optional<bool> decide_relation(const Expr* e);
  void learn_relation(const Expr* e);
  void learn_equal(const Expr* difference);
  void replace(const Expr* part, const Expr* by);
  void narrow_form(const Expr* form, IntRange range);

  ExprPool& pool_;
  std::unordered_map<const Expr*, IntRange> ranges_;  // of symbols and forms
  // Fully applied to each other. Forms that are constants, Mod(s0, 2) say, are kept apart.
  Replacements symbols_, forms_;
  std::unordered_map<const Expr*, bool> known_;  // by canonical condition
  std::unordered_set<const Expr*> size_like_;
  Replacements simplified_;  // remembered until something is learned
};

}  // namespace taeda::symbolic
