// Matrix products against a plain triple loop: every type, stride pattern, size class and thread
// count.
#include "taeda/backends/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "taeda/base/parallel.h"

namespace taeda::cpu {
namespace {

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<Complex<T>> = true;
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The reference computes in these: exact for wrapped integers, wider than every float type.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t,
                                std::conditional_t<kIsComplex<T>, std::complex<double>, double>>;

template <class T>
Wide<T> wide(T x) {
  if constexpr (kIsComplex<T>)
    return {x.re, x.im};
  else if constexpr (kIsHalf<T>)
    return static_cast<float>(x);
  else
    return static_cast<Wide<T>>(x);
}

// Distributions of the library take most of the time where operands are large.
template <class T>
T random_value(std::mt19937& engine) {
  const auto uniform = [&] { return static_cast<float>(engine() >> 8) * 0x1p-23f - 1; };
  if constexpr (std::is_integral_v<T>) {
    const uint64_t high = engine(), low = engine();
    return static_cast<T>((high << 32 | low) >> (1 + low % 60));
  } else if constexpr (kIsComplex<T>) {
    const float re = uniform();
    return T(re, uniform());
  } else {
    return T(uniform());
  }
}

enum class Layout { Row, Column, Strided, Negative, ExpandedRows, ExpandedColumns };

// A matrix view together with the memory it looks at.
template <class T>
struct Operand {
  std::vector<T> memory;
  int64_t offset = 0, row_stride = 0, col_stride = 0;

  Operand(int64_t rows, int64_t cols, Layout layout, std::mt19937& engine) {
    switch (layout) {
      case Layout::Row: row_stride = cols, col_stride = 1; break;
      case Layout::Column: row_stride = 1, col_stride = rows; break;
      case Layout::Strided: row_stride = 3 * cols + 5, col_stride = 3; break;
      case Layout::Negative: row_stride = -(cols + 2), col_stride = 1; break;
      case Layout::ExpandedRows: row_stride = 0, col_stride = 1; break;
      case Layout::ExpandedColumns: row_stride = 1, col_stride = 0; break;
    }
    if (row_stride < 0) offset = std::max<int64_t>(rows - 1, 0) * -row_stride;
    const int64_t extent = std::max<int64_t>(rows, 1) * std::abs(row_stride) +
                           std::max<int64_t>(cols, 1) * std::abs(col_stride) + 8;
    memory.resize(extent);
    for (T& x : memory) x = random_value<T>(engine);
  }
  Matrix<T> view() { return {memory.data() + offset, row_stride, col_stride}; }
  Matrix<const T> view() const { return {memory.data() + offset, row_stride, col_stride}; }
};

template <class T>
T at(Matrix<const T> m, int64_t i, int64_t j) {
  return m.data[i * m.row_stride + j * m.col_stride];
}

template <class T>
struct Case {
  int64_t m, n, k;
  ScalarOf<T> alpha, beta;
  Layout a = Layout::Row, b = Layout::Row, c = Layout::Row;
  bool has_bias = false;
};

// Unit roundoff of the accumulation and of the stored result; tolerances count the former.
template <class T>
double sum_epsilon() {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Complex<double>>)
    return 0x1p-52;
  else
    return 0x1p-23;
}
template <class T>
double store_epsilon() {
  if constexpr (std::is_same_v<T, Half>)
    return 0x1p-11;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return 0x1p-8;
  else
    return sum_epsilon<T>();
}

template <class T>
void expect_element(T actual, Wide<T> expected, double tolerance) {
  if constexpr (std::is_integral_v<T>) {
    ASSERT_EQ(actual, static_cast<T>(expected));
  } else {
    const double error = std::abs(wide(actual) - expected);
    ASSERT_LE(error, sum_epsilon<T>() * tolerance + store_epsilon<T>() * std::abs(expected) +
                         (std::is_same_v<T, Half> ? 0x1p-24 : 0))
        << "got " << std::abs(wide(actual)) << ", expected " << std::abs(expected);
  }
}

// How far a sum of k terms of like sign may drift, in roundoffs; random terms stay far below.
double drift(int64_t k) { return 8 + std::min<int64_t>(k, 256) / 4.0; }

// Runs one product and checks each element of C, and that nothing around C was written.
template <class T>
void check(const Case<T>& t, std::mt19937& engine) {
  SCOPED_TRACE(testing::Message() << "m " << t.m << " n " << t.n << " k " << t.k << " layouts "
                                  << int(t.a) << int(t.b) << int(t.c) << " bias " << t.has_bias);
  const Operand<T> a(t.m, t.k, t.a, engine), b(t.k, t.n, t.b, engine);
  Operand<T> c(t.m, t.n, t.c, engine);
  const Operand<T> before = c;
  std::vector<T> bias(t.n);
  for (T& x : bias) x = random_value<T>(engine);
  gemm<T>(t.m, t.n, t.k, t.alpha, a.view(), b.view(), t.beta, c.view(),
          t.has_bias ? bias.data() : nullptr);

  std::vector<bool> is_output(c.memory.size());
  for (int64_t i = 0; i < t.m; ++i)
    for (int64_t j = 0; j < t.n; ++j) {
      Wide<T> sum{};
      double magnitude = 0;
      for (int64_t p = 0; p < t.k; ++p) {
        const Wide<T> term = wide(at(a.view(), i, p)) * wide(at(b.view(), p, j));
        sum += term;
        if constexpr (kIsComplex<T>)
          magnitude +=
              std::sqrt(std::norm(term));  // nothing overflows, and it takes a fifth of abs
        else if constexpr (!std::is_integral_v<T>)
          magnitude += std::abs(term);
      }
      Wide<T> expected = wide(t.alpha) * sum + wide(t.beta) * wide(at(before.view(), i, j));
      if (t.has_bias) expected += wide(bias[j]);
      if constexpr (!std::is_integral_v<T>)
        magnitude = std::abs(wide(t.alpha)) * magnitude + std::abs(expected) +
                    std::abs(wide(t.beta)) * 2 + 1;
      const Matrix<T> out = c.view();
      T* element = out.data + i * out.row_stride + j * out.col_stride;
      is_output[element - c.memory.data()] = true;
      ASSERT_NO_FATAL_FAILURE(expect_element<T>(*element, expected, magnitude * drift(t.k)));
    }
  for (size_t i = 0; i < c.memory.size(); ++i)
    ASSERT_TRUE(is_output[i] || wide(c.memory[i]) == wide(before.memory[i]))
        << "stray write at " << i;
}

template <class T>
ScalarOf<T> scalar(double x) {
  if constexpr (std::is_unsigned_v<T>)
    return static_cast<T>(static_cast<int64_t>(x * 4));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(x * 4);
  else if constexpr (kIsComplex<T>)
    return T(x, x / 2);
  else
    return static_cast<ScalarOf<T>>(x);
}
template <class T>
ScalarOf<T> one() {
  if constexpr (kIsComplex<T>)
    return T(1);
  else
    return ScalarOf<T>(1);
}

class ThreadCount {
 public:
  explicit ThreadCount(int n) : before_(num_threads()) { set_num_threads(n); }
  ~ThreadCount() { set_num_threads(before_); }

