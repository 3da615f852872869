// Elements of every dtype between memory and tiles.
#include <type_traits>

#include "taeda/base/complex.h"
#include "taeda/kernel/interpret/primitives.h"
#include "taeda/kernel/math_storage.h"

namespace taeda::kernel {

namespace {

// Complex numbers lie in memory as in tiles.
template <class T>
struct ComplexElement {
  using raw = Complex<T>;
  template <class S>
  static S from(raw x) {
    return x;
  }
  static raw to(raw x) { return x; }
};

template <class Stored, class T>
void load(const char* memory, int64_t stride, int64_t n, char* tile) {
  const auto* from = reinterpret_cast<const typename Stored::raw*>(memory);
  T* to = reinterpret_cast<T*>(tile);
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) to[i] = Stored::template from<T>(from[i]);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = Stored::template from<T>(from[i * stride]);
}
template <class Stored, class T>
void gather(const char* memory, const int64_t* at, int64_t n, char* tile) {
  const auto* from = reinterpret_cast<const typename Stored::raw*>(memory);
  T* to = reinterpret_cast<T*>(tile);
  for (int64_t i = 0; i < n; ++i) to[i] = Stored::template from<T>(from[at[i]]);
}
template <class Stored, class T>
void store(const char* tile, int64_t stride, int64_t n, char* memory) {
  const T* from = reinterpret_cast<const T*>(tile);
  auto* to = reinterpret_cast<typename Stored::raw*>(memory);
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) to[i] = Stored::to(from[i]);
  else
    for (int64_t i = 0; i < n; ++i) to[i * stride] = Stored::to(from[i]);
}
template <class Stored, class T>
void scatter(const char* tile, const int64_t* at, int64_t n, char* memory) {
  const T* from = reinterpret_cast<const T*>(tile);
  auto* to = reinterpret_cast<typename Stored::raw*>(memory);
  for (int64_t i = 0; i < n; ++i) to[at[i]] = Stored::to(from[i]);
}
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, int32_t>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));  // it wraps
  else
    return a + b;
}
template <class Stored, class T>
void scatter_add(const char* tile, const int64_t* at, int64_t n, char* memory) {
  const T* from = reinterpret_cast<const T*>(tile);
  auto* to = reinterpret_cast<typename Stored::raw*>(memory);
  for (int64_t i = 0; i < n; ++i)
    to[at[i]] = Stored::to(sum_of<T>(Stored::template from<T>(to[at[i]]), from[i]));
}
template <class Stored>
void round(char* const* ptrs, int64_t n, const void*) {
  float* out = reinterpret_cast<float*>(ptrs[0]);
  const float* in = reinterpret_cast<const float*>(ptrs[1]);
  for (int64_t i = 0; i < n; ++i) out[i] = td_round_to<Stored>(in[i]);
}

template <class Stored, class T>
const StoragePrimitives& plain() {
  static const StoragePrimitives all = [] {
    StoragePrimitives made = {&load<Stored, T>,  &gather<Stored, T>,
                              &store<Stored, T>, &scatter<Stored, T>,
                              nullptr,           nullptr};
    if constexpr (!std::is_same_v<T, bool>) made.scatter_add = &scatter_add<Stored, T>;
    return made;
  }();
  return all;
}
template <class Stored>
const StoragePrimitives& narrow() {
  static const StoragePrimitives all = {&load<Stored, float>,        &gather<Stored, float>,
                                        &store<Stored, float>,       &scatter<Stored, float>,
                                        &scatter_add<Stored, float>, &round<Stored>};
  return all;
}

}  // namespace

const StoragePrimitives& find_storage(DType dtype, Type type) {
  switch (dtype) {
    case DType::Float: return plain<td_float32, float>();
    case DType::Double: return plain<td_float64, double>();
    case DType::Half: return narrow<td_float16>();
    case DType::BFloat16: return narrow<td_bfloat16>();
    case DType::Float8E4M3: return narrow<td_float8_e4m3fn>();
    case DType::Float8E5M2: return narrow<td_float8_e5m2>();
    case DType::Int8: return plain<td_int8, int64_t>();
    case DType::Int16: return plain<td_int16, int64_t>();
    case DType::Int32:
      return type == Type::I32 ? plain<td_int32, int32_t>() : plain<td_int32, int64_t>();
    case DType::UInt8: return plain<td_uint8, int64_t>();
    case DType::UInt16: return plain<td_uint16, int64_t>();
    case DType::UInt32: return plain<td_uint32, int64_t>();
    case DType::UInt64: return plain<td_uint64, uint64_t>();
    case DType::Bool: return plain<td_bool, bool>();
    case DType::ComplexFloat: return plain<ComplexElement<float>, Complex<float>>();
    case DType::ComplexDouble: return plain<ComplexElement<double>, Complex<double>>();
    default: return plain<td_int64, int64_t>();
  }
}

}  // namespace taeda::kernel
