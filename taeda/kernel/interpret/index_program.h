// Index expressions as short programs over an array of symbols: sums of products, or steps of a
// stack machine where something is divided or compared.
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
    int64_t value;  // constant, place of a symbol, or number of operands: -2 for two floats
  };
  void add(const symbolic::Expr* e, FunctionRef<int(const symbolic::Expr*)> place_of);
  bool add_terms(const symbolic::Expr* e, FunctionRef<int(const symbolic::Expr*)> place_of);
  int64_t run_steps(const int64_t* symbols) const;

  // A factor and places of symbols to multiply it with; -1 for none.
  struct Term {
    int64_t factor;
    int places[4];
  };
  int64_t constant_ = 0;
  std::vector<Term> terms_;
  std::vector<Step> steps_;  // operands first; none where terms are enough
};

}  // namespace taeda::kernel
