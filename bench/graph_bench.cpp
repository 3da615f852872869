// Graphs of 100,000 nodes: build, lint, copy, dead code, text, hash.
#include <benchmark/benchmark.h>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/passes/common_subexpressions.h"
#include "taeda/fx/passes/dead_code.h"
#include "taeda/fx/text.h"

namespace {

using namespace taeda;
using namespace taeda::fx;

constexpr int kNodes = 100'000;

IntrusivePtr<Graph> make_chain() {
  static dispatch::Operator& relu = dispatch::get_operator("relu");
  auto g = make_intrusive<Graph>();
  Node* n = &g->placeholder("x");
  for (int i = 0; i < kNodes; ++i) n = &g->call(relu, {*n});
  g->output(Arg(n));
  return g;
}

void BM_Build(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(make_chain());
}
void BM_Lint(benchmark::State& state) {
  const auto g = make_chain();
  for (auto _ : state) lint(*g);
}
void BM_Copy(benchmark::State& state) {
  const auto g = make_chain();
  for (auto _ : state) benchmark::DoNotOptimize(clone(*g));
}
void BM_DeadCode(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto g = make_chain();
    g->output_node()->set_args({});
    state.ResumeTiming();
    benchmark::DoNotOptimize(eliminate_dead_code(*g));
    state.PauseTiming();
    g.reset();
    state.ResumeTiming();
  }
}
void BM_CommonSubexpressions(benchmark::State& state) {
  const auto g = make_chain();
  for (auto _ : state) benchmark::DoNotOptimize(eliminate_common_subexpressions(*g));
}
void BM_Print(benchmark::State& state) {
  const auto g = make_chain();
  for (auto _ : state) benchmark::DoNotOptimize(to_text(*g));
}
void BM_Parse(benchmark::State& state) {
  const std::string text = to_text(*make_chain());
  for (auto _ : state) benchmark::DoNotOptimize(parse_graph(text));
}
void BM_Hash(benchmark::State& state) {
  const auto g = make_chain();
  for (auto _ : state) benchmark::DoNotOptimize(structural_hash(*g));
}

BENCHMARK(BM_Build)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Lint)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Copy)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_DeadCode)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CommonSubexpressions)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Print)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Parse)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Hash)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
