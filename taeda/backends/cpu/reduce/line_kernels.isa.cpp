// The line kernels of one instruction set.
#pragma GCC optimize("O3")
#include "taeda/backends/cpu/reduce/line_kernels.h"

#include "taeda/kernel/reduce.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

// ---- passes ----
// Body over the elements themselves.
template <class B>
struct Plain {
  using Body = B;
  static constexpr bool kHasCenter = false, kHasIndex = false;
  static constexpr int kVectors = 4;
};
struct Deviations {
  using Body = SumBody;
  static constexpr bool kHasCenter = true, kHasIndex = false;
  static constexpr int kVectors = 2;
  template <class V>
  TD_FN static V value(V x, V center) {
    return MomentsBody::deviation(x, center);
  }
};
// Of complex numbers by parts.
struct SquaredDeviations {
  using Body = SumBody;
  static constexpr bool kHasCenter = true, kHasIndex = false;
  static constexpr int kVectors = 2;
  template <class V>
  TD_FN static V value(V x, V center) {
    return make_complex<V>(MomentsBody::squared_deviation(real(x), real(center)),
                           MomentsBody::squared_deviation(imag(x), imag(center)));
  }
};
struct Terms {
  using Body = SumBody;
  static constexpr bool kHasCenter = true, kHasIndex = false;
  static constexpr int kVectors = 1;
  template <class V>
  TD_FN static V value(V x, V center) {
    return LogSumExpBody::term(x, center);
  }
};
struct Places {
  using Body = ExtremeBody<false>;
  static constexpr bool kHasCenter = true, kHasIndex = true;
  static constexpr int kVectors = 2;
  template <class V>
  TD_FN static V value(V x, V extreme, V index) {
    return ArgExtremeBody<true>::place(x, extreme, index);
  }
};
// The largest real part of complex numbers.
struct LargestReal {
  struct Body {
    template <class V>
    struct State {
      V value;
      static constexpr auto parts() { return std::tuple(&State::value); }
    };
    template <class V>
    TD_FN static State<V> identity() {
      return {make_complex<V>(OrderOf<RealOf<V>>::lowest(), RealOf<V>(0))};
    }
    template <class V>
    TD_FN static State<V> lift(V x) {
      return {x};
    }
    template <class V>
    TD_FN static State<V> combine(State<V> a, State<V> b) {
      return {make_complex<V>(maximum(real(a.value), real(b.value)), RealOf<V>(0))};
    }
  };
  static constexpr bool kHasCenter = false, kHasIndex = false;
  static constexpr int kVectors = 4;
};

template <class Pass, class T>
struct CenteredElements {
  const T* p;
  T center;
  template <class V>
  TD_FN V at(int64_t i) const {
    const V x = V::load(p + i);
    if constexpr (Pass::kHasCenter)
      return Pass::value(x, V(center));
    else
      return x;
  }
};

// The first element that equals the extreme; the search ends there.
template <class T>
T find(const T* p, int64_t n, T value) {
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
    if (p[i] == value || (is_nan && p[i] != p[i])) break;
  return static_cast<T>(i);
}

template <class Pass, class T>
struct PassFns {
  static void lines(const void* p, int64_t pitch, int64_t count, int64_t n, const void* centers,
                    void* results) {
    using Body = typename Pass::Body;
    const T *from = static_cast<const T*>(p), *center = static_cast<const T*>(centers);
    T* to = static_cast<T*>(results);
    for (int64_t l = 0; l < count; ++l, from += pitch) {
      if constexpr (Pass::kHasIndex)
        to[l] = find(from, n, center[l]);
      else if constexpr (Pass::kHasCenter)
        to[l] = reduce_chunk<Body, T>(CenteredElements<Pass, T>{from, center[l]}, n);
      else
        to[l] = reduce_chunk<Body, T>(Elements<T>{from}, n);
    }
  }
  static void fold(void* lanes, const void* rows, int64_t stride, int64_t first, int64_t count,
                   int64_t width, const void* centers, const void* numbers) {
    fold_columns<Pass>(static_cast<T*>(lanes), static_cast<const T*>(rows), stride, first, count,
                       width, static_cast<const T*>(centers), static_cast<const T*>(numbers));
  }
  static void combine(const void* left, const void* right, void* out, int64_t n) {
    combine_elements<typename Pass::Body>(static_cast<const T*>(left), static_cast<const T*>(right),
                                          static_cast<T*>(out), n);
  }
  static constexpr ReducePass kFns = {&lines, &fold, &combine};
};

