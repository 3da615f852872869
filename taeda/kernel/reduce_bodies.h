// The reductions, each written once over its value type V: eager kernels read them with vectors
// (reduce.h), the compiler with symbols (ir/reduce_body.h).
//
// A State names its parts in order: the compiler keeps them in registers and buffers of their own.
#pragma once

#include <tuple>

#include "taeda/kernel/body.h"

TAEDA_MATH_BEGIN

// The type of positions beside values, and the ends of the value type: infinities where it has
// them. Vectors have their own in reduce.h.
template <class V>
struct OrderOf {
  using Index = typename V::IndexType;
  static V lowest() { return V::lowest(); }
  static V highest() { return V::highest(); }
};
template <class V>
using IndexOf = typename OrderOf<V>::Index;

struct SumBody {
  template <class V>
  struct State {
    V sum;
    static constexpr auto parts() { return std::tuple(&State::sum); }
  };
  template <class V>
  static State<V> identity() {
    return {V(0)};
  }
  template <class V>
  static State<V> lift(V x) {
    return {x};
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    return {a.sum + b.sum};
  }
};

struct ProdBody {
  template <class V>
  struct State {
    V product;
    static constexpr auto parts() { return std::tuple(&State::product); }
  };
  template <class V>
  static State<V> identity() {
    return {V(1)};
  }
  template <class V>
  static State<V> lift(V x) {
    return {x};
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    return {a.product * b.product};
  }
};

// NaN if any element is.
template <bool is_max>
struct ExtremeBody {
  template <class V>
  struct State {
    V value;
    static constexpr auto parts() { return std::tuple(&State::value); }
  };
  template <class V>
  static State<V> identity() {
    return {is_max ? OrderOf<V>::lowest() : OrderOf<V>::highest()};
  }
  template <class V>
  static State<V> lift(V x) {
    return {x};
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    return {is_max ? maximum(a.value, b.value) : minimum(a.value, b.value)};
  }
};

// The first extreme element and its index; NaN is more extreme than any number.
template <bool is_max>
struct ArgExtremeBody {
  template <class V>
  struct State {
    V value;
    IndexOf<V> index;
    static constexpr auto parts() { return std::tuple(&State::value, &State::index); }
  };
  template <class V>
  static State<V> identity() {
    return {is_max ? OrderOf<V>::lowest() : OrderOf<V>::highest(), OrderOf<IndexOf<V>>::highest()};
  }
  template <class V>
  static State<V> lift(V x, IndexOf<V> index) {
    return {x, index};
  }
  // Whether an element takes the place of one before it.
  template <class V>
  static MaskOf<V> takes_place(V before, V x) {
    const auto is_more = is_max ? x > before : x < before;
    return is_more | (isnan(x) & !isnan(before));
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    const auto is_equal = (b.value == a.value) | (isnan(a.value) & isnan(b.value));
    const auto takes_b = takes_place(a.value, b.value) | (is_equal & MaskOf<V>(b.index < a.index));
    return {where(takes_b, b.value, a.value), where(takes_b, b.index, a.index)};
  }
  // The index of an element that is the extreme, else the highest number: the least of them is the
  // index of the first.
  template <class V>
  static V place(V x, V extreme, V index) {
    return where((x == extreme) | (isnan(x) & isnan(extreme)), index, OrderOf<V>::highest());
  }
};

struct AnyBody {
  template <class V>
  struct State {
    MaskOf<V> is_any;
    static constexpr auto parts() { return std::tuple(&State::is_any); }
  };
  template <class V>
  static State<V> identity() {
    return {MaskOf<V>(false)};
  }
  template <class V>
  static State<V> lift(MaskOf<V> x) {
    return {x};
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    return {a.is_any | b.is_any};
  }
};

struct AllBody {
  template <class V>
  struct State {
    MaskOf<V> is_all;
    static constexpr auto parts() { return std::tuple(&State::is_all); }
  };
  template <class V>
  static State<V> identity() {
    return {MaskOf<V>(true)};
  }
  template <class V>
  static State<V> lift(MaskOf<V> x) {
    return {x};
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    return {a.is_all & b.is_all};
  }
};

