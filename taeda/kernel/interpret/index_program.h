// Index expressions as short programs over an array of symbols.
#pragma once

#include <cstdint>
#include <vector>

#include "taeda/base/function_ref.h"
#include "taeda/symbolic/expr.h"

namespace taeda::kernel {

// Evaluates one expression many times. The place of a symbol in the array is fixed when the program
// is made.
class IndexProgram {
 public:
  IndexProgram() = default;
  IndexProgram(const symbolic::Expr* e, FunctionRef<int(const symbolic::Expr*)> place_of);

  int64_t operator()(const int64_t* symbols) const;

 private:
  struct Step {
    symbolic::ExprOp op;
    int64_t value;  // a constant, the place of a symbol, or the number of operands
  };
  void add(const symbolic::Expr* e, FunctionRef<int(const symbolic::Expr*)> place_of);

  std::vector<Step> steps_;  // operands first
};

}  // namespace taeda::kernel
