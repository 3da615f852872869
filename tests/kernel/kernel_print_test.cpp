// Kernels of the IR as printed for the CPU: values, order of reductions, tails, checks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "taeda/base/half.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/reduce.h"
#include "tests/kernel/compile.h"
#include "tests/kernel/kernels.h"

namespace taeda::kernel::test {
namespace {

struct Add {
  template <class V>
  static V apply(V a, V b) {
    return a + b;
  }
};

using StageFn = void (*)(char* const*, const int64_t*, const void*, int64_t*, int64_t, int64_t);

// The text with every vector axis turned into a serial one, under another name.
std::string without_vectors(std::string text) {
  for (size_t at; (at = text.find(" vector")) != text.npos;) text.erase(at, 7);
  text.insert(text.find('('), "_serial");
  return text;
}

// All kernels, vector and serial, in one library.
const NativeModule& library() {
  static const auto module = [] {
    std::string unit = cpu_prelude();
    for (const char* text : {kMixed, kRowSum, kColumnSum, kSoftmax, kLayerNorm, kLayerNormBackward,
                             kArgMax, kCumsum, kLogCumsumExp, kGather, kIndexAdd, kSwapPairs,
                             kCastChain, kTranspose, kColumnSoftmax, kSwap, kChannelSums}) {
      unit += print_cpu_kernel(parse_kernel(text));
      unit += print_cpu_kernel(parse_kernel(without_vectors(text)));
    }
    return compile(unit);
  }();
  return *module;
}

// Runs one stage over all of its first axis, in two parts.
void run(const std::string& stage, std::vector<void*> buffers, std::vector<int64_t> params,
         int64_t extent, int64_t* error = nullptr, float scalar = 0) {
  auto function = library().function<StageFn>(stage);
  std::vector<char*> ptrs;
  for (void* p : buffers) ptrs.push_back(static_cast<char*>(p));
  alignas(16) char scalars[16] = {};
  std::memcpy(scalars, &scalar, sizeof(scalar));
  int64_t none[2] = {};
  function(ptrs.data(), params.data(), scalars, error ? error : none, 0, extent / 3);
  function(ptrs.data(), params.data(), scalars, error ? error : none, extent / 3, extent);
}

template <class T>
std::vector<T> numbers(int64_t n, int seed = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> v(n);
  for (T& x : v) x = static_cast<T>(normal(random));
  return v;
}

template <class T>
bool is_equal(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

constexpr int64_t kWidths[] = {1, 7, 16, 33, 4096, 4097, 9001};

// Rows of 5 and 23 elements cut vectors everywhere; the sums have the bits of the serial form.
TEST(PrintKernel, ReducesSeveralAxesInVectors) {
  const std::string text = print_cpu_kernel(parse_kernel(kChannelSums));
  EXPECT_NE(text.find("td_wide_source"), text.npos) << text;
  std::mt19937 random(3);
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>(700, 23), {9, 5}, {2, 1200}}) {
    std::vector<float> x(3 * rows * columns), y(x.size()), sums(3), serial(3);
    for (float& value : x) value = static_cast<float>(random() % 2000) / 999 - 1;
    run("channel_sums_0", {y.data(), sums.data(), x.data()}, {rows, columns}, 3);
    run("channel_sums_serial_0", {y.data(), serial.data(), x.data()}, {rows, columns}, 3);
    EXPECT_EQ(sums, serial) << rows << " x " << columns;
    EXPECT_EQ(y[y.size() - 1], x.back() * x.back());
  }
}

TEST(PrintKernel, BroadcastAndTransposedOperands) {
  const int64_t rows = 5, columns = 37;
  const auto x = numbers<float>(rows * columns), bias = numbers<float>(rows, 1),
             w = numbers<float>(rows * columns, 2);
  for (const char* stage : {"mixed_0", "mixed_serial_0"}) {
    std::vector<float> z(rows * columns);
    run(stage, {z.data(), (void*)x.data(), (void*)bias.data(), (void*)w.data()}, {rows, columns},
        rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const float v = x[i * columns + j];
        ASSERT_EQ(z[i * columns + j], v < bias[i] ? v : w[j * rows + i]) << stage;
      }
  }
}

TEST(PrintKernel, RowsAndColumnsFollowTheReductionTree) {
  for (int64_t n : kWidths) {
    const int64_t rows = 3;
    const auto x = numbers<float>(rows * n, static_cast<int>(n));
    std::vector<float> transposed(rows * n), expected(rows);
    for (int64_t i = 0; i < rows; ++i) {
      expected[i] = reduce_line<SumBody, float>(Elements<float>{x.data() + i * n}, n);
      for (int64_t j = 0; j < n; ++j) transposed[j * rows + i] = x[i * n + j];
    }
    for (const char* stage : {"row_sum_0", "row_sum_serial_0"}) {
      std::vector<float> y(rows);
      run(stage, {y.data(), (void*)x.data()}, {rows, n}, rows);
      EXPECT_TRUE(is_equal(y, expected)) << stage << " " << n;
    }
    for (const char* stage : {"column_sum_0", "column_sum_serial_0"}) {
      std::vector<float> y(rows);
      run(stage, {y.data(), transposed.data()}, {n, rows}, rows);
      EXPECT_TRUE(is_equal(y, expected)) << stage << " " << n;
    }
  }
}

TEST(PrintKernel, SoftmaxOfRows) {
  for (int64_t n : kWidths) {
    const int64_t rows = 3;
    const auto x = numbers<float>(rows * n, static_cast<int>(n));
    std::vector<float> y(rows * n), serial(rows * n);
    run("softmax_0", {y.data(), (void*)x.data()}, {rows, n}, rows);
    run("softmax_serial_0", {serial.data(), (void*)x.data()}, {rows, n}, rows);
    EXPECT_TRUE(is_equal(y, serial)) << n;
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += std::exp(static_cast<double>(x[i * n + j]));
      for (int64_t j = 0; j < n; ++j)
        ASSERT_NEAR(y[i * n + j], std::exp(static_cast<double>(x[i * n + j])) / sum, 1e-6);
    }
  }
}

