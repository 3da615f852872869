// The types and constants of the core by PyTorch's names, in c10, at and torch.
#pragma once

#include <optional>
#include <string_view>

#include "taeda/autograd/variable.h"
#include "taeda/core/tensor.h"
#include "taeda/dispatch/value.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/print.h"

namespace c10 {

using namespace ::taeda;

using ScalarType = ::taeda::DType;
template <class T>
using ArrayRef = ::taeda::Span<T>;
using IntArrayRef = ::taeda::IntList;
using SymIntArrayRef = ::taeda::SymIntList;
template <class T>
using OptionalArrayRef = std::optional<::taeda::Span<T>>;
using OptionalIntArrayRef = std::optional<IntArrayRef>;
using OptionalSymIntArrayRef = std::optional<SymIntArrayRef>;
template <class T, unsigned N>
using SmallVector = ::taeda::SmallVector<T, N>;
using string_view = std::string_view;
template <class T>
using optional = std::optional<T>;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
template <class T>
using complex = ::taeda::Complex<T>;
using DeviceIndex = int8_t;
using IValue = ::taeda::dispatch::Value;
template <class T>
using intrusive_ptr = ::taeda::IntrusivePtr<T>;
using intrusive_ptr_target = ::taeda::RefCounted;
using ::taeda::make_intrusive;

inline constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char,
                            kShort = ScalarType::Short, kInt = ScalarType::Int,
                            kLong = ScalarType::Long, kHalf = ScalarType::Half,
                            kFloat = ScalarType::Float, kDouble = ScalarType::Double,
                            kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16,
                            kComplexFloat = ScalarType::ComplexFloat,
                            kComplexDouble = ScalarType::ComplexDouble, kUInt8 = kByte,
                            kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong,
                            kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;
inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA,
                            kMeta = DeviceType::Meta, kPrivateUse1 = DeviceType::PrivateUse1;
inline constexpr Layout kStrided = Layout::Strided;

inline std::string_view toString(ScalarType t) { return ::taeda::dtype_long_name(t); }
inline int64_t elementSize(ScalarType t) { return ::taeda::item_size(t); }
inline bool isFloatingType(ScalarType t) { return ::taeda::is_floating(t); }
inline bool isComplexType(ScalarType t) { return ::taeda::is_complex(t); }
inline bool isIntegralType(ScalarType t, bool include_bool) {
  return ::taeda::is_integral(t, include_bool);
}

inline constexpr MemoryFormat get_contiguous_memory_format() { return MemoryFormat::Contiguous; }
inline constexpr MemoryFormat get_channels_last_memory_format() {
  return MemoryFormat::ChannelsLast;
}
inline ScalarType typeMetaToScalarType(ScalarType t) { return t; }
inline ScalarType promoteTypes(ScalarType a, ScalarType b) { return ::taeda::promote_types(a, b); }

// New tensors take no part in autograd, for good, until the end of the scope.
class InferenceMode {
 public:
  explicit InferenceMode(bool on = true) : saved_(::taeda::is_inference_mode()) {
    ::taeda::set_inference_mode(on);
  }
  ~InferenceMode() { ::taeda::set_inference_mode(saved_); }
  InferenceMode(const InferenceMode&) = delete;
  static bool is_enabled() { return ::taeda::is_inference_mode(); }

 private:
  bool saved_;
};

template <class T>
struct CppTypeToScalarType {
  static constexpr ScalarType value = ::taeda::DTypeOf<T>::value;
};

}  // namespace c10

namespace at {
using namespace ::c10;
namespace detail {
inline const Generator& getDefaultCPUGenerator() { return ::taeda::default_cpu_generator(); }
}  // namespace detail
}  // namespace at
namespace torch {
using namespace ::at;
using Dtype = ::taeda::DType;
}  // namespace torch

// Operators that Tensor does not bring along, found beside its type.
namespace taeda {
inline Tensor& Tensor::detach_() {
  autograd::detach_inplace(*this);
  return *this;
}
inline Tensor operator~(const Tensor& t) { return t.bitwise_not(); }
inline Tensor operator!(const Tensor& t) { return t.logical_not(); }
#define TAEDA_COMPARISON(symbol, function)                                                   \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return function(a, b); } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return function(a, b); } \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) {                          \
    return function(wrapped_scalar(a), b);                                                   \
  }
TAEDA_COMPARISON(<, lt)
TAEDA_COMPARISON(<=, le)
TAEDA_COMPARISON(>, gt)
TAEDA_COMPARISON(>=, ge)
TAEDA_COMPARISON(==, eq)
TAEDA_COMPARISON(!=, ne)
TAEDA_COMPARISON(&, bitwise_and)
TAEDA_COMPARISON(|, bitwise_or)
TAEDA_COMPARISON(^, bitwise_xor)
TAEDA_COMPARISON(%, remainder)
#undef TAEDA_COMPARISON
}  // namespace taeda
