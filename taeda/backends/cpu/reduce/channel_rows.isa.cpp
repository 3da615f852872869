// Row functions with numbers per channel in one instruction set.
#include "taeda/backends/cpu/reduce/channel_rows.h"

#include <algorithm>

#include "taeda/kernel/reduce_tree.h"
#include "taeda/kernel/vec_real.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

// Numbers of a row, of one kind that is known while the loop is compiled.
template <class T, bool kIsOne>
struct Row {
  const T* at;
  T value;  // the first one, which no store can change
  TD_FN explicit Row(RowNumbers<T> numbers) : at(numbers.at), value(*numbers.at) {}
  template <class V>
  TD_FN V get(int64_t i) const {
    if constexpr (kIsOne)
      return V(value);
    else
      return V::load(at + i);
  }
};

template <class T, class Each>
TD_FN void each_place(int64_t n, Each&& each) {
  using V = Vec<T>;
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) each(V(), i);
  for (; i < n; ++i) each(Vec<One<T>>(), i);
}

// Calls run with rows of numbers, which are all of the first one's kind.
template <class T, class Run, class... More>
TD_FN void with_kind(Run&& run, RowNumbers<T> first, More... more) {
  if (first.is_one)
    run(Row<T, true>(first), Row<T, true>(more)...);
  else
    run(Row<T, false>(first), Row<T, false>(more)...);
}

template <class T>
void scale_and_shift(const T* x, T* out, int64_t n, RowNumbers<T> center, RowNumbers<T> scale,
                     RowNumbers<T> shift) {
  const auto run = [&](auto c, auto s, auto b) {
    each_place<T>(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      ((V::load(x + i) - c.template get<V>(i)) * s.template get<V>(i) + b.template get<V>(i))
          .store(out + i);
    });
  };
  with_kind(run, center, scale, shift);
}

template <class T>
void batch_gradient(const T* grad, const T* x, T* out, int64_t n, RowNumbers<T> mean,
                    RowNumbers<T> center, RowNumbers<T> slope, RowNumbers<T> scale) {
  const auto run = [&](auto a, auto c, auto b, auto s) {
    each_place<T>(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      const V deviation = V::load(x + i) - c.template get<V>(i);
      ((V::load(grad + i) - a.template get<V>(i) - deviation * b.template get<V>(i)) *
       s.template get<V>(i))
          .store(out + i);
    });
  };
  with_kind(run, mean, center, slope, scale);
}

template <class T>
void group_gradient(const T* grad, const T* x, T* out, int64_t n, RowNumbers<T> scale,
                    RowNumbers<T> center, RowNumbers<T> slope, RowNumbers<T> shift) {
  const auto run = [&](auto s, auto c, auto b, auto a) {
    each_place<T>(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      const V deviation = V::load(x + i) - c.template get<V>(i);
      (V::load(grad + i) * s.template get<V>(i) + deviation * b.template get<V>(i) +
       a.template get<V>(i))
          .store(out + i);
    });
  };
  with_kind(run, scale, center, slope, shift);
}

template <class T>
void deviation_products(const T* grad, const T* x, T* out, int64_t n, RowNumbers<T> center) {
  const auto run = [&](auto c) {
    each_place<T>(n, [&](auto v, int64_t i) {
      using V = decltype(v);
      (V::load(grad + i) * (V::load(x + i) - c.template get<V>(i))).store(out + i);
    });
  };
  with_kind(run, center);
}

// A gradient and the values beside it, in rows that follow each other.
template <class T>
class PairedRows {
 public:
  PairedRows(const T* grad, const T* x, int64_t length, int64_t pitch)
      : grad_(grad), x_(x), length_(length), pitch_(pitch), left_(length) {}

  const T* grad() const { return grad_; }
  const T* x() const { return x_; }
  // How many elements of the row follow.
  int64_t left() const { return left_; }
  void skip(int64_t n) {
    grad_ += n;
    x_ += n;
    left_ -= n;
  }
  // Copies the next n elements, of as many rows as they take.
  void take(int64_t n, T* grad, T* x) {
    for (int64_t i = 0; i < n; ++i) {
      if (left_ == 0) {
        skip(pitch_ - length_);
        left_ = length_;
      }
      grad[i] = *grad_;
      x[i] = *x_;
      skip(1);
    }
  }