TEST(PrintKernel, LayerNormThroughBFloat16) {
  for (int64_t n : {7, 64, 5000}) {
    const int64_t rows = 3;
    const auto x = numbers<BFloat16>(rows * n, 3), weight = numbers<BFloat16>(n, 4);
    std::vector<BFloat16> y(rows * n), serial(rows * n);
    const std::vector<int64_t> params = {rows, n};
    run("layer_norm_0", {y.data(), (void*)x.data(), (void*)weight.data()}, params, rows, nullptr,
        1e-5f);
    run("layer_norm_serial_0", {serial.data(), (void*)x.data(), (void*)weight.data()}, params, rows,
        nullptr, 1e-5f);
    EXPECT_TRUE(is_equal(y, serial)) << n;
    for (int64_t i = 0; i < rows; ++i) {
      double mean = 0, squares = 0;
      for (int64_t j = 0; j < n; ++j) mean += x[i * n + j] / static_cast<double>(n);
      for (int64_t j = 0; j < n; ++j) squares += std::pow(x[i * n + j] - mean, 2);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
      for (int64_t j = 0; j < n; ++j) {
        const double expected = (x[i * n + j] - mean) * scale * weight[j];
        ASSERT_NEAR(y[i * n + j], expected, 0.02 * std::abs(expected) + 1e-3) << n;
      }
    }
  }
}

TEST(PrintKernel, ArgMaxTakesTheFirstAndNan) {
  const int64_t rows = 3, columns = 40;
  std::vector<float> x(2 * rows * columns, 1.0f);
  x[7] = 2, x[rows * columns + 3] = 2;    // row 0: twice, first at 7
  x[rows * columns + columns + 5] = NAN;  // row 1: NaN at 45
  x[columns + 9] = 9;
  for (int64_t j = 0; j < columns; ++j)  // row 2: nothing but -inf
    x[2 * columns + j] = x[rows * columns + 2 * columns + j] = -INFINITY;
  std::vector<int64_t> y(rows);
  run("argmax_0", {y.data(), x.data()}, {rows, columns}, rows);
  EXPECT_EQ(y, (std::vector<int64_t>{7, 45, 0}));
}

