// Chains of operations on blocks of registers, once per instruction set.
#include "taeda/kernel/interpret/chain.h"

#include <utility>

#include "taeda/kernel/math_storage.h"
#include "taeda/kernel/reduce_bodies.h"
#include "taeda/kernel/vec.h"

namespace taeda::kernel {
namespace TAEDA_ISA {

namespace {

// kRegisters registers of elements of a line; of a single one, `count` lanes may exist.
template <class T, int kRegisters>
struct Block {
  using V = Vec<T>;
  V r[kRegisters];
  int64_t line, at;
  int count;

  TD_FN char* operand(const ChainStep& step) const { return step.operand + line * step.pitch; }

  TD_FN V load(const T* p, int k) const {
    if constexpr (kRegisters > 1) return V::load(p + at + k * V::kWidth);
    return count == V::kWidth ? V::load(p + at) : V::load_tail(p + at, count);
  }

  TD_FN V load_short(const char* p, int k) const {
    return V::from_raw(td_read_lanes<td_bfloat16, td_f32>(p + 2 * at, k * V::kWidth, count));
  }

  template <class F, size_t... K>
  TD_FN void apply(const ChainStep& step, F f, std::index_sequence<K...>) {
    const T* p = reinterpret_cast<const T*>(operand(step));
    if (step.kind == ChainOperand::Tile) {
      ((r[K] = f(r[K], load(p, K))), ...);
    } else if (sizeof(T) == 8 || step.kind == ChainOperand::Uniform) {
      const V b(*p);
      ((r[K] = f(r[K], b)), ...);
    } else if constexpr (sizeof(T) == 4) {
      ((r[K] = f(r[K], load_short(operand(step), K))), ...);
    }
  }
  template <class F, size_t... K>
  TD_FN void change(F f, std::index_sequence<K...>) {
    ((r[K] = f(r[K])), ...);
  }
  template <size_t... K>
  TD_FN void store(const ChainStep& step, std::index_sequence<K...>) {
    T* p = reinterpret_cast<T*>(operand(step)) + at;
    if (kRegisters > 1 || count == V::kWidth)
      (r[K].store(p + K * V::kWidth), ...);
    else
      r[0].store_tail(p, count);
  }
  template <size_t... K>
  TD_FN void store_short(const ChainStep& step, std::index_sequence<K...>) {
    char* p = operand(step) + 2 * at;
    (td_write_lanes<td_bfloat16>(p, static_cast<td_long>(K) * V::kWidth, r[K].raw, count), ...);
  }
  // The lanes fill 64 bytes: as many registers of the block as that go to different ones.
  template <class Body, size_t... K>
  TD_FN void fold(const ChainStep& step, std::index_sequence<K...>) {
    constexpr int kParts = 64 / sizeof(V);
    T* lanes = reinterpret_cast<T*>(operand(step));
    if constexpr (kRegisters == 1) {
      lanes += at % (64 / sizeof(T));
      const V sum = combined<Body>(V::load(lanes), r[0]);
      return count == V::kWidth ? sum.store(lanes) : sum.store_tail(lanes, count);
    } else {
      V parts[kParts];
      for (int p = 0; p < kParts; ++p) parts[p] = V::load(lanes + p * V::kWidth);
      ((parts[K % kParts] = combined<Body>(parts[K % kParts], r[K])), ...);
      for (int p = 0; p < kParts; ++p) parts[p].store(lanes + p * V::kWidth);
    }
  }
  template <class Body>
  TD_FN static V combined(V a, V b) {
    using State = typename Body::template State<V>;
    return Body::combine(State{a}, Body::lift(b)).*std::get<0>(State::parts());
  }
};

template <class T, int kRegisters>
TD_FN void run_block(const ChainStep* steps, int number, int64_t line, int64_t at, int count) {
  using V = Vec<T>;
  const auto all = std::make_index_sequence<kRegisters>();
  Block<T, kRegisters> block{};
  block.line = line;
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
#define TAEDA_STEP(id, call) \
  case ChainOp::id: block.change([](V a) { return call; }, all); break;
        TAEDA_STEP(Neg, -a)
        TAEDA_STEP(Abs, abs(a))
        TAEDA_STEP(Square, a * a)
        TAEDA_STEP(Sqrt, sqrt(a))
        TAEDA_STEP(Rsqrt, rsqrt(a))
        TAEDA_STEP(Exp, exp(a))
        TAEDA_STEP(Log, log(a))
        TAEDA_STEP(Tanh, tanh(a))
        TAEDA_STEP(Erf, erf(a))
#undef TAEDA_STEP
#define TAEDA_STEP(id, ...) \
  case ChainOp::id: block.template fold<__VA_ARGS__>(*step, all); break;
        TAEDA_STEP(FoldSum, SumBody)
        TAEDA_STEP(FoldProd, ProdBody)
        TAEDA_STEP(FoldMax, ExtremeBody<true>)
        TAEDA_STEP(FoldMin, ExtremeBody<false>)
#undef TAEDA_STEP
    }
  }
}

// As many registers at a time as leave room for operands, then fewer.
template <class T>
void run_chain(const ChainStep* steps, int number, int64_t n, int64_t lines) {
  constexpr int kWidth = Vec<T>::kWidth, kMost = TAEDA_VEC_BYTES == 64 ? 16 : 8, kFew = 4;
  for (int64_t line = 0; line < lines; ++line) {
    int64_t at = 0;
    for (; at + kMost * kWidth <= n; at += kMost * kWidth)
      run_block<T, kMost>(steps, number, line, at, kWidth);
    for (; at + kFew * kWidth <= n; at += kFew * kWidth)
      run_block<T, kFew>(steps, number, line, at, kWidth);
    for (; at < n; at += kWidth)
      run_block<T, 1>(steps, number, line, at, static_cast<int>(n - at < kWidth ? n - at : kWidth));
  }
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
