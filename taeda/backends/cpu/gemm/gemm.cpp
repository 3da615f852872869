// Chooses how a product is computed: empty, matrix-vector, small, thin, library, or packed.
#include "taeda/backends/cpu/gemm/gemm.h"

#include <algorithm>

#include "taeda/backends/cpu/gemm/library.h"
#include "taeda/backends/cpu/gemm/matvec.h"
#include "taeda/backends/cpu/gemm/packed.h"
#include "taeda/backends/cpu/gemm/thin.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu {
namespace {

using gemm_kernels::Kernels;

// The type a product is computed in: unsigned for integers, which wrap.
template <class T>
struct Computed {
  using type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct Computed<T> {
  using type = std::make_unsigned_t<T>;
};
template <class T>
using ComputedAs = typename Computed<T>::type;

template <class T>
Matrix<ComputedAs<T>> computed(Matrix<T> m) {
  return {reinterpret_cast<ComputedAs<T>*>(m.data), m.row_stride, m.col_stride};
}
template <class T>
Matrix<const ComputedAs<T>> computed(Matrix<const T> m) {
  return {reinterpret_cast<const ComputedAs<T>*>(m.data), m.row_stride, m.col_stride};
}

// C = beta * C + bias, for a product without terms.
template <class T>
void scale_output(const Kernels<T>& kernels, const gemm_kernels::Product<T>& p) {
  using Acc = gemm_kernels::AccOf<T>;
  constexpr int64_t kBlock = 256;
  static constexpr Acc zeros[kBlock] = {};
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; j += kBlock) {
      const int64_t cols = std::min(kBlock, p.n - j);
      const gemm_kernels::Product<T> part = p.block(i, 1, j, cols);
      kernels.store(1, cols, zeros, cols, Acc(1), p.beta, part.c, part.bias);
    }
}

// C^T = B^T A^T.
template <class T>
gemm_kernels::Product<T> transposed(const gemm_kernels::Product<T>& p) {
  const auto flip = [](auto m) { return decltype(m){m.data, m.col_stride, m.row_stride}; };
  gemm_kernels::Finish finish{p.finish.block, p.finish.col, p.finish.row, !p.finish.is_transposed};
  return {p.n, p.m, p.k, p.alpha, flip(p.b), flip(p.a), p.beta, flip(p.c), nullptr, finish};
}

// Products of at most this many multiply-adds skip packing where B's rows are contiguous.
constexpr int64_t kUnpackedWork = 64 * 64 * 64;
// Where they are not, B is first copied, if it is at most this large.
constexpr int64_t kCopiedElements = 512;

template <class T>
bool unpacked_product(const Kernels<T>& kernels, const gemm_kernels::Product<T>& p) {
  if constexpr (!std::is_floating_point_v<T>) {
    return false;
  } else {
    if (p.k > gemm_kernels::kUnpackedMaxDepth || p.m > kUnpackedWork || p.n > kUnpackedWork ||
        p.m * p.n * p.k > kUnpackedWork)
      return false;
    if (p.b.col_stride == 1) {
      kernels.unpacked(p.m, p.n, p.k, p.alpha, p.a, p.b, p.beta, p.c, p.bias);
      return true;
    }
    if (p.k * p.n > kCopiedElements) return false;
    T copy[kCopiedElements];
    if (p.b.row_stride == 1)
      kernels.transpose(p.n, p.k, p.b.data, p.b.col_stride, copy);
    else
      for (int64_t q = 0; q < p.k; ++q)
        for (int64_t j = 0; j < p.n; ++j)
          copy[q * p.n + j] = p.b.data[q * p.b.row_stride + j * p.b.col_stride];
    kernels.unpacked(p.m, p.n, p.k, p.alpha, p.a, {copy, p.n, 1}, p.beta, p.c, p.bias);
    return true;
  }
}

// Products that finish no block before all are final, without those of a library; false, having
// done nothing, for others.
template <class T>
bool whole_product(const Kernels<T>& kernels, const gemm_kernels::Product<T>& p) {
  if (p.k <= 0 || p.alpha == gemm_kernels::AccOf<T>(0)) {
    scale_output(kernels, p);
    return true;
  }
  if ((p.m == 1 || p.n == 1) && gemm_kernels::matvec_product(kernels, p)) return true;
  return unpacked_product(kernels, p) || gemm_kernels::thin_product(kernels, p);
}

// Elements of C that are worth a thread, where all are final.
constexpr int64_t kFinishElements = 32768;

template <class T>
void finish_all(const gemm_kernels::Product<T>& p) {
  if (!p.finish.block) return;
  // Along the longer side, so that every thread has a part.
  const bool by_rows = p.m >= p.n;
  const int64_t lines = by_rows ? p.m : p.n, length = by_rows ? p.n : p.m;
  parallel_for(0, lines, std::max<int64_t>(kFinishElements / length, 1), [&](int64_t a, int64_t b) {
    const auto part = by_rows ? p.block(a, b - a, 0, p.n) : p.block(0, p.m, a, b - a);
    part.finish(part.m, part.n);
  });
}

template <class T>
void run(const gemm_kernels::Product<T>& p) {
  if (p.m <= 0 || p.n <= 0) return;
  const Kernels<T>& kernels = gemm_kernels::kernels().get<T>();
  if (p.fill_a.block || p.fill_b.block) return gemm_kernels::packed_product(kernels, p);
  if (whole_product(kernels, p)) return finish_all(p);
  const gemm_kernels::LibraryWork done = gemm_kernels::library_product(p);
  if (done == gemm_kernels::LibraryWork::Finished) return;
  if (done == gemm_kernels::LibraryWork::Computed) return finish_all(p);
  if (!p.bias && (p.n <= gemm_kernels::kThinRows || (p.c.col_stride != 1 && p.c.row_stride == 1))) {
    const gemm_kernels::Product<T> flipped = transposed(p);
    if (gemm_kernels::thin_product(kernels, flipped)) return finish_all(p);
    if (p.c.col_stride != 1) return gemm_kernels::packed_product(kernels, flipped);
  }
  gemm_kernels::packed_product(kernels, p);
}

template <class T>
gemm_kernels::Product<ComputedAs<T>> product_of(int64_t m, int64_t n, int64_t k, ScalarOf<T> alpha,
                                                Matrix<const T> a, Matrix<const T> b,
                                                ScalarOf<T> beta, Matrix<T> c, const T* bias,
                                                const ProductOptions& options) {
  using Acc = gemm_kernels::AccOf<ComputedAs<T>>;
  return {m,
          n,
          k,
          static_cast<Acc>(alpha),
          computed(a),
          computed(b),
          static_cast<Acc>(beta),
          computed(c),
          reinterpret_cast<const ComputedAs<T>*>(bias),
          {options.finish},
          {options.packed, k, n},
          {options.fill_a},
          {options.fill_b},
          options.post_ops};
}

// Whether a product whose operands may lie in any way packs them.
template <class T>
bool surely_packs(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kThin = gemm_kernels::kThinRows;
  const bool is_small = std::is_floating_point_v<T> && k <= gemm_kernels::kUnpackedMaxDepth &&
                        m <= kUnpackedWork && n <= kUnpackedWork && m * n * k <= kUnpackedWork;
  return k > 0 && m > kThin && n > kThin && !is_small &&
         !gemm_kernels::library_is_gainful<T>(m, n, k);
}

// Multiply-adds of one task of a batch.
constexpr int64_t kBatchWork = 65536;

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, ScalarOf<T> alpha, Matrix<const T> a, Matrix<const T> b,
          ScalarOf<T> beta, Matrix<T> c, const T* bias, const ProductOptions& options) {
  run(product_of(m, n, k, alpha, a, b, beta, c, bias, options));
}

