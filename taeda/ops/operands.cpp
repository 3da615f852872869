// Operands and uniforms that follow from the arguments of a pointwise call.
#include "taeda/ops/operands.h"

#include <cmath>
#include <limits>

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

double largest(DType t) {
  switch (to_real(t)) {
    case DType::Half: return 65504.0;
    case DType::BFloat16: return 0x1.fep127;
    case DType::Float: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

}  // namespace

Tensor bound_operand(const Tensor& self, const std::optional<Scalar>& bound, bool is_lower) {
  return wrapped_scalar(bound ? *bound : end_of_range(self.dtype(), is_lower));
}

Tensor bound_operand(const Tensor& self, const Tensor& bound, bool is_lower) {
  return bound.defined() ? bound : wrapped_scalar(end_of_range(self.dtype(), is_lower));
}

Scalar replacement(const Tensor& self, std::optional<double> given, int sign) {
  if (is_integral(self.dtype(), true)) return Scalar(0);
  return Scalar(given ? *given : sign * largest(self.dtype()));
}

Scalar fill_number(const Tensor& self, const Scalar& value) {
  if (self.dtype() == DType::Bool) return Scalar(value.to_bool());
  TAEDA_CHECK(!value.is_complex() || self.is_complex() || value.to_complex().im == 0,
              "value cannot be converted to type ", is_floating(self.dtype()) ? "float" : "int64_t",
              " without overflow");
  return value;
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
