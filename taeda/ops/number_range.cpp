// The ranges of dtypes, and PyTorch's words for numbers outside them.
#include "taeda/ops/number_range.h"

#include <cmath>
#include <limits>
#include <utility>

#include "taeda/core/unbacked.h"

namespace taeda {
namespace {

template <class T>
bool fits_integer(const Scalar& value) {
  using Limits = std::numeric_limits<T>;
  const double lowest = std::is_unsigned_v<T> ? -static_cast<double>(Limits::max())
                                              : static_cast<double>(Limits::lowest());
  if (value.kind() == Scalar::Kind::Float || value.kind() == Scalar::Kind::Complex) {
    const double v = value.to_complex().re;
    // One past the largest is exact in double for every width.
    return v >= lowest && v < std::ldexp(1.0, Limits::digits);
  }
  if (value.kind() == Scalar::Kind::UInt)
    return static_cast<uint64_t>(value.to_int()) <= static_cast<uint64_t>(Limits::max());
  if constexpr (sizeof(T) == 8) return true;
  const int64_t v = value.to_int();
  return v >= static_cast<int64_t>(lowest) && v <= static_cast<int64_t>(Limits::max());
}

// Infinities are numbers of every float but float8_e4m3fn.
bool fits_float(double v, DType dtype) {
  if (std::isnan(v) || std::fabs(v) <= largest_finite(dtype)) return true;
  return std::isinf(v) && dtype != DType::Float8E4M3;
}

bool fits(const Scalar& value, DType dtype) {
  if (is_complex(dtype)) {
    const auto v = value.to_complex();
    return fits_float(v.re, to_real(dtype)) && fits_float(v.im, to_real(dtype));
  }
  if (value.is_complex() && value.to_complex().im != 0) return false;
  if (is_floating(dtype)) return fits_float(value.to_double(), dtype);
  return visit_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>)
      return fits_integer<T>(value);
    else
      return true;
  });
}

}  // namespace

const char* stored_type_name(DType t) {
  switch (t) {
    case DType::UInt8: return "uint8_t";
    case DType::Int8: return "int8_t";
    case DType::Int16: return "int16_t";
    case DType::Int32: return "int";
    case DType::Int64: return "int64_t";
    case DType::UInt16: return "uint16_t";
    case DType::UInt32: return "uint32_t";
    case DType::UInt64: return "uint64_t";
    case DType::Half: return "c10::Half";
    case DType::BFloat16: return "c10::BFloat16";
    case DType::Float: return "float";
    case DType::Float8E4M3: return "c10::Float8_e4m3fn";
    case DType::Float8E5M2: return "c10::Float8_e5m2";
    case DType::ComplexFloat: return "c10::complex<float>";
    default: return "double";
  }
}

double largest_finite(DType dtype) {
  switch (to_real(dtype)) {
    case DType::Half: return 65504.0;
    case DType::BFloat16: return 0x1.fep127;
    case DType::Float: return std::numeric_limits<float>::max();
    case DType::Float8E4M3: return Float8E4M3::kLargest;
    case DType::Float8E5M2: return 57344.0;
    default: return std::numeric_limits<double>::max();
  }
}

// The least and the largest number that every program may store.
static std::pair<double, double> range_of(DType dtype) {
  if (is_floating(dtype) || is_complex(dtype))
    return {-largest_finite(dtype), largest_finite(dtype)};
  return visit_dtype(dtype, [](auto tag) -> std::pair<double, double> {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      const auto largest = static_cast<double>(std::numeric_limits<T>::max());
      return {
          std::is_unsigned_v<T> ? -largest : static_cast<double>(std::numeric_limits<T>::lowest()),
          largest};
    } else {
      return {0, 0};
    }
  });
}

// Whether a symbolic number fits, without a question about its value.
static bool fits_as_symbol(const Scalar& value, DType dtype) {
  const auto [low, high] = range_of(dtype);
  const bool is_wide = value.is_integral() ? high >= 0x1p62 : high > 0x1p1000;
  // What only data tells is left to the operator.
  return is_wide || lies_within(*value.node(), low, high).value_or(true);
}

void check_fits(const Scalar& value, DType dtype) {
  if (dtype == DType::Bool) return;
  if (value.is_symbolic() && fits_as_symbol(value, dtype)) return;
  TAEDA_CHECK(fits(value, dtype), "value cannot be converted to type ", stored_type_name(dtype),
              " without overflow");
}

double rounded_to_narrow(double v, DType dtype) {
  const auto f = static_cast<float>(v);
  constexpr float kLargest = Float8E4M3::kLargest;
  switch (dtype) {
    case DType::Half: return static_cast<float>(Half(f));
    case DType::BFloat16: return static_cast<float>(BFloat16(f));
    case DType::Float8E5M2: return static_cast<float>(Float8E5M2(f));
    case DType::Float8E4M3:
      return std::fabs(f) > kLargest ? std::copysign(kLargest, f)
                                     : static_cast<float>(Float8E4M3(f));
    default: return v;
  }
}

Scalar rounded_to(const Scalar& value, DType dtype) {
  const bool is_narrow = is_floating(dtype) && item_size(dtype) < 4;
  if (!is_narrow || value.is_complex() || value.is_symbolic()) return value;
  const double v = value.to_double();
  if (!(std::fabs(static_cast<float>(v)) > largest_finite(dtype))) return value;
  return Scalar(rounded_to_narrow(v, dtype));
}

}  // namespace taeda
