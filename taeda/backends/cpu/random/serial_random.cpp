// Serial draws, with the words and the arithmetic of PyTorch's CPU kernels.
#include "taeda/backends/cpu/random/serial_random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/logical_walk.h"

namespace taeda::cpu::serial {
namespace {

constexpr int64_t kPiece = 1024;

// The order in which memory has the dimensions, largest stride first.
std::vector<size_t> memory_order(const Tensor& t) {
  std::vector<size_t> order(static_cast<size_t>(t.dim()));
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const bool are_both_long = t.sizes()[a] > 1 && t.sizes()[b] > 1;
    return are_both_long && t.strides()[a] > t.strides()[b];
  });
  return order;
}

Tensor reordered(const Tensor& t, const std::vector<size_t>& order) {
  IntVec sizes, strides;
  for (size_t d : order) {
    sizes.push_back(t.sizes()[d]);
    strides.push_back(t.strides()[d]);
  }
  return make_alias(t, sizes, strides, t.storage_offset());
}

template <class T>
constexpr ComputeType tile_type = std::is_same_v<T, float>    ? ComputeType::F32
                                  : std::is_same_v<T, double> ? ComputeType::F64
                                                              : ComputeType::I64;

// Writes next(), converted to T, into every element of `t` in logical order.
template <class T, class F>
void fill_by(const Tensor& t, F&& next) {
  const StoreFn store = store_fn(tile_type<T>, t.dtype());
  T tile[kPiece];
  for (int64_t i = 0; i < t.numel(); i += kPiece) {
    const int64_t n = std::min(kPiece, t.numel() - i);
    for (int64_t k = 0; k < n; ++k) tile[k] = static_cast<T>(next());
    walk_logical(t, i, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
      store(reinterpret_cast<const char*>(tile + done), Block{1, run, 0, step}, at);
    });
  }
}

// The same in the order of memory; values go through the type that PyTorch rounds them to first.
template <class F>
void fill(const Tensor& self, F&& next) {
  const Tensor t = reordered(self, memory_order(self));
  if (t.dtype() == DType::Double)
    fill_by<double>(t, next);
  else if (is_floating(t.dtype()))
    fill_by<float>(t, next);
  else
    fill_by<int64_t>(t, next);
}

// ---- normal numbers of contiguous memory, in blocks of 16 ----

constexpr int64_t kBlock = 16;

// PyTorch's vectors of eight floats, on x86-64, multiply by the rounded circle; elsewhere its
// product is of double and rounded after that.
template <class T>
T angle_of(T part) {
#if defined(__x86_64__)
  return static_cast<T>(2 * M_PI) * part;
#else
  return static_cast<T>(2 * M_PI * static_cast<double>(part));
#endif
}

// Box-Muller between the halves of a block of uniform numbers.
template <class T>
void transform_block(T* block, T mean, T std) {
  for (int64_t i = 0; i < kBlock / 2; ++i) {
    const T radius = std::sqrt(-2 * std::log(1 - block[i]));
    const T angle = angle_of(block[i + kBlock / 2]);
    block[i] = std::fma(radius * std::cos(angle), std, mean);
    block[i + kBlock / 2] = std::fma(radius * std::sin(angle), std, mean);
  }
}

template <class T>
T uniform_of(MersenneTwister& random) {
  if constexpr (std::is_same_v<T, double>)
    return random.uniform_double();
  else
    return random.uniform_float();
}

// A last block that is cut is drawn anew, as the last 16 elements.
template <class T>
void fill_blocks(const Tensor& self, double mean, double std, MersenneTwister& random) {
  const StoreFn store = store_fn(tile_type<T>, self.dtype());
  const int64_t count = self.numel(), item = self.element_size();
  char* const out = static_cast<char*>(self.data());
  const auto put = [&](const T* values, int64_t at, int64_t n) {
    store(reinterpret_cast<const char*>(values), Block{1, n, 0, item}, out + at * item);
  };
  T block[kBlock];
  const auto draw = [&] {
    for (T& u : block) u = uniform_of<T>(random);
    transform_block(block, static_cast<T>(mean), static_cast<T>(std));
  };
  for (int64_t i = 0; i + kBlock <= count; i += kBlock) {
    draw();
    put(block, i, kBlock);
  }
  if (count % kBlock == 0) return;
  // A whole tensor of uniform numbers is drawn first where none is rounded.
  const bool is_rounded = item < static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; !is_rounded && i < count % kBlock; ++i) uniform_of<T>(random);
  draw();
  put(block, count - kBlock, kBlock);
}

}  // namespace

void uniform(Tensor& self, double from, double to, MersenneTwister& random) {
  if (self.dtype() == DType::Double) {
    fill(self, [&] {
      const double v = std::fma(random.uniform_double(), to - from, from);
      return v == to ? from : v;
    });
    return;
  }
  const auto low = static_cast<float>(from), high = static_cast<float>(to);
  const auto rounded = [dtype = self.dtype()](float v) {
    if (dtype == DType::BFloat16) return static_cast<float>(BFloat16(v));
    return dtype == DType::Half ? static_cast<float>(Half(v)) : v;
  };
  fill(self, [&] {
    const float v = rounded(std::fma(random.uniform_float(), high - low, low));
    return v == rounded(high) ? rounded(low) : v;
  });
}