TEST(PrintKernel, CumulativeSum) {
  const int64_t rows = 3, columns = 100;
  const auto x = numbers<double>(rows * columns);
  std::vector<double> y(rows * columns);
  run("cumsum_0", {y.data(), (void*)x.data()}, {rows, columns}, rows);
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) {
      sum += x[i * columns + j];
      ASSERT_EQ(y[i * columns + j], sum);
    }
  }
}

TEST(PrintKernel, CumulativeLogSumExp) {
  const int64_t rows = 2, columns = 50;
  auto x = numbers<float>(rows * columns);
  x[3] = 500, x[columns] = -INFINITY;
  std::vector<float> y(rows * columns);
  run("logcumsumexp_0", {y.data(), x.data()}, {rows, columns}, rows);
  EXPECT_EQ(y[columns], -INFINITY);
  for (int64_t i = 0; i < rows; ++i) {
    double sum = -INFINITY;
    for (int64_t j = 0; j < columns; ++j) {
      const double v = x[i * columns + j], top = std::max(sum, v);
      if (top == -INFINITY) continue;
      sum = top + std::log(std::exp(sum - top) + std::exp(v - top));
      ASSERT_NEAR(y[i * columns + j], sum, 1e-4);
    }
  }
}

TEST(PrintKernel, GradientOfLayerNorm) {
  for (int64_t n : {7, 64, 5000}) {
    const int64_t rows = 3;
    const auto dy = numbers<float>(rows * n, 1), x = numbers<float>(rows * n, 2),
               weight = numbers<float>(n, 3), mean = numbers<float>(rows, 4),
               scale = numbers<float>(rows, 5);
    std::vector<float> dx(rows * n), serial(rows * n);
    for (auto [stage, out] : {std::pair("layer_norm_backward_0", &dx),
                              std::pair("layer_norm_backward_serial_0", &serial)})
      run(stage,
          {out->data(), (void*)dy.data(), (void*)x.data(), (void*)weight.data(), (void*)mean.data(),
           (void*)scale.data()},
          {rows, n}, rows);
    EXPECT_TRUE(is_equal(dx, serial)) << n;
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0, product = 0;
      auto g = [&](int64_t j) { return static_cast<double>(dy[i * n + j]) * weight[j]; };
      auto normed = [&](int64_t j) { return (double(x[i * n + j]) - mean[i]) * scale[i]; };
      for (int64_t j = 0; j < n; ++j) sum += g(j), product += g(j) * normed(j);
      for (int64_t j = 0; j < n; ++j) {
        const double count = static_cast<double>(n);
        const double expected = (g(j) - sum / count - normed(j) * product / count) * scale[i];
        ASSERT_NEAR(dx[i * n + j], expected, 1e-4 * (1 + std::abs(expected)));
      }
    }
  }
}

TEST(PrintKernel, IndexAddOfCollidingRows) {
  const int64_t rows = 5, columns = 21, n = 3;
  const auto x = numbers<float>(rows * columns);
  const std::vector<int64_t> index = {2, 0, -1, 0, 2};
  std::vector<float> y(n * columns, 1.0f), expected = y;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      expected[(index[i] + n) % n * columns + j] += x[i * columns + j];
  run("index_add_1", {y.data(), (void*)x.data(), (void*)index.data()}, {rows, columns, n}, rows);
  EXPECT_TRUE(is_equal(y, expected));
}

TEST(PrintKernel, CastChainRoundsEachOperation) {
  const int64_t n = 77;
  const auto x = numbers<BFloat16>(n);
  std::vector<float> y(n), serial(n);
  run("cast_chain_0", {y.data(), (void*)x.data()}, {n}, n);
  run("cast_chain_serial_0", {serial.data(), (void*)x.data()}, {n}, n);
  EXPECT_TRUE(is_equal(y, serial));
  for (int64_t i = 0; i < n; ++i) {
    const float scaled = BFloat16(static_cast<float>(x[i]) * 1.25f);
    const float grown = BFloat16(std::exp(scaled));
    ASSERT_EQ(y[i], static_cast<float>(BFloat16(grown + static_cast<float>(x[i])))) << i;
  }
}

TEST(PrintKernel, TransposesWholeAndPartialBlocks) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 48}, {35, 17}, {1, 9}, {100, 33}}) {
    std::vector<int16_t> x(rows * columns), y(rows * columns);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int16_t>(i);
    run("transpose_0", {y.data(), x.data()}, {rows, columns}, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) ASSERT_EQ(y[j * rows + i], x[i * columns + j]);
  }
}

