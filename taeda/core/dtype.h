// Element types, their properties and PyTorch's type promotion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "taeda/base/complex.h"
#include "taeda/base/error.h"
#include "taeda/base/export.h"
#include "taeda/base/half.h"

namespace taeda {

// X(enumerator, C++ type, PyTorch name, PyTorch's class name)
#define TAEDA_FOR_EACH_DTYPE(X)                                        \
  X(UInt8, uint8_t, "uint8", "Byte")                                   \
  X(Int8, int8_t, "int8", "Char")                                      \
  X(Int16, int16_t, "int16", "Short")                                  \
  X(Int32, int32_t, "int32", "Int")                                    \
  X(Int64, int64_t, "int64", "Long")                                   \
  X(Half, ::taeda::Half, "float16", "Half")                            \
  X(Float, float, "float32", "Float")                                  \
  X(Double, double, "float64", "Double")                               \
  X(ComplexFloat, Complex<float>, "complex64", "ComplexFloat")         \
  X(ComplexDouble, Complex<double>, "complex128", "ComplexDouble")     \
  X(Bool, bool, "bool", "Bool")                                        \
  X(BFloat16, ::taeda::BFloat16, "bfloat16", "BFloat16")               \
  X(Float8E4M3, ::taeda::Float8E4M3, "float8_e4m3fn", "Float8_e4m3fn") \
  X(Float8E5M2, ::taeda::Float8E5M2, "float8_e5m2", "Float8_e5m2")     \
  X(UInt16, uint16_t, "uint16", "UInt16")                              \
  X(UInt32, uint32_t, "uint32", "UInt32")                              \
  X(UInt64, uint64_t, "uint64", "UInt64")

enum class DType : int8_t {
#define TAEDA_ENUM(name, type, text, long_name) name,
  TAEDA_FOR_EACH_DTYPE(TAEDA_ENUM)
#undef TAEDA_ENUM
      Undefined,
  // Other names of the integers.
  Byte = UInt8,
  Char = Int8,
  Short = Int16,
  Int = Int32,
  Long = Int64,
  // PyTorch's names of the eight-bit floats.
  Float8_e4m3fn = Float8E4M3,
  Float8_e5m2 = Float8E5M2,
};
constexpr int kNumDTypes = static_cast<int>(DType::Undefined);

template <class T>
struct DTypeOf;
#define TAEDA_TRAIT(name, type, text, long_name) \
  template <>                                    \
  struct DTypeOf<type> {                         \
    static constexpr DType value = DType::name;  \
  };
TAEDA_FOR_EACH_DTYPE(TAEDA_TRAIT)
#undef TAEDA_TRAIT

// Tables at namespace scope: a local one would be built on the stack at every call.
namespace dtype_detail {
inline constexpr int8_t kItemSizes[] = {
#define TAEDA_SIZE(name, type, text, long_name) sizeof(type),
    TAEDA_FOR_EACH_DTYPE(TAEDA_SIZE)
#undef TAEDA_SIZE
        0};
inline constexpr std::string_view kNames[] = {
#define TAEDA_NAME(name, type, text, long_name) text,
    TAEDA_FOR_EACH_DTYPE(TAEDA_NAME)
#undef TAEDA_NAME
        "undefined"};
inline constexpr std::string_view kLongNames[] = {
#define TAEDA_NAME(name, type, text, long_name) long_name,
    TAEDA_FOR_EACH_DTYPE(TAEDA_NAME)
#undef TAEDA_NAME
        "Undefined"};
}  // namespace dtype_detail

constexpr int64_t item_size(DType t) { return dtype_detail::kItemSizes[static_cast<int>(t)]; }
constexpr std::string_view dtype_name(DType t) { return dtype_detail::kNames[static_cast<int>(t)]; }
// The name PyTorch's error messages use: Float, Long, ...
constexpr std::string_view dtype_long_name(DType t) {
  return dtype_detail::kLongNames[static_cast<int>(t)];
}
inline void append(std::string& out, DType t) { out.append(dtype_long_name(t)); }

constexpr bool is_complex(DType t) { return t == DType::ComplexFloat || t == DType::ComplexDouble; }
constexpr bool is_float8(DType t) { return t == DType::Float8E4M3 || t == DType::Float8E5M2; }
constexpr bool is_reduced_float(DType t) { return t == DType::Half || t == DType::BFloat16; }
constexpr bool is_floating(DType t) {
  return t == DType::Float || t == DType::Double || is_reduced_float(t) || is_float8(t);
}
// Integers, bool excluded unless asked for.
constexpr bool is_integral(DType t, bool include_bool = false) {
  return t == DType::Bool ? include_bool
                          : !is_floating(t) && !is_complex(t) && t != DType::Undefined;
}
constexpr bool is_unsigned(DType t) {
  return t == DType::UInt8 || t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64;
}
constexpr bool is_signed(DType t) {
  return t != DType::Bool && t != DType::Undefined && !is_unsigned(t);
}
constexpr DType to_real(DType t) {
  return t == DType::ComplexFloat ? DType::Float : t == DType::ComplexDouble ? DType::Double : t;
}
constexpr DType to_complex(DType t) {
  return t == DType::Double || t == DType::ComplexDouble ? DType::ComplexDouble
                                                         : DType::ComplexFloat;
}

// The type an expression over both gets, as PyTorch defines it. Throws where PyTorch does (float8
// with other floats, wide unsigned with signed integers).
TAEDA_API DType promote_types(DType a, DType b);
// Whether a result of `from` may be stored in `to` (complex to real, float to integer and number to
// bool may not).
constexpr bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to, true)) return false;
  return !(from != DType::Bool && to == DType::Bool);
}

TAEDA_API DType default_dtype();
TAEDA_API void set_default_dtype(DType t);
inline DType default_complex_dtype() { return to_complex(default_dtype()); }

// Calls f with a value-initialized C++ type of t: visit_dtype(t, [&](auto tag) { using T =
// decltype(tag); ... }).
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
#define TAEDA_CASE(name, type, text, long_name) \
  case DType::name: return f(type{});
    TAEDA_FOR_EACH_DTYPE(TAEDA_CASE)
#undef TAEDA_CASE
    default: fail(ErrorKind::Runtime, "undefined dtype");
  }
}

}  // namespace taeda
