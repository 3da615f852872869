// The gamma function of several dimensions, and polygamma in place.
#include "taeda/ops/special_math/rules.h"

#include <cmath>

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/special_math/declarations.h"
#include "taeda/ops/special_math/functions.h"

namespace taeda {

Tensor mvlgamma_arguments(const Tensor& self, int64_t p) {
  const double first = -0.5 * static_cast<double>(p) + 0.5;
  const Tensor steps =
      taeda::arange(Scalar(first), Scalar(0.5), Scalar(0.5), self.dtype(), {}, self.device());
  return self.unsqueeze(-1) + steps;
}

namespace impl {
namespace {

void check_mvlgamma(const Tensor& self, int64_t p) {
  TAEDA_CHECK(self.dtype() != DType::Bool, "The input tensor may not be a boolean tensor.");
  TAEDA_CHECK(p >= 1, "p has to be greater than or equal to 1");
}
Tensor as_default_float(const Tensor& self) {
  return is_integral(self.dtype(), true) ? self.to(default_dtype()) : self;
}

}  // namespace

Tensor special_zeta_self_scalar(const Scalar& self, const Tensor& other) {
  return taeda::special_zeta(wrapped_scalar(self), other);
}
Tensor& special_zeta_self_scalar_out(const Scalar& self, const Tensor& other, Tensor& out) {
  return taeda::special_zeta_out(out, wrapped_scalar(self), other);
}
Tensor special_zeta_other_scalar(const Tensor& self, const Scalar& other) {
  return taeda::special_zeta(self, wrapped_scalar(other));
}
Tensor& special_zeta_other_scalar_out(const Tensor& self, const Scalar& other, Tensor& out) {
  return taeda::special_zeta_out(out, self, wrapped_scalar(other));
}

Tensor& polygamma_(Tensor& self, int64_t n) {
  // The gradient needs the argument as it was.
  const Tensor result = taeda::polygamma(n, self.clone());
  TAEDA_CHECK(is_floating(self.dtype()), "result type ", result.dtype(),
              " can't be cast to the desired output type ", self.dtype());
  return self.copy_(result);
}

namespace {

// The sum of the parts, and the number that is added to it.
std::pair<Tensor, Scalar> mvlgamma_terms(const Tensor& self, int64_t p) {
  check_mvlgamma(self, p);
  const double dims = static_cast<double>(p);
  const double pi_power = dims * (dims - 1) * std::log(3.14159265358979323846) / 4;
  const Tensor parts = taeda::lgamma(mvlgamma_arguments(as_default_float(self), p));
  return {parts.sum(IntList({-1})), Scalar(pi_power)};
}

}  // namespace

Tensor mvlgamma(const Tensor& self, int64_t p) {
  const auto [sum, pi_power] = mvlgamma_terms(self, p);
  return sum.add(pi_power);
}
Tensor& mvlgamma_(Tensor& self, int64_t p) {
  check_mvlgamma(self, p);
  TAEDA_CHECK(is_floating(self.dtype()), "result type ", default_dtype(),
              " can't be cast to the desired output type ", self.dtype());
  return impl::mvlgamma_out(self, p, self);
}
Tensor& mvlgamma_out(const Tensor& self, int64_t p, Tensor& out) {
  const auto [sum, pi_power] = mvlgamma_terms(self, p);
  TAEDA_CHECK(is_floating(out.dtype()), "mvlgamma: result type ", sum.dtype(),
              " can't be cast to the desired output type ", out.dtype());
  return taeda::add_out(out, sum, wrapped_scalar(pi_power));
}

}  // namespace impl
}  // namespace taeda
