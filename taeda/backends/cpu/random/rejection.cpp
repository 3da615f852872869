// Draws by rejection: gamma, Poisson and binomial variables, element after element.
//
// The methods and their arithmetic, with what is rounded to float between, are PyTorch's, so that a
// twister gives its numbers. With Philox every element has a stream of its own, whose key is drawn
// at the element's counter: the number of draws, which nobody knows before, changes no other.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "taeda/backends/cpu/random_declarations.h"
#include "taeda/base/parallel.h"
#include "taeda/core/mersenne.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

class PhiloxStream {
 public:
  PhiloxStream(PhiloxRange range, int64_t element) {
    const PhiloxBlock key = philox(range.seed, range.offset + static_cast<uint64_t>(element));
    key_ = uint64_t{key[1]} << 32 | key[0];
  }
  double uniform() {
    if (left_ == 0) {
      block_ = philox(key_, next_++);
      left_ = 2;
    }
    const uint32_t* const words = &block_[static_cast<size_t>(4 - 2 * left_--)];
    const uint64_t bits = uint64_t{words[1]} << 32 | words[0];
    return static_cast<double>(bits >> 11) * 0x1p-53;
  }
  double normal() {
    if (kept_) {
      const double value = *kept_;
      kept_.reset();
      return value;
    }
    const double radius = std::sqrt(-2 * std::log1p(-uniform())), angle = 2 * M_PI * uniform();
    kept_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  uint64_t key_, next_ = 0;
  PhiloxBlock block_{};
  int left_ = 0;  // numbers of the block
  std::optional<double> kept_;
};

class TwisterStream {
 public:
  explicit TwisterStream(MersenneTwister& twister) : twister_(twister) {}
  double uniform() { return twister_.uniform_double(); }
  double normal() { return twister_.normal(); }

 private:
  MersenneTwister& twister_;
};

// Writes draw(stream, i) to every element of `out`, in logical order.
template <class Draw>
void draw_elements(const Generator& generator, Tensor& out, const Draw& draw) {
  const int64_t n = out.numel();
  Tensor drawn = make_tensor(out.sizes(), DType::Double, out.device());
  double* const numbers = drawn.data<double>();
  GeneratorImpl& source = cpu_generator_or_default(generator).impl();
  if (const GeneratorImpl::Serial serial = source.serial(); serial.twister) {
    TwisterStream stream(*serial.twister);
    for (int64_t i = 0; i < n; ++i) numbers[i] = draw(stream, i);
  }
  if (source.engine() == RandomEngine::Philox) {
    const PhiloxRange range = source.reserve_range(n);
    constexpr int64_t kGrain = 1024;
    parallel_for(0, n, kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        PhiloxStream stream(range, i);
        numbers[i] = draw(stream, i);
      }
    });
  }
  out.copy_(drawn);
}

// Numbers of a tensor in logical order.
class Numbers {
 public:
  explicit Numbers(const Tensor& t) : held_(t.to(DType::Double).contiguous()) {}
  double operator[](int64_t i) const { return held_.data<double>()[i]; }

 private:
  Tensor held_;
};

// Marsaglia and Tsang (2000), for shapes of at least 1; a variable of a smaller shape a is one of
// shape a + 1 times u^(1/a).
template <class T, class Stream>
double draw_gamma(T shape, Stream& stream) {
  double scale = 1;
  if (shape < T(1)) {
    if (shape == T(0)) return 0;
    scale = std::pow(1 - stream.uniform(), static_cast<double>(1.0f / shape));
    shape += 1.0f;
  }
  const double d = shape - 1.0f / 3.0f;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    double x, y;
    do {
      x = stream.normal();
      y = 1.0 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - stream.uniform(), xx = x * x;
    if (u < 1.0 - 0.0331f * xx * xx || std::log(u) < 0.5 * xx + d * (1.0 - v + std::log(v)))
      return static_cast<T>(scale * d * v);
  }
}

// Products of uniform numbers for small rates, else Hoermann's transformed rejection (1993).
template <class Stream>
double draw_poisson(double rate, Stream& stream) {
  TAEDA_CHECK(rate >= 0, "invalid Poisson rate, expected rate to be non-negative");
  if (rate == 0) return 0;
  if (rate < 10) {
    const double bound = std::exp(-rate);
    double product = stream.uniform();
    int64_t count = 0;
    for (; product > bound; ++count) product *= stream.uniform();
    return static_cast<double>(count);
  }
  const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate),
               a = -0.059 + 0.02483 * b, inverse_alpha = 1.1239 + 1.1328 / (b - 3.4),
               tight = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = stream.uniform() - 0.5, v = stream.uniform(), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= tight) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -rate + k * log_rate - std::lgamma(k + 1))
      return k;
  }
}

