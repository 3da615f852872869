// Meta tensors of 2^40 elements: an operator's price without its arithmetic, in microseconds.
#include <benchmark/benchmark.h>

#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda {
namespace {

Tensor huge(std::initializer_list<SymInt> sizes) {
  return empty(SymIntList(sizes), DType::Float, {}, DeviceType::Meta);
}

const SymInt kSide = int64_t{1} << 20;

void meta_empty(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(huge({kSide, kSide}));
}
void meta_add(benchmark::State& state) {
  const Tensor a = huge({kSide, kSide}), b = huge({kSide, kSide});
  for (auto _ : state) benchmark::DoNotOptimize(add(a, b));
}
void meta_add_broadcast(benchmark::State& state) {
  const Tensor a = huge({kSide, kSide}), b = huge({kSide});
  for (auto _ : state) benchmark::DoNotOptimize(add(a, b));
}
void meta_sum(benchmark::State& state) {
  const Tensor a = huge({kSide, kSide});
  const int64_t dims[] = {1};
  for (auto _ : state) benchmark::DoNotOptimize(sum(a, IntList(dims)));
}
void meta_mm(benchmark::State& state) {
  const Tensor a = huge({kSide, kSide}), b = huge({kSide, kSide});
  for (auto _ : state) benchmark::DoNotOptimize(mm(a, b));
}
void meta_cat(benchmark::State& state) {
  const Tensor parts[] = {huge({kSide, kSide}), huge({kSide, kSide})};
  for (auto _ : state) benchmark::DoNotOptimize(cat(parts, 0));
}
void meta_softmax(benchmark::State& state) {
  const Tensor a = huge({kSide, kSide});
  for (auto _ : state) benchmark::DoNotOptimize(softmax(a, -1));
}
void meta_transpose(benchmark::State& state) {
  const Tensor a = huge({kSide, kSide});
  for (auto _ : state) benchmark::DoNotOptimize(transpose(a, 0, 1));
}
BENCHMARK(meta_empty)->Unit(benchmark::kMicrosecond);
BENCHMARK(meta_add)->Unit(benchmark::kMicrosecond);
BENCHMARK(meta_add_broadcast)->Unit(benchmark::kMicrosecond);
BENCHMARK(meta_sum)->Unit(benchmark::kMicrosecond);
BENCHMARK(meta_mm)->Unit(benchmark::kMicrosecond);
BENCHMARK(meta_cat)->Unit(benchmark::kMicrosecond);
BENCHMARK(meta_softmax)->Unit(benchmark::kMicrosecond);
BENCHMARK(meta_transpose)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace taeda
