// The types and constants of the core by PyTorch's names, in c10, at and torch.
#pragma once

#include <optional>
#include <string_view>

#include "c10/macros/Macros.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/value.h"
#include "taeda/taeda.h"

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
ArrayRef<T> makeArrayRef(const std::vector<T>& values) {
  return values;
}
template <class T>
ArrayRef<T> makeArrayRef(const T* data, size_t length) {
  return {data, length};
}
template <class T>
using complex = ::taeda::Complex<T>;
using DeviceIndex = int8_t;
using IValue = ::taeda::dispatch::Value;
template <class T>
using intrusive_ptr = ::taeda::IntrusivePtr<T>;
using intrusive_ptr_target = ::taeda::RefCounted;
using ::taeda::make_intrusive;

inline std::string_view toString(ScalarType t) { return ::taeda::dtype_long_name(t); }
inline int64_t elementSize(ScalarType t) { return ::taeda::item_size(t); }
inline bool isFloatingType(ScalarType t) { return ::taeda::is_floating(t); }
inline bool isComplexType(ScalarType t) { return ::taeda::is_complex(t); }
inline bool isSignedType(ScalarType t) { return ::taeda::is_signed(t); }
inline bool isReducedFloatingType(ScalarType t) {
  return ::taeda::is_reduced_float(t) || ::taeda::is_float8(t);
}
inline bool isFloat8Type(ScalarType t) { return ::taeda::is_float8(t); }
inline bool canCast(ScalarType from, ScalarType to) { return ::taeda::can_cast(from, to); }
inline ScalarType toRealValueType(ScalarType t) { return ::taeda::to_real(t); }
inline ScalarType toComplexType(ScalarType t) { return ::taeda::to_complex(t); }
inline ScalarType get_default_dtype() { return ::taeda::default_dtype(); }
inline ScalarType get_default_dtype_as_scalartype() { return ::taeda::default_dtype(); }
inline bool isIntegralType(ScalarType t, bool include_bool) {
  return ::taeda::is_integral(t, include_bool);
}

inline constexpr Layout kSparse = Layout::Sparse, kSparseCsr = Layout::SparseCsr,
                        kSparseCsc = Layout::SparseCsc, kSparseBsr = Layout::SparseBsr,
                        kSparseBsc = Layout::SparseBsc, kJagged = Layout::Jagged;
inline constexpr MemoryFormat get_contiguous_memory_format() { return MemoryFormat::Contiguous; }
inline constexpr MemoryFormat get_channels_last_memory_format() {
  return MemoryFormat::ChannelsLast;
}
inline ScalarType typeMetaToScalarType(ScalarType t) { return t; }
inline ScalarType promoteTypes(ScalarType a, ScalarType b) { return ::taeda::promote_types(a, b); }

template <class T>
struct CppTypeToScalarType {
  static constexpr ScalarType value = ::taeda::DTypeOf<T>::value;
};

}  // namespace c10

namespace caffe2 {
// A dtype that knows names of its own.
class TypeMeta {
 public:
  TypeMeta() = default;
  TypeMeta(::taeda::DType dtype) : dtype_(dtype) {}
  template <class T>
  static TypeMeta Make() {
    return ::taeda::DTypeOf<T>::value;
  }
  template <class T>
  bool Match() const {
    return dtype_ == ::taeda::DTypeOf<T>::value;
  }
  static TypeMeta fromScalarType(::taeda::DType dtype) { return dtype; }
  ::taeda::DType toScalarType() const { return dtype_; }
  operator ::taeda::DType() const { return dtype_; }
  size_t itemsize() const { return static_cast<size_t>(::taeda::item_size(dtype_)); }
  std::string_view name() const { return ::taeda::dtype_name(dtype_); }

 private:
  ::taeda::DType dtype_ = ::taeda::DType::Undefined;
};
}  // namespace caffe2

namespace at {
using namespace ::c10;
// The class that make_generator makes generators of the CPU by.
using CPUGeneratorImpl = ::taeda::GeneratorImpl;
template <class Impl>
Generator make_generator(uint64_t seed = Impl::kDefaultSeed) {
  return Generator(make_intrusive<Impl>(Device(DeviceType::CPU), seed));
}
namespace detail {
inline const Generator& getDefaultCPUGenerator() { return ::taeda::default_cpu_generator(); }
inline Generator createCPUGenerator(uint64_t seed = CPUGeneratorImpl::kDefaultSeed) {
  return make_generator<CPUGeneratorImpl>(seed);
}
}  // namespace detail
}  // namespace at
namespace torch {
using namespace ::at;
using Dtype = ::taeda::DType;
}  // namespace torch
