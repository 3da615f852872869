// Reductions of tiles into the lanes of their tree, scans, and transposed blocks, once per
// instruction set.
#include "taeda/kernel/interpret/folds.h"

#include "taeda/kernel/math_storage.h"
#include "taeda/kernel/math_transpose.h"
#include "taeda/kernel/reduce_bodies.h"
#include "taeda/kernel/vec.h"

namespace taeda::kernel {
namespace TAEDA_ISA {

namespace {

template <class V, class State, class F>
TD_FN void each_part(State& state, F f) {
  std::apply(
      [&](auto... part) {
        int s = 0;
        (f(state.*part, s++), ...);
      },
      State::parts());
}

// A lane of the tree is 64 bytes wide in all; a register holds a part of it.
template <class Body, class T>
void fold(char* const* lanes, const char* const* values, int64_t rows) {
  using V = Vec<T>;
  using State = typename Body::template State<V>;
  constexpr int kLanes = 64 / sizeof(T);
  const T* from = reinterpret_cast<const T*>(values[0]);
  for (int l = 0; l < kLanes; l += V::kWidth) {
    State state;
    each_part<V>(state,
                 [&](V& part, int s) { part = V::load(reinterpret_cast<const T*>(lanes[s]) + l); });
    for (int64_t row = 0; row < rows; ++row)
      state = Body::combine(state, Body::lift(V::load(from + row * kLanes + l)));
    each_part<V>(state, [&](V& part, int s) { part.store(reinterpret_cast<T*>(lanes[s]) + l); });
  }
}

// The upper half of the lanes into the lower one, a register or a lane at a time.
template <class Body, class V, class T>
TD_FN void combine_half(char* const* lanes, int half) {
  using State = typename Body::template State<V>;
  auto at = [&](int s, int l) { return reinterpret_cast<T*>(lanes[s]) + l; };
  for (int l = 0; l < half; l += V::kWidth) {
    State a, b;
    each_part<V>(a, [&](V& part, int s) { part = V::load(at(s, l)); });
    each_part<V>(b, [&](V& part, int s) { part = V::load(at(s, l + half)); });
    a = Body::combine(a, b);
    each_part<V>(a, [&](V& part, int s) { part.store(at(s, l)); });
  }
}
template <class Body, class T>
void close(char* const* lanes) {
  int half = 32 / sizeof(T);
  for (; half >= Vec<T>::kWidth; half /= 2) combine_half<Body, Vec<T>, T>(lanes, half);
  for (; half > 0; half /= 2) combine_half<Body, Vec<One<T>>, T>(lanes, half);
}

template <class Body, class T>
void scan(char* const* states, const char* values, int64_t n, char* const* results) {
  using V = Vec<One<T>>;
  using State = typename Body::template State<V>;
  const T* from = reinterpret_cast<const T*>(values);
  auto at = [](char* const* arrays, int s) { return reinterpret_cast<T*>(arrays[s]); };
  State state;
  each_part<V>(state, [&](V& part, int s) { part = V::load(at(states, s)); });
  for (int64_t i = 0; i < n; ++i) {
    state = Body::combine(state, Body::lift(V::load(from + i)));
    if constexpr (requires { Body::finish(state); })
      Body::finish(state).store(at(results, 0) + i);
    else
      each_part<V>(state, [&](V& part, int s) { part.store(at(results, s) + i); });
  }
  each_part<V>(state, [&](V& part, int s) { part.store(at(states, s)); });
}

template <class Body, class T>
constexpr void add(FoldRow& row, Type type) {
  row.fold[static_cast<int>(type)] = &fold<Body, T>;
  row.close[static_cast<int>(type)] = &close<Body, T>;
  row.scan[static_cast<int>(type)] = &scan<Body, T>;
}
// One number as a value of a body whose states are of two sizes.
template <class T>
struct Number {
  using MaskType = bool;
  using IndexType = Number<int64_t>;
  T x;
  TD_FN friend bool operator<(Number a, Number b) { return a.x < b.x; }
  TD_FN friend bool operator>(Number a, Number b) { return a.x > b.x; }
  TD_FN friend bool operator==(Number a, Number b) { return a.x == b.x; }
  TD_FN friend bool isnan(Number a) { return a.x != a.x; }
  TD_FN friend Number where(bool mask, Number a, Number b) { return mask ? a : b; }
};
template <class Body, class T>
void fold_pairs(char* const* lanes, const char* const* values, int64_t rows) {
  constexpr int kLanes = 64 / sizeof(T);
  T* first = reinterpret_cast<T*>(lanes[0]);
  int64_t* second = reinterpret_cast<int64_t*>(lanes[1]);
  const T* from = reinterpret_cast<const T*>(values[0]);
  const int64_t* index = reinterpret_cast<const int64_t*>(values[1]);
  using State = typename Body::template State<Number<T>>;
  for (int64_t row = 0; row < rows; ++row)
    for (int l = 0; l < kLanes; ++l) {
      const int64_t i = row * kLanes + l;
      const State state = Body::combine(State{{first[l]}, {second[l]}},
                                        Body::lift(Number<T>{from[i]}, Number<int64_t>{index[i]}));
      first[l] = state.value.x;
      second[l] = state.index.x;
    }
}
template <class Body>
constexpr FoldRow pairs(const char* name) {
  FoldRow row{name, {}, {}, {}};
  row.fold[static_cast<int>(Type::F32)] = &fold_pairs<Body, float>;
  row.fold[static_cast<int>(Type::F64)] = &fold_pairs<Body, double>;
  row.fold[static_cast<int>(Type::I64)] = &fold_pairs<Body, int64_t>;
  return row;
}

template <class Body>
constexpr FoldRow reals(const char* name) {
  FoldRow row{name, {}, {}, {}};
  add<Body, float>(row, Type::F32);
  add<Body, double>(row, Type::F64);
  return row;
}
template <class Body>
constexpr FoldRow numbers(const char* name) {
  FoldRow row = reals<Body>(name);
  add<Body, int64_t>(row, Type::I64);
  add<Body, uint64_t>(row, Type::U64);
  return row;
}

void load_bfloat16(const char* memory, int64_t, int64_t n, char* tile) {
  constexpr int kLanes = td_lanes<td_f32>;
  float* to = reinterpret_cast<float*>(tile);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    td_store(to + i, td_read_lanes<td_bfloat16, td_f32>(memory, i, kLanes));
  for (; i < n; ++i) to[i] = td_read<td_bfloat16, float>(memory, i);
}
void store_bfloat16(const char* tile, int64_t, int64_t n, char* memory) {
  constexpr int kLanes = td_lanes<td_f32>;
  const float* from = reinterpret_cast<const float*>(tile);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    td_write_lanes<td_bfloat16>(memory, i, td_load<td_f32>(from + i), kLanes);
  for (; i < n; ++i) td_write<td_bfloat16, float>(memory, i, from[i]);
}

template <int item>
void transpose(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t m,
               int64_t n) {
  td_transpose<item>(from, from_stride, to, to_stride, m, n);
}

constexpr FoldTable make_table() {
  FoldTable table{};
  table.rows[0] = numbers<SumBody>("sum");
  table.rows[1] = numbers<ProdBody>("prod");
  table.rows[2] = numbers<ExtremeBody<true>>("max");
  table.rows[3] = numbers<ExtremeBody<false>>("min");
  table.rows[4] = reals<MomentsBody>("moments");
  table.rows[5] = reals<LogSumExpBody>("logsumexp");
  table.rows[6] = pairs<ArgExtremeBody<true>>("argmax");
  table.rows[7] = pairs<ArgExtremeBody<false>>("argmin");
  table.load_bfloat16 = &load_bfloat16;
  table.store_bfloat16 = &store_bfloat16;
  table.transpose[0] = &transpose<1>;
  table.transpose[1] = &transpose<2>;
  table.transpose[2] = &transpose<4>;
  table.transpose[3] = &transpose<8>;
  return table;
}

}  // namespace

extern constinit const FoldTable kFolds = make_table();

}  // namespace TAEDA_ISA
}  // namespace taeda::kernel
