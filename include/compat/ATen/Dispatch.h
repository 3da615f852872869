// AT_DISPATCH_*: a block compiled for each of some dtypes, in which scalar_t is the C++ type.
//
//   AT_DISPATCH_FLOATING_TYPES_AND(at::kHalf, x.scalar_type(), "scaled", [&] {
//     scalar_t* p = x.data_ptr<scalar_t>();
//   });
//
// The families are lists of AT_DISPATCH_CASE; AT_DISPATCH_SWITCH takes any list of them.
#pragma once

#include "ATen/core_names.h"
#include "c10/util/Exception.h"

namespace c10::impl {
// The C++ type of a dtype.
template <ScalarType>
struct ScalarTypeToCPPType;
#define TAEDA_CPP_TYPE(name, cpp_type, text, long_name) \
  template <>                                           \
  struct ScalarTypeToCPPType<ScalarType::name> {        \
    using type = cpp_type;                              \
  };
using ::taeda::Complex;
TAEDA_FOR_EACH_DTYPE(TAEDA_CPP_TYPE)
#undef TAEDA_CPP_TYPE
template <ScalarType t>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<t>::type;
}  // namespace c10::impl

#define AT_DISPATCH_CASE_TMPL_(enumerator, hint, ...)                            \
  case enumerator: {                                                             \
    using hint [[maybe_unused]] = ::c10::impl::ScalarTypeToCPPTypeT<enumerator>; \
    return __VA_ARGS__();                                                        \
  }
#define AT_DISPATCH_CASE(enumerator, ...) AT_DISPATCH_CASE_TMPL_(enumerator, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_INDEX_CASE_(enumerator, ...) \
  AT_DISPATCH_CASE_TMPL_(enumerator, index_t, __VA_ARGS__)

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                               \
  [&] {                                                                                   \
    const ::taeda::DType dispatched_type_ = TYPE;                                         \
    switch (dispatched_type_) {                                                           \
      __VA_ARGS__                                                                         \
      default:                                                                            \
        ::taeda::throw_error(                                                             \
            ::taeda::ErrorKind::NotImplemented,                                           \
            ::taeda::str("\"", NAME, "\" not implemented for '", dispatched_type_, "'")); \
    }                                                                                     \
  }()

// ---- families of cases ----
#define AT_DISPATCH_CASE_FLOATING_TYPES(...)               \
  AT_DISPATCH_CASE(::c10::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)        \
  AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)     \
  AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                       \
  AT_DISPATCH_CASE(::c10::ScalarType::ComplexDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)             \
  AT_DISPATCH_CASE(::c10::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Int, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::c10::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)

// ---- families as they are ----
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
// index_t is the type, as int32 or int64.
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                  \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                  \
                     AT_DISPATCH_INDEX_CASE_(::c10::ScalarType::Int, __VA_ARGS__) \
                         AT_DISPATCH_INDEX_CASE_(::c10::ScalarType::Long, __VA_ARGS__))

// ---- and one, two, three or four more ----
#define AT_DISPATCH_AND_1_(family, T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, family(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_AND_2_(family, T1, T2, TYPE, NAME, ...)                \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                           \
                     family(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) \
                         AT_DISPATCH_CASE(T2, __VA_ARGS__))
#define AT_DISPATCH_AND_3_(family, T1, T2, T3, TYPE, NAME, ...)            \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                           \
                     family(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) \
                         AT_DISPATCH_CASE(T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__))
#define AT_DISPATCH_AND_4_(family, T1, T2, T3, T4, TYPE, NAME, ...)                          \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                             \
                     family(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)                   \
                         AT_DISPATCH_CASE(T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__) \
                             AT_DISPATCH_CASE(T4, __VA_ARGS__))

#define AT_DISPATCH_FLOATING_TYPES_AND(...) \
  AT_DISPATCH_AND_1_(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(...) \
  AT_DISPATCH_AND_2_(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND3(...) \
  AT_DISPATCH_AND_3_(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND4(...) \
  AT_DISPATCH_AND_4_(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(...) \
  AT_DISPATCH_AND_1_(AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(...) \
  AT_DISPATCH_AND_2_(AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES_AND(...) \
  AT_DISPATCH_AND_1_(AT_DISPATCH_CASE_INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(...) AT_DISPATCH_AND_1_(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(...) AT_DISPATCH_AND_2_(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(...) AT_DISPATCH_AND_3_(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND4(...) AT_DISPATCH_AND_4_(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(...) \
  AT_DISPATCH_AND_1_(AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(...) \
  AT_DISPATCH_AND_2_(AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(...) \
  AT_DISPATCH_AND_3_(AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(...) \
  AT_DISPATCH_AND_4_(AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
