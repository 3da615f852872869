// Pointwise operators: the cost of a call on four elements, and of a pass over large tensors.
#include <benchmark/benchmark.h>

#include "taeda/ops/functions.h"

namespace taeda {
namespace {

Tensor filled(int64_t n) {
  return taeda::arange(Scalar(n), DType::Float) * Scalar(1.0 / static_cast<double>(n));
}

void add_four(benchmark::State& state) {
  const Tensor a = filled(4), b = filled(4);
  for (auto _ : state) benchmark::DoNotOptimize(add(a, b));
}
BENCHMARK(add_four);

void add_four_in_place(benchmark::State& state) {
  Tensor a = filled(4);
  const Tensor b = filled(4);
  for (auto _ : state) benchmark::DoNotOptimize(add_(a, b));
}
BENCHMARK(add_four_in_place);

void multiply_four_by_number(benchmark::State& state) {
  const Tensor a = filled(4);
  for (auto _ : state) benchmark::DoNotOptimize(mul(a, Scalar(2.0)));
}
BENCHMARK(multiply_four_by_number);

void add_out_large(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor a = filled(n), b = filled(n);
  Tensor out = filled(n);
  for (auto _ : state) add_out(out, a, b);
  state.SetBytesProcessed(state.iterations() * n * 12);
}
BENCHMARK(add_out_large)->Arg(1 << 20)->Arg(1 << 24)->UseRealTime();

template <Tensor (*op)(const Tensor&)>
void unary_large(benchmark::State& state) {
  const Tensor x = filled(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(op(x));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(unary_large<&exp>)->Arg(1 << 24)->UseRealTime();
BENCHMARK(unary_large<&tanh>)->Arg(1 << 24)->UseRealTime();

}  // namespace
}  // namespace taeda