template <class T>
bool packs_operands(int64_t m, int64_t n, int64_t k) {
  return surely_packs<ComputedAs<T>>(m, n, k);
}

template <class T>
void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, ScalarOf<T> alpha,
                  Matrix<const T> a, int64_t a_batch_stride, Matrix<const T> b,
                  int64_t b_batch_stride, ScalarOf<T> beta, Matrix<T> c, int64_t c_batch_stride,
                  const ProductOptions& options) {
  auto all = product_of<T>(m, n, k, alpha, a, b, beta, c, nullptr, options);
  all.post_ops = nullptr;
  if (batch <= 0 || m <= 0 || n <= 0) return;
  if (b_batch_stride == 0 && a_batch_stride == m * a.row_stride &&
      c_batch_stride == m * c.row_stride) {
    auto stacked = all;
    stacked.m = batch * m;
    return run(stacked);
  }
  const auto one = [&](int64_t i) {
    auto p = all;
    p.a.data += i * a_batch_stride;
    p.b.data += i * b_batch_stride;
    p.c.data += i * c_batch_stride;
    p.finish.row = p.fill_a.row = i * m;
    p.fill_b.row = i * k;
    run(p);
  };
  // A few large products split better inside than between each other.
  const double work = static_cast<double>(m) * n * k;
  if (batch < 4 * num_threads() && batch % num_threads() != 0 && work > 16 * kBatchWork) {
    for (int64_t i = 0; i < batch; ++i) one(i);
    return;
  }
  const int64_t grain = work >= kBatchWork ? 1 : kBatchWork / std::max<int64_t>(1, work);
  parallel_for(0, batch, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) one(i);
  });
}

#define TAEDA_GEMM_INSTANTIATE(T)                                                             \
  template TAEDA_API void gemm<T>(int64_t, int64_t, int64_t, ScalarOf<T>, Matrix<const T>,    \
                                  Matrix<const T>, ScalarOf<T>, Matrix<T>, const T*,          \
                                  const ProductOptions&);                                     \
  template TAEDA_API bool packs_operands<T>(int64_t, int64_t, int64_t);                       \
  template TAEDA_API void gemm_batched<T>(int64_t, int64_t, int64_t, int64_t, ScalarOf<T>,    \
                                          Matrix<const T>, int64_t, Matrix<const T>, int64_t, \
                                          ScalarOf<T>, Matrix<T>, int64_t, const ProductOptions&);
TAEDA_GEMM_INSTANTIATE(float)
TAEDA_GEMM_INSTANTIATE(double)
TAEDA_GEMM_INSTANTIATE(Half)
TAEDA_GEMM_INSTANTIATE(BFloat16)
TAEDA_GEMM_INSTANTIATE(Complex<float>)
TAEDA_GEMM_INSTANTIATE(Complex<double>)
TAEDA_GEMM_INSTANTIATE(int64_t)
TAEDA_GEMM_INSTANTIATE(int32_t)
TAEDA_GEMM_INSTANTIATE(int16_t)
TAEDA_GEMM_INSTANTIATE(int8_t)
TAEDA_GEMM_INSTANTIATE(uint8_t)
#undef TAEDA_GEMM_INSTANTIATE

}  // namespace taeda::cpu