// What Stirling's formula lacks of log k!.
double stirling_rest(double k) {
  static constexpr double kFirst[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                      0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                      0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                      0.00833056343336287};
  if (k < std::size(kFirst)) return kFirst[static_cast<size_t>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Waiting times between successes, where few are expected.
template <class T, class Stream>
T count_by_waiting(T count, T prob, Stream& stream) {
  const double log_failure = std::log1p(-prob);
  double tries = 0;
  T successes = 0;
  while (true) {
    tries += std::ceil(std::log(stream.uniform()) / log_failure);
    if (tries > count) return successes;
    successes += 1;
  }
}

// Hoermann's BTRS (1993), where 10 successes or more are expected and prob is at most 1/2.
template <class T, class Stream>
T count_by_rejection(T count, T prob, Stream& stream) {
  const double spread = std::sqrt(count * prob * (1 - prob));
  const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * prob;
  const double center = count * prob + 0.5, tight = 0.92 - 4.2 / b;
  const double odds = prob / (1 - prob), alpha = (2.83 + 5.1 / b) * spread;
  const double mode = std::floor((count + 1) * prob);
  while (true) {
    const double u = stream.uniform() - 0.5, v = stream.uniform(), us = 0.5 - std::fabs(u);
    const T k = static_cast<T>(std::floor((2 * a / us + b) * u + center));
    if (k < 0 || k > count) continue;
    if (us >= 0.07 && v <= tight) return k;
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) +
                         stirling_rest(mode) + stirling_rest(count - mode) - stirling_rest(k) -
                         stirling_rest(count - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

template <class T, class Stream>
double draw_binomial(T count, T prob, Stream& stream) {
  if (count <= 0 || prob <= 0) return 0;
  if (prob >= 1) return count;
  if (std::isnan(prob)) return std::numeric_limits<double>::quiet_NaN();
  const bool is_rare = prob <= T(0.5);
  const T rarer = is_rare ? prob : static_cast<T>(1.0 - prob);
  const T found = count * rarer >= T(10) ? count_by_rejection(count, rarer, stream)
                                         : count_by_waiting(count, rarer, stream);
  return is_rare ? found : count - found;
}

// Calls f with a number of the dtype, float or double.
template <class F>
void visit_drawn_dtype(DType dtype, F&& f) {
  if (dtype == DType::Float)
    f(float{});
  else
    f(double{});
}

// ---- the derivative of a gamma variable by its shape, at a fixed probability ----

// By the series P(a, x) = x^a e^-x sum x^n / Gamma(a + n + 1), over the density.
double slope_by_series(double a, double x, double digamma_above) {
  const double log_x = std::log(x);
  double weight = 1 / a, digamma = digamma_above, total = weight * (log_x - digamma);
  for (int64_t n = 1;; ++n) {
    const double order = a + static_cast<double>(n);
    weight *= x / order;
    digamma += 1 / order;
    const double term = weight * (log_x - digamma);
    total += term;
    if (order > x && std::fabs(term) <= 1e-17 * std::fabs(total) && weight < 1e-17) break;
  }
  return -x * total;
}

// Cornish and Fisher's expansion of the quantile at the normal quantile z, with its derivatives.
struct Quantile {
  double value, by_z, by_a;

  Quantile(double a, double z) {
    const double root = std::sqrt(a), z2 = z * z;
    const double coefficients[] = {(z2 - 1) / 3, z * (z2 - 7) / 36,
                                   (-3 * z2 * z2 - 7 * z2 + 16) / 810,
                                   z * (9 * z2 * z2 + 256 * z2 - 433) / 38880};
    const double slopes[] = {2 * z / 3, (3 * z2 - 7) / 36, z * (-12 * z2 - 14) / 810,
                             (45 * z2 * z2 + 768 * z2 - 433) / 38880};
    value = a + z * root;
    by_z = root;
    by_a = 1 + z / (2 * root);
    double scale = 1;
    for (int power = 0; power < 4; ++power, scale /= root) {
      value += coefficients[power] * scale;
      by_z += slopes[power] * scale;
      by_a -= 0.5 * power * coefficients[power] * scale / a;
    }
  }
};

double slope_by_expansion(double a, double x) {
  // z from the cube root, which is nearly normal, then Newton's steps.
  double z = 3 * std::sqrt(a) * (std::cbrt(x / a) - 1 + 1 / (9 * a));
  for (int step = 0; step < 3; ++step) {
    const Quantile q(a, z);
    z -= (q.value - x) / q.by_z;
  }
  return Quantile(a, z).by_a;
}

}  // namespace

void _standard_gamma(const Tensor& self, const Generator& generator, Tensor& out) {
  const Numbers shapes(self);
  visit_drawn_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    draw_elements(generator, out, [&](auto& stream, int64_t i) {
      const double drawn = draw_gamma(static_cast<T>(shapes[i]), stream);
      return std::max(static_cast<double>(std::numeric_limits<T>::min()), drawn);
    });
  });
}

void poisson(const Tensor& self, const Generator& generator, Tensor& out) {
  const Numbers rates(self);
  draw_elements(generator, out,
                [&](auto& stream, int64_t i) { return draw_poisson(rates[i], stream); });
}

void binomial(const Tensor& count, const Tensor& prob, const Generator& generator, Tensor& out) {
  const Numbers counts(count), probs(prob.expand(count.sym_sizes()));
  visit_drawn_dtype(count.dtype(), [&](auto tag) {
    using T = decltype(tag);
    draw_elements(generator, out, [&](auto& stream, int64_t i) {
      return draw_binomial(static_cast<T>(counts[i]), static_cast<T>(probs[i]), stream);
    });
  });
}

void _standard_gamma_grad(const Tensor& self, const Tensor& output, Tensor& out) {
  constexpr double kSeriesUpTo = 30;
  const Tensor shape = self.to(DType::Double).expand(out.sym_sizes());
  const Numbers shapes(shape), above(shape.add(Scalar(1)).digamma()),
      values(output.expand(out.sym_sizes()));
  Tensor slopes = make_tensor(out.sizes(), DType::Double, out.device());
  double* const to = slopes.data<double>();
  constexpr int64_t kGrain = 256;
  parallel_for(0, out.numel(), kGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      to[i] = shapes[i] <= kSeriesUpTo ? slope_by_series(shapes[i], values[i], above[i])
                                       : slope_by_expansion(shapes[i], values[i]);
  });
  out.copy_(slopes);
}

}  // namespace taeda::cpu
