// The table of inner kernels that each instruction set fills, one entry per element type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "taeda/backends/cpu/gemm/gemm.h"

namespace taeda::cpu::gemm_kernels {

// The type in which a sum of products is held: float for the half types, the element type
// otherwise.
template <class T>
using AccOf = ScalarOf<T>;

// The element type of a packed panel: the accumulator, or for complex numbers its real type; a
// complex panel holds a line of real parts, then a line of imaginary parts.
template <class T>
struct PartOfElement {
  using type = AccOf<T>;
  static constexpr int count = 1;
};
template <class T>
struct PartOfElement<Complex<T>> {
  using type = T;
  static constexpr int count = 2;
};
template <class T>
using PartOf = typename PartOfElement<T>::type;
template <class T>
constexpr int kParts = PartOfElement<T>::count;

// Lines of 64 bytes that a later tile will read, to be fetched into L2.
struct Ahead {
  const void* data = nullptr;
  int64_t lines = 0;
};

constexpr int kMaxTile = 2048;  // elements of the largest mr x nr
constexpr int kMaxTileRows = 16;

// Integers are computed as unsigned, so that they wrap.
template <class T>
struct Kernels {
  using Acc = AccOf<T>;
  using Part = PartOf<T>;

  // A tile of C is mr x nr; the packed block of A is at most mc x kc, that of B kc x nc.
  int mr, nr;
  int64_t mc, kc, nc;

  // Packs `extent` lanes of depth k into panels of `width` lanes (mr or nr), zero-filled to whole
  // panels: element (lane, p) of src lies at lane * lane_stride + p * k_stride. Panel q starts at
  // dst + q * width * k * kParts<T>; within it, p comes before the lane.
  void (*pack)(int64_t extent, int64_t k, const T* src, int64_t lane_stride, int64_t k_stride,
               int width, Part* dst);

  // c = alpha * (a * b) + beta * c for a tile of packed panels; beta == 0 does not read c.
  using Tile = void(int64_t k, const Part* a, const Part* b, Acc alpha, Acc beta, Acc* c,
                    int64_t c_row_stride, Ahead ahead);
  // By half the rows that count, rounded up, less one; the other rows may be left or written.
  Tile* tiles[kMaxTileRows / 2];
  Tile* tile_for(int64_t rows) const { return tiles[(std::min<int64_t>(rows, mr) - 1) / 2]; }

  // c = alpha * tile + beta * c + bias for a tile of rows x cols; bias may be null.
  void (*store)(int64_t rows, int64_t cols, const Acc* tile, int64_t tile_row_stride, Acc alpha,
                Acc beta, Matrix<T> c, const T* bias);

  // The whole product without packing; b.col_stride is 1 and k at most kUnpackedMaxDepth. Null for
  // types that have no such kernel.
  void (*unpacked)(int64_t m, int64_t n, int64_t k, Acc alpha, Matrix<const T> a, Matrix<const T> b,
                   Acc beta, Matrix<T> c, const T* bias);

  // dst[p * n + j] = src[j * lane_stride + p] for n lanes of length k. Null where `unpacked` is.
  void (*transpose)(int64_t n, int64_t k, const T* src, int64_t lane_stride, T* dst);

  // y[i * count + q] = sum over p of matrix[i * row_stride + p] * x[q * x_stride + p], for `rows`
  // rows and `count` vectors of length k. How rows are grouped does not change a sum; `count` may.
  void (*dot_rows)(int64_t rows, int64_t count, int64_t k, const T* matrix, int64_t row_stride,
                   const Acc* x, int64_t x_stride, Acc* y);

  // y[j] += sum over p of x[p] * matrix[p * row_stride + j], for k rows of length `cols`.
  void (*add_rows)(int64_t k, int64_t cols, const T* matrix, int64_t row_stride, const Acc* x,
                   Acc* y);
};

// X(T) for each type that has kernels.
#define TAEDA_GEMM_FOR_EACH_TYPE(X) \
  X(float)                          \
  X(double)                         \
  X(Half)                           \
  X(BFloat16) X(Complex<float>) X(Complex<double>) X(uint64_t) X(uint32_t) X(uint16_t) X(uint8_t)

constexpr int64_t kUnpackedMaxDepth = 256;

struct KernelSet {
  Kernels<float> f32;
  Kernels<double> f64;
  Kernels<Half> f16;
  Kernels<BFloat16> bf16;
  Kernels<Complex<float>> c64;
  Kernels<Complex<double>> c128;
  Kernels<uint64_t> u64;
  Kernels<uint32_t> u32;
  Kernels<uint16_t> u16;
  Kernels<uint8_t> u8;

  template <class T>
  const Kernels<T>& get() const {
    if constexpr (std::is_same_v<T, float>)
      return f32;
    else if constexpr (std::is_same_v<T, double>)
      return f64;
    else if constexpr (std::is_same_v<T, Half>)
      return f16;
    else if constexpr (std::is_same_v<T, BFloat16>)
      return bf16;
    else if constexpr (std::is_same_v<T, Complex<float>>)
      return c64;
    else if constexpr (std::is_same_v<T, Complex<double>>)
      return c128;
    else if constexpr (std::is_same_v<T, uint64_t>)
      return u64;
    else if constexpr (std::is_same_v<T, uint32_t>)
      return u32;
    else if constexpr (std::is_same_v<T, uint16_t>)
      return u16;
    else
      return u8;
  }
};

// The set for the best instruction set of this processor.
const KernelSet& kernels();

}  // namespace taeda::cpu::gemm_kernels
