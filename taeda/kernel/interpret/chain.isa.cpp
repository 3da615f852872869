// Chains of operations on blocks of registers, once per instruction set.
#include "taeda/kernel/interpret/chain.h"

#include <utility>

#include "taeda/kernel/math_storage.h"
#include "taeda/kernel/vec.h"

namespace taeda::kernel {
namespace TAEDA_ISA {

namespace {

// kRegisters registers of elements; of a single one, `count` lanes may exist.
template <class T, int kRegisters>
struct Block {
  using V = Vec<T>;
  V r[kRegisters];
  int64_t at;
  int count;

  TD_FN V load(const T* p, int k) const {
    if constexpr (kRegisters > 1) return V::load(p + at + k * V::kWidth);
    return count == V::kWidth ? V::load(p + at) : V::load_tail(p + at, count);
  }

  TD_FN V load_short(const char* p, int k) const {
    return V::from_raw(td_read_lanes<td_bfloat16, td_f32>(p, at + k * V::kWidth, count));
  }

  template <class F, size_t... K>
  TD_FN void apply(const ChainStep& step, F f, std::index_sequence<K...>) {
    const T* p = reinterpret_cast<const T*>(step.operand);
    if (step.kind == ChainOperand::Tile) {
      ((r[K] = f(r[K], load(p, K))), ...);
    } else if (sizeof(T) == 8 || step.kind == ChainOperand::Uniform) {
      const V b(*p);
      ((r[K] = f(r[K], b)), ...);
    } else if constexpr (sizeof(T) == 4) {
      ((r[K] = f(r[K], load_short(step.operand, K))), ...);
    }
  }
  template <class F, size_t... K>
  TD_FN void change(F f, std::index_sequence<K...>) {
    ((r[K] = f(r[K])), ...);
  }
  template <size_t... K>
  TD_FN void store(const ChainStep& step, std::index_sequence<K...>) {
    T* p = reinterpret_cast<T*>(step.operand) + at;
    if (kRegisters > 1 || count == V::kWidth)
      (r[K].store(p + K * V::kWidth), ...);
    else
      r[0].store_tail(p, count);
  }
  template <size_t... K>
  TD_FN void store_short(const ChainStep& step, std::index_sequence<K...>) {
    (td_write_lanes<td_bfloat16>(step.operand, at + (td_long)K * V::kWidth, r[K].raw, count), ...);
  }
};

template <class T, int kRegisters>
TD_FN void run_block(const ChainStep* steps, int number, int64_t at, int count) {
  using V = Vec<T>;
  const auto all = std::make_index_sequence<kRegisters>();
  Block<T, kRegisters> block{};
  block.at = at;
  block.count = count;
  for (const ChainStep* step = steps; step != steps + number; ++step) {
    switch (step->op) {
      case ChainOp::Load: block.apply(*step, [](V, V b) { return b; }, all); break;
      case ChainOp::Store: block.store(*step, all); break;
      case ChainOp::StoreBFloat16:
        if constexpr (sizeof(T) == 4) block.store_short(*step, all);
        break;
      case ChainOp::RoundBFloat16:
        if constexpr (sizeof(T) == 4)
          block.change([](V a) { return V::from_raw(td_round_lanes<td_bfloat16>(a.raw)); }, all);
        break;
#define TAEDA_STEP(id, call) \
  case ChainOp::id: block.apply(*step, [](V a, V b) { return call; }, all); break;
        TAEDA_STEP(Add, a + b)
        TAEDA_STEP(Mul, a * b)
        TAEDA_STEP(Sub, a - b)
        TAEDA_STEP(SubReversed, b - a)
        TAEDA_STEP(Div, a / b)
        TAEDA_STEP(DivReversed, b / a)
        TAEDA_STEP(Maximum, maximum(a, b))
        TAEDA_STEP(MaximumReversed, maximum(b, a))
        TAEDA_STEP(Minimum, minimum(a, b))
        TAEDA_STEP(MinimumReversed, minimum(b, a))
#undef TAEDA_STEP
      case ChainOp::Neg: block.change([](V a) { return -a; }, all); break;
      case ChainOp::Abs: block.change([](V a) { return abs(a); }, all); break;
      case ChainOp::Square: block.change([](V a) { return a * a; }, all); break;
      case ChainOp::Sqrt: block.change([](V a) { return sqrt(a); }, all); break;
    }
  }
}

// Eight registers at a time leave room for operands in every set.
template <class T>
void run_chain(const ChainStep* steps, int number, int64_t n) {
  constexpr int kWidth = Vec<T>::kWidth, kRegisters = 8;
  int64_t at = 0;
  for (; at + kRegisters * kWidth <= n; at += kRegisters * kWidth)
    run_block<T, kRegisters>(steps, number, at, kWidth);
  for (; at < n; at += kWidth)
    run_block<T, 1>(steps, number, at, static_cast<int>(n - at < kWidth ? n - at : kWidth));
}

constexpr ChainTable make_table() {
  ChainTable table{};
  table.run[static_cast<int>(Type::F32)] = &run_chain<float>;
  table.run[static_cast<int>(Type::F64)] = &run_chain<double>;
  return table;
}

}  // namespace

extern constinit const ChainTable kChains = make_table();

}  // namespace TAEDA_ISA
}  // namespace taeda::kernel
