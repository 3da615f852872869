// Speed of matrix products: squares, linear layers, batches, matrix-vector and tiny sizes.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "taeda/backends/cpu/gemm/gemm.h"

namespace {

using namespace taeda;
using namespace taeda::cpu;

template <class T>
std::vector<T> random_values(int64_t count) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<T> values(count);
  for (T& x : values) x = T(uniform(engine));
  return values;
}

void report(benchmark::State& state, double multiply_adds) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * multiply_adds, benchmark::Counter::kIsIterationInvariantRate);
}

template <class T>
void square(benchmark::State& state) {
  const int64_t n = state.range(0);
  const auto a = random_values<T>(n * n), b = random_values<T>(n * n);
  std::vector<T> c(n * n);
  for (auto _ : state) {
    gemm<T>(n, n, n, 1, {a.data(), n, 1}, {b.data(), n, 1}, 0, {c.data(), n, 1});
    benchmark::ClobberMemory();
  }
  report(state, static_cast<double>(n) * n * n);
}
BENCHMARK(square<float>)->Arg(4)->RangeMultiplier(2)->Range(16, 2048)->UseRealTime();
BENCHMARK(square<double>)->RangeMultiplier(2)->Range(64, 2048)->UseRealTime();
BENCHMARK(square<BFloat16>)->RangeMultiplier(2)->Range(64, 2048)->UseRealTime();
BENCHMARK(square<Half>)->Arg(256)->Arg(1024)->UseRealTime();
BENCHMARK(square<Complex<float>>)->Arg(256)->UseRealTime();
BENCHMARK(square<Complex<double>>)->Arg(256)->UseRealTime();
BENCHMARK(square<int64_t>)->Arg(256)->UseRealTime();
BENCHMARK(square<int32_t>)->Arg(256)->UseRealTime();
BENCHMARK(square<int8_t>)->Arg(256)->UseRealTime();

// x (m x 768) times the transpose of a weight (3072 x 768), with bias.
template <class T>
void linear(benchmark::State& state) {
  const int64_t m = state.range(0), k = 768, n = 3072;
  const auto x = random_values<T>(m * k), weight = random_values<T>(n * k);
  const auto bias = random_values<T>(n);
  std::vector<T> y(m * n);
  for (auto _ : state) {
    gemm<T>(m, n, k, 1, {x.data(), k, 1}, {weight.data(), 1, k}, 0, {y.data(), n, 1}, bias.data());
    benchmark::ClobberMemory();
  }
  report(state, static_cast<double>(m) * n * k);
}
BENCHMARK(linear<float>)->Arg(1)->Arg(4)->Arg(16)->Arg(128)->UseRealTime();
BENCHMARK(linear<BFloat16>)->Arg(1)->Arg(4)->Arg(16)->Arg(128)->UseRealTime();

template <class T>
void attention_batch(benchmark::State& state) {
  const int64_t batch = 48, m = 128, k = 64, n = 128;
  const auto a = random_values<T>(batch * m * k), b = random_values<T>(batch * k * n);
  std::vector<T> c(batch * m * n);
  for (auto _ : state) {
    gemm_batched<T>(batch, m, n, k, 1, {a.data(), k, 1}, m * k, {b.data(), n, 1}, k * n, 0,
                    {c.data(), n, 1}, m * n);
    benchmark::ClobberMemory();
  }
  report(state, static_cast<double>(batch) * m * n * k);
}
BENCHMARK(attention_batch<float>)->UseRealTime();
BENCHMARK(attention_batch<BFloat16>)->UseRealTime();

// A square matrix times a vector; the second argument says whether the matrix is transposed.
template <class T>
void matrix_vector(benchmark::State& state) {
  const int64_t n = state.range(0), is_transposed = state.range(1);
  const auto a = random_values<T>(n * n), x = random_values<T>(n);
  std::vector<T> y(n);
  const Matrix<const T> view{a.data(), is_transposed ? 1 : n, is_transposed ? n : 1};
  for (auto _ : state) {
    gemm<T>(n, 1, n, 1, view, {x.data(), 1, 1}, 0, {y.data(), 1, 1});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * n * n * static_cast<int64_t>(sizeof(T)));
}
BENCHMARK(matrix_vector<float>)->ArgsProduct({{512, 4096}, {0, 1}})->UseRealTime();
BENCHMARK(matrix_vector<BFloat16>)->ArgsProduct({{512, 4096}, {0, 1}})->UseRealTime();

}  // namespace
