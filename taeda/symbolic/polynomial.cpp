// Arithmetic on sums of products.
#include "taeda/symbolic/polynomial.h"

#include <numeric>

namespace taeda::symbolic {
namespace {

constexpr size_t kMaxTerms = 64;
constexpr int kMaxDivisionSteps = 256;
constexpr int64_t kMaxExponent = 1 << 30;

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r) || r == IntRange::kMin)
    fail(ErrorKind::Overflow, "integer overflow in a symbolic shape: ", a, " * ", b);
  return r;
}
int64_t checked_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r) || r == IntRange::kMin)
    fail(ErrorKind::Overflow, "integer overflow in a symbolic shape: ", a, " + ", b);
  return r;
}

// Symbols stand before other atoms, older before younger.
bool is_before(const Expr* a, const Expr* b) {
  if (a->is_symbol() != b->is_symbol()) return a->is_symbol();
  return a->id < b->id;
}

int64_t degree(const Term& t) {
  int64_t d = 0;
  for (const Factor& f : t.factors) d += f.exponent;
  return d;
}

// Negative when a's monomial stands before b's, zero when they are the same.
int compare(const Term& a, const Term& b) {
  const int64_t da = degree(a), db = degree(b);
  if (da != db) return da > db ? -1 : 1;
  for (size_t i = 0; i < a.factors.size() && i < b.factors.size(); ++i) {
    const Factor &x = a.factors[i], &y = b.factors[i];
    if (x.atom != y.atom) return is_before(x.atom, y.atom) ? -1 : 1;
    if (x.exponent != y.exponent) return x.exponent > y.exponent ? -1 : 1;
  }
  return 0;
}

Term times(const Term& a, const Term& b) {
  Term r;
  r.coefficient = checked_mul(a.coefficient, b.coefficient);
  size_t i = 0, j = 0;
  while (i < a.factors.size() || j < b.factors.size()) {
    if (j == b.factors.size() ||
        (i < a.factors.size() && is_before(a.factors[i].atom, b.factors[j].atom))) {
      r.factors.push_back(a.factors[i++]);
    } else if (i == a.factors.size() || is_before(b.factors[j].atom, a.factors[i].atom)) {
      r.factors.push_back(b.factors[j++]);
    } else {
      const int64_t exponent = a.factors[i].exponent + b.factors[j].exponent;
      TAEDA_CHECK_KIND(ErrorKind::Overflow, exponent <= kMaxExponent,
                       "integer overflow in a symbolic shape: the exponent ", exponent);
      r.factors.push_back({a.factors[i].atom, exponent});
      ++i, ++j;
    }
  }
  return r;
}

std::optional<Term> quotient(const Term& a, const Term& b) {
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  Term r;
  r.coefficient = a.coefficient / b.coefficient;
  size_t j = 0;
  for (const Factor& f : a.factors) {
    int64_t exponent = f.exponent;
    if (j < b.factors.size() && b.factors[j].atom == f.atom) exponent -= b.factors[j++].exponent;
    if (exponent < 0) return std::nullopt;
    if (exponent > 0) r.factors.push_back({f.atom, exponent});
  }
  if (j < b.factors.size()) return std::nullopt;
  return r;
}

Polynomial scaled(const Polynomial& p, const Term& by) {
  Polynomial r;
  r.reserve(p.size());
  for (const Term& t : p) r.push_back(times(t, by));
  return r;
}

Term term_of(const Expr* e) {
  Term t;
  switch (e->op) {
    case ExprOp::Constant: t.coefficient = e->value.integer; break;
    case ExprOp::Pow: t.factors.push_back({e->args[0], e->args[1]->value.integer}); break;
    case ExprOp::Mul:
      for (const Expr* a : e->args) {
        if (a->is_constant())
          t.coefficient = a->value.integer;
        else
          t.factors.push_back(a->op == ExprOp::Pow ? Factor{a->args[0], a->args[1]->value.integer}
                                                   : Factor{a, 1});
      }
      break;
    default: t.factors.push_back({e, 1});
  }
  return t;
}

const Expr* expr_of_term(ExprPool& pool, const Term& t) {
  ExprArgs parts;
  if (t.coefficient != 1 || t.factors.empty()) parts.push_back(pool.integer(t.coefficient));
  for (const Factor& f : t.factors)
    parts.push_back(f.exponent == 1 ? f.atom
                                    : pool.intern(ExprOp::Pow, SymKind::Int,
                                                  {f.atom, pool.integer(f.exponent)}));
  return parts.size() == 1 ? parts[0] : pool.intern(ExprOp::Mul, SymKind::Int, std::move(parts));
}

}  // namespace

Polynomial polynomial_of(const Expr* e) {
  Polynomial p;
  if (e->op == ExprOp::Add) {
    for (const Expr* a : e->args) p.push_back(term_of(a));
  } else if (!e->is_constant(0)) {
    p.push_back(term_of(e));
  }
  return p;
}

