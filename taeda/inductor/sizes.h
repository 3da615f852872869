// Symbolic sizes of a graph as expressions of a program.
#pragma once

#include <unordered_map>
#include <vector>

#include "taeda/core/symint.h"
#include "taeda/symbolic/expr.h"

namespace taeda::inductor {

// Every symbol of a shape environment gets one of the same name and range.
class SizeExpressions {
 public:
  explicit SizeExpressions(symbolic::ExprPool& pool) : pool_(pool) {}

  const symbolic::Expr* operator()(const SymInt& value);
  const std::vector<const symbolic::Expr*>& symbols() const { return symbols_; }

 private:
  const symbolic::Expr* translate(const symbolic::Expr* e);

  symbolic::ExprPool& pool_;
  std::unordered_map<const symbolic::Expr*, const symbolic::Expr*> known_;
  std::vector<const symbolic::Expr*> symbols_;
};

}  // namespace taeda::inductor
