// Weighted draws on the CPU.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/logical_walk.h"
#include "taeda/backends/cpu/random/random_fill.h"
#include "taeda/backends/cpu/random/serial_random.h"
#include "taeda/backends/cpu/random_declarations.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

std::vector<double> row_of(const Tensor& self, int64_t row, int64_t cols) {
  std::vector<double> out(static_cast<size_t>(cols));
  const LoadFn load = load_fn(self.dtype(), ComputeType::F64);
  walk_logical(self, row * cols, cols, [&](char* at, int64_t run, int64_t step, int64_t done) {
    load(at, Block{1, run, 0, step}, reinterpret_cast<char*>(out.data() + done));
  });
  return out;
}

void check_weights(const std::vector<double>& weights) {
  double sum = 0;
  for (double v : weights) {
    TAEDA_CHECK(std::isfinite(v) && v >= 0,
                "probability tensor contains either `inf`, `nan` or element < 0");
    sum += v;
  }
  TAEDA_CHECK(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
}

// By a twister, with PyTorch's steps: draws with replacement search running sums, others take the
// largest quotients of weights and exponential numbers.
void draw_with_replacement(const Tensor& self, int64_t rows, int64_t cols, int64_t count,
                           MersenneTwister& twister, Tensor& out) {
  Tensor chosen = make_tensor({rows, count}, DType::Int64, out.device());
  for (int64_t r = 0; r < rows; ++r)
    serial::choices(row_of(self, r, cols), self.dtype() == DType::Double, count,
                    static_cast<int64_t*>(chosen.data()) + r * count, twister);
  out.copy_(chosen.reshape(out.sizes()));
}
void draw_largest(const Tensor& self, int64_t count, const Generator& generator, Tensor& out) {
  Tensor clocks = taeda::empty_like(self);
  clocks.exponential_(1, generator);
  const Tensor quotients = self.div(clocks);
  if (count == 1)
    out.copy_(quotients.argmax(-1, /*keepdim=*/true));
  else
    out.copy_(std::get<1>(quotients.topk(count)));
}

}  // namespace

void multinomial(const Tensor& self, SymInt num_samples, bool replacement,
                 const Generator& generator, Tensor& out) {
  const int64_t cols = self.size(-1), rows = self.dim() == 2 ? self.sizes()[0] : 1,
                count = num_samples.expect_int();
  if (rows == 0) return;
  for (int64_t r = 0; r < rows; ++r) check_weights(row_of(self, r, cols));
  if (cpu_generator_or_default(generator).impl().engine() == RandomEngine::Mersenne) {
    if (!replacement || count == 1) return draw_largest(self, count, generator, out);
    const GeneratorImpl::Serial serial = cpu_generator_or_default(generator).impl().serial();
    return draw_with_replacement(self, rows, cols, count, *serial.twister, out);
  }
  // One uniform number per draw; without replacement, one per weight.
  const int64_t width = replacement ? count : cols;
  const PhiloxRange range =
      cpu_generator_or_default(generator).reserve_range((rows * width * 2 + 3) / 4);
  std::vector<double> u(static_cast<size_t>(width));
  std::vector<int64_t> chosen(static_cast<size_t>(std::max(width, count)));
  const StoreFn store = store_fn(ComputeType::I64, DType::Int64);
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<double> weights = row_of(self, r, cols);
    fill_uniform(u.data(), r * width, width, range.seed, range.offset, 0.0, 1.0);
    if (replacement) {
      std::partial_sum(weights.begin(), weights.end(), weights.begin());
      for (int64_t i = 0; i < count; ++i) {
        const auto at = std::upper_bound(weights.begin(), weights.end(), u[i] * weights.back());
        chosen[i] = std::min<int64_t>(at - weights.begin(), cols - 1);
      }
    } else {
      // Exponential clocks of rate w: the first to ring are the draw.
      for (int64_t i = 0; i < cols; ++i)
        u[i] = weights[i] > 0 ? -std::log1p(-u[i]) / weights[i] : HUGE_VAL;
      std::iota(chosen.begin(), chosen.end(), 0);
      std::partial_sort(
          chosen.begin(), chosen.begin() + count, chosen.end(),
          [&](int64_t a, int64_t b) { return u[a] < u[b] || (u[a] == u[b] && a < b); });
    }
    walk_logical(out, r * count, count, [&](char* at, int64_t run, int64_t step, int64_t done) {
      store(reinterpret_cast<const char*>(chosen.data() + done), Block{1, run, 0, step}, at);
    });
  }
}

}  // namespace taeda::cpu