void normal(Tensor& self, double mean, double std, MersenneTwister& random) {
  if (self.numel() < kBlock || !self.is_contiguous())
    fill(self, [&] { return std::fma(random.normal(), std, mean); });
  else if (self.dtype() == DType::Double)
    fill_blocks<double>(self, mean, std, random);
  else
    fill_blocks<float>(self, mean, std, random);
}

void log_normal(Tensor& self, double mean, double std, MersenneTwister& random) {
  fill(self, [&] { return std::exp(std::fma(random.normal(), std, mean)); });
}

void exponential(Tensor& self, double lambd, MersenneTwister& random) {
  fill(self, [&] { return -1.0 / lambd * std::log1p(-random.uniform_double()); });
}

void cauchy(Tensor& self, double median, double sigma, MersenneTwister& random) {
  fill(self,
       [&] { return std::fma(sigma, std::tan(M_PI * (random.uniform_double() - 0.5)), median); });
}

void geometric(Tensor& self, double p, MersenneTwister& random) {
  const double divisor = std::log1p(-p);
  fill(self, [&] { return std::ceil(std::log(random.uniform_double()) / divisor); });
}

void integers(Tensor& self, IntegerRange range, bool are_all, MersenneTwister& random) {
  const bool is_long = self.dtype() == DType::Double || self.dtype() == DType::Int64;
  constexpr uint64_t kShort = uint64_t{1} << 28;  // below it, a word of 32 bits is even enough
  const bool takes_two = are_all ? is_long : range.count == 0 || range.count >= kShort;
  fill(self, [&] {
    const uint64_t word = takes_two ? random.random64() : random.random();
    // Of all 64-bit integers the word is one, counted from nowhere.
    if (range.count == 0) return static_cast<int64_t>(word);
    return static_cast<int64_t>(word % range.count + static_cast<uint64_t>(range.first));
  });
}

void bernoulli(Tensor& self, double p, MersenneTwister& random) {
  fill(self, [&] { return random.uniform_double() < p; });
}

void bernoulli(Tensor& self, const Tensor& p, MersenneTwister& random) {
  const std::vector<size_t> order = memory_order(self);
  const Tensor chances = reordered(p, order);
  const LoadFn load = load_fn(p.dtype(), ComputeType::F64);
  const bool is_double = p.dtype() == DType::Double;
  double tile[kPiece];
  int64_t i = 0;
  fill(self, [&] {
    if (i % kPiece == 0) {
      const int64_t n = std::min(kPiece, self.numel() - i);
      walk_logical(chances, i, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
        load(at, Block{1, run, 0, step}, reinterpret_cast<char*>(tile + done));
      });
    }
    const double chance = tile[i++ % kPiece];
    if (is_double) return random.uniform_double() < chance;
    return random.uniform_float() < static_cast<float>(chance);
  });
}

void shuffled_range(Tensor& self, MersenneTwister& random) {
  const int64_t n = self.numel();
  const bool takes_two = n >= INT64_C(0xffffffff) / 20;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = 0; i + 1 < n; ++i) {
    const uint64_t word = takes_two ? random.random64() : random.random();
    const auto left = static_cast<uint64_t>(n - i);
    std::swap(order[static_cast<size_t>(i)],
              order[static_cast<size_t>(i) + static_cast<size_t>(word % left)]);
  }
  size_t at = 0;
  fill_by<int64_t>(self, [&] { return order[at++]; });
}

void rrelu(const Tensor& self, Tensor& noise, double lower, double upper, MersenneTwister& random) {
  const LoadFn load = load_fn(self.dtype(), ComputeType::F64);
  const auto draw = [&](double x) {
    return x <= 0 ? std::fma(random.uniform_double(), upper - lower, lower) : 1.0;
  };
  double tile[kPiece];
  int64_t i = 0;
  const auto next = [&] {
    if (i % kPiece == 0) {
      const int64_t n = std::min(kPiece, self.numel() - i);
      walk_logical(self, i, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
        load(at, Block{1, run, 0, step}, reinterpret_cast<char*>(tile + done));
      });
    }
    return draw(tile[i++ % kPiece]);
  };
  if (noise.dtype() == DType::Double)
    fill_by<double>(noise, next);
  else
    fill_by<float>(noise, next);
}

namespace {

// Running sums divided by the last one, in the type PyTorch adds in.
template <class T>
std::vector<T> distribution(const std::vector<double>& weights) {
  std::vector<T> sums(weights.size());
  T sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) sums[i] = sum += static_cast<T>(weights[i]);
  for (T& s : sums) s /= sum;
  sums.back() = 1;
  return sums;
}

template <class T>
void choose(const std::vector<double>& weights, int64_t count, int64_t* out,
            MersenneTwister& random) {
  const std::vector<T> sums = distribution<T>(weights);
  for (int64_t i = 0; i < count; ++i) {
    const double u = random.uniform_double();
    const auto at = std::partition_point(sums.begin(), sums.end(),
                                         [u](T s) { return static_cast<double>(s) < u; });
    out[i] = at - sums.begin();
  }
}

}  // namespace

void choices(const std::vector<double>& weights, bool is_double, int64_t count, int64_t* out,
             MersenneTwister& random) {
  if (is_double)
    choose<double>(weights, count, out, random);
  else
    choose<float>(weights, count, out, random);
}

}  // namespace taeda::cpu::serial
