// Chains of operations on blocks of registers, once per instruction set.
//
// Note [Threaded chains]. A step is a function that takes the block as arguments, as many registers
// as a call passes, and ends in a call of the step after it. Compilers turn that call into a jump,
// so the block stays in registers from the first step to the last one, whatever the steps are. (In
// one function with a branch per step, the dearest step decides how much of the block is kept on
// the stack in all of them.)
#include "taeda/kernel/interpret/chain.h"

#include <utility>

#include "taeda/kernel/math_storage.h"
#include "taeda/kernel/reduce_bodies.h"
#include "taeda/kernel/vec.h"

namespace taeda::kernel {
namespace TAEDA_ISA {

namespace {

constexpr int kNumChainOps = static_cast<int>(ChainOp::FoldMin) + 1;
constexpr int kNumOperands = static_cast<int>(ChainOperand::Lanes) + 1;

// The steps on blocks of sizeof...(K) registers.
template <class T, class Indices>
struct Steps;
template <class T, size_t... K>
struct Steps<T, std::index_sequence<K...>> {
  using V = Vec<T>;
  template <size_t>
  using R = typename V::Raw;
  static constexpr int kRegisters = sizeof...(K);

  struct Link;
  // Element `at` of a line is the first of the block. Of a block of one register `count` lanes may
  // exist, of others all.
  using Run = void (*)(const Link* link, int64_t line, int64_t at, int count, R<K>... r);
  struct Link {
    Run run;
    char* operand;
    int64_t pitch;

    TD_FN char* start(int64_t line) const { return operand + line * pitch; }
    TD_FN T* elements(int64_t line) const { return reinterpret_cast<T*>(start(line)); }
  };

  static void end(const Link*, int64_t, int64_t, int, R<K>...) {}

  // ---- memory ----
  template <ChainOperand kind>
  TD_FN static V load(const Link* link, int64_t line, int64_t at, int count) {
    if constexpr (kind == ChainOperand::Uniform)
      return V(*link->elements(line));
    else if constexpr (kind == ChainOperand::BFloat16)
      return V::from_raw(td_read_lanes<td_bfloat16, td_f32>(link->start(line), at,
                                                            kRegisters > 1 ? V::kWidth : count));
    else if (kRegisters > 1 || count == V::kWidth)
      return V::load(link->elements(line) + at);
    else
      return V::load_tail(link->elements(line) + at, count);
  }
  // The load that a chain begins with. It asks for a page further on, where the machine's own
  // prefetching stops at the end of each.
  template <ChainOperand kind, int64_t kItem>
  static void load_first(const Link* link, int64_t line, int64_t at, int count, R<K>...) {
    const char* ahead = link->start(line) + at * kItem + 4096;
    for (int64_t i = 0; i < kRegisters * V::kWidth * kItem; i += 64) __builtin_prefetch(ahead + i);
    return link[1].run(link + 1, line, at, count,
                       load<kind>(link, line, at + K * V::kWidth, count).raw...);
  }
  TD_FN static void store_one(T* p, V value, int count) {
    if (kRegisters > 1 || count == V::kWidth)
      value.store(p);
    else
      value.store_tail(p, count);
  }
  static void store(const Link* link, int64_t line, int64_t at, int count, R<K>... r) {
    T* p = link->elements(line) + at;
    (store_one(p + K * V::kWidth, V::from_raw(r), count), ...);
    return link[1].run(link + 1, line, at, count, r...);
  }
  static void store_bfloat16(const Link* link, int64_t line, int64_t at, int count, R<K>... r) {
    char* p = link->start(line);
    (td_write_lanes<td_bfloat16>(p, at + static_cast<td_long>(K) * V::kWidth, r,
                                 kRegisters > 1 ? V::kWidth : count),
     ...);
    return link[1].run(link + 1, line, at, count, r...);
  }

  // ---- arithmetic ----
  template <auto apply>
  static void change(const Link* link, int64_t line, int64_t at, int count, R<K>... r) {
    return link[1].run(link + 1, line, at, count, apply(V::from_raw(r)).raw...);
  }
  template <auto apply, ChainOperand kind>
  static void combine(const Link* link, int64_t line, int64_t at, int count, R<K>... r) {
    return link[1].run(
        link + 1, line, at, count,
        apply(V::from_raw(r), load<kind>(link, line, at + K * V::kWidth, count)).raw...);
  }