 private:
  int before_;
};

template <class T>
class Gemm : public testing::Test {};
using Types = testing::Types<float, double, Half, BFloat16, Complex<float>, Complex<double>,
                             int64_t, int32_t, int16_t, int8_t, uint8_t>;
TYPED_TEST_SUITE(Gemm, Types);

constexpr Layout kInputs[] = {Layout::Row,      Layout::Column,       Layout::Strided,
                              Layout::Negative, Layout::ExpandedRows, Layout::ExpandedColumns};
constexpr Layout kOutputs[] = {Layout::Row, Layout::Column, Layout::Strided, Layout::Negative};

TYPED_TEST(Gemm, SizesAroundTilesAndVectors) {
  std::mt19937 engine(1);
  for (int64_t m : {0, 1, 2, 4, 7, 9, 17})
    for (int64_t n : {0, 1, 3, 8, 13, 37})
      for (int64_t k : {0, 1, 2, 5, 16, 33})
        check<TypeParam>({m, n, k, one<TypeParam>(), scalar<TypeParam>(0)}, engine);
}

TYPED_TEST(Gemm, EveryLayoutOfEveryOperand) {
  std::mt19937 engine(2);
  int turn = 0;
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{5, 6, 7}, {1, 19, 11}, {23, 1, 9}, {3, 70, 81}, {67, 51, 83}})
    for (Layout a : kInputs)
      for (Layout b : kInputs) {
        const Layout c = kOutputs[turn++ % 4];
        check<TypeParam>(
            {m, n, k, one<TypeParam>(), scalar<TypeParam>(0.5), a, b, c, turn % 3 == 0}, engine);
      }
}