// ---- reductions ----
template <class Body, class T>
constexpr ReduceOp kSimple = {sizeof(T),
                              sizeof(T),
                              1,
                              {PassFns<Plain<Body>, T>::kFns},
                              nullptr,
                              nullptr,
                              PassFns<Plain<Body>, T>::combine,
                              nullptr};

// The functions of a reduction by several passes: Form has State, center(result, n),
// state(results, n, first) and combine(a, b) for one line.
template <class Form, class T>
struct FormFns {
  using State = typename Form::State;
  static void center(const void* results, int64_t n, int64_t lines, void* centers) {
    for (int64_t l = 0; l < lines; ++l)
      static_cast<T*>(centers)[l] = Form::center(static_cast<const T*>(results)[l], n);
  }
  static void state(const void* const* results, const void* centers, int64_t n, int64_t first,
                    int64_t lines, void* states) {
    for (int64_t l = 0; l < lines; ++l) {
      T values[3];
      for (int k = 0; k < Form::kPasses; ++k) values[k] = static_cast<const T*>(results[k])[l];
      static_cast<State*>(states)[l] =
          Form::state(values, static_cast<const T*>(centers)[l], n, first);
    }
  }
  static void combine(const void* left, const void* right, void* out, int64_t n) {
    for (int64_t l = 0; l < n; ++l)
      static_cast<State*>(out)[l] =
          Form::combine(static_cast<const State*>(left)[l], static_cast<const State*>(right)[l]);
  }
};
template <class T>
void number_lanes(void* numbers, int64_t width) {
  T* to = static_cast<T*>(numbers);
  for (int l = 0; l < kReduceLanes<T>; ++l)
    for (int64_t j = 0; j < width; ++j) *to++ = static_cast<T>(l);
}
template <class T, bool has_index>
constexpr auto number_fn() -> void (*)(void*, int64_t) {
  if constexpr (has_index)
    return &number_lanes<T>;
  else
    return nullptr;
}
template <class Form, class T, class... Passes>
constexpr ReduceOp kForm = {sizeof(T),
                            sizeof(typename Form::State),
                            sizeof...(Passes),
                            {PassFns<Passes, T>::kFns...},
                            &FormFns<Form, T>::center,
                            &FormFns<Form, T>::state,
                            &FormFns<Form, T>::combine,
                            number_fn<T, (Passes::kHasIndex || ...)>()};

template <bool is_max, class T>
struct ArgForm {
  using Body = ArgExtremeBody<is_max>;
  using V = Vec<One<T>>;
  using State = PlaceState<T>;
  static constexpr int kPasses = 2;
  static T center(T extreme, int64_t) { return extreme; }
  static State state(const T* values, T extreme, int64_t, int64_t first) {
    return {extreme, first + static_cast<int64_t>(values[1])};
  }
  static State combine(State a, State b) {
    const auto both = Body::template combine<V>({V(a.value), a.index}, {V(b.value), b.index});
    return {both.value.raw, both.index.raw};
  }
};
template <bool is_max, class T>
constexpr ReduceOp kArg = kForm<ArgForm<is_max, T>, T, Plain<ExtremeBody<is_max>>, Places>;

MomentState combine_moments(const MomentState& a, const MomentState& b) {
  using V = Vec<One<double>>;
  const auto both =
      MomentsBody::combine<V>({a.count, a.mean, a.squares}, {b.count, b.mean, b.squares});
  return {both.count.raw, both.mean.raw, both.squares.raw};
}
MomentState moments_of(int64_t n, double center, double deviations, double squares) {
  using V = Vec<One<double>>;
  const auto made = MomentsBody::of_sums<V>(static_cast<double>(n), center, deviations, squares);
  return {made.count.raw, made.mean.raw, made.squares.raw};
}
// Chunks are joined in double precision.
template <class T>
struct MomentForm {
  using State = MomentState;
  static constexpr int kPasses = 3;
  static T center(T sum, int64_t n) { return sum / static_cast<T>(n); }
  static State state(const T* values, T center, int64_t n, int64_t) {
    return moments_of(n, center, values[1], values[2]);
  }
  static State combine(const State& a, const State& b) { return combine_moments(a, b); }
};
template <class R>
struct MomentForm<Complex<R>> {
  using T = Complex<R>;
  using State = ComplexMomentState;
  static constexpr int kPasses = 3;
  static T center(T sum, int64_t n) {
    return {sum.re / static_cast<R>(n), sum.im / static_cast<R>(n)};
  }
  static State state(const T* values, T center, int64_t n, int64_t) {
    return {moments_of(n, center.re, values[1].re, values[2].re),
            moments_of(n, center.im, values[1].im, values[2].im)};
  }
  static State combine(const State& a, const State& b) {
    return {combine_moments(a.re, b.re), combine_moments(a.im, b.im)};
  }
};
template <class T>
constexpr ReduceOp kMoments =
    kForm<MomentForm<T>, T, Plain<SumBody>, Deviations, SquaredDeviations>;

