// The exponential of matrices: a polynomial of the matrix divided by 2^s, squared s times.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "taeda/backends/cpu/convert_declarations.h"
#include "taeda/backends/cpu/factor/matrix_batch.h"
#include "taeda/backends/cpu/factorizations_declarations.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

// A polynomial of degree `powers * steps`: the powers up to A^powers are kept, and the terms are
// gathered in `steps` groups of as many, each multiplied by the next one's A^powers.
struct PolynomialPlan {
  int64_t powers = 1, steps = 1, squarings = 0;
  int64_t degree() const { return powers * steps; }
  int64_t products() const { return powers - 1 + steps - 1 + squarings; }
};

// The squarings after which the first term left out, x^(degree + 1) / (degree + 1)!, is a rounding
// error of x.
int64_t squarings_for(double norm, int64_t degree, double epsilon) {
  const double terms = std::lgamma(static_cast<double>(degree) + 2);
  const double limit = (std::log(epsilon) + terms) / static_cast<double>(degree);
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil((std::log(norm) - limit) / M_LN2)));
}

// The plan with the fewest products.
PolynomialPlan plan_for(double norm, double epsilon) {
  PolynomialPlan best;
  if (norm == 0) return best;
  for (int64_t powers = 1; powers <= 5; ++powers)
    for (int64_t steps = 1; steps <= 6; ++steps) {
      PolynomialPlan plan{powers, steps};
      plan.squarings = squarings_for(norm, plan.degree(), epsilon);
      // Each squaring doubles errors: of plans that cost the same, the one with fewer of them.
      const auto rank = [](const PolynomialPlan& p) {
        return std::pair(p.products(), p.squarings);
      };
      if ((powers == 1 && steps == 1) || rank(plan) < rank(best)) best = plan;
    }
  return best;
}

// The largest sum of a column's magnitudes.
template <class T>
double norm_of(const Columns<T>& a) {
  double largest = 0;
  for (int64_t j = 0; j < a.columns; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < a.rows; ++i)
      sum += std::hypot(static_cast<double>(real_part(a.column(j)[i])),
                        static_cast<double>(imaginary_part(a.column(j)[i])));
    if (!std::isfinite(sum)) return sum;
    largest = std::max(largest, sum);
  }
  return largest;
}

template <class T>
Columns<T> product(const Columns<T>& a, const Columns<T>& b) {
  Columns<T> c(a.rows, b.columns);
  gemm<T>(a.rows, b.columns, a.columns, T(1), a.read(), b.read(), T(0), c.view());
  return c;
}

// sum += factor * term, over the terms of one group: A^0 to A^(powers - 1), from 1 / first!.
template <class T>
void add_group(Columns<T>& sum, const std::vector<Columns<T>>& power, int64_t first,
               int64_t count) {
  for (int64_t k = 0; k < count; ++k) {
    const T factor(
        static_cast<Real<T>>(std::exp(-std::lgamma(static_cast<double>(first + k) + 1))));
    if (k == 0) {
      for (int64_t i = 0; i < sum.rows; ++i) sum.at(i, i) += factor;
      continue;
    }
    const Columns<T>& term = power[k];
    for (size_t i = 0; i < sum.data.size(); ++i) sum.data[i] += term.data[i] * factor;
  }
}

template <class T>
Columns<T> exponential(Columns<T> a) {
  const double norm = norm_of(a);
  if (!std::isfinite(norm)) {
    std::fill(a.data.begin(), a.data.end(), T(std::numeric_limits<Real<T>>::quiet_NaN()));
    return a;
  }
  const PolynomialPlan plan = plan_for(norm, std::numeric_limits<Real<T>>::epsilon() / 2);
  const T scale(static_cast<Real<T>>(std::ldexp(1.0, -static_cast<int>(plan.squarings))));
  for (T& x : a.data) x = x * scale;
  const int64_t n = a.rows;
  std::vector<Columns<T>> power{Columns<T>(0, 0), std::move(a)};
  while (static_cast<int64_t>(power.size()) <= plan.powers)
    power.push_back(product(power.back(), power[1]));
  // The last group has the last power as well.
  Columns<T> sum(n, n);
  add_group(sum, power, (plan.steps - 1) * plan.powers, plan.powers + 1);
  for (int64_t step = plan.steps - 1; step-- > 0;) {
    sum = product(sum, power[plan.powers]);
    add_group(sum, power, step * plan.powers, plan.powers);
  }
  for (int64_t i = 0; i < plan.squarings; ++i) sum = product(sum, sum);
  return sum;
}

// Single precision is computed in double: squarings amplify rounding errors.
template <class T>
struct WideOf {
  using type = double;
};
template <class T>
struct WideOf<Complex<T>> {
  using type = Complex<double>;
};

template <class To, class From>
Columns<To> converted(const Columns<From>& from) {
  Columns<To> to(from.rows, from.columns);
  std::transform(from.data.begin(), from.data.end(), to.data.begin(), [](From x) { return To(x); });
  return to;
}

}  // namespace

void linalg_matrix_exp(const Tensor& self, Tensor& out) {
  if (self.numel() == 0) return;
  if (is_reduced_float(self.dtype())) {  // rounded once, from float
    BelowADInplaceOrView guard;
    Tensor wide = self.to(DType::Float), result = taeda::empty_like(wide);
    linalg_matrix_exp(wide, result);
    cpu::copy_(out, result, false);
    return;
  }
  visit_factor_dtype(self.dtype(), "matrix_exp", [&](auto tag) {
    using T = decltype(tag);
    const IntList batch = batch_sizes(self, 2);
    const Matrices<T> from(self, batch), to(out, batch);
    for_matrices(count_of(batch), [&](int64_t i) {
      Columns<T> matrix(self.size(-1), self.size(-1));
      matrix.load(from[i]);
      using Wide = typename WideOf<T>::type;
      converted<T>(exponential(converted<Wide>(matrix))).store(to[i]);
    });
  });
}

}  // namespace taeda::cpu