  // ---- reductions ----
  template <class Body>
  TD_FN static V combined(V a, V b) {
    using State = typename Body::template State<V>;
    return Body::combine(State{a}, Body::lift(b)).*std::get<0>(State::parts());
  }
  // The lanes fill 64 bytes: as many registers of the block as that go to different ones.
  template <class Body>
  static void fold(const Link* link, int64_t line, int64_t at, int count, R<K>... r) {
    constexpr int kParts = 64 / sizeof(V);
    T* lanes = link->elements(line);
    if constexpr (kRegisters == 1) {
      lanes += at % (64 / sizeof(T));
      (store_one(lanes, combined<Body>(V::load(lanes), V::from_raw(r)), count), ...);
    } else {
      V parts[kParts];
      for (int p = 0; p < kParts; ++p) parts[p] = V::load(lanes + p * V::kWidth);
      ((parts[K % kParts] = combined<Body>(parts[K % kParts], V::from_raw(r))), ...);
      for (int p = 0; p < kParts; ++p) parts[p].store(lanes + p * V::kWidth);
    }
    return link[1].run(link + 1, line, at, count, r...);
  }

  // ---- the table ----
  struct Table {
    Run run[kNumChainOps][kNumOperands] = {};

    constexpr void set(ChainOp op, Run step) {
      for (Run& one : run[static_cast<int>(op)]) one = step;
    }
    template <auto apply>
    constexpr void set_binary(ChainOp op) {
      Run* row = run[static_cast<int>(op)];
      row[static_cast<int>(ChainOperand::Tile)] = &combine<apply, ChainOperand::Tile>;
      row[static_cast<int>(ChainOperand::Uniform)] = &combine<apply, ChainOperand::Uniform>;
      if constexpr (sizeof(T) == 4)
        row[static_cast<int>(ChainOperand::BFloat16)] = &combine<apply, ChainOperand::BFloat16>;
    }
  };

  static constexpr Table make_table() {
    Table t;
    t.set(ChainOp::Store, &store);
    if constexpr (sizeof(T) == 4) {
      t.set(ChainOp::StoreBFloat16, &store_bfloat16);
      t.set(ChainOp::RoundBFloat16,
            &change<[](V a) { return V::from_raw(td_round_lanes<td_bfloat16>(a.raw)); }>);
    }
    t.template set_binary<[](V, V b) { return b; }>(ChainOp::Load);
    if constexpr (kRegisters > 1) {
      Run* loads = t.run[static_cast<int>(ChainOp::Load)];
      loads[static_cast<int>(ChainOperand::Tile)] = &load_first<ChainOperand::Tile, sizeof(T)>;
      if constexpr (sizeof(T) == 4)
        loads[static_cast<int>(ChainOperand::BFloat16)] = &load_first<ChainOperand::BFloat16, 2>;
    }
#define TAEDA_STEP(id, call) t.template set_binary<[](V a, V b) { return call; }>(ChainOp::id);
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
#define TAEDA_STEP(id, call) t.set(ChainOp::id, &change<[](V a) { return call; }>);
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
    t.set(ChainOp::FoldSum, &fold<SumBody>);
    t.set(ChainOp::FoldProd, &fold<ProdBody>);
    t.set(ChainOp::FoldMax, &fold<ExtremeBody<true>>);
    t.set(ChainOp::FoldMin, &fold<ExtremeBody<false>>);
    return t;
  }
};

// Blocks of kRegisters registers in elements begin .. end of each line; returns where they end.
template <class T, int kRegisters>
int64_t run_blocks(const ChainStep* steps, int number, int64_t lines, int64_t begin, int64_t end) {
  using S = Steps<T, std::make_index_sequence<kRegisters>>;
  static constexpr typename S::Table kTable = S::make_table();
  constexpr int64_t kWidth = Vec<T>::kWidth, kElements = kRegisters * kWidth;
  const int64_t stop = kRegisters > 1 ? end - (end - begin) % kElements : end;
  if (begin == stop) return begin;
  typename S::Link links[kMaxChainSteps + 1];
  for (int i = 0; i < number; ++i)
    links[i] = {kTable.run[static_cast<int>(steps[i].op)][static_cast<int>(steps[i].kind)],
                steps[i].operand, steps[i].pitch};
  links[number] = {&S::end, nullptr, 0};
  const auto run = [&]<size_t... K>(int64_t line, int64_t at, std::index_sequence<K...>) {
    const int count = static_cast<int>(end - at < kWidth ? end - at : kWidth);
    links[0].run(links, line, at, count, ((void)K, typename Vec<T>::Raw{})...);
  };
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t at = begin; at < stop; at += kElements)
      run(line, at, std::make_index_sequence<kRegisters>());
  return stop;
}

// As many registers at a time as a call passes, then fewer.
template <class T>
void run_chain(const ChainStep* steps, int number, int64_t n, int64_t lines) {
  int64_t at = run_blocks<T, 8>(steps, number, lines, 0, n);
  at = run_blocks<T, 4>(steps, number, lines, at, n);
  run_blocks<T, 1>(steps, number, lines, at, n);
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