template <class T>
struct ScaledForm {
  using V = Vec<One<T>>;
  using State = ScaledState<T>;
  static constexpr int kPasses = 2;
  static T center(T largest, int64_t) { return LogSumExpBody::center(V(largest)).raw; }
  static State state(const T* values, T, int64_t, int64_t) { return {values[0], values[1]}; }
  static State combine(State a, State b) {
    const auto both = LogSumExpBody::combine<V>({a.largest, a.sum}, {b.largest, b.sum});
    return {both.largest.raw, both.sum.raw};
  }
};
template <class R>
struct ScaledForm<Complex<R>> {
  using T = Complex<R>;
  using V = Vec<One<R>>;
  using State = ScaledState<T>;
  static constexpr int kPasses = 2;
  static T center(T largest, int64_t) { return T(LogSumExpBody::center(V(largest.re)).raw, R(0)); }
  static State state(const T* values, T, int64_t, int64_t) { return {values[0].re, values[1]}; }
  static State combine(State a, State b) {
    const V largest = maximum(V(a.largest), V(b.largest)), from = LogSumExpBody::center(largest);
    const auto weight = [&](R own) {
      return LogSumExpBody::term(LogSumExpBody::center(V(own)), from).raw;
    };
    const R left = weight(a.largest), right = weight(b.largest);
    return {largest.raw, T(a.sum.re * left + b.sum.re * right, a.sum.im * left + b.sum.im * right)};
  }
};
template <class T>
constexpr ReduceOp kLogSumExp = kForm<ScaledForm<T>, T, Plain<ExtremeBody<true>>, Terms>;
template <class R>
constexpr ReduceOp kLogSumExp<Complex<R>> =
    kForm<ScaledForm<Complex<R>>, Complex<R>, LargestReal, Terms>;

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
    return {&sum,         &sum_squared_deviations, &softmax,
            &log_softmax, &softmax_backward,       &log_softmax_backward,
            &normalize,   &normalize_backward,     &accumulate_affine};
  }
};

}  // namespace

#define TAEDA_NAME_OF(isa) line_kernels_##isa
#define TAEDA_NAME(isa) TAEDA_NAME_OF(isa)
using C64 = Complex<float>;
using C128 = Complex<double>;
extern const LineKernels TAEDA_NAME(TAEDA_ISA);
constinit const LineKernels TAEDA_NAME(TAEDA_ISA) = {
    {
        {kSimple<SumBody, float>, kSimple<SumBody, double>, kSimple<SumBody, int64_t>,
         kSimple<SumBody, uint64_t>, kSimple<SumBody, C64>, kSimple<SumBody, C128>},
        {kSimple<ProdBody, float>, kSimple<ProdBody, double>, kSimple<ProdBody, int64_t>,
         kSimple<ProdBody, uint64_t>, kSimple<ProdBody, C64>, kSimple<ProdBody, C128>},
        {kSimple<ExtremeBody<true>, float>, kSimple<ExtremeBody<true>, double>,
         kSimple<ExtremeBody<true>, int64_t>, kSimple<ExtremeBody<true>, uint64_t>},
        {kSimple<ExtremeBody<false>, float>, kSimple<ExtremeBody<false>, double>,
         kSimple<ExtremeBody<false>, int64_t>, kSimple<ExtremeBody<false>, uint64_t>},
        {kArg<true, float>, kArg<true, double>, kArg<true, int64_t>, kArg<true, uint64_t>},
        {kArg<false, float>, kArg<false, double>, kArg<false, int64_t>, kArg<false, uint64_t>},
        {kMoments<float>, kMoments<double>, {}, {}, kMoments<C64>, kMoments<C128>},
        {kLogSumExp<float>, kLogSumExp<double>, {}, {}, kLogSumExp<C64>, kLogSumExp<C128>},
    },
    {kSimple<AnyBody, uint8_t>, kSimple<AllBody, uint8_t>},
    Row<float>::fns(),
    Row<double>::fns(),
};

}  // namespace taeda::cpu