TEST(PrintKernel, SoftmaxOfColumnsEqualsThatOfRows) {
  const int64_t n = 300, columns = 37;
  const auto x = numbers<float>(n * columns);
  std::vector<float> transposed(x.size()), rows(x.size()), y(x.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < columns; ++j) transposed[j * n + i] = x[i * columns + j];
  run("softmax_0", {rows.data(), transposed.data()}, {columns, n}, columns);
  run("column_softmax_0", {y.data(), (void*)x.data()}, {n, columns}, columns);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < columns; ++j) ASSERT_EQ(y[i * columns + j], rows[j * n + i]);
}

TEST(PrintKernel, AllStepsReadBeforeAnyWrites) {
  const int64_t n = 100;
  const auto a = numbers<float>(n, 1), b = numbers<float>(n, 2);
  for (const char* stage : {"swap_0", "swap_serial_0"}) {
    std::vector<float> x = a, y = b;
    run(stage, {x.data(), y.data()}, {n}, n);
    EXPECT_TRUE(is_equal(x, b) && is_equal(y, a)) << stage;
  }
}

// Places in a chunk are as wide as the floats beside them; indices have 64 bits.
TEST(PrintKernel, ArgMaxOfRowsIsVectorCode) {
  const std::string text = R"(kernel row_argmax(rows, columns)
  buffer y int64[rows]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  value %1 = index [j] : i64
  value %2 = state 1 : i64
  loop i < rows parallel
    loop j < columns reduced vector
      reduce argmax(%0, %1) over j -> 0
    store y[i] = %2
)";
  const std::string printed = print_cpu_kernel(parse_kernel(text));
  EXPECT_NE(printed.find("td_place_row<"), printed.npos);
  EXPECT_EQ(printed.find("td_ramp_two<td_i64>"), printed.npos);
  const auto module = compile(cpu_prelude() + printed);
  const auto function = module->function<StageFn>("row_argmax_0");
  ASSERT_TRUE(function);
  const int64_t rows = 2, columns = 5000;
  auto x = numbers<float>(rows * columns);
  x[4321] = 100, x[4999] = 100, x[columns + 17] = NAN;
  std::vector<int64_t> y(rows);
  char* ptrs[] = {reinterpret_cast<char*>(y.data()), reinterpret_cast<char*>(x.data())};
  const int64_t params[] = {rows, columns};
  int64_t error[2] = {};
  function(ptrs, params, nullptr, error, 0, rows);
  EXPECT_EQ(y, (std::vector<int64_t>{4321, 17}));
}

TEST(PrintKernel, GatherWrapsAndReportsIndicesOutOfRange) {
  const int64_t rows = 4, columns = 19, n = 6;
  std::vector<int32_t> x(n * columns), y(rows * columns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i);
  std::vector<int64_t> index = {5, -6, 0, -1};
  const std::vector<void*> buffers = {y.data(), x.data(), index.data()};
  int64_t error[2] = {};
  run("gather_0", buffers, {rows, columns, n}, rows, error);
  EXPECT_EQ(error[0], 0);
  run("gather_1", buffers, {rows, columns, n}, rows, error);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(y[i * columns + j], (index[i] + n) % n * columns + j);
  index[2] = 6;
  run("gather_0", buffers, {rows, columns, n}, rows, error);
  EXPECT_EQ(error[0], 1);
  EXPECT_EQ(error[1], 6);
}

TEST(PrintKernel, MasksGuardLoadsAndStores) {
  const int64_t n = 35;  // the last element has no partner
  const auto x = numbers<Half>(n);
  std::vector<uint8_t> keep(n);
  for (int64_t i = 0; i < n; ++i) keep[i] = i % 5 != 3;
  for (const char* stage : {"swap_pairs_0", "swap_pairs_serial_0"}) {
    std::vector<Half> y(n, Half(7.0f));
    run(stage, {y.data(), (void*)x.data(), keep.data()}, {n}, n);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(static_cast<float>(y[i]),
                keep[i] ? static_cast<float>(x[std::min(i ^ 1, n - 1)]) : 7.0f)
          << stage;
  }
}

}  // namespace
}  // namespace taeda::kernel::test
