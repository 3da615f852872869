// copy_ and fill_ on the CPU: any strides, any dtypes, conjugate and negative views carried out.
#pragma GCC optimize("O3")
#include <algorithm>
#include <cstring>

#include "taeda/backends/cpu/convert_declarations.h"
#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/copy.h"
#include "taeda/backends/cpu/pointwise/loop_nest.h"
#include "taeda/backends/cpu/pointwise/transpose_block.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/convert/same_memory.h"
#include "taeda/ops/number_range.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/spec.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kTileBytes = 8192;
constexpr int64_t kCopyGrain = 65536;

// The type values pass through: wide enough for both ends.
ComputeType copy_compute(DType src, DType dst) {
  if (is_complex(src) || is_complex(dst))
    return src == DType::ComplexDouble || dst == DType::ComplexDouble || src == DType::Double
               ? ComputeType::C128
               : ComputeType::C64;
  if (is_floating(src)) return compute_type(src);
  return is_floating(dst) ? compute_type(dst) : compute_type(src);
}

void conjugate_tile(ComputeType c, char* tile, int64_t n) {
  if (c == ComputeType::C64)
    for (auto* p = reinterpret_cast<Complex<float>*>(tile); n > 0; --n, ++p) p->im = -p->im;
  else
    for (auto* p = reinterpret_cast<Complex<double>*>(tile); n > 0; --n, ++p) p->im = -p->im;
}

template <class T>
void negate(char* tile, int64_t n) {
  for (auto* p = reinterpret_cast<T*>(tile); n > 0; --n, ++p) *p = -*p;
}

void negate_tile(ComputeType c, char* tile, int64_t n) {
  switch (c) {
    case ComputeType::F32: return negate<float>(tile, n);
    case ComputeType::F64: return negate<double>(tile, n);
    case ComputeType::C64: return negate<Complex<float>>(tile, n);
    case ComputeType::C128: return negate<Complex<double>>(tile, n);
    default: return negate<int64_t>(tile, n);
  }
}

template <class T>
void copy_rows(char* dst, const char* src, int64_t rows, int64_t cols, int64_t d0, int64_t d1,
               int64_t s0, int64_t s1) {
  constexpr int64_t item = sizeof(T);
  if (d0 == item && s0 == item) {
    for (int64_t r = 0; r < rows; ++r) std::memcpy(dst + r * d1, src + r * s1, cols * item);
  } else if (d0 == item && s0 == -item) {
    for (int64_t r = 0; r < rows; ++r) {
      T* to = reinterpret_cast<T*>(dst + r * d1);
      const T* from = reinterpret_cast<const T*>(src + r * s1);
      for (int64_t c = 0; c < cols; ++c) to[c] = from[-c];
    }
  } else if (s1 == item && rows > 8) {
    transpose_block<T>(dst, src, rows, cols, d0, d1, s0, s1);
  } else {
    for (int64_t r = 0; r < rows; ++r, dst += d1, src += s1)
      for (int64_t c = 0; c < cols; ++c)
        *reinterpret_cast<T*>(dst + c * d0) = *reinterpret_cast<const T*>(src + c * s0);
  }
}

