// Fits a line by Newton's method, its derivatives taken by function transforms: transforms
//
// Prints the gradient of each example at the start, then the weights, which one step finds: the
// loss is quadratic.
#include <cstdio>

#include "taeda/func/func.h"
#include "taeda/ops/functions.h"

using taeda::Scalar;
using taeda::Tensor;
namespace func = taeda::func;

// The squared error of w[0]*x + w[1] for one example.
static Tensor loss(const Tensor& w, const Tensor& x, const Tensor& y) {
  return w.select(0, 0).mul(x).add(w.select(0, 1)).sub(y).pow(2);
}

static Tensor total(const Tensor& w, const Tensor& x, const Tensor& y) {
  return func::vmap(loss, {std::nullopt, 0, 0})(w, x, y).mean();
}

static double number(const Tensor& t, int64_t i) {
  return taeda::read_scalar(t.select(0, i)).to_double();
}

int main() {
  const Tensor x = taeda::arange(Scalar(4.0), taeda::DType::Double, {}, taeda::Device());
  const Tensor y = x.mul(3).add(1);
  const Tensor w = taeda::zeros({2}, taeda::DType::Double);

  const Tensor each = func::vmap(func::grad(loss), {std::nullopt, 0, 0})(w, x, y);
  for (int64_t i = 0; i < each.size(0); ++i)
    std::printf("example %d: gradient %g %g\n", static_cast<int>(i), number(each.select(0, i), 0),
                number(each.select(0, i), 1));

  // Columns of the Hessian, forward over reverse mode, all at once.
  const auto gradient = [&](const Tensor& at) { return func::grad(total)(at, x, y); };
  const auto column = [&](const Tensor& v) { return func::jvp(gradient, w, v).second; };
  const Tensor eye = taeda::eye(2, taeda::DType::Double);
  const Tensor h = func::vmap(column)(eye), g = gradient(w);
  const double a = number(h.select(0, 0), 0), b = number(h.select(0, 0), 1),
               d = number(h.select(0, 1), 1), det = a * d - b * b;
  std::printf("weights: %g %g\n", -(d * number(g, 0) - b * number(g, 1)) / det,
              -(a * number(g, 1) - b * number(g, 0)) / det);
  return 0;
}
