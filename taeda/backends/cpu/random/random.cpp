// Random fills on the CPU. Element i in logical order takes its numbers from place i of the stream,
// so results depend on neither strides nor threads (Note [Random stream]).
#include <algorithm>
#include <cmath>
#include <limits>

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/logical_walk.h"
#include "taeda/backends/cpu/random/random_fill.h"
#include "taeda/backends/cpu/random/serial_random.h"
#include "taeda/backends/cpu/random_declarations.h"
#include "taeda/kernel/interpret/primitives.h"
#include "taeda/ops/random/checks.h"
#include "taeda/ops/random/draws.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kPiece = 1024;

template <class T>
constexpr ComputeType tile_type = std::is_same_v<T, float>    ? ComputeType::F32
                                  : std::is_same_v<T, double> ? ComputeType::F64
                                                              : ComputeType::I64;

// Counters that `numel` elements of `words` 32-bit words take.
PhiloxRange reserve(const Generator& generator, int64_t numel, int64_t words) {
  return cpu_generator_or_default(generator).reserve_range((numel * words + 3) / 4);
}

// Whether the generator is a twister; then `draw(twister)` filled the tensor, unless it is empty.
template <class F>
bool draw_serially(const Tensor& self, const Generator& generator, F&& draw) {
  const GeneratorImpl::Serial serial = cpu_generator_or_default(generator).impl().serial();
  if (serial.twister && self.numel() > 0) draw(*serial.twister);
  return serial.twister != nullptr;
}

// Writes fill(tile, first, n), tiles of T, into every element; `store` converts where T is another
// type.
template <class T, class F>
void fill_tiles(const Tensor& self, StoreFn store, F&& fill) {
  if (self.is_contiguous() && !store) {
    T* out = static_cast<T*>(self.data());
    return parallel_random_fill(
        self.numel(), [&](int64_t first, int64_t count) { fill(out + first, first, count); });
  }
  parallel_random_fill(self.numel(), [&](int64_t first, int64_t count) {
    alignas(64) T tile[kPiece];
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t n = std::min(kPiece, count - i);
      fill(tile, first + i, n);
      walk_logical(self, first + i, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
        store(reinterpret_cast<const char*>(tile + done), Block{1, run, 0, step}, at);
      });
    }
  });
}

template <class T, class F>
void fill_as(const Tensor& self, F&& fill) {
  const bool is_direct = self.is_contiguous() && DTypeOf<T>::value == self.dtype();
  fill_tiles<T>(self, is_direct ? nullptr : store_fn(tile_type<T>, self.dtype()), fill);
}

// Draws floats, or doubles for double tensors: f(T*, first, n, range).
template <class F>
Tensor& draw_real(Tensor& self, const Generator& generator, F&& f) {
  if (self.numel() == 0) return self;
  if (self.dtype() == DType::Double) {
    const PhiloxRange r = reserve(generator, self.numel(), 2);
    fill_as<double>(self, [&](double* out, int64_t first, int64_t n) { f(out, first, n, r); });
  } else {
    const PhiloxRange r = reserve(generator, self.numel(), 1);
    fill_as<float>(self, [&](float* out, int64_t first, int64_t n) { f(out, first, n, r); });
  }
  return self;
}

// Bits of a float of this dtype: rounding to it must not reach the upper bound.
int mantissa_bits(DType t) {
  switch (t) {
    case DType::BFloat16: return 8;
    case DType::Half: return 11;
    case DType::Float8E4M3: return 4;
    case DType::Float8E5M2: return 3;
    default: return 24;
  }
}

template <class T>
void uniform_tile(T* out, int64_t first, int64_t n, const PhiloxRange& r, double lo, double hi,
                  int bits) {
  if constexpr (std::is_same_v<T, float>)
    fill_uniform(out, first, n, r.seed, r.offset, static_cast<float>(lo), static_cast<float>(hi),
                 bits);
  else
    fill_uniform(out, first, n, r.seed, r.offset, lo, hi);
}

// A function of math.h over a tile, as kernels compute it.
template <class T>
void apply(kernel::Op op, T* tile, int64_t n) {
  constexpr kernel::Type type = std::is_same_v<T, double> ? kernel::Type::F64 : kernel::Type::F32;
  char* const memory[] = {reinterpret_cast<char*>(tile), reinterpret_cast<char*>(tile)};
  kernel::find_primitive(op, type)(memory, n, nullptr);
}

