// Symbolic sizes of a graph as expressions of a program.
#pragma once

#include <unordered_map>
#include <vector>

#include "taeda/core/symint.h"
#include "taeda/symbolic/expr.h"

namespace taeda::inductor {

// Every symbol of a shape environment gets one of the same name and range. Floats become symbols of
// the program where a run has to compute something of them.
class SizeExpressions {
 public:
  explicit SizeExpressions(symbolic::ExprPool& pool) : pool_(pool) {}

  const symbolic::Expr* operator()(const SymInt& value);
  // Of any symbolic number, for kernels: floats in it are not among the symbols.
  const symbolic::Expr* in_kernels(const SymNode& value);
  // The same for runs.
  const symbolic::Expr* in_runs(const SymNode& value);
  // The symbol of an input that is a float, whatever the graph computed it from.
  const symbolic::Expr* float_input(const SymNode& value);
  const std::vector<const symbolic::Expr*>& symbols() const { return symbols_; }

 private:
  const symbolic::Expr* translate(const symbolic::Expr* e);
  const symbolic::Expr* with_floats(const symbolic::Expr* made);

  symbolic::ExprPool& pool_;
  std::unordered_map<const symbolic::Expr*, const symbolic::Expr*> known_;
  std::vector<const symbolic::Expr*> symbols_;
};

}  // namespace taeda::inductor