// Number of elements, their mean, and the sum of squared distances from it (Chan, Golub and
// LeVeque's formula for two parts).
struct MomentsBody {
  template <class V>
  struct State {
    V count, mean, squares;
    static constexpr auto parts() {
      return std::tuple(&State::count, &State::mean, &State::squares);
    }
  };
  template <class V>
  static State<V> identity() {
    return {V(0), V(0), V(0)};
  }
  template <class V>
  static State<V> lift(V x) {
    return {V(1), x, V(0)};
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    const V count = a.count + b.count;
    const V share = where(count > V(0), b.count / count, V(0));
    const V delta = b.mean - a.mean;
    // Two parts that hold nothing, or one of them, have no distance between their means.
    const V between = where(share * a.count > V(0), delta * delta * (share * a.count), V(0));
    return {count, where(share > V(0), a.mean + delta * share, a.mean),
            a.squares + b.squares + between};
  }

  // The moments of a chunk from sums, which take one division and keep every digit: with a center
  // near the mean, the sums of the deviations from it and of their squares.
  template <class V>
  static V deviation(V x, V center) {
    return x - center;
  }
  template <class V>
  static V squared_deviation(V x, V center) {
    return (x - center) * (x - center);
  }
  template <class V>
  static State<V> of_sums(V count, V center, V deviations, V squares) {
    const V shift = deviations / count;
    return {count, center + shift, maximum(squares - count * shift * shift, V(0))};
  }
};

// log(sum(exp(x))) without its overflow: the largest element and the sum relative to it.
struct LogSumExpBody {
  template <class V>
  struct State {
    V largest, sum;
    static constexpr auto parts() { return std::tuple(&State::largest, &State::sum); }
  };
  template <class V>
  static State<V> identity() {
    return {OrderOf<V>::lowest(), V(0)};
  }
  template <class V>
  static State<V> lift(V x) {
    return {x, V(1)};
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    const V largest = maximum(a.largest, b.largest), from = center(largest);
    return {largest, a.sum * exp(a.largest - from) + b.sum * exp(b.largest - from)};
  }
  template <class V>
  static V finish(State<V> s) {
    return s.largest + log(s.sum);
  }

  // A chunk takes one exponential per element: the largest first, then the sum of terms.
  template <class V>
  static V center(V largest) {
    // Infinities of one sign have no difference.
    return where(isinf(largest), V(0), largest);
  }
  template <class V, class C>
  static V term(V x, C center) {
    return exp(x - center);
  }
};

// ---- bodies of scans ----
// The extreme element so far and its index: of equal ones the last, and from a NaN on the last NaN.
template <bool is_max>
struct RunningExtremeBody {
  template <class V>
  struct State {
    V value;
    IndexOf<V> index;
    static constexpr auto parts() { return std::tuple(&State::value, &State::index); }
  };
  template <class V>
  static State<V> identity() {
    return {is_max ? OrderOf<V>::lowest() : OrderOf<V>::highest(), OrderOf<IndexOf<V>>::highest()};
  }
  template <class V>
  static State<V> lift(V x, IndexOf<V> index) {
    return {x, index};
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    const auto is_better = is_max ? b.value >= a.value : b.value <= a.value;
    const auto takes_b = isnan(b.value) | is_better;
    return {where(takes_b, b.value, a.value), where(takes_b, b.index, a.index)};
  }
};

// log(exp(a) + exp(b)).
struct LogAddExpBody {
  template <class V>
  struct State {
    V value;
    static constexpr auto parts() { return std::tuple(&State::value); }
  };
  template <class V>
  static State<V> identity() {
    return {OrderOf<V>::lowest()};
  }
  template <class V>
  static State<V> lift(V x) {
    return {x};
  }
  template <class V>
  static State<V> combine(State<V> a, State<V> b) {
    const V high = maximum(a.value, b.value), low = minimum(a.value, b.value);
    // Equal infinities have no difference.
    return {where((high == low) & isinf(high), high, high + log1p(exp(low - high)))};
  }
};

TAEDA_MATH_END
