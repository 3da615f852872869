// Conversion loops between storage dtypes and compute types.
#pragma GCC optimize("O3")
#include "taeda/backends/cpu/pointwise/convert.h"

#include <cstring>

#include "taeda/backends/cpu/pointwise/halves.h"

namespace taeda::cpu {
namespace {

template <class To, class From>
inline To convert(From v) {
  constexpr bool from_complex =
      std::is_same_v<From, Complex<float>> || std::is_same_v<From, Complex<double>>;
  constexpr bool to_complex =
      std::is_same_v<To, Complex<float>> || std::is_same_v<To, Complex<double>>;
  if constexpr (from_complex && to_complex)
    return To(v);
  else if constexpr (from_complex && std::is_same_v<To, bool>)
    return v.re != 0 || v.im != 0;
  else if constexpr (from_complex)
    return convert<To>(v.re);
  else if constexpr (to_complex)
    return To(convert<decltype(To().re)>(v));
  else if constexpr (std::is_same_v<To, bool>) {
    if constexpr (std::is_arithmetic_v<From>)
      return v != From(0);
    else
      return static_cast<float>(v) != 0.0f;
  } else if constexpr (std::is_same_v<To, Float8E4M3> && !std::is_same_v<From, Float8E4M3>) {
    // Numbers beyond the largest become the largest.
    const auto f = static_cast<float>(v);
    return To(f > To::kLargest ? To::kLargest : f < -To::kLargest ? -To::kLargest : f);
  } else if constexpr (!std::is_arithmetic_v<From> && !std::is_same_v<To, float>) {
    return convert<To>(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                       !std::is_same_v<To, uint64_t>) {
    // Note [Numbers beyond integers] in taeda/kernel/math_convert.h.
    constexpr bool is_narrow = sizeof(To) < 4 || std::is_same_v<To, int32_t>;
    using Whole = std::conditional_t<is_narrow, int32_t, int64_t>;
    return static_cast<To>(static_cast<Whole>(v));
  } else {
    return static_cast<To>(v);
  }
}

template <class Memory, class Tile>
constexpr bool is_half_of_float =
    (std::is_same_v<Memory, Half> || std::is_same_v<Memory, BFloat16>) &&
    std::is_same_v<Tile, float>;

template <class Memory, class Tile>
void load(const char* memory, const Block& b, char* tile) {
  Tile* out = reinterpret_cast<Tile*>(tile);
  for (int64_t r = 0; r < b.rows; ++r, memory += b.row_stride, out += b.cols) {
    if (b.col_stride == static_cast<int64_t>(sizeof(Memory))) {
      const Memory* in = reinterpret_cast<const Memory*>(memory);
      if constexpr (std::is_same_v<Memory, Tile>) {
        std::memcpy(static_cast<void*>(out), in, sizeof(Tile) * b.cols);
      } else if constexpr (is_half_of_float<Memory, Tile>) {
        half_runs<Memory>().widen(in, b.cols, out);
      } else {
        for (int64_t i = 0; i < b.cols; ++i) out[i] = convert<Tile>(in[i]);
      }
    } else if (b.col_stride == 0) {
      const Tile v = convert<Tile>(*reinterpret_cast<const Memory*>(memory));
      for (int64_t i = 0; i < b.cols; ++i) out[i] = v;
    } else {
      const char* p = memory;
      for (int64_t i = 0; i < b.cols; ++i, p += b.col_stride)
        out[i] = convert<Tile>(*reinterpret_cast<const Memory*>(p));
    }
  }
}

template <class Memory, class Tile>
void store(const char* tile, const Block& b, char* memory) {
  const Tile* in = reinterpret_cast<const Tile*>(tile);
  for (int64_t r = 0; r < b.rows; ++r, memory += b.row_stride, in += b.cols) {
    if (b.col_stride == static_cast<int64_t>(sizeof(Memory))) {
      Memory* out = reinterpret_cast<Memory*>(memory);
      if constexpr (std::is_same_v<Memory, Tile>) {
        std::memcpy(static_cast<void*>(out), in, sizeof(Tile) * b.cols);
      } else if constexpr (is_half_of_float<Memory, Tile>) {
        half_runs<Memory>().narrow(in, b.cols, out);
      } else {
        for (int64_t i = 0; i < b.cols; ++i) out[i] = convert<Memory>(in[i]);
      }
    } else {
      char* p = memory;
      for (int64_t i = 0; i < b.cols; ++i, p += b.col_stride)
        *reinterpret_cast<Memory*>(p) = convert<Memory>(in[i]);
    }
  }
}

template <class F>
auto with_compute(ComputeType c, F&& f) {
  switch (c) {
    case ComputeType::F32: return f(float{});
    case ComputeType::F64: return f(double{});
    case ComputeType::I64: return f(int64_t{});
    case ComputeType::U64: return f(uint64_t{});
    case ComputeType::C64: return f(Complex<float>{});
    default: return f(Complex<double>{});
  }
}

}  // namespace

LoadFn load_fn(DType memory, ComputeType tile) {
  return with_compute(tile, [&](auto t) {
    return visit_dtype(memory, [&](auto m) -> LoadFn { return &load<decltype(m), decltype(t)>; });
  });
}

StoreFn store_fn(ComputeType tile, DType memory) {
  return with_compute(tile, [&](auto t) {
    return visit_dtype(memory, [&](auto m) -> StoreFn { return &store<decltype(m), decltype(t)>; });
  });
}

LoadFn load_mask_fn(DType memory) {
  return visit_dtype(memory, [&](auto m) -> LoadFn { return &load<decltype(m), bool>; });
}

StoreFn store_mask_fn(DType memory) {
  return visit_dtype(memory, [&](auto m) -> StoreFn { return &store<decltype(m), bool>; });
}

}  // namespace taeda::cpu