TYPED_TEST(Gemm, AlphaBetaAndBias) {
  std::mt19937 engine(3);
  for (int64_t size : {3, 40})
    for (double alpha : {0.0, 1.0, -1.5})
      for (double beta : {0.0, 1.0, 0.75})
        for (Layout c : kOutputs)
          for (bool has_bias : {false, true})
            check<TypeParam>({size, size + 1, size + 2, scalar<TypeParam>(alpha),
                              scalar<TypeParam>(beta), Layout::Row, Layout::Row, c, has_bias},
                             engine);
}

// Depths over a block, and enough rows and columns for several tasks.
TYPED_TEST(Gemm, BlockedAndThreaded) {
  for (int threads : {1, 2, 5}) {
    const ThreadCount guard(threads);
    std::mt19937 engine(4);
    check<TypeParam>({43, 61, 1601, one<TypeParam>(), scalar<TypeParam>(0.5)}, engine);
    check<TypeParam>({11, 1700, 40, one<TypeParam>(), scalar<TypeParam>(0), Layout::Row,
                      Layout::Column, Layout::Row, true},
                     engine);
    check<TypeParam>({300, 33, 35, one<TypeParam>(), scalar<TypeParam>(0), Layout::Column,
                      Layout::Row, Layout::Column},
                     engine);
  }
}

TYPED_TEST(Gemm, MatrixTimesVector) {
  for (int threads : {1, 3}) {
    const ThreadCount guard(threads);
    std::mt19937 engine(5);
    for (Layout layout : {Layout::Row, Layout::Column, Layout::Strided}) {
      for (auto [rows, depth] : {std::pair{1100, 70}, {70, 1100}, {1, 140001}, {5, 30003}}) {
        // Long sums take most of the time, and ThreadsDoNotChangeTheResult.
        if (threads == 1 && depth > 20000 && layout != Layout::Row) continue;
        check<TypeParam>({rows, 1, depth, one<TypeParam>(), scalar<TypeParam>(0.5), layout,
                          Layout::Row, Layout::Row, true},
                         engine);
        check<TypeParam>({1, rows, depth, scalar<TypeParam>(1.5), scalar<TypeParam>(0),
                          Layout::Strided, layout, Layout::Strided, true},
                         engine);
      }
    }
  }
}

TYPED_TEST(Gemm, ThreadsDoNotChangeTheResult) {
  using T = TypeParam;
  std::mt19937 engine(6);
  // The last two are large enough that threads share their tasks, over a few and many depth blocks.
  for (auto [m, n, k] : {std::array<int64_t, 3>{97, 203, 900},
                         {1, 700, 900},
                         {2, 1, 140000},
                         {243, 301, 1000},
                         {115, 130, 5003}}) {
    const Operand<T> a(m, k, Layout::Row, engine), b(k, n, Layout::Column, engine);
    const Operand<T> bias(1, n, Layout::Row, engine);
    Operand<T> serial(m, n, Layout::Row, engine), threaded = serial;
    const ScalarOf<T> alpha = one<T>(), beta = scalar<T>(0.5);
    {
      const ThreadCount guard(1);
      gemm<T>(m, n, k, alpha, a.view(), b.view(), beta, serial.view(), bias.memory.data());
    }
    const ThreadCount guard(4);
    gemm<T>(m, n, k, alpha, a.view(), b.view(), beta, threaded.view(), bias.memory.data());
    for (size_t i = 0; i < serial.memory.size(); ++i)
      ASSERT_TRUE(wide(serial.memory[i]) == wide(threaded.memory[i])) << i;
  }
}

