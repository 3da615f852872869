// Integer expressions as sums of products: the normal form that Add and Mul are kept in.
#pragma once

#include <optional>
#include <vector>

#include "taeda/symbolic/expr.h"

namespace taeda::symbolic {

struct Factor {
  const Expr* atom;  // a symbol or whatever is neither sum nor product nor power
  int64_t exponent;
  friend bool operator==(const Factor&, const Factor&) = default;
};
struct Term {
  int64_t coefficient = 1;
  SmallVector<Factor, 4> factors;  // in the order of atoms; none for the constant term
};
// Largest terms first (total degree, then lexicographic), no two of the same factors, no zeros.
using Polynomial = std::vector<Term>;

Polynomial polynomial_of(const Expr* e);
const Expr* expr_of(ExprPool& pool, const Polynomial& p);

Polynomial sum(const Polynomial& a, const Polynomial& b);
// Multiplied out; a product of too many terms keeps its larger operand as an atom.
const Expr* product(ExprPool& pool, const Expr* a, const Expr* b);
// A power of one term with the coefficient 1, where its exponents stay within bounds.
std::optional<Polynomial> monomial_power(Polynomial p, int64_t exponent);
// a / b where the remainder is zero.
std::optional<Polynomial> exact_quotient(const Polynomial& a, const Polynomial& b);
// a = multiples + rest, where every term of the multiples divides exactly by the one term of b.
struct Split {
  Polynomial quotient, rest;
};
Split split_multiples(const Polynomial& a, const Polynomial& b);
// The largest term that divides every term of both; its coefficient is positive.
Term common_factor(const Polynomial& a, const Polynomial& b);

// Of the same sign as a - b: without the factors that are known to be positive.
const Expr* sign_of_difference(ExprPool& pool, const Expr* a, const Expr* b);

// e = scale * form + offset, where the form has no constant term, coprime coefficients and a
// positive first one: expressions that differ only by such numbers share their form.
struct Affine {
  const Expr* form;  // null for a constant
  int64_t scale = 1;
  int64_t offset = 0;
};
TAEDA_API Affine affine_of(ExprPool& pool, const Expr* e);

}  // namespace taeda::symbolic
