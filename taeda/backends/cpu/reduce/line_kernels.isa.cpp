// The line kernels of one instruction set.
#ifndef TAEDA_IS_FALLBACK
#  pragma GCC optimize("O3")
#endif
#include "taeda/backends/cpu/reduce/line_kernels.h"

#include "taeda/backends/cpu/reduce/reduce_passes.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

// ---- rows ----
template <class T>
struct Difference {
  const T* p;
  T mean;
  template <class V>
  TD_FN V at(int64_t i) const {
    return MomentsBody::squared_deviation(V::load(p + i), V(mean));
  }
};
template <class T>
struct Exponential {
  const T* p;
  T largest;
  template <class V>
  TD_FN V at(int64_t i) const {
    return LogSumExpBody::term(V::load(p + i), V(largest));
  }
};
template <class T>
struct Product {
  const T *a, *b;
  template <class V>
  TD_FN V at(int64_t i) const {
    return V::load(a + i) * V::load(b + i);
  }
};
// grad * weight, and that times the normalized input.
template <class T>
struct Weighted {
  const T *grad, *weight;
  template <class V>
  TD_FN V at(int64_t i) const {
    return weight ? V::load(grad + i) * V::load(weight + i) : V::load(grad + i);
  }
};
template <class T>
struct WeightedNormalized {
  Weighted<T> h;
  const T* in;
  T mean, rstd;
  template <class V>
  TD_FN V at(int64_t i) const {
    return h.template at<V>(i) * ((V::load(in + i) - V(mean)) * V(rstd));
  }
};

template <class T>
struct Row {
  using Wide = Vec<T>;
  using Single = Vec<One<T>>;
  static constexpr int kWidth = Wide::kWidth;

  // f(position) with the type of a vector for whole vectors, and with that of one for the rest.
  template <class F>
  TD_FN static void each(int64_t n, F&& f) {
    int64_t i = 0;
    for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) f(Wide(), i + u * kWidth);
    }
    for (; i + kWidth <= n; i += kWidth) f(Wide(), i);
    for (; i < n; ++i) f(Single(), i);
  }

  static T sum(const T* p, int64_t n) { return reduce_line<SumBody, T>(Elements<T>{p}, n); }
  static T largest(const T* p, int64_t n) {
    return reduce_line<ExtremeBody<true>, T>(Elements<T>{p}, n);
  }
  static T sum_squared_deviations(const T* p, int64_t n, T mean) {
    return reduce_line<SumBody, T>(Difference<T>{p, mean}, n);
  }

  static void softmax(const T* in, T* out, int64_t n) {
    const T m = largest(in, n);
    each(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      LogSumExpBody::term(V::load(in + i), V(m)).store(out + i);
    });
    const T scale = T(1) / sum(out, n);
    each(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      (V::load(out + i) * V(scale)).store(out + i);
    });
  }
  static void log_softmax(const T* in, T* out, int64_t n) {
    const T m = largest(in, n);
    const T log_sum = td_log(reduce_line<SumBody, T>(Exponential<T>{in, m}, n));
    each(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      (V::load(in + i) - V(m) - V(log_sum)).store(out + i);
    });
  }
  static void softmax_backward(const T* grad, const T* output, T* out, int64_t n) {
    const T sum = reduce_line<SumBody, T>(Product<T>{grad, output}, n);
    each(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      (V::load(output + i) * (V::load(grad + i) - V(sum))).store(out + i);
    });
  }
  static void log_softmax_backward(const T* grad, const T* output, T* out, int64_t n) {
    const T total = sum(grad, n);
    each(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      (V::load(grad + i) - exp(V::load(output + i)) * V(total)).store(out + i);
    });
  }

  static void normalize(const T* in, T* out, int64_t n, T mean, T rstd, const T* weight,
                        const T* bias) {
    each(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      V x = (V::load(in + i) - V(mean)) * V(rstd);
      if (weight) x = x * V::load(weight + i);
      if (bias) x = x + V::load(bias + i);
      x.store(out + i);
    });
  }
  static void normalize_backward(const T* grad, const T* in, T* out, int64_t n, T mean, T rstd,
                                 const T* weight) {
    // With h = grad * weight: rstd * (h - mean(h) - normalized * mean(h * normalized)).
    const Weighted<T> h{grad, weight};
    const T mean_h = reduce_line<SumBody, T>(h, n) / T(n);
    const T mean_hx = reduce_line<SumBody, T>(WeightedNormalized<T>{h, in, mean, rstd}, n) / T(n);
    each(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      const V x = (V::load(in + i) - V(mean)) * V(rstd);
      ((h.template at<V>(i) - V(mean_h) - x * V(mean_hx)) * V(rstd)).store(out + i);
    });
  }
  static void scale_backward(const T* grad, const T* in, T* out, int64_t n, T rstd,
                             const T* weight) {
    const Weighted<T> h{grad, weight};
    const T mean_hx = reduce_line<SumBody, T>(WeightedNormalized<T>{h, in, T(0), rstd}, n) / T(n);
    each(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      const V x = V::load(in + i) * V(rstd);
      ((h.template at<V>(i) - x * V(mean_hx)) * V(rstd)).store(out + i);
    });
  }
  static void accumulate_affine(const T* grad, const T* in, int64_t n, T mean, T rstd,
                                T* weight_grad, T* bias_grad) {
    if (weight_grad)
      each(n, [&](auto v, int64_t i) {
        using V = decltype(v);
        const V x = (V::load(in + i) - V(mean)) * V(rstd);
        (V::load(weight_grad + i) + V::load(grad + i) * x).store(weight_grad + i);
      });
    if (bias_grad)
      each(n, [&](auto v, int64_t i) {
        using V = decltype(v);
        (V::load(bias_grad + i) + V::load(grad + i)).store(bias_grad + i);
      });
  }
  static constexpr RowFns<T> fns() {
    return {&sum,
            &sum_squared_deviations,
            &softmax,
            &log_softmax,
            &softmax_backward,
            &log_softmax_backward,
            &normalize,
            &normalize_backward,
            &scale_backward,
            &accumulate_affine};
  }
};

