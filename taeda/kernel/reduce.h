// The reductions of reduce_bodies.h read with vectors, in the order of Note [Reduction tree].
//
// A line is reduced by reduce_line; many lines whose elements lie side by side ("columns") are
// folded row by row by fold_columns, each column into lanes of its own. Both give the same bits.
#pragma once

#include <limits>
#include <utility>

#include "taeda/kernel/math_storage.h"
#include "taeda/kernel/reduce_bodies.h"
#include "taeda/kernel/reduce_tree.h"
#include "taeda/kernel/vec.h"

TAEDA_MATH_BEGIN

template <class T>
struct OrderOf<Vec<T>> {
  using Index = Vec<One<int64_t>>;  // beside one lane
  using Element = typename Vec<T>::Element;
  using Limits = std::numeric_limits<Element>;
  static Vec<T> lowest() {
    return Vec<T>(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
  }
  static Vec<T> highest() {
    return Vec<T>(Limits::has_infinity ? Limits::infinity() : Limits::max());
  }
};

// Truth values as bytes 0 and 1: what masks are in memory.
template <class R>
struct TruthBytes {
  using Raw = R;
  using Element = uint8_t;
  using MaskType = TruthBytes;
  static constexpr int kWidth = sizeof(R);
  Raw raw;

  TruthBytes() = default;
  explicit TruthBytes(bool value) : raw(static_cast<Raw>(Raw{} + static_cast<uint8_t>(value))) {}
  static TruthBytes from_raw(Raw raw) {
    TruthBytes t;
    t.raw = raw;
    return t;
  }
  TD_FN static TruthBytes load(const uint8_t* p) { return from_raw(td_load<Raw>(p)); }
  TD_FN void store(uint8_t* p) const { td_store(p, raw); }
  TD_FN friend TruthBytes operator&(TruthBytes a, TruthBytes b) {
    return from_raw(static_cast<Raw>(a.raw & b.raw));
  }
  TD_FN friend TruthBytes operator|(TruthBytes a, TruthBytes b) {
    return from_raw(static_cast<Raw>(a.raw | b.raw));
  }
};
typedef unsigned char td_u8 __attribute__((vector_size(TAEDA_VEC_BYTES)));

// The values that elements of type T are reduced as: a register of them, and one.
template <class T>
struct ReduceVec {
  using Wide = Vec<T>;
  using Single = Vec<One<T>>;
};
template <class T>
struct ReduceVec<Complex<T>> {
  using Wide = Vec<Complex<T>>;
  using Single = Wide;
};
template <>
struct ReduceVec<uint8_t> {
  using Wide = TruthBytes<td_u8>;
  using Single = TruthBytes<uint8_t>;
};

// A body read with V as reduce_tree.h wants it.
template <class Body, class V>
struct TreeBody {
  using S = typename Body::template State<V>;
  using Element = typename V::Element;
  using Single = typename ReduceVec<Element>::Single;
  static constexpr int kLanes = 64 / sizeof(Element), kWidth = V::kWidth;
  TD_FN static S identity() { return Body::template identity<V>(); }
  TD_FN static S combine(S a, S b) { return Body::template combine<V>(a, b); }
  TD_FN static typename Body::template State<Single> lane(const S& s, int i) {
    return std::apply(
        [&](auto... part) {
          return typename Body::template State<Single>{Single::from_raw((s.*part).raw[i])...};
        },
        S::parts());
  }
};

// `values.template at<V>(i)` is what element i and, in a vector, the elements after it contribute.
template <class Body, class T, class Values>
struct TreeValues {
  const Values& values;
  TD_FN auto one(int64_t i) const { return lifted<typename ReduceVec<T>::Single>(i); }
  TD_FN auto wide(int64_t i) const { return lifted<typename ReduceVec<T>::Wide>(i); }
  template <class V>
  TD_FN auto lifted(int64_t i) const {
    return Body::template lift<V>(values.template at<V>(i));
  }
};
template <class T>
struct Elements {
  const T* p;
  template <class V>
  TD_FN V at(int64_t i) const {
    return V::load(p + i);
  }
};

template <class State>
TD_FN auto first_part(const State& state) {
  return state.*std::get<0>(State::parts());
}
// A line of n elements of type T by a body whose state has one part; reduce_chunk for at most
// kReduceChunk of them.
template <class Body, class T, class Values>
T reduce_line(const Values& values, int64_t n) {
  using Vectors = ReduceVec<T>;
  T result;
  first_part(
      td_tree<TreeBody<Body, typename Vectors::Single>, TreeBody<Body, typename Vectors::Wide>>(
          TreeValues<Body, T, Values>{values}, n))
      .store(&result);
  return result;
}
template <class Body, class T, class Values>
TD_FN T reduce_chunk(const Values& values, int64_t n) {
  using Vectors = ReduceVec<T>;
  T result;
  first_part(td_tree_chunk<TreeBody<Body, typename Vectors::Single>,
                           TreeBody<Body, typename Vectors::Wide>>(
                 TreeValues<Body, T, Values>{values}, 0, n))
      .store(&result);
  return result;
}

// ---- columns ----
// Body's state of one part, combined from values V.
template <class Body, class V>
TD_FN V combined(V a, V b) {
  using State = typename Body::template State<V>;
  return first_part(Body::template combine<V>(State{a}, State{b}));
}
// out[i] = combine(left[i], right[i]); out may be either.
template <class Body, class T>
void combine_elements(const T* left, const T* right, T* out, int64_t n) {
  using Wide = typename ReduceVec<T>::Wide;
  using Single = typename ReduceVec<T>::Single;
  int64_t i = 0;
  for (; i + Wide::kWidth <= n; i += Wide::kWidth)
    combined<Body>(Wide::load(left + i), Wide::load(right + i)).store(out + i);
  for (; i < n; ++i) combined<Body>(Single::load(left + i), Single::load(right + i)).store(out + i);
}

// Elements as they lie in memory: values themselves, or bfloat16 numbers by their bits.
template <class V, class M>
TD_FN V load_stored(const M* p) {
  if constexpr (std::is_same_v<M, typename V::Element>)
    return V::load(p);
  else if constexpr (V::kWidth > 1)
    return V::from_raw(td_read_lanes<td_bfloat16, typename V::Raw>(p, 0, V::kWidth));
  else
    return V::from_raw(td_bfloat16::from<typename V::Element>(*p));
}

// What a pass of a reduction adds up: Pass::Body over Pass::value(x, center, index), with a center
// per column, and the index of the row in the chunk.
template <class Pass, class V, class T, class M>
struct ColumnFold {
  const M* p;
  const T *centers, *numbers;   // numbers: of the lane of a column
  int64_t pitch, count, first;  // rows are kReduceLanes apart in the chunk
  int64_t ahead;                // elements to the rows that are folded next
  bool is_fresh;                // whether the lanes hold nothing yet