// A distribution by its inverse: of(u, n) turns a tile of u in (0, 1] into values.
template <class F>
Tensor& draw_by_inverse(Tensor& self, const Generator& generator, F&& of) {
  return draw_real(self, generator, [&](auto* out, int64_t first, int64_t n, const PhiloxRange& r) {
    using T = std::remove_pointer_t<decltype(out)>;
    uniform_tile(out, first, n, r, 0, 1, 24);
    for (int64_t i = 0; i < n; ++i) out[i] = T(1) - out[i];
    of(out, n);
  });
}

// The same in double precision, whatever the tensor is: of(double*, n).
template <class F>
Tensor& draw_by_double_inverse(Tensor& self, const Generator& generator, F&& of) {
  return draw_by_inverse(self, generator, [&](auto* u, int64_t n) {
    using T = std::remove_pointer_t<decltype(u)>;
    double tile[kPiece];
    for (int64_t i = 0; i < n; i += kPiece) {
      const int64_t some = std::min(kPiece, n - i);
      std::copy(u + i, u + i + some, tile);
      of(tile, some);
      for (int64_t k = 0; k < some; ++k) u[i + k] = static_cast<T>(tile[k]);
    }
  });
}

}  // namespace

Tensor& uniform_(Tensor& self, double from, double to, const Generator& generator) {
  check_uniform(self, from, to);
  Tensor parts = drawn_parts(self);
  if (draw_serially(parts, generator,
                    [&](MersenneTwister& m) { serial::uniform(parts, from, to, m); }))
    return self;
  const int bits = mantissa_bits(parts.dtype());
  draw_real(parts, generator, [&](auto* out, int64_t first, int64_t n, const PhiloxRange& r) {
    uniform_tile(out, first, n, r, from, to, bits);
  });
  return self;
}

Tensor& normal_(Tensor& self, double mean, double std, const Generator& generator) {
  check_normal(self, std);
  Tensor parts = drawn_parts(self);
  // Real and imaginary parts share the variance.
  const double scale = self.is_complex() ? std / std::sqrt(2.0) : std;
  const bool is_drawn = draw_serially(
      parts, generator, [&](MersenneTwister& m) { serial::normal(parts, mean, scale, m); });
  if (!is_drawn)
    draw_real(parts, generator, [&](auto* out, int64_t first, int64_t n, const PhiloxRange& r) {
      using T = std::remove_pointer_t<decltype(out)>;
      fill_normal(out, first, n, r.seed, r.offset, static_cast<T>(mean), static_cast<T>(scale));
    });
  // A mean is a real number: it shifts no imaginary part.
  if (self.is_complex() && mean != 0) {
    const int64_t item = parts.element_size();
    walk_logical(parts, 0, parts.numel(), [&](char* at, int64_t n, int64_t step, int64_t done) {
      for (int64_t i = 0; i < n; ++i) {
        if ((done + i) % 2 == 0) continue;
        if (item == 4)
          *reinterpret_cast<float*>(at + i * step) -= static_cast<float>(mean);
        else
          *reinterpret_cast<double*>(at + i * step) -= mean;
      }
    });
  }
  return self;
}

Tensor& exponential_(Tensor& self, double lambd, const Generator& generator) {
  check_exponential(self, lambd);
  if (draw_serially(self, generator,
                    [&](MersenneTwister& m) { serial::exponential(self, lambd, m); }))
    return self;
  return draw_by_inverse(self, generator, [=](auto* u, int64_t n) {
    using T = std::remove_pointer_t<decltype(u)>;
    // Never zero: u = 1 becomes the next number below it.
    const T below = T(1) - std::numeric_limits<T>::epsilon() / 2, rate = static_cast<T>(lambd);
    for (int64_t i = 0; i < n; ++i) u[i] = std::min(u[i], below);
    apply(kernel::Op::Log, u, n);
    for (int64_t i = 0; i < n; ++i) u[i] = -u[i] / rate;
  });
}