const Expr* expr_of(ExprPool& pool, const Polynomial& p) {
  if (p.empty()) return pool.integer(0);
  if (p.size() == 1) return expr_of_term(pool, p[0]);
  ExprArgs terms;
  for (const Term& t : p) terms.push_back(expr_of_term(pool, t));
  return pool.intern(ExprOp::Add, SymKind::Int, std::move(terms));
}

Polynomial sum(const Polynomial& a, const Polynomial& b) {
  Polynomial r;
  r.reserve(a.size() + b.size());
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const int order = i == a.size() ? 1 : j == b.size() ? -1 : compare(a[i], b[j]);
    if (order < 0) {
      r.push_back(a[i++]);
    } else if (order > 0) {
      r.push_back(b[j++]);
    } else {
      r.push_back(a[i++]);
      r.back().coefficient = checked_add(r.back().coefficient, b[j++].coefficient);
      if (r.back().coefficient == 0) r.pop_back();
    }
  }
  return r;
}

const Expr* product(ExprPool& pool, const Expr* a, const Expr* b) {
  Polynomial x = polynomial_of(a), y = polynomial_of(b);
  if (x.size() < y.size()) {
    std::swap(x, y);
    std::swap(a, b);
  }
  if (x.size() * y.size() > kMaxTerms && x.size() > 1 && y.size() > 1) {
    Term opaque;
    opaque.factors.push_back({a, 1});
    x = {opaque};
  }
  Polynomial r;
  for (const Term& t : y) {
    Polynomial part = scaled(x, t);
    r = sum(r, part);
  }
  return expr_of(pool, r);
}

std::optional<Polynomial> monomial_power(Polynomial p, int64_t exponent) {
  if (p.size() != 1 || p[0].coefficient != 1 || exponent < 1) return std::nullopt;
  for (Factor& f : p[0].factors) {
    if (f.exponent > kMaxExponent / exponent) return std::nullopt;
    f.exponent *= exponent;
  }
  return p;
}

std::optional<Polynomial> exact_quotient(const Polynomial& a, const Polynomial& b) {
  Polynomial rest = a, result;
  for (int step = 0; !rest.empty(); ++step) {
    const std::optional<Term> q = quotient(rest[0], b[0]);
    if (!q || step == kMaxDivisionSteps) return std::nullopt;
    result.push_back(*q);
    Term minus = *q;
    minus.coefficient = -minus.coefficient;
    rest = sum(rest, scaled(b, minus));
  }
  return result;
}

Split split_multiples(const Polynomial& a, const Polynomial& b) {
  Split s;
  for (const Term& t : a) {
    const std::optional<Term> q = b.size() == 1 ? quotient(t, b[0]) : std::nullopt;
    if (q)
      s.quotient.push_back(*q);
    else
      s.rest.push_back(t);
  }
  return s;
}

Term common_factor(const Polynomial& a, const Polynomial& b) {
  Term common;
  common.coefficient = 0;
  bool is_first = true;
  for (const Polynomial* p : {&a, &b}) {
    for (const Term& t : *p) {
      common.coefficient = std::gcd(common.coefficient, t.coefficient);
      if (is_first) common.factors = t.factors;
      is_first = false;
      SmallVector<Factor, 4> shared;
      for (const Factor& f : common.factors)
        for (const Factor& g : t.factors)
          if (g.atom == f.atom) shared.push_back({f.atom, std::min(f.exponent, g.exponent)});
      common.factors = shared;
    }
  }
  return common;
}

const Expr* sign_of_difference(ExprPool& pool, const Expr* a, const Expr* b) {
  const Expr* difference = pool.subtract(a, b);
  const Polynomial p = polynomial_of(difference);
  if (p.size() < 2) return difference;
  const Term common = common_factor(p, {});
  Term positive;
  for (const Factor& f : common.factors)
    if (f.atom->range.lo >= 1) positive.factors.push_back(f);
  if (positive.factors.empty()) return difference;
  return expr_of(pool, *exact_quotient(p, {positive}));
}

Affine affine_of(ExprPool& pool, const Expr* e) {
  Polynomial p = polynomial_of(e);
  Affine r{nullptr};
  if (!p.empty() && p.back().factors.empty()) {
    r.offset = p.back().coefficient;
    p.pop_back();
  }
  if (p.empty()) return r;
  int64_t divisor = 0;
  for (const Term& t : p) divisor = std::gcd(divisor, t.coefficient);
  r.scale = p[0].coefficient < 0 ? -divisor : divisor;
  if (r.scale == 1 && r.offset == 0) {
    r.form = e;
    return r;
  }
  for (Term& t : p) t.coefficient /= r.scale;
  r.form = expr_of(pool, p);
  return r;
}

}  // namespace taeda::symbolic