 private:
  const T *grad_, *x_;
  int64_t length_, pitch_, left_;
};

template <class T>
struct Added {
  using S = T;
  static T combine(T a, T b) { return a + b; }
  static T apply(T a, T b) { return a + b; }
};

// The lanes of a chunk for both sums.
template <class T>
class GradientLanes {
 public:
  static constexpr int kLanes = kReduceLanes<T>;
  explicit GradientLanes(T center) : center_(center) {
    for (int r = 0; r < kRegisters; ++r) sums_[r] = products_[r] = V(0);
  }
  TD_FN void add(const T* grad, const T* x) {
#pragma GCC unroll 8
    for (int r = 0; r < kRegisters; ++r) {
      const V g = V::load(grad + r * V::kWidth);
      sums_[r] = sums_[r] + g;
      products_[r] = products_[r] + g * (V::load(x + r * V::kWidth) - V(center_));
    }
  }
  // Adds the last n < kLanes elements and joins the lanes.
  void finish(const T* grad, const T* x, int64_t n, T* sum, T* product) const {
    T sums[kLanes], products[kLanes];
    for (int r = 0; r < kRegisters; ++r) {
      sums_[r].store(sums + r * V::kWidth);
      products_[r].store(products + r * V::kWidth);
    }
    for (int64_t i = 0; i < n; ++i) {
      sums[i] += grad[i];
      products[i] += grad[i] * (x[i] - center_);
    }
    td_combine_lanes<Added<T>, kLanes / 2>(sums);
    td_combine_lanes<Added<T>, kLanes / 2>(products);
    *sum = sums[0];
    *product = products[0];
  }

 private:
  using V = Vec<T>;
  static constexpr int kRegisters = kLanes / V::kWidth;

  T center_;
  V sums_[kRegisters], products_[kRegisters];
};

template <class T>
void gradient_sums(const T* grad, const T* x, int64_t rows, int64_t length, int64_t pitch, T center,
                   T* sum, T* product) {
  constexpr int64_t kLanes = GradientLanes<T>::kLanes;
  alignas(64) T grads[kLanes], values[kLanes];
  PairedRows<T> from(grad, x, length, pitch);
  td_cascade<Added<T>, T> sums, products;
  for (int64_t left = rows * length; left > 0;) {
    int64_t n = std::min<int64_t>(left, kReduceChunk);
    left -= n;
    GradientLanes<T> lanes(center);
    while (n >= kLanes) {
      const int64_t whole = std::min(n, from.left()) / kLanes * kLanes;
      for (int64_t i = 0; i < whole; i += kLanes) lanes.add(from.grad() + i, from.x() + i);
      from.skip(whole);
      n -= whole;
      if (n < kLanes) break;
      from.take(kLanes, grads, values);
      lanes.add(grads, values);
      n -= kLanes;
    }
    from.take(n, grads, values);
    T chunk_sum, chunk_product;
    lanes.finish(grads, values, n, &chunk_sum, &chunk_product);
    if (left == 0 && sums.count == 0) {
      *sum = chunk_sum;
      *product = chunk_product;
      return;
    }
    sums.push(chunk_sum);
    products.push(chunk_product);
  }
  *sum = sums.count > 0 ? sums.finish() : T(0);
  *product = products.count > 0 ? products.finish() : T(0);
}

template <class T>
constexpr ChannelRows<T> kRows = {&scale_and_shift<T>, &batch_gradient<T>, &group_gradient<T>,
                                  &deviation_products<T>, &gradient_sums<T>};

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
extern const ChannelRows<float> TAEDA_JOIN(float_channel_rows_, TAEDA_ISA);
constinit const ChannelRows<float> TAEDA_JOIN(float_channel_rows_, TAEDA_ISA) = kRows<float>;
extern const ChannelRows<double> TAEDA_JOIN(double_channel_rows_, TAEDA_ISA);
constinit const ChannelRows<double> TAEDA_JOIN(double_channel_rows_, TAEDA_ISA) = kRows<double>;

}  // namespace taeda::cpu
