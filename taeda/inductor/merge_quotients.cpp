// Pairs of terms.
#include "taeda/inductor/merge_quotients.h"

#include <algorithm>

namespace taeda::inductor {

using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::ExprPool;

namespace {

// A term as factor * Mod(a, b); no modulo where there is none.
struct Remainder {
  const Expr *modulo = nullptr, *factor = nullptr;
};

Remainder remainder_of(ExprPool& pool, const Expr* term) {
  if (term->op == ExprOp::Mod) return {term, pool.integer(1)};
  if (term->op != ExprOp::Mul) return {};
  Remainder found{nullptr, pool.integer(1)};
  for (const Expr* part : term->args) {
    if (!found.modulo && part->op == ExprOp::Mod)
      found.modulo = part;
    else
      found.factor = pool.mul(found.factor, part);
  }
  return found;
}

// The terms of the sum with two of them replaced by one; null where none belong together.
const Expr* merged_once(ExprPool& pool, const Expr* at) {
  if (at->op != ExprOp::Add) return nullptr;
  const auto has_term = [at](const Expr* term) {
    return std::find(at->args.begin(), at->args.end(), term) != at->args.end();
  };
  // A multiple of a quotient by a sum is a sum itself.
  const auto has_terms = [&](const Expr* e) {
    return e->op == ExprOp::Add ? std::all_of(e->args.begin(), e->args.end(), has_term)
                                : has_term(e);
  };
  for (const Expr* term : at->args) {
    const Remainder r = remainder_of(pool, term);
    if (!r.modulo) continue;
    const Expr *a = r.modulo->args[0], *b = r.modulo->args[1];
    const Expr *quotient = pool.floor_div(a, b), *factor = pool.mul(r.factor, b);
    const auto with = [&](const Expr* other, const Expr* both) {
      return pool.add(pool.subtract(pool.subtract(at, term), other), pool.mul(r.factor, both));
    };
    if (const Expr* other = pool.mul(factor, quotient); has_terms(other)) return with(other, a);
    if (b->range.lo < 0) continue;
    for (const Expr* second : at->args) {
      const Remainder s = remainder_of(pool, second);
      if (!s.modulo || s.modulo->args[0] != quotient || s.factor != factor) continue;
      if (s.modulo->args[1]->range.lo < 0) continue;
      return with(second, pool.modulo(a, pool.mul(b, s.modulo->args[1])));
    }
  }
  return nullptr;
}

}  // namespace

const Expr* merged_quotients(ExprPool& pool, const Expr* at) {
  while (const Expr* next = merged_once(pool, at)) at = next;
  return at;
}

}  // namespace taeda::inductor
