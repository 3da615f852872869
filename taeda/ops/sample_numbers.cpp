// Draws sample numbers.
#include "taeda/ops/sample_numbers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "taeda/core/philox.h"
#include "taeda/ops/functions.h"

namespace taeda {
namespace {

// A stream of numbers from zero to below one.
class Stream {
 public:
  explicit Stream(uint64_t seed) : seed_(seed) {}
  uint32_t word() {
    const uint64_t i = count_++;
    return philox(seed_, i / 4)[i % 4];
  }
  double unit() { return word() * 0x1p-32; }

 private:
  uint64_t seed_, count_ = 0;
};

void shuffle(Stream& stream, std::vector<double>& values, bool is_signed) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[stream.word() % i]);
  if (is_signed)
    for (double& x : values)
      if (stream.word() & 1) x = -x;
}

// Distinct numbers, no two closer than half of a step between neighbours.
std::vector<double> numbers(Stream& stream, int64_t count, SampleLimits limits) {
  const double step = (limits.high - limits.low) / static_cast<double>(std::max<int64_t>(count, 1));
  std::vector<double> found;
  for (int64_t i = 0; i < count; ++i)
    found.push_back(limits.low + step * (static_cast<double>(i) + 0.25 + stream.unit() / 2));
  shuffle(stream, found, limits.is_signed);
  return found;
}

Tensor from_doubles(const std::vector<double>& values, IntList sizes) {
  // PyTorch names the CPU: the program's own numbers lie there.
  Tensor t = make_tensor(sizes, DType::Double, Device());
  std::copy(values.begin(), values.end(), t.data<double>());
  return t;
}

// Distinct as long as there are at most nine; magnitudes below one would all be zero.
Tensor whole(Stream& stream, IntList sizes, int64_t count, SampleLimits limits, DType dtype) {
  const bool is_small = std::abs(limits.low) < 1 && std::abs(limits.high) < 1;
  if (is_small) limits = {1, 10, limits.is_signed && !is_unsigned(dtype)};
  const double span = (limits.high - limits.low) / static_cast<double>(std::max<int64_t>(count, 1));
  std::vector<double> found;
  for (int64_t i = 0; i < count; ++i)
    found.push_back(std::floor(limits.low + span * static_cast<double>(i)));
  shuffle(stream, found, limits.is_signed);
  if (dtype == DType::Bool)
    for (double& x : found) x = static_cast<int64_t>(x) & 1;
  return from_doubles(found, sizes).to(dtype);
}

}  // namespace

Tensor sample_tensor(uint64_t seed, IntList sizes, SampleLimits limits, DType dtype) {
  Stream stream(seed);
  int64_t count = 1;
  for (const int64_t n : sizes) count *= n;
  if (is_integral(dtype, true)) return whole(stream, sizes, count, limits, dtype);
  const std::vector<double> first = numbers(stream, count, limits);
  if (!is_complex(dtype)) return from_doubles(first, sizes).to(dtype);
  const Tensor imaginary = from_doubles(numbers(stream, count, limits), sizes);
  return taeda::complex(from_doubles(first, sizes), imaginary).to(dtype);
}

}  // namespace taeda
