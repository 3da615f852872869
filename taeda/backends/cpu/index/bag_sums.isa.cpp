// The sum of a bag's rows in one instruction set.
#include "taeda/backends/cpu/index/bag_sums.h"

#include "taeda/kernel/vec_real.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

// Places ahead whose rows are asked for while one is added: rows stand anywhere in a table.
constexpr int64_t kAhead = 8;

template <class T>
void expect_row(const BagRun<T>& run, int64_t place) {
  if (place >= run.count + run.ahead) return;
  const T* const row = run.table + run.rows[place] * run.pitch;
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t k = 0; k < run.width && k < 16 * kLine; k += kLine) __builtin_prefetch(row + k);
}

// Columns from `first` on, in kVectors registers.
template <class T, int kVectors>
int64_t sum_columns(const BagRun<T>& run, int64_t first, T* to) {
  using V = Vec<T>;
  V sum[kVectors];
  for (V& v : sum) v = V(0);
  int64_t size = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    if (first == 0) expect_row(run, i + kAhead);
    if (run.rows[i] == run.padding) continue;
    ++size;
    const T* const row = run.table + run.rows[i] * run.pitch + first;
    const V by(run.samples ? run.samples[i] : T(1));
    for (int k = 0; k < kVectors; ++k) sum[k] = sum[k] + by * V::load(row + k * V::kWidth);
  }
  for (int k = 0; k < kVectors; ++k) sum[k].store(to + first + k * V::kWidth);
  return size;
}

template <class T>
int64_t sum_rows(const BagRun<T>& run, T* to) {
  constexpr int64_t kWidth = Vec<T>::kWidth;
  int64_t k = 0, size = 0;
  for (; k + 8 * kWidth <= run.width; k += 8 * kWidth) size = sum_columns<T, 8>(run, k, to);
  for (; k + 4 * kWidth <= run.width; k += 4 * kWidth) size = sum_columns<T, 4>(run, k, to);
  for (; k + kWidth <= run.width; k += kWidth) size = sum_columns<T, 1>(run, k, to);
  if (k == run.width && k > 0) return size;
  for (int64_t c = k; c < run.width; ++c) to[c] = T(0);
  size = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    if (run.rows[i] == run.padding) continue;
    ++size;
    const T* const row = run.table + run.rows[i] * run.pitch;
    const T by = run.samples ? run.samples[i] : T(1);
    for (int64_t c = k; c < run.width; ++c) to[c] += by * row[c];
  }
  return size;
}

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
#define TAEDA_BAG_SUM(type)                                         \
  extern const BagSum<type> TAEDA_JOIN(type##_bag_sum_, TAEDA_ISA); \
  constinit const BagSum<type> TAEDA_JOIN(type##_bag_sum_, TAEDA_ISA) = &sum_rows<type>;
TAEDA_BAG_SUM(float)
TAEDA_BAG_SUM(double)

}  // namespace taeda::cpu