Tensor& cauchy_(Tensor& self, double median, double sigma, const Generator& generator) {
  check_cauchy(self, sigma);
  if (draw_serially(self, generator,
                    [&](MersenneTwister& m) { serial::cauchy(self, median, sigma, m); }))
    return self;
  return draw_by_double_inverse(self, generator, [=](double* u, int64_t n) {
    for (int64_t i = 0; i < n; ++i) u[i] = 3.14159265358979323846 * (u[i] - 0.5);
    apply(kernel::Op::Tan, u, n);
    for (int64_t i = 0; i < n; ++i) u[i] = median + sigma * u[i];
  });
}

Tensor& log_normal_(Tensor& self, double mean, double std, const Generator& generator) {
  check_log_normal(self, std);
  if (draw_serially(self, generator,
                    [&](MersenneTwister& m) { serial::log_normal(self, mean, std, m); }))
    return self;
  return draw_real(self, generator, [&](auto* out, int64_t first, int64_t n, const PhiloxRange& r) {
    using T = std::remove_pointer_t<decltype(out)>;
    fill_normal(out, first, n, r.seed, r.offset, static_cast<T>(mean), static_cast<T>(std));
    apply(kernel::Op::Exp, out, n);
  });
}

Tensor& geometric_(Tensor& self, double p, const Generator& generator) {
  check_geometric(self, p);
  if (draw_serially(self, generator, [&](MersenneTwister& m) { serial::geometric(self, p, m); }))
    return self;
  const double divisor = std::log1p(-p);
  return draw_by_double_inverse(self, generator, [=](double* u, int64_t n) {
    apply(kernel::Op::Log, u, n);
    for (int64_t i = 0; i < n; ++i) u[i] = std::max(1.0, std::ceil(u[i] / divisor));
  });
}

// ---- integers ----

namespace {

Tensor& draw_integers(Tensor& self, IntegerRange range, const Generator& generator,
                      bool are_all = false) {
  check_integers(self);
  if (self.numel() == 0) return self;
  if (draw_serially(self, generator,
                    [&](MersenneTwister& m) { serial::integers(self, range, are_all, m); }))
    return self;
  const PhiloxRange r = reserve(generator, self.numel(), 2);
  fill_as<int64_t>(self, [&](int64_t* out, int64_t first, int64_t n) {
    fill_random_int(out, first, n, r.seed, r.offset, range.first, range.count);
  });
  return self;
}

}  // namespace

Tensor& random__from(Tensor& self, int64_t from, std::optional<int64_t> to,
                     const Generator& generator) {
  return draw_integers(self, IntegerRange::from(self.dtype(), from, to), generator);
}

Tensor& random__to(Tensor& self, int64_t to, const Generator& generator) {
  return draw_integers(self, IntegerRange::between(self.dtype(), 0, to), generator);
}

Tensor& random_(Tensor& self, const Generator& generator) {
  return draw_integers(self, IntegerRange::all(self.dtype()), generator, /*are_all=*/true);
}

Tensor& _shuffled_range_(Tensor& self, const Generator& generator) {
  const int64_t n = self.numel();
  if (n == 0) return self;
  if (draw_serially(self, generator, [&](MersenneTwister& m) { serial::shuffled_range(self, m); }))
    return self;
  const PhiloxRange r = reserve(generator, n, 2);
  std::vector<int64_t> words(static_cast<size_t>(n)), order(static_cast<size_t>(n));
  parallel_random_fill(n, [&](int64_t first, int64_t count) {
    fill_random_int(words.data() + first, first, count, r.seed, r.offset, 0, 0);
  });
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  // Place i takes one of those left, all equally likely.
  for (int64_t i = 0; i + 1 < n; ++i) {
    const auto left = static_cast<unsigned __int128>(n - i);
    std::swap(order[i],
              order[i + static_cast<int64_t>(static_cast<uint64_t>(words[i]) * left >> 64)]);
  }
  const StoreFn store = store_fn(ComputeType::I64, self.dtype());
  walk_logical(self, 0, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
    store(reinterpret_cast<const char*>(order.data() + done), Block{1, run, 0, step}, at);
  });
  return self;
}

// ---- by probability ----

