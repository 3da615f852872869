// The line kernels of one instruction set.
#pragma GCC optimize("O3")
#include "taeda/backends/cpu/reduce/line_kernels.h"

#include <limits>

#include "taeda/kernel/math.h"
#include "taeda/kernel/reduce_tree.h"
#include "taeda/kernel/vec.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

typedef unsigned char Bytes __attribute__((vector_size(TAEDA_VEC_BYTES)));

// The vector the tree accumulates in; T itself where there is none.
template <class T>
struct VectorOf {
  using Type = T;
};
template <>
struct VectorOf<float> {
  using Type = td_f32;
};
template <>
struct VectorOf<double> {
  using Type = td_f64;
};
template <>
struct VectorOf<int64_t> {
  using Type = td_u64;
};
template <>
struct VectorOf<uint64_t> {
  using Type = td_u64;
};
template <>
struct VectorOf<uint8_t> {
  using Type = Bytes;
};

template <class V, class T>
TD_FN V load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
TD_FN void store(T* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// ---- combining ----
struct Sum {
  template <class T>
  static constexpr T identity = T(0);
  template <class F>
  TD_FN static F apply(F a, F b) {
    return a + b;
  }
  TD_FN static int64_t apply(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
};
struct Prod {
  template <class T>
  static constexpr T identity = T(1);
  template <class F>
  TD_FN static F apply(F a, F b) {
    return a * b;
  }
  TD_FN static int64_t apply(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
};
template <bool kIsMax>
struct Extreme {
  using Self = Extreme;
  template <class T>
  static constexpr T lowest =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                           : std::numeric_limits<T>::min();
  template <class T>
  static constexpr T highest =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                           : std::numeric_limits<T>::max();
  template <class T>
  static constexpr T identity = kIsMax ? lowest<T> : highest<T>;
  template <class F>
  TD_FN static F apply(F a, F b) {
    if constexpr (kIsMax)
      return td_maximum(a, b);
    else
      return td_minimum(a, b);
  }
};
using Max = Extreme<true>;
using Min = Extreme<false>;
struct Or {
  template <class T>
  static constexpr T identity = T(0);
  template <class F>
  TD_FN static F apply(F a, F b) {
    return a | b;
  }
};
struct And {
  template <class T>
  static constexpr T identity = T(1);
  template <class F>
  TD_FN static F apply(F a, F b) {
    return a & b;
  }
};

template <class T, class V>
struct Memory {
  const T* p;
  TD_FN T scalar(int64_t i) const { return p[i]; }
  TD_FN V vector(int64_t i) const { return load<V>(p + i); }
};

// Signed integers are compared as such and added as unsigned ones.
template <class Op, class T>
using TreeVector = std::conditional_t<std::is_same_v<T, int64_t> &&
                                          (std::is_same_v<Op, Max> || std::is_same_v<Op, Min>),
                                      td_i64, typename VectorOf<T>::Type>;

template <class Op, class T>
T reduce_chunk(const T* p, int64_t n) {
  using V = TreeVector<Op, T>;
  return td_reduce_chunk<Op, V, T>(Memory<T, V>{p}, 0, n, Op::template identity<T>);
}

template <class Op, class T>
void reduce_rows(T* accumulators, const T* rows, int64_t stride, int64_t count, int64_t width) {
  using V = TreeVector<Op, T>;
  constexpr int kWidth = sizeof(V) / sizeof(T);
  constexpr int kUnroll = 4;
  int64_t r = 0;
  for (; r + 4 <= count; r += 4, rows += 4 * stride) {
    const T *a = rows, *b = rows + stride, *c = rows + 2 * stride, *d = rows + 3 * stride;
    int64_t j = 0;
    if constexpr (kWidth > 1) {
      for (; j + kUnroll * kWidth <= width; j += kUnroll * kWidth) {
#pragma GCC unroll 4
        for (int u = 0; u < kUnroll; ++u) {
          const int64_t k = j + u * kWidth;
          V x = Op::apply(load<V>(accumulators + k), load<V>(a + k));
          x = Op::apply(x, load<V>(b + k));
          x = Op::apply(x, load<V>(c + k));
          store(accumulators + k, Op::apply(x, load<V>(d + k)));
        }
      }
    }
    for (; j < width; ++j)
      accumulators[j] =
          Op::apply(Op::apply(Op::apply(Op::apply(accumulators[j], a[j]), b[j]), c[j]), d[j]);
  }
  for (; r < count; ++r, rows += stride)
    for (int64_t j = 0; j < width; ++j) accumulators[j] = Op::apply(accumulators[j], rows[j]);
}

template <class Op, class T>
constexpr ReduceFns<T> kReduce = {&reduce_chunk<Op, T>, &reduce_rows<Op, T>};

// ---- rows ----
template <class T>
int64_t find(const T* p, int64_t n, T value) {
  constexpr int kBlock = 32;
  const bool is_nan = value != value;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    int hits = 0;
    if (is_nan) {
      for (int j = 0; j < kBlock; ++j) hits |= p[i + j] != p[i + j];
    } else {
      for (int j = 0; j < kBlock; ++j) hits |= p[i + j] == value;
    }
    if (hits) break;
  }
  for (; i < n; ++i)
    if (p[i] == value || (is_nan && p[i] != p[i])) return i;
  return 0;
}

template <class T, class V>
struct Deviation {
  const T* p;
  T mean;
  TD_FN T scalar(int64_t i) const { return p[i] - mean; }
  TD_FN V vector(int64_t i) const { return load<V>(p + i) - mean; }
};
template <class T, class V>
struct SquaredDeviation {
  const T* p;
  T mean;
  TD_FN T scalar(int64_t i) const { return (p[i] - mean) * (p[i] - mean); }
  TD_FN V vector(int64_t i) const {
    const V d = load<V>(p + i) - mean;
    return d * d;
  }
};
template <class T, class V>
struct Exponential {
  const T* p;
  T maximum;
  TD_FN T scalar(int64_t i) const { return td_exp(p[i] - maximum); }
  TD_FN V vector(int64_t i) const { return td_exp(load<V>(p + i) - maximum); }
};
template <class T, class V>
struct Product {
  const T *a, *b;
  TD_FN T scalar(int64_t i) const { return a[i] * b[i]; }
  TD_FN V vector(int64_t i) const { return load<V>(a + i) * load<V>(b + i); }
};

template <class T>
struct Row {
  using V = typename VectorOf<T>::Type;
  static constexpr int kWidth = sizeof(V) / sizeof(T);

  template <class Op, class Source>
  static T reduce(const Source& source, int64_t n) {
    return td_reduce_run<Op, V, T>(source, n, Op::template identity<T>);
  }
  // f(position) for whole vectors and, with a scalar tag, for the rest.
  template <class F>
  TD_FN static void each(int64_t n, F&& f) {
    int64_t i = 0;
    for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) f(V{}, i + u * kWidth);
    }
    for (; i + kWidth <= n; i += kWidth) f(V{}, i);
    for (; i < n; ++i) f(T{}, i);
  }

  static T sum_deviations(const T* p, int64_t n, T mean) {
    return reduce<Sum>(Deviation<T, V>{p, mean}, n);
  }
  static T sum_squared_deviations(const T* p, int64_t n, T mean) {
    return reduce<Sum>(SquaredDeviation<T, V>{p, mean}, n);
  }
  static T sum_exp(const T* p, int64_t n, T maximum) {
    return reduce<Sum>(Exponential<T, V>{p, maximum}, n);
  }

  static void softmax(const T* in, T* out, int64_t n) {
    const T m = reduce<Max>(Memory<T, V>{in}, n);
    each(n, [&](auto v, int64_t i) { store(out + i, td_exp(load<decltype(v)>(in + i) - m)); });
    const T scale = T(1) / reduce<Sum>(Memory<T, V>{out}, n);
    each(n, [&](auto v, int64_t i) { store(out + i, load<decltype(v)>(out + i) * scale); });
  }
  static void log_softmax(const T* in, T* out, int64_t n) {
    const T m = reduce<Max>(Memory<T, V>{in}, n);
    const T log_sum = td_log(sum_exp(in, n, m));
    each(n, [&](auto v, int64_t i) { store(out + i, load<decltype(v)>(in + i) - m - log_sum); });
  }
  static void softmax_backward(const T* grad, const T* output, T* out, int64_t n) {
    const T sum = reduce<Sum>(Product<T, V>{grad, output}, n);
    each(n, [&](auto v, int64_t i) {
      using W = decltype(v);
      store(out + i, load<W>(output + i) * (load<W>(grad + i) - sum));
    });
  }
  static void log_softmax_backward(const T* grad, const T* output, T* out, int64_t n) {
    const T sum = reduce<Sum>(Memory<T, V>{grad}, n);
    each(n, [&](auto v, int64_t i) {
      using W = decltype(v);
      store(out + i, load<W>(grad + i) - td_exp(load<W>(output + i)) * sum);
    });
  }

  static void normalize(const T* in, T* out, int64_t n, T mean, T rstd, const T* weight,
                        const T* bias) {
    each(n, [&](auto v, int64_t i) {
      using W = decltype(v);
      W x = (load<W>(in + i) - mean) * rstd;
      if (weight) x = x * load<W>(weight + i);
      if (bias) x = x + load<W>(bias + i);
      store(out + i, x);
    });
  }
  static void normalize_backward(const T* grad, const T* in, T* out, int64_t n, T mean, T rstd,
                                 const T* weight) {
    // With h = grad * weight: rstd * (h - mean(h) - normalized * mean(h * normalized)).
    struct Weighted {
      const T *grad, *weight;
      TD_FN T scalar(int64_t i) const { return weight ? grad[i] * weight[i] : grad[i]; }
      TD_FN V vector(int64_t i) const {
        return weight ? load<V>(grad + i) * load<V>(weight + i) : load<V>(grad + i);
      }
    };
    struct WeightedNormalized {
      Weighted h;
      const T* in;
      T mean, rstd;
      TD_FN T scalar(int64_t i) const { return h.scalar(i) * ((in[i] - mean) * rstd); }
      TD_FN V vector(int64_t i) const { return h.vector(i) * ((load<V>(in + i) - mean) * rstd); }
    };
    const Weighted h{grad, weight};
    const T mean_h = reduce<Sum>(h, n) / T(n);
    const T mean_hx = reduce<Sum>(WeightedNormalized{h, in, mean, rstd}, n) / T(n);
    each(n, [&](auto v, int64_t i) {
      using W = decltype(v);
      W g = load<W>(grad + i);
      if (weight) g = g * load<W>(weight + i);
      const W x = (load<W>(in + i) - mean) * rstd;
      store(out + i, (g - mean_h - x * mean_hx) * rstd);
    });
  }
  static void accumulate_affine(const T* grad, const T* in, int64_t n, T mean, T rstd,
                                T* weight_grad, T* bias_grad) {
    if (weight_grad)
      each(n, [&](auto v, int64_t i) {
        using W = decltype(v);
        store(weight_grad + i,
              load<W>(weight_grad + i) + load<W>(grad + i) * ((load<W>(in + i) - mean) * rstd));
      });
    if (bias_grad)
      each(n, [&](auto v, int64_t i) {
        using W = decltype(v);
        store(bias_grad + i, load<W>(bias_grad + i) + load<W>(grad + i));
      });
  }
  static constexpr RowFns<T> fns() {
    return {&find<T>,   &sum_deviations,     &sum_squared_deviations, &sum_exp,
            &softmax,   &log_softmax,        &softmax_backward,       &log_softmax_backward,
            &normalize, &normalize_backward, &accumulate_affine};
  }
};

}  // namespace

#define TAEDA_NAME_OF(isa) line_kernels_##isa
#define TAEDA_NAME(isa) TAEDA_NAME_OF(isa)
#define TAEDA_REAL_REDUCE(T) {kReduce<Sum, T>, kReduce<Prod, T>, kReduce<Max, T>, kReduce<Min, T>}
extern const LineKernels TAEDA_NAME(TAEDA_ISA);
constinit const LineKernels TAEDA_NAME(TAEDA_ISA) = {
    TAEDA_REAL_REDUCE(float),
    TAEDA_REAL_REDUCE(double),
    TAEDA_REAL_REDUCE(int64_t),
    TAEDA_REAL_REDUCE(uint64_t),
    {kReduce<Sum, Complex<float>>, kReduce<Prod, Complex<float>>},
    {kReduce<Sum, Complex<double>>, kReduce<Prod, Complex<double>>},
    {kReduce<Or, uint8_t>, kReduce<And, uint8_t>},
    Row<float>::fns(),
    Row<double>::fns(),
    &find<int64_t>,
    &find<uint64_t>,
};

}  // namespace taeda::cpu
