// ReduceOps made of the bodies of kernel/reduce_bodies.h: their passes over elements of type T and
// what joins them. Included where a table of them is filled; each instruction set has its own,
// hence no names that they could share.
#pragma once

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

// Two lines side by side, so that the additions of one fill the time that those of the other take.
template <class Body, class V>
struct TwoLines {
  using Line = TreeBody<Body, V>;
  struct S {
    typename Line::S a, b;
  };
  static constexpr int kLanes = Line::kLanes, kWidth = Line::kWidth;
  TD_FN static S identity() { return {Line::identity(), Line::identity()}; }
  TD_FN static S combine(const S& x, const S& y) {
    return {Line::combine(x.a, y.a), Line::combine(x.b, y.b)};
  }
  TD_FN static auto lane(const S& s, int i) {
    using Lane = typename TwoLines<Body, typename Line::Single>::S;
    return Lane{Line::lane(s.a, i), Line::lane(s.b, i)};
  }
};
template <class Body, class T, class Values>
struct TwoLineValues {
  TreeValues<Body, T, Values> a, b;
  using Vectors = ReduceVec<T>;
  TD_FN auto one(int64_t i) const {
    return typename TwoLines<Body, typename Vectors::Single>::S{a.one(i), b.one(i)};
  }
  TD_FN auto wide(int64_t i) const {
    return typename TwoLines<Body, typename Vectors::Wide>::S{a.wide(i), b.wide(i)};
  }
};
// Calls put(line, state) for lines of at most kReduceChunk elements; values(line) has them.
template <class Body, class T, class Values, class Put>
TD_FN void reduce_lines_in_twos(int64_t count, int64_t n, Values&& values, Put&& put) {
  using Vectors = ReduceVec<T>;
  using Line = decltype(values(0));
  int64_t l = 0;
  for (; l + 1 < count; l += 2) {
    const Line a = values(l), b = values(l + 1);
    const auto both = td_tree_chunk<TwoLines<Body, typename Vectors::Single>,
                                    TwoLines<Body, typename Vectors::Wide>>(
        TwoLineValues<Body, T, Line>{{a}, {b}}, 0, n);
    put(l, both.a);
    put(l + 1, both.b);
  }
  if (l == count) return;
  const Line last = values(l);
  put(l,
      td_tree_chunk<TreeBody<Body, typename Vectors::Single>,
                    TreeBody<Body, typename Vectors::Wide>>(TreeValues<Body, T, Line>{last}, 0, n));
}

template <class Pass, class T>
struct PassFns {
  static void lines(const void* p, int64_t pitch, int64_t count, int64_t n, const void* centers,
                    void* results) {
    using Body = typename Pass::Body;
    const T *from = static_cast<const T*>(p), *center = static_cast<const T*>(centers);
    T* to = static_cast<T*>(results);
    if constexpr (std::is_same_v<Body, SumBody> && std::is_floating_point_v<T> &&
                  !Pass::kHasCenter) {
      return reduce_lines_in_twos<Body, T>(
          count, n, [&](int64_t l) { return Elements<T>{from + l * pitch}; },
          [&](int64_t l, auto state) { state.sum.store(to + l); });
    }
    for (int64_t l = 0; l < count; ++l, from += pitch) {
      if constexpr (Pass::kHasIndex)
        to[l] = find(from, n, center[l]);
      else if constexpr (Pass::kHasCenter)
        to[l] = reduce_chunk<Body, T>(CenteredElements<Pass, T>{from, center[l]}, n);
      else
        to[l] = reduce_chunk<Body, T>(Elements<T>{from}, n);
    }
  }
  template <class M>
  static void fold(void* lanes, const void* rows, int64_t stride, int64_t first, int64_t count,
                   int64_t width, const void* centers, const void* numbers) {
    fold_columns<Pass>(static_cast<T*>(lanes), static_cast<const M*>(rows), stride, first, count,
                       width, static_cast<const T*>(centers), static_cast<const T*>(numbers));
  }
  static void combine(const void* left, const void* right, void* out, int64_t n) {
    combine_elements<typename Pass::Body>(static_cast<const T*>(left), static_cast<const T*>(right),
                                          static_cast<T*>(out), n);
  }
  static constexpr ReducePass fns() {
    if constexpr (std::is_same_v<T, float> && !Pass::kHasCenter)
      return {&lines, &fold<T>, &fold<uint16_t>, &combine};
    else
      return {&lines, &fold<T>, nullptr, &combine};
  }
  // Of a pass whose lines are reduced together with those of others.
  static constexpr ReducePass column_fns() { return {nullptr, &fold<T>, nullptr, &combine}; }
};

// ---- reductions ----
template <class Body, class T>
constexpr ReduceOp kSimple = {sizeof(T), sizeof(T), 1,       {PassFns<Plain<Body>, T>::fns()},
                              nullptr,   nullptr,   nullptr, PassFns<Plain<Body>, T>::combine,
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
template <class Form>
concept HasLaterLines = requires { &Form::later_lines; };
template <class Form>
constexpr auto later_lines_fn() -> decltype(ReduceOp::later_lines) {
  if constexpr (HasLaterLines<Form>)
    return &Form::later_lines;
  else
    return nullptr;
}
template <class Form, class Pass, class T>
constexpr ReducePass pass_fns() {
  if constexpr (Pass::kHasCenter && HasLaterLines<Form>)
    return PassFns<Pass, T>::column_fns();
  else
    return PassFns<Pass, T>::fns();
}
template <class Form, class T, class... Passes>
constexpr ReduceOp kForm = {sizeof(T),
                            sizeof(typename Form::State),
                            sizeof...(Passes),
                            {pass_fns<Form, Passes, T>()...},
                            later_lines_fn<Form>(),
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
// Deviations and their squares, added side by side.
struct DeviationSums {
  template <class V>
  struct State {
    V sum, squares;
    static constexpr auto parts() { return std::tuple(&State::sum, &State::squares); }
  };
  template <class V>
  TD_FN static State<V> identity() {
    return {V(0), V(0)};
  }
  template <class V>
  TD_FN static State<V> lift(V deviation) {
    return {deviation, deviation * deviation};
  }
  template <class V>
  TD_FN static State<V> combine(State<V> a, State<V> b) {
    return {a.sum + b.sum, a.squares + b.squares};
  }
};

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
  static void later_lines(const void* p, int64_t pitch, int64_t count, int64_t n,
                          const void* centers, void* const* results) {
    const T *const from = static_cast<const T*>(p), *const center = static_cast<const T*>(centers);
    reduce_lines_in_twos<DeviationSums, T>(
        count, n,
        [&](int64_t l) { return CenteredElements<Deviations, T>{from + l * pitch, center[l]}; },
        [&](int64_t l, auto state) {
          state.sum.store(static_cast<T*>(results[1]) + l);
          state.squares.store(static_cast<T*>(results[2]) + l);
        });
  }
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

}  // namespace
}  // namespace taeda::cpu