TYPED_TEST(Gemm, Batches) {
  using T = TypeParam;
  for (int threads : {1, 3}) {
    const ThreadCount guard(threads);
    std::mt19937 engine(7);
    for (auto [batch, m, n, k] : {std::array<int64_t, 4>{7, 3, 4, 5},
                                  {3, 130, 70, 120},
                                  {2, 1, 30, 20},
                                  {40, 20, 30, 10},
                                  {0, 2, 2, 2},
                                  {4, 2, 0, 3}})
      for (bool shares_a : {false, true})
        for (bool shares_b : {false, true}) {
          const int64_t a_step = shares_a ? 0 : m * k, b_step = shares_b ? 0 : k * n;
          const Operand<T> a(batch * m, k, Layout::Row, engine),
              b(batch * k, n, Layout::Row, engine);
          Operand<T> c(batch * m, n, Layout::Row, engine), expected = c;
          const ScalarOf<T> alpha = one<T>(), beta = scalar<T>(0.5);
          gemm_batched<T>(batch, m, n, k, alpha, a.view(), a_step, b.view(), b_step, beta, c.view(),
                          m * n);
          for (int64_t i = 0; i < batch; ++i) {
            const Matrix<const T> a_i{a.memory.data() + i * a_step, k, 1};
            const Matrix<const T> b_i{b.memory.data() + i * b_step, n, 1};
            gemm<T>(m, n, k, alpha, a_i, b_i, beta, {expected.memory.data() + i * m * n, n, 1});
          }
          for (size_t i = 0; i < c.memory.size(); ++i)
            ASSERT_NO_FATAL_FAILURE(
                expect_element<T>(c.memory[i], wide(expected.memory[i]), drift(k) * (1.0 + k)));
        }
  }
}

template <class T>
class GemmFloating : public testing::Test {};
using FloatingTypes = testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(GemmFloating, FloatingTypes);

TYPED_TEST(GemmFloating, BetaZeroIgnoresNanInC) {
  using T = TypeParam;
  const T nan(std::numeric_limits<float>::quiet_NaN());
  for (auto [m, n, k] : {std::array<int64_t, 3>{3, 4, 5},
                         {1, 9, 30},
                         {9, 1, 30},
                         {70, 65, 90},
                         {70, 65, 0},
                         {40, 30, 2000}}) {
    std::mt19937 engine(8);
    const Operand<T> a(m, k, Layout::Row, engine), b(k, n, Layout::Row, engine);
    std::vector<T> c(m * n, nan);
    gemm<T>(m, n, k, 1, a.view(), b.view(), 0, {c.data(), n, 1});
    for (const T& x : c) ASSERT_TRUE(std::isfinite(static_cast<double>(wide(x))));
    c.assign(m * n, nan);
    gemm<T>(m, n, k, 1, a.view(), b.view(), 1, {c.data(), n, 1});
    for (const T& x : c) ASSERT_TRUE(std::isnan(static_cast<double>(wide(x))));
  }
}

TYPED_TEST(GemmFloating, NanInOperandsReachesOnlyItsRowOrColumn) {
  using T = TypeParam;
  const int64_t n = 33;
  std::mt19937 engine(9);
  Operand<T> a(n, n, Layout::Row, engine);
  const Operand<T> b(n, n, Layout::Column, engine);
  a.memory[5 * n + 7] = T(std::numeric_limits<float>::quiet_NaN());
  std::vector<T> c(n * n);
  gemm<T>(n, n, n, 1, std::as_const(a).view(), b.view(), 0, {c.data(), n, 1});
  for (int64_t i = 0; i < n * n; ++i)
    ASSERT_EQ(std::isnan(static_cast<double>(wide(c[i]))), i / n == 5) << i;
}

TEST(GemmHalf, AccumulatesInFloatAcrossDepthBlocks) {
  // 4,096 ones: bfloat16 sums would stop at 256, a rounding after each block would show as well.
  const int64_t k = 4096;
  std::vector<BFloat16> a(2 * k, BFloat16(1.0f)), b(2 * k, BFloat16(1.0f));
  b[0] = BFloat16(17.0f);
  BFloat16 c[4];
  gemm<BFloat16>(2, 2, k, 1, {a.data(), k, 1}, {b.data(), 1, k}, 0, {c, 2, 1});
  EXPECT_EQ(static_cast<float>(c[0]), static_cast<float>(BFloat16(4112.0f)));
  EXPECT_EQ(static_cast<float>(c[1]), 4096.0f);
}

TEST(GemmInteger, WrapsInItsOwnType) {
  const int8_t a[2] = {127, 127}, b[2] = {127, 127};
  int8_t c = 3;
  gemm<int8_t>(1, 1, 2, 1, {a, 2, 1}, {b, 1, 1}, 1, {&c, 1, 1});
  EXPECT_EQ(c, static_cast<int8_t>(127 * 127 * 2 + 3));
  const int64_t big[1] = {std::numeric_limits<int64_t>::max()}, two[1] = {2};
  int64_t d = 0;
  gemm<int64_t>(1, 1, 1, 1, {big, 1, 1}, {two, 1, 1}, 0, {&d, 1, 1});
  EXPECT_EQ(d, -2);
}

}  // namespace
}  // namespace taeda::cpu