  TD_FN V value(int64_t row, int64_t j) const {
    const V x = load_stored<V>(p + row * pitch + j);
    if constexpr (Pass::kHasIndex)
      return Pass::value(x, V::load(centers + j),
                         V::load(numbers + j) + V(first + row * kReduceLanes<T>));
    else if constexpr (Pass::kHasCenter)
      return Pass::value(x, V::load(centers + j));
    else
      return x;
  }
  // kVectors neighbouring vectors of columns from j on.
  template <int kVectors>
  TD_FN void run(T* lanes, int64_t j) const {
    using Body = typename Pass::Body;
    constexpr int kWidth = V::kWidth;
    V sums[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sums[v] =
          is_fresh ? first_part(Body::template identity<V>()) : V::load(lanes + j + v * kWidth);
    for (int64_t row = 0; row < count; ++row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = j + v * kWidth;
        if (kWidth > 1 && v * kWidth * sizeof(T) % 64 == 0)
          __builtin_prefetch(p + row * pitch + at + ahead);
        sums[v] = combined<Body>(sums[v], first_part(Body::template lift<V>(value(row, at))));
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[v].store(lanes + j + v * kWidth);
  }
};

template <class Pass, class T, class M>
void fold_rows(T* lanes, int64_t width,
               const ColumnFold<Pass, typename ReduceVec<T>::Wide, T, M>& f) {
  using Wide = typename ReduceVec<T>::Wide;
  using Single = typename ReduceVec<T>::Single;
  constexpr int kVectors = Pass::kVectors;
  int64_t j = 0;
  if constexpr (kVectors > 1)
    for (; j + kVectors * Wide::kWidth <= width; j += kVectors * Wide::kWidth)
      f.template run<kVectors>(lanes, j);
  if constexpr (Wide::kWidth > 1)
    for (; j + Wide::kWidth <= width; j += Wide::kWidth) f.template run<1>(lanes, j);
  const ColumnFold<Pass, Single, T, M> one{f.p,     f.centers, f.numbers, f.pitch,
                                           f.count, f.first,   f.ahead,   f.is_fresh};
  for (; j < width; ++j) one.template run<1>(lanes, j);
}

// Folds rows first .. first + count of a chunk into its lanes, lane l of column j at
// lanes[l * width + j]. `stride` is in elements; centers and numbers have the layout of the lanes.
template <class Pass, class T, class M>
void fold_columns(T* lanes, const M* rows, int64_t stride, int64_t first, int64_t count,
                  int64_t width, const T* centers, const T* numbers) {
  using Fold = ColumnFold<Pass, typename ReduceVec<T>::Wide, T, M>;
  // Rows are taken in blocks that stay in the cache, and each block lane by lane.
  constexpr int64_t kLanes = kReduceLanes<T>, kRows = 4 * kLanes, kBlock = 16384;
  if (stride == width && first % kLanes == 0) {
    // Rows without gaps: those of all lanes are one long row.
    const int64_t whole = count / kLanes, rest = count % kLanes, length = kLanes * width;
    const int64_t step = length < kBlock / 4 ? kBlock / length : 4;
    for (int64_t row = 0; row < whole; row += step) {
      const int64_t index = first + row * kLanes, left = whole - row;
      fold_rows<Pass, T, M>(
          lanes, length,
          Fold{rows + row * length, centers, numbers, length, left < step ? left : step, index,
               left > step ? step * length : 0, index == 0});
    }
    if (rest > 0)
      fold_rows<Pass, T, M>(lanes, rest * width,
                            Fold{rows + whole * length, centers, numbers, 0, 1,
                                 first + whole * kLanes, 0, first + whole == 0});
    return;
  }
  for (int64_t begin = 0; begin < count; begin += kRows) {
    const int64_t end = begin + kRows < count ? begin + kRows : count;
    for (int64_t row = begin; row < begin + kLanes && row < end; ++row) {
      const int64_t index = first + row, at = index % kLanes * width;
      fold_rows<Pass, T, M>(
          lanes + at, width,
          Fold{rows + row * stride, centers + at, numbers + at, kLanes * stride,
               (end - row + kLanes - 1) / kLanes, index - index % kLanes, stride, index < kLanes});
    }
  }
}

TAEDA_MATH_END
