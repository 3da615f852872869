// Fills the row kernels of one instruction set; compiled once for each.
#include "taeda/backends/cpu/convolution/row_kernels.h"

#include "taeda/backends/cpu/gemm/simd.h"

namespace taeda::cpu::convolution_kernels {
namespace {

using gemm_kernels::multiply_add;
using gemm_kernels::Simd;

// Vectors of one pass over the taps: their sums stay in registers.
constexpr int kVectors = 4;

// W elements that lie `step` apart.
template <class P, int step>
[[gnu::always_inline]] inline typename Simd<P>::V load_apart(const P* p) {
  constexpr int W = Simd<P>::width;
  if constexpr (step == 1) {
    return Simd<P>::load(p);
  } else {
    using I = std::conditional_t<sizeof(P) == 4, int32_t, int64_t>;
    typedef I Index __attribute__((vector_size(TAEDA_VEC_BYTES)));
    Index at;
    for (int i = 0; i < W; ++i) at[i] = 2 * i;
    return __builtin_shuffle(Simd<P>::load(p), Simd<P>::load(p + W), at);
  }
}

template <class P, int step, int N>
[[gnu::always_inline]] inline void weigh_block(int64_t taps, const RowTap<P>* tap, int64_t i,
                                               P start, P* out) {
  using S = Simd<P>;
  using V = typename S::V;
  V sum[N];
#pragma GCC unroll 4
  for (int v = 0; v < N; ++v) sum[v] = S::splat(start);
  for (int64_t t = 0; t < taps; ++t) {
    const V weight = S::splat(tap[t].weight);
    const P* from = tap[t].row + i * step;
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v)
      sum[v] = multiply_add(load_apart<P, step>(from + v * S::width * step), weight, sum[v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < N; ++v) S::store(out + i + v * S::width, sum[v]);
}

template <class P, int step>
void weigh_vectors(int64_t count, int64_t taps, const RowTap<P>* tap, P start, P* out) {
  constexpr int W = Simd<P>::width;
  int64_t i = 0;
  for (; i + (kVectors - 1) * W < count; i += kVectors * W)
    weigh_block<P, step, kVectors>(taps, tap, i, start, out);
  for (; i < count; i += W) weigh_block<P, step, 1>(taps, tap, i, start, out);
}

template <class P>
void weigh_rows(int64_t count, int64_t step, int64_t taps, const RowTap<P>* tap, P start, P* out) {
  static_assert(Simd<P>::width <= kRowSlack);
  return step == 1 ? weigh_vectors<P, 1>(count, taps, tap, start, out)
                   : weigh_vectors<P, 2>(count, taps, tap, start, out);
}

// Rows of two operands, of which each element of the first meets one of the second.
template <class P>
struct Rows {
  int64_t count, rows;
  const P* a;
  int64_t a_pitch, pitch;
};

// N taps at once, which share the loads of `a`. Lanes behind the count keep their sums.
template <class P, int step, int N>
void dot_block(const Rows<P>& r, const RowTap<P>* tap, double* sums) {
  using S = Simd<P>;
  using V = typename S::V;
  constexpr int W = S::width;
  V lane, sum[N] = {};
  for (int i = 0; i < W; ++i) lane[i] = static_cast<P>(i);
  const int64_t whole = r.count / W * W;
  const auto is_counted = lane < S::splat(static_cast<P>(r.count - whole));
  for (int64_t row = 0; row < r.rows; ++row) {
    const P* a = r.a + row * r.a_pitch;
    const int64_t at = row * r.pitch;
    for (int64_t i = 0; i < whole; i += W) {
      const V x = S::load(a + i);
#pragma GCC unroll 4
      for (int t = 0; t < N; ++t)
        sum[t] = multiply_add(x, load_apart<P, step>(tap[t].row + at + i * step), sum[t]);
    }
    if (whole == r.count) continue;
    const V x = S::load(a + whole);
#pragma GCC unroll 4
    for (int t = 0; t < N; ++t) {
      const V b = load_apart<P, step>(tap[t].row + at + whole * step);
      sum[t] = is_counted ? multiply_add(x, b, sum[t]) : sum[t];
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < N; ++t) sums[t] += S::sum(sum[t]);
}

template <class P, int step>
void dot_taps(const Rows<P>& r, int64_t taps, const RowTap<P>* tap, double* sums) {
  int64_t t = 0;
  for (; t + kVectors <= taps; t += kVectors) dot_block<P, step, kVectors>(r, tap + t, sums + t);
  for (; t < taps; ++t) dot_block<P, step, 1>(r, tap + t, sums + t);
}

template <class P>
void dot_rows(int64_t count, int64_t rows, int64_t step, int64_t taps, const P* a, int64_t a_pitch,
              const RowTap<P>* tap, int64_t pitch, double* sums) {
  const Rows<P> r{count, rows, a, a_pitch, pitch};
  return step == 1 ? dot_taps<P, 1>(r, taps, tap, sums) : dot_taps<P, 2>(r, taps, tap, sums);
}

// One element; a vector whose other lanes are not used rounds as a whole vector does.
template <class P>
[[gnu::always_inline]] inline P add_product(P a, P b, P sum) {
  using S = Simd<P>;
  return multiply_add(S::splat(a), S::splat(b), S::splat(sum))[0];
}

template <class P>
void weigh_channels(int64_t count, int64_t taps, const P* const* rows, const P* weights,
                    int64_t stride, const P* start, P* out) {
  using S = Simd<P>;
  using V = typename S::V;
  constexpr int W = S::width;
  int64_t c = 0;
  const auto block = [&](auto vectors) __attribute__((always_inline)) {
    constexpr int N = decltype(vectors)::value;
    for (; c + N * W <= count; c += N * W) {
      V sum[N];
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) sum[v] = start ? S::load(start + c + v * W) : V{};
      for (int64_t t = 0; t < taps; ++t) {
        if (!rows[t]) continue;
#pragma GCC unroll 4
        for (int v = 0; v < N; ++v)
          sum[v] = multiply_add(S::load(rows[t] + c + v * W),
                                S::load(weights + t * stride + c + v * W), sum[v]);
      }
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) S::store(out + c + v * W, sum[v]);
    }
  };
  block(std::integral_constant<int, kVectors>{});
  block(std::integral_constant<int, 1>{});
  for (; c < count; ++c) {
    P sum = start ? start[c] : P(0);
    for (int64_t t = 0; t < taps; ++t)
      if (rows[t]) sum = add_product(rows[t][c], weights[t * stride + c], sum);
    out[c] = sum;
  }
}

template <class P>
void add_products(int64_t count, const P* a, const P* b, P* sum) {
  using S = Simd<P>;
  int64_t c = 0;
  for (; c + S::width <= count; c += S::width)
    S::store(sum + c, multiply_add(S::load(a + c), S::load(b + c), S::load(sum + c)));
  for (; c < count; ++c) sum[c] = add_product(a[c], b[c], sum[c]);
}

template <class P>
consteval RowKernels<P> make_kernels() {
  return {weigh_rows<P>, dot_rows<P>, weigh_channels<P>, add_products<P>};
}

}  // namespace

#define TAEDA_ROW_SET_NAME2(isa) row_kernel_set_##isa
#define TAEDA_ROW_SET_NAME(isa) TAEDA_ROW_SET_NAME2(isa)
extern const RowKernelSet TAEDA_ROW_SET_NAME(TAEDA_ISA);
constinit const RowKernelSet TAEDA_ROW_SET_NAME(TAEDA_ISA) = {make_kernels<float>(),
                                                              make_kernels<double>()};

}  // namespace taeda::cpu::convolution_kernels