// ---- turned blocks ----
// A square of registers: each step moves a bit of the row's number to that of the lane.
template <class V, class U>
TD_FN void turn_registers(V* rows) {
  constexpr int kWidth = sizeof(V) / sizeof(U);
  V low, high;
  for (int l = 0; l < kWidth; ++l) {
    low[l] = l % 2 * kWidth + l / 2;
    high[l] = l % 2 * kWidth + l / 2 + kWidth / 2;
  }
  for (int step = 1; step < kWidth; step *= 2) {
    V turned[kWidth];
#pragma GCC unroll 16
    for (int i = 0; i < kWidth / 2; ++i) {
      turned[2 * i] = __builtin_shuffle(rows[i], rows[i + kWidth / 2], low);
      turned[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + kWidth / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) rows[i] = turned[i];
  }
}

template <class V, class U>
void turn(const char* from, int64_t pitch, int64_t rows, int64_t cols, char* to, int64_t to_pitch) {
  constexpr int kWidth = sizeof(V) / sizeof(U);
  const auto turn_rest = [&](int64_t r, int64_t end_row, int64_t begin, int64_t end) {
    for (; r < end_row; ++r)
      for (int64_t c = begin; c < end; ++c)
        __builtin_memcpy(to + r * to_pitch + c * sizeof(U), from + c * pitch + r * sizeof(U),
                         sizeof(U));
  };
  int64_t c = 0;
  for (; c + kWidth <= cols; c += kWidth) {
    int64_t r = 0;
    for (; r + kWidth <= rows; r += kWidth) {
      V square[kWidth];
#pragma GCC unroll 16
      for (int k = 0; k < kWidth; ++k)
        square[k] = td_load<V>(from + (c + k) * pitch + r * sizeof(U));
      turn_registers<V, U>(square);
#pragma GCC unroll 16
      for (int k = 0; k < kWidth; ++k) td_store(to + (r + k) * to_pitch + c * sizeof(U), square[k]);
    }
    turn_rest(r, rows, c, c + kWidth);
  }
  turn_rest(0, rows, c, cols);
}

}  // namespace

#define TAEDA_NAME_OF(isa) line_kernels_##isa
#define TAEDA_NAME(isa) TAEDA_NAME_OF(isa)
extern const LineKernels TAEDA_NAME(TAEDA_ISA);
// Sums and products of integers are the same bits with and without a sign.
constinit const LineKernels TAEDA_NAME(TAEDA_ISA) = {
    {
        {kSimple<SumBody, float>, kSimple<SumBody, double>, kSimple<SumBody, uint64_t>,
         kSimple<SumBody, uint64_t>},
        {kSimple<ProdBody, float>, kSimple<ProdBody, double>, kSimple<ProdBody, uint64_t>,
         kSimple<ProdBody, uint64_t>},
        {kSimple<ExtremeBody<true>, float>, kSimple<ExtremeBody<true>, double>,
         kSimple<ExtremeBody<true>, int64_t>, kSimple<ExtremeBody<true>, uint64_t>},
        {kSimple<ExtremeBody<false>, float>, kSimple<ExtremeBody<false>, double>,
         kSimple<ExtremeBody<false>, int64_t>, kSimple<ExtremeBody<false>, uint64_t>},
        {kArg<true, float>, kArg<true, double>, kArg<true, int64_t>, kArg<true, uint64_t>},
        {kArg<false, float>, kArg<false, double>, kArg<false, int64_t>, kArg<false, uint64_t>},
        {kMoments<float>, kMoments<double>},
        {kLogSumExp<float>, kLogSumExp<double>},
    },
    {kSimple<AnyBody, uint8_t>, kSimple<AllBody, uint8_t>},
    Row<float>::fns(),
    Row<double>::fns(),
    &turn<td_u32, uint32_t>,
    &turn<td_u64, uint64_t>,
};

}  // namespace taeda::cpu
