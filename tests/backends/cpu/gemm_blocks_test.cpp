// Products that finish blocks of C, keep B in panels and pack operands that are written for them:
// every way of computing gives the bits of the product alone.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "taeda/backends/cpu/gemm/gemm.h"
#include "taeda/backends/cpu/gemm/packed_matrix.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu {
namespace {

// Before the first product asks: a library would compute some of them, and packs nothing here.
[[maybe_unused]] const int kWithoutLibrary = setenv("TAEDA_ONEDNN", "0", 1);

struct Sizes {
  int64_t m, n, k;
};

constexpr Sizes kSizes[] = {{1, 700, 50},    {700, 1, 50},    {6, 300, 200},   {300, 6, 200},
                            {20, 20, 20},    {70, 90, 80},    {130, 70, 1500}, {33, 5000, 40},
                            {400, 500, 300}, {2100, 65, 600}, {9, 9, 700},     {5, 7, 0}};

template <class T>
std::vector<T> numbers(int64_t count, int seed) {
  std::mt19937 engine(seed);
  std::vector<T> all(static_cast<size_t>(count));
  for (T& x : all) x = T(static_cast<float>(engine() >> 8) * 0x1p-23f - 1);
  return all;
}

template <class T>
class GemmBlocks : public testing::Test {};
using Types = testing::Types<float, double, BFloat16, Complex<float>>;
TYPED_TEST_SUITE(GemmBlocks, Types);

template <class T>
void expect_same(const std::vector<T>& a, const std::vector<T>& b, const Sizes& s) {
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0)
      << s.m << " x " << s.n << " x " << s.k;
}

TYPED_TEST(GemmBlocks, FinishedBlocksAreFinalAndCoverC) {
  using T = TypeParam;
  for (const auto& [m, n, k] : kSizes) {
    const auto a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 2), bias = numbers<T>(n, 3);
    for (const bool is_transposed : {false, true}) {
      std::vector<T> c(m * n), plain(m * n), seen(m * n);
      const auto at = [&](std::vector<T>& to) {
        return is_transposed ? Matrix<T>{to.data(), 1, m} : Matrix<T>{to.data(), n, 1};
      };
      const T* row = is_transposed ? nullptr : bias.data();
      gemm<T>(m, n, k, 1, {a.data(), k, 1}, {b.data(), n, 1}, 0, at(plain), row);
      std::vector<std::atomic<int>> times(m * n);
      const auto look = [&](int64_t i0, int64_t rows, int64_t j0, int64_t cols) {
        for (int64_t i = i0; i < i0 + rows; ++i)
          for (int64_t j = j0; j < j0 + cols; ++j) {
            const int64_t place = is_transposed ? j * m + i : i * n + j;
            ++times[place];
            seen[place] = c[place];
            c[place] = T(0.0f);
          }
      };
      const FinishBlock finish(look);
      gemm<T>(m, n, k, 1, {a.data(), k, 1}, {b.data(), n, 1}, 0, at(c), row, {&finish});
      for (const auto& count : times) ASSERT_EQ(count, 1);
      expect_same(seen, plain, {m, n, k});
      expect_same(c, std::vector<T>(m * n, T(0.0f)), {m, n, k});
    }
  }
}

TYPED_TEST(GemmBlocks, RowsAreCountedThroughABatch) {
  using T = TypeParam;
  for (const auto& [m, n, k] : {Sizes{7, 9, 5}, Sizes{70, 90, 80}}) {
    const int64_t batch = 3;
    const auto a = numbers<T>(batch * m * k, 1), b = numbers<T>(batch * k * n, 2);
    for (const int64_t b_stride : {int64_t{0}, k * n}) {
      std::vector<T> c(batch * m * n), plain(batch * m * n), seen(batch * m * n);
      const auto look = [&, n = n](int64_t i0, int64_t rows, int64_t j0, int64_t cols) {
        for (int64_t i = i0; i < i0 + rows; ++i)
          for (int64_t j = j0; j < j0 + cols; ++j) seen[i * n + j] = c[i * n + j];
      };
      const FinishBlock finish(look);
      const auto run = [&, m = m, n = n, k = k](std::vector<T>& to, const FinishBlock* f) {
        gemm_batched<T>(batch, m, n, k, 1, {a.data(), k, 1}, m * k, {b.data(), n, 1}, b_stride, 0,
                        {to.data(), n, 1}, m * n, {f});
      };
      run(plain, nullptr);
      run(c, &finish);
      expect_same(seen, plain, {m, n, k});
    }
  }
}

TYPED_TEST(GemmBlocks, KeptPanelsServeAllProducts) {
  using T = TypeParam;
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{90, 80}, {700, 1300}, {9000, 20}})
    for (const bool is_transposed : {false, true}) {
      const auto b = numbers<T>(k * n, 2);
      const Matrix<const T> operand =
          is_transposed ? Matrix<const T>{b.data(), 1, k} : Matrix<const T>{b.data(), n, 1};
      PackedMatrix kept;
      for (const int64_t m : {1, 5, 100, 9, 600}) {
        const auto a = numbers<T>(m * k, 1);
        std::vector<T> c(m * n), plain(m * n);
        gemm<T>(m, n, k, 1, {a.data(), k, 1}, operand, 0, {plain.data(), n, 1});
        gemm<T>(m, n, k, 1, {a.data(), k, 1}, operand, 0, {c.data(), n, 1}, nullptr,
                {nullptr, &kept});
        expect_same(c, plain, {m, n, k});
      }
      EXPECT_GE(kept.bytes(), n * k * static_cast<int64_t>(sizeof(T)));
    }
}

TYPED_TEST(GemmBlocks, OperandsAreFilledWhereTheyArePacked) {
  using T = TypeParam;
  int count = 0;
  for (const auto& [m, n, k] : kSizes) {
    if (!packs_operands<T>(m, n, k)) continue;
    ++count;
    const auto a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 2);
    std::vector<T> plain(m * n);
    gemm<T>(m, n, k, 1, {a.data(), k, 1}, {b.data(), n, 1}, 0, {plain.data(), n, 1});
    for (const bool is_by_columns : {false, true}) {
      const auto filler = [&](const std::vector<T>& from, int64_t width) {
        return [&from, width, is_by_columns](int64_t i0, int64_t rows, int64_t j0, int64_t cols,
                                             void* to) {
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j)
              static_cast<T*>(to)[is_by_columns ? j * rows + i : i * cols + j] =
                  from[(i0 + i) * width + j0 + j];
        };
      };
      const auto write_a = filler(a, k), write_b = filler(b, n);
      const FillBlock fill_a{write_a, is_by_columns}, fill_b{write_b, is_by_columns};
      for (const ProductOptions& options : {ProductOptions{nullptr, nullptr, &fill_a, nullptr},
                                            ProductOptions{nullptr, nullptr, nullptr, &fill_b},
                                            ProductOptions{nullptr, nullptr, &fill_a, &fill_b}}) {
        std::vector<T> c(m * n);
        gemm<T>(m, n, k, 1, {options.fill_a ? nullptr : a.data(), k, 1},
                {options.fill_b ? nullptr : b.data(), n, 1}, 0, {c.data(), n, 1}, nullptr, options);
        expect_same(c, plain, {m, n, k});
      }
    }
  }
  EXPECT_GT(count, 3);
}

}  // namespace
}  // namespace taeda::cpu
