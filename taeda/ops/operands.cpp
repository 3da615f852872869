// Operands and uniforms that follow from the arguments of a pointwise call.
#include "taeda/ops/operands.h"

#include <cmath>
#include <limits>

#include "taeda/ops/number_range.h"

namespace taeda {
namespace {

Scalar end_of_range(DType t, bool is_lower) {
  if (is_floating(t) || is_complex(t)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Scalar(is_lower ? -infinity : infinity);
  }
  return visit_dtype(t, [&](auto tag) -> Scalar {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, uint64_t>)
      return Scalar(is_lower ? uint64_t{0} : ~uint64_t{0});
    else if constexpr (std::is_integral_v<T>)
      return Scalar(static_cast<int64_t>(is_lower ? std::numeric_limits<T>::lowest()
                                                  : std::numeric_limits<T>::max()));
    else
      return Scalar(0);
  });
}

// A limit in self's own integer type, in which it wraps; one of another kind decides the result.
Scalar limit_in(DType t, const Scalar& bound) {
  const bool is_kept = is_integral(t, true) ? bound.is_integral() && t != DType::Bool
                                            : is_floating(t) && !bound.is_complex();
  if (!is_kept) return bound;
  check_fits(bound, t);
  if (!is_integral(t) || (bound.is_symbolic() && t == DType::Int64)) return bound;
  return visit_dtype(t, [&](auto tag) -> Scalar {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, uint64_t>)
      return Scalar(bound.to<T>());
    else if constexpr (std::is_integral_v<T>)
      return Scalar(static_cast<int64_t>(bound.to<T>()));
    else
      return bound;
  });
}

// The limit that limits nothing in a call that computes in `t`.
Tensor no_limit(DType t, bool is_lower) {
  if (t == DType::Bool) return wrapped_scalar(Scalar(!is_lower));
  const bool is_narrow = is_integral(t) && t != DType::UInt64;
  return wrapped_scalar(end_of_range(is_narrow ? DType::Int64 : t, is_lower));
}

// The dtype in which self and a number are compared; a number of a higher kind decides.
DType compared_in(DType self, const std::optional<Scalar>& other) {
  if (!other || !is_integral(self, true)) return self;
  if (!other->is_integral()) return DType::Double;
  return self == DType::Bool ? DType::Int64 : self;
}

}  // namespace

Tensor bound_operand(const Tensor& self, const std::optional<Scalar>& bound,
                     const std::optional<Scalar>& other, bool is_lower) {
  if (!bound) return no_limit(compared_in(self.dtype(), other), is_lower);
  return wrapped_scalar(limit_in(self.dtype(), *bound));
}

Tensor bound_operand(const Tensor& self, const Tensor& bound, const Tensor& other, bool is_lower) {
  if (bound.defined()) return bound;
  return no_limit(promote_types(self.dtype(), other.dtype()), is_lower);
}

Scalar replacement(const Tensor& self, std::optional<double> given, int sign) {
  if (is_integral(self.dtype(), true)) return Scalar(0);
  return Scalar(given ? *given : sign * largest_finite(self.dtype()));
}

Scalar fill_number(const Tensor& self, const Scalar& value) {
  if (self.dtype() == DType::Bool) return Scalar(value.to_bool());
  check_fits(value, self.dtype());
  return value;
}

Tensor fill_operand(const Tensor& self, const Tensor& value) {
  if (!self.is_alias_of(value)) return value;
  BelowADInplaceOrView guard;
  return value.clone();
}

Scalar significand_bits(DType dtype) {
  switch (dtype) {
    case DType::Double: return 53;
    case DType::Half: return 11;
    case DType::BFloat16: return 8;
    default: return 24;
  }
}

Scalar power_of_ten(int64_t decimals) {
  return Scalar(std::pow(10.0, std::fabs(static_cast<double>(decimals))));
}

int gelu_body(std::string_view approximate) {
  TAEDA_CHECK(approximate == "none" || approximate == "tanh",
              "approximate argument must be either none or tanh.");
  return approximate == "tanh";
}

}  // namespace taeda