using RowsFn = void (*)(char*, const char*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
RowsFn rows_fn(int64_t item) {
  switch (item) {
    case 1: return &copy_rows<uint8_t>;
    case 2: return &copy_rows<uint16_t>;
    case 4: return &copy_rows<uint32_t>;
    case 8: return &copy_rows<uint64_t>;
    default: return &copy_rows<Complex<double>>;
  }
}

// Walks blocks of the two innermost dimensions: at most `max_cols` x `max_rows` each.
template <class F>
void for_blocks(const LoopNest& nest, int64_t max_rows, int64_t max_cols, F&& f) {
  const int64_t cols = nest.sizes[0], rows = nest.sizes[1];
  const int64_t cs = std::min(cols, max_cols), rs = std::min(rows, max_rows);
  const int64_t cb = (cols + cs - 1) / cs, rb = (rows + rs - 1) / rs;
  int64_t outer = 1;
  for (size_t d = 2; d < nest.sizes.size(); ++d) outer *= nest.sizes[d];
  parallel_for(0, outer * rb * cb, std::max<int64_t>(1, kCopyGrain / (cs * rs)),
               [&](int64_t first, int64_t last) {
                 for (int64_t b = first; b < last; ++b) {
                   int64_t rest = b / (rb * cb);
                   const int64_t row = b % (rb * cb) / cb * rs, col = b % cb * cs;
                   char* at[2];
                   for (int k = 0; k < nest.num_operands; ++k)
                     at[k] = nest.base[k] + row * nest.strides[k][1] + col * nest.strides[k][0];
                   for (size_t d = 2; d < nest.sizes.size(); ++d) {
                     const int64_t i = rest % nest.sizes[d];
                     rest /= nest.sizes[d];
                     for (int k = 0; k < nest.num_operands; ++k) at[k] += i * nest.strides[k][d];
                   }
                   f(at, std::min(rs, rows - row), std::min(cs, cols - col));
                 }
               });
}

void copy_converting(const LoopNest& nest, const Tensor& dst, const Tensor& src, bool conj,
                     bool neg) {
  const ComputeType c = copy_compute(src.dtype(), dst.dtype());
  const LoadFn load = load_fn(src.dtype(), c);
  const StoreFn store = store_fn(c, dst.dtype());
  const int64_t tile = kTileBytes / item_size(compute_dtype(c));
  const auto &d = nest.strides[0], &s = nest.strides[1];
  const int64_t max_cols = std::min(nest.sizes[0], tile),
                max_rows = std::max<int64_t>(1, tile / max_cols);
  for_blocks(nest, max_rows, max_cols, [&](char* const* at, int64_t rows, int64_t cols) {
    alignas(64) char buffer[kTileBytes];
    load(at[1], Block{rows, cols, s[1], s[0]}, buffer);
    if (conj) conjugate_tile(c, buffer, rows * cols);
    if (neg) negate_tile(c, buffer, rows * cols);
    store(buffer, Block{rows, cols, d[1], d[0]}, at[0]);
  });
}

}  // namespace

void copy_same(const LoopNest& nest, int64_t item) {
  const RowsFn fn = rows_fn(item);
  const auto &d = nest.strides[0], &s = nest.strides[1];
  const bool is_transposing = !(d[0] == item && s[0] == item);
  for_blocks(nest, is_transposing ? 256 : 1 << 20, is_transposing ? 256 : kCopyGrain,
             [&](char* const* at, int64_t rows, int64_t cols) {
               fn(at[0], at[1], rows, cols, d[0], d[1], s[0], s[1]);
             });
}

Tensor& copy_(Tensor& self, const Tensor& src, bool) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!src.is_meta(), "Cannot copy out of meta tensor; no data!");
  TAEDA_CHECK(src.is_cpu(), "copy_: no copy from device ", src.device(), " to ", self.device());
  if (is_same_memory(self, src)) return self;
  check_no_internal_overlap(self);
  check_no_partial_overlap(self, src);
  // PyTorch's message names the two sizes that differ.
  const SymIntVec shape = broadcast_shapes(self.sym_sizes(), src.sym_sizes());
  TAEDA_CHECK(SymIntList(shape) == self.sym_sizes(), "output with shape ", self.sizes(),
              " doesn't match the broadcast shape ", shape);
  if (self.numel() == 0) return self;
  const bool conj = self.is_conj() != src.is_conj(), neg = self.is_neg() != src.is_neg();
  LoopNest nest;
  nest.add(self, self.sizes());
  nest.add(src, self.sizes());
  nest.finish(self.sizes());
  if (self.dtype() == src.dtype() && !conj && !neg)
    copy_same(nest, self.element_size());
  else
    copy_converting(nest, self, src, conj, neg);
  return self;
}

Tensor& fill__Scalar(Tensor& self, const Scalar& value) {
  if (self.numel() == 0) return self;
  check_fits(value, self.dtype());
  visit_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T v = value.to<T>();
    LoopNest nest;
    nest.add(self, self.sizes());
    nest.finish(self.sizes());
    const auto& d = nest.strides[0];
    for_blocks(nest, 1 << 20, kCopyGrain, [&](char* const* at, int64_t rows, int64_t cols) {
      for (int64_t r = 0; r < rows; ++r) {
        char* p = at[0] + r * d[1];
        if (d[0] == sizeof(T))
          std::fill_n(reinterpret_cast<T*>(p), cols, v);
        else
          for (int64_t c = 0; c < cols; ++c) *reinterpret_cast<T*>(p + c * d[0]) = v;
      }
    });
  });
  return self;
}

}  // namespace taeda::cpu
