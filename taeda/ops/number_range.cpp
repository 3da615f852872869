// The ranges of dtypes, and PyTorch's words for numbers outside them.
#include "taeda/ops/number_range.h"

#include <cmath>
#include <limits>

namespace taeda {
namespace {

// What PyTorch calls the C++ type in these messages.
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
    default: return "double";
  }
}

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

bool fits(const Scalar& value, DType dtype) {
  if (value.is_complex() && value.to_complex().im != 0) return false;
  if (is_floating(dtype)) {
    const double v = value.to_double();
    return !std::isfinite(v) || std::fabs(v) <= largest_finite(dtype);
  }
  return visit_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>)
      return fits_integer<T>(value);
    else
      return true;
  });
}

}  // namespace

double largest_finite(DType dtype) {
  switch (to_real(dtype)) {
    case DType::Half: return 65504.0;
    case DType::BFloat16: return 0x1.fep127;
    case DType::Float: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

void check_fits(const Scalar& value, DType dtype) {
  if (dtype == DType::Bool || is_complex(dtype) || is_float8(dtype)) return;
  TAEDA_CHECK(fits(value, dtype), "value cannot be converted to type ", stored_type_name(dtype),
              " without overflow");
}

}  // namespace taeda
