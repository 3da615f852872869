// AT_DISPATCH_*: a block compiled for each of some dtypes, in which scalar_t is the C++ type.
#pragma once

#include "ATen/core_names.h"
#include "c10/util/Exception.h"

namespace torch_compat {
inline ::taeda::DType dtype_of(::taeda::DType t) { return t; }
}  // namespace torch_compat

#define AT_PRIVATE_CASE_TYPE_(dtype, type, ...) \
  case ::taeda::DType::dtype: {                 \
    using scalar_t [[maybe_unused]] = type;     \
    return __VA_ARGS__();                       \
  }
#define AT_DISPATCH_SWITCH_(TYPE, NAME, cases)                                                  \
  [&] {                                                                                         \
    const ::taeda::DType dispatched_type_ = ::torch_compat::dtype_of(TYPE);                     \
    switch (dispatched_type_) {                                                                 \
      cases default : ::taeda::throw_error(::taeda::ErrorKind::NotImplemented,                  \
                                           ::taeda::str("\"", NAME, "\" not implemented for '", \
                                                        dispatched_type_, "'"));                \
    }                                                                                           \
  }()
#define AT_CASES_FLOATING_(...)                      \
  AT_PRIVATE_CASE_TYPE_(Double, double, __VA_ARGS__) \
  AT_PRIVATE_CASE_TYPE_(Float, float, __VA_ARGS__)
#define AT_CASES_INTEGRAL_(...)                      \
  AT_PRIVATE_CASE_TYPE_(UInt8, uint8_t, __VA_ARGS__) \
  AT_PRIVATE_CASE_TYPE_(Int8, int8_t, __VA_ARGS__)   \
  AT_PRIVATE_CASE_TYPE_(Int16, int16_t, __VA_ARGS__) \
  AT_PRIVATE_CASE_TYPE_(Int32, int32_t, __VA_ARGS__) \
  AT_PRIVATE_CASE_TYPE_(Int64, int64_t, __VA_ARGS__)
#define AT_CASES_HALF_(...) AT_PRIVATE_CASE_TYPE_(Half, ::taeda::Half, __VA_ARGS__)
#define AT_CASES_BFLOAT16_(...) AT_PRIVATE_CASE_TYPE_(BFloat16, ::taeda::BFloat16, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH_(TYPE, NAME, AT_CASES_FLOATING_(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH_(TYPE, NAME, AT_CASES_FLOATING_(__VA_ARGS__) AT_CASES_HALF_(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH_(TYPE, NAME, AT_CASES_HALF_(__VA_ARGS__) AT_CASES_BFLOAT16_(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH_(TYPE, NAME, AT_CASES_INTEGRAL_(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH_(TYPE, NAME, AT_CASES_FLOATING_(__VA_ARGS__) AT_CASES_INTEGRAL_(__VA_ARGS__))
