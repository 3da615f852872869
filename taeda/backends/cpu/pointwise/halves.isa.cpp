// Conversions of half floats in one instruction set.
#include "taeda/backends/cpu/pointwise/halves.h"
#include "taeda/kernel/math_storage.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

constexpr int kWidth = td_lanes<td_f32>;

template <class T, class Stored>
void widen(const T* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth)
    td_store(to + i, td_read_lanes<Stored, td_f32>(from, i, kWidth));
  const int rest = static_cast<int>(count - i);
  if (rest > 0)
    td_store_tail(to + i, td_read_lanes<Stored, td_f32>(from, i, rest),
                  rest * static_cast<td_long>(sizeof(float)));
}

template <class T, class Stored>
void narrow(const float* from, int64_t count, T* to) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth)
    td_write_lanes<Stored>(to, i, td_load<td_f32>(from + i), kWidth);
  const int rest = static_cast<int>(count - i);
  if (rest > 0)
    td_write_lanes<Stored>(
        to, i, td_load_tail<td_f32>(from + i, rest * static_cast<td_long>(sizeof(float))), rest);
}

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
#define TAEDA_HALF_RUNS(type, stored)                                                         \
  extern const HalfRuns<type> TAEDA_JOIN(type##_runs_, TAEDA_ISA);                            \
  constinit const HalfRuns<type> TAEDA_JOIN(type##_runs_, TAEDA_ISA) = {&widen<type, stored>, \
                                                                        &narrow<type, stored>};
TAEDA_HALF_RUNS(Half, td_float16)
TAEDA_HALF_RUNS(BFloat16, td_bfloat16)
#undef TAEDA_HALF_RUNS
#undef TAEDA_JOIN
#undef TAEDA_JOIN_OF

}  // namespace taeda::cpu
