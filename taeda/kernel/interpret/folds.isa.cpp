// Reductions of tiles into the lanes of their tree, and transposed blocks, once per instruction
// set.
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
void fold(char* const* lanes, const char* values, int64_t rows) {
  using V = Vec<T>;
  using State = typename Body::template State<V>;
  constexpr int kLanes = 64 / sizeof(T);
  const T* from = reinterpret_cast<const T*>(values);
  for (int l = 0; l < kLanes; l += V::kWidth) {
    State state;
    each_part<V>(state,
                 [&](V& part, int s) { part = V::load(reinterpret_cast<const T*>(lanes[s]) + l); });
    for (int64_t row = 0; row < rows; ++row)
      state = Body::combine(state, Body::lift(V::load(from + row * kLanes + l)));
    each_part<V>(state, [&](V& part, int s) { part.store(reinterpret_cast<T*>(lanes[s]) + l); });
  }
}

template <class Body>
constexpr FoldRow integers(const char* name) {
  FoldRow row{name, {}};
  row.fold[static_cast<int>(Type::F32)] = &fold<Body, float>;
  row.fold[static_cast<int>(Type::F64)] = &fold<Body, double>;
  row.fold[static_cast<int>(Type::I64)] = &fold<Body, int64_t>;
  row.fold[static_cast<int>(Type::U64)] = &fold<Body, uint64_t>;
  return row;
}
template <class Body>
constexpr FoldRow reals(const char* name) {
  FoldRow row{name, {}};
  row.fold[static_cast<int>(Type::F32)] = &fold<Body, float>;
  row.fold[static_cast<int>(Type::F64)] = &fold<Body, double>;
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
  table.rows[0] = integers<SumBody>("sum");
  table.rows[1] = integers<ProdBody>("prod");
  table.rows[2] = integers<ExtremeBody<true>>("max");
  table.rows[3] = integers<ExtremeBody<false>>("min");
  table.rows[4] = reals<MomentsBody>("moments");
  table.rows[5] = reals<LogSumExpBody>("logsumexp");
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