Tensor& bernoulli__float(Tensor& self, double p, const Generator& generator) {
  check_bernoulli(self, p);
  if (self.numel() == 0) return self;
  if (draw_serially(self, generator, [&](MersenneTwister& m) { serial::bernoulli(self, p, m); }))
    return self;
  const PhiloxRange r = reserve(generator, self.numel(), 1);
  const bool is_direct =
      self.is_contiguous() && item_size(self.dtype()) == 1 && !is_float8(self.dtype());
  fill_tiles<uint8_t>(self, is_direct ? nullptr : store_mask_fn(self.dtype()),
                      [&](uint8_t* out, int64_t first, int64_t n) {
                        fill_bernoulli(out, first, n, r.seed, r.offset, p);
                      });
  return self;
}

Tensor& bernoulli__Tensor(Tensor& self, const Tensor& p, const Generator& generator) {
  check_bernoulli(self, p);
  if (self.numel() == 0) return self;
  const Tensor probability = expanded_to(p, self.sizes());
  const LoadFn load = load_fn(p.dtype(), ComputeType::F64);
  auto read = [&](double* tile, int64_t first, int64_t n) {
    walk_logical(probability, first, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
      load(at, Block{1, run, 0, step}, reinterpret_cast<char*>(tile + done));
    });
  };
  double tile[kPiece];
  for (int64_t i = 0; i < self.numel(); i += kPiece) {
    const int64_t n = std::min(kPiece, self.numel() - i);
    read(tile, i, n);
    for (int64_t k = 0; k < n; ++k)
      TAEDA_CHECK(tile[k] >= 0 && tile[k] <= 1,
                  "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  }
  if (draw_serially(self, generator,
                    [&](MersenneTwister& m) { serial::bernoulli(self, probability, m); }))
    return self;
  const PhiloxRange r = reserve(generator, self.numel(), 1);
  fill_tiles<uint8_t>(self, store_mask_fn(self.dtype()),
                      [&](uint8_t* out, int64_t first, int64_t n) {
                        double chances[kPiece];
                        for (int64_t i = 0; i < n; i += kPiece) {
                          const int64_t m = std::min(kPiece, n - i);
                          read(chances, first + i, m);
                          fill_bernoulli(out + i, first + i, m, r.seed, r.offset, chances);
                        }
                      });
  return self;
}

Tensor& _scale_shift_(Tensor& self, const Tensor& scale, const Tensor& shift) {
  TAEDA_CHECK(!scale.is_complex(), "normal expects standard deviation to be non-complex");
  if (self.numel() == 0) return self;
  const bool is_pair = self.is_complex();
  const ComputeType c = is_pair ? ComputeType::C128 : ComputeType::F64;
  const Tensor scales = expanded_to(scale, self.sizes()), shifts = expanded_to(shift, self.sizes());
  const LoadFn load = load_fn(self.dtype(), c), load_shift = load_fn(shift.dtype(), c),
               load_scale = load_fn(scale.dtype(), ComputeType::F64);
  const StoreFn store = store_fn(c, self.dtype());
  const int64_t width = is_pair ? 2 : 1;
  auto read = [&](const Tensor& t, LoadFn fn, double* tile, int64_t first, int64_t n, int64_t by) {
    walk_logical(t, first, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
      fn(at, Block{1, run, 0, step}, reinterpret_cast<char*>(tile + done * by));
    });
  };
  double tile[kPiece];
  for (int64_t i = 0; i < self.numel(); i += kPiece) {
    const int64_t n = std::min(kPiece, self.numel() - i);
    read(scales, load_scale, tile, i, n, 1);
    for (int64_t k = 0; k < n; ++k)
      TAEDA_CHECK(!(tile[k] < 0), "normal expects all elements of std >= 0.0");
  }
  parallel_random_fill(self.numel(), [&](int64_t first, int64_t count) {
    double value[2 * kPiece], by[kPiece], add[2 * kPiece];
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t n = std::min(kPiece, count - i);
      read(self, load, value, first + i, n, width);
      read(scales, load_scale, by, first + i, n, 1);
      read(shifts, load_shift, add, first + i, n, width);
      for (int64_t k = 0; k < n * width; ++k) value[k] = value[k] * by[k / width] + add[k];
      walk_logical(self, first + i, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
        store(reinterpret_cast<const char*>(value + done * width), Block{1, run, 0, step}, at);
      });
    }
  });
  return self;
}

}  // namespace taeda::cpu
