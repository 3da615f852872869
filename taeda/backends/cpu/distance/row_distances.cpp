// Distances between rows and their gradients on the CPU.
#pragma GCC optimize("O3")
#include <algorithm>
#include <cmath>

#include "taeda/backends/cpu/distance_declarations.h"
#include "taeda/base/parallel.h"
#include "taeda/kernel/interpret/primitives.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kTile = 256;

// One kind of norm: what a difference adds, how parts join, what the whole becomes, and the slope
// of the norm by a difference.
template <class T>
struct CountNorm {
  T add(T sum, T d) const { return sum + (d != 0 ? T(1) : T(0)); }
  T join(T a, T b) const { return a + b; }
  T finish(T sum) const { return sum; }
  T slope(T, T) const { return 0; }
};
template <class T>
struct SumNorm {
  T add(T sum, T d) const { return sum + std::abs(d); }
  T join(T a, T b) const { return a + b; }
  T finish(T sum) const { return sum; }
  T slope(T d, T) const { return static_cast<T>((d > 0) - (d < 0)); }
};
template <class T>
struct EuclideanNorm {
  T add(T sum, T d) const { return sum + d * d; }
  T join(T a, T b) const { return a + b; }
  T finish(T sum) const { return std::sqrt(sum); }
  T slope(T d, T norm) const { return norm == 0 ? T(0) : d / norm; }
};
template <class T>
struct LargestNorm {
  T add(T top, T d) const { return join(top, std::abs(d)); }
  T join(T a, T b) const { return b > a || std::isnan(b) ? b : a; }
  T finish(T top) const { return top; }
  T slope(T d, T norm) const {
    return std::abs(d) == norm ? static_cast<T>((d > 0) - (d < 0)) : T(0);
  }
};
template <class T>
struct PowerNorm {
  T p;
  T add(T sum, T d) const { return sum + std::pow(std::abs(d), p); }
  T join(T a, T b) const { return a + b; }
  T finish(T sum) const { return std::pow(sum, 1 / p); }
  // Of quotients by the norm, in place, as kernels compute powers of them.
  void raise(T* quotients, int64_t n) const {
    constexpr bool is_double = std::is_same_v<T, double>;
    static const kernel::TilePrimitive power =
        kernel::find_primitive(kernel::Op::Pow, is_double ? kernel::Type::F64 : kernel::Type::F32);
    T exponents[kTile];
    std::fill(exponents, exponents + n, p - 1);
    auto* const tile = reinterpret_cast<char*>(quotients);
    char* const memory[] = {tile, tile, reinterpret_cast<char*>(exponents)};
    power(memory, n, nullptr);
  }
};

template <class F>
void visit_norm(DType dtype, double p, F&& f) {
  const auto of = [&](auto tag) {
    using T = decltype(tag);
    if (p == 0) return f(tag, CountNorm<T>{});
    if (p == 1) return f(tag, SumNorm<T>{});
    if (p == 2) return f(tag, EuclideanNorm<T>{});
    if (std::isinf(p)) return f(tag, LargestNorm<T>{});
    return f(tag, PowerNorm<T>{static_cast<T>(p)});
  };
  if (dtype == DType::Float)
    of(float{});
  else
    of(double{});
}

// Sums in lanes, so that the order does not depend on vectors.
template <class T, class Norm>
T distance(const T* a, const T* b, int64_t n, const Norm& norm) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = norm.add(lanes[k], a[i + k] - b[i + k]);
  T rest = 0;
  for (; i < n; ++i) rest = norm.add(rest, a[i] - b[i]);
  for (T lane : lanes) rest = norm.join(rest, lane);
  return norm.finish(rest);
}

template <class T, class Norm>
void add_slopes(const T* a, const T* b, int64_t n, T norm_value, T grad, const Norm& norm, T* out) {
  for (int64_t k = 0; k < n; ++k) out[k] += grad * norm.slope(a[k] - b[k], norm_value);
}

template <class T>
void add_slopes(const T* a, const T* b, int64_t n, T norm_value, T grad, const PowerNorm<T>& norm,
                T* out) {
  T tile[kTile];
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t some = std::min(kTile, n - i);
    for (int64_t k = 0; k < some; ++k) tile[k] = std::abs(a[i + k] - b[i + k]) / norm_value;
    norm.raise(tile, some);
    for (int64_t k = 0; k < some; ++k) {
      const T d = a[i + k] - b[i + k];
      out[i + k] += grad * (norm_value == 0 || d == 0 ? T(0) : std::copysign(tile[k], d));
    }
  }
}

// Rows of a batch that both operands are broadcast to, in contiguous memory.
Tensor batch_of(const Tensor& x, IntList batch) {
  SymIntVec sizes;
  for (int64_t n : batch) sizes.push_back(SymInt(n));
  sizes.push_back(x.sym_size(-2));
  sizes.push_back(x.sym_size(-1));
  return x.expand(SymIntList(sizes)).contiguous();
}

int64_t grain(int64_t work) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(work, 1)); }

template <class T>
const T* data_of(const Tensor& t) {
  return static_cast<const T*>(t.data());
}

}  // namespace

void _cdist_forward(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>,
                    Tensor& out) {
  if (out.numel() == 0) return;
  const IntList batch = out.sizes().slice(0, out.sizes().size() - 2);
  const Tensor a = batch_of(x1, batch), b = batch_of(x2, batch);
  Tensor to = out.is_contiguous() ? out : make_tensor(out.sizes(), out.dtype(), out.device());
  const int64_t width = a.size(-1), rows = a.size(-2), cols = b.size(-2);
  visit_norm(out.dtype(), p, [&](auto tag, const auto& norm) {
    using T = decltype(tag);
    T* values = static_cast<T*>(to.data());
    parallel_for(0, to.numel() / cols, grain(cols * width), [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r)
        for (int64_t c = 0; c < cols; ++c)
          values[r * cols + c] =
              distance(data_of<T>(a) + r * width, data_of<T>(b) + (r / rows * cols + c) * width,
                       width, norm);
    });
  });
  if (!out.is_contiguous()) out.copy_(to);
}

void _cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                     const Tensor& cdist, Tensor& out) {
  Tensor sums = make_tensor(out.sizes(), out.dtype(), out.device());
  sums.fill_(Scalar(0));
  const IntList batch = out.sizes().slice(0, out.sizes().size() - 2);
  const Tensor a = batch_of(x1, batch), b = batch_of(x2, batch);
  const Tensor grads = grad.contiguous(), norms = cdist.contiguous();
  const int64_t width = a.size(-1), rows = a.size(-2), cols = b.size(-2);
  if (sums.numel() > 0)
    visit_norm(out.dtype(), p, [&](auto tag, const auto& norm) {
      using T = decltype(tag);
      parallel_for(0, sums.numel() / width, grain(cols * width), [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r)
          for (int64_t c = 0; c < cols; ++c)
            add_slopes(data_of<T>(a) + r * width, data_of<T>(b) + (r / rows * cols + c) * width,
                       width, data_of<T>(norms)[r * cols + c], data_of<T>(grads)[r * cols + c],
                       norm, static_cast<T*>(sums.data()) + r * width);
      });
    });
  out.copy_(sums);
}

void _pdist_forward(const Tensor& self, double p, Tensor& out) {
  const Tensor x = self.contiguous();
  const int64_t n = x.sizes()[0], width = x.sizes()[1];
  visit_norm(out.dtype(), p, [&](auto tag, const auto& norm) {
    using T = decltype(tag);
    parallel_for(0, n, grain(n * width), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t start = i * n - i * (i + 1) / 2;
        for (int64_t j = i + 1; j < n; ++j)
          static_cast<T*>(out.data())[(start + j - i - 1) * out.strides()[0]] =
              distance(data_of<T>(x) + i * width, data_of<T>(x) + j * width, width, norm);
      }
    });
  });
}

void _pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& pdist,
                     Tensor& out) {
  Tensor sums = make_tensor(out.sizes(), out.dtype(), out.device());
  sums.fill_(Scalar(0));
  const Tensor x = self.contiguous(), grads = grad.contiguous(), norms = pdist.contiguous();
  const int64_t n = x.sizes()[0], width = x.sizes()[1];
  visit_norm(out.dtype(), p, [&](auto tag, const auto& norm) {
    using T = decltype(tag);
    parallel_for(0, n, grain(n * width), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        for (int64_t j = 0; j < n; ++j) {
          if (i == j) continue;
          const int64_t a = std::min(i, j), b = std::max(i, j);
          const int64_t pair = a * n - a * (a + 1) / 2 + b - a - 1;
          add_slopes(data_of<T>(x) + i * width, data_of<T>(x) + j * width, width,
                     data_of<T>(norms)[pair], data_of<T>(grads)[pair], norm,
                     static_cast<T*>(sums.data()) + i * width);
        }
    });
  });
  out.copy_(sums);
}

}  // namespace taeda::cpu
