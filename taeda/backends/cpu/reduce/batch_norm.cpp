// Batch normalization and its gradients on the CPU: sums by channel, then one pass over the
// elements.
//
// Note [Sums of planes]: a channel's elements of one example, a plane, are reduced first, then the
// examples in order, so that rows of memory stay whole. Without further dimensions a channel is one
// row over the examples.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "taeda/backends/cpu/normalization_declarations.h"
#include "taeda/backends/cpu/reduce/channel_passes.h"
#include "taeda/backends/cpu/reduce/channel_rows.h"
#include "taeda/backends/cpu/reduce/tree_sum.h"
#include "taeda/kernel/reduce.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"

namespace taeda::cpu {
namespace {

// Every dimension but that of the channels.
uint64_t all_but_channels(const Tensor& t) { return ((uint64_t{1} << t.dim()) - 1) & ~uint64_t{2}; }

bool has_planes(const Tensor& t) { return t.dim() > 2; }

struct JoinedMoments {
  using S = MomentState;
  static S identity() { return {0, 0, 0}; }
  static S combine(const S& a, const S& b) {
    using V = kernel::Vec<kernel::One<double>>;
    const auto both =
        kernel::MomentsBody::combine<V>({a.count, a.mean, a.squares}, {b.count, b.mean, b.squares});
    return {both.count.raw, both.mean.raw, both.squares.raw};
  }
};
// The states of planes joined over the examples.
template <class State, class At>
State joined_planes(int64_t examples, const At& at) {
  const kernel::td_source<At> source{at};
  if constexpr (std::is_same_v<State, MomentState>)
    return kernel::td_combine_blocks<JoinedMoments>(source, examples);
  else
    return kernel::td_tree<TreeSum<State>, TreeSum<State>>(source, examples);
}

// A number per channel of a range from its state: value(channel, state).
template <class State, class Value>
void by_channel(ReduceKind kind, ComputeType compute, TileSource source, const Tensor& x,
                ChannelRange range, Value&& value) {
  const Tensor part = channels_of(x, range);
  if (!has_planes(x)) {
    by_place<State>(kind, compute, source, part, all_but_channels(x),
                    [&](int64_t place, const State& state) { value(range.first + place, state); });
    return;
  }
  const int64_t channels = range.count();
  std::vector<State> planes(static_cast<size_t>(x.size(0) * channels));
  by_place<State>(kind, compute, source, part, behind_two(x),
                  [&](int64_t place, const State& state) { planes[place] = state; });
  for (int64_t c = 0; c < channels; ++c)
    value(range.first + c,
          joined_planes<State>(x.size(0), [&](int64_t n) { return planes[n * channels + c]; }));
}

struct Statistics {
  Numbers mean, var;  // of the batch, divided by the count
};

template <class T>
void read_statistics(const Tensor& x, ChannelRange range, Statistics& to) {
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  by_channel<MomentState>(ReduceKind::Moments, compute, tile_source(x.dtype(), compute), x, range,
                          [&](int64_t c, const MomentState& s) {
                            to.mean[c] = s.mean;
                            to.var[c] = s.squares / s.count;
                          });
}

Numbers reciprocal_deviations(const Numbers& var, double eps) {
  Numbers out(var.size());
  for (size_t c = 0; c < var.size(); ++c) out[c] = 1 / std::sqrt(var[c] + eps);
  return out;
}

// (x - center) * scale + shift, with numbers that are known range by range.
template <class T>
class ScaleAndShift {
 public:
  ScaleAndShift(const Tensor& x, const ChannelLayout& m, const Tensor& out)
      : m_(m), read_(x), write_(out), center_(m.channels), scale_(m.channels), shift_(m.channels) {}

  void set(int64_t c, double center, double scale, double shift) {
    center_[c] = static_cast<T>(center);
    scale_[c] = static_cast<T>(scale);
    shift_[c] = static_cast<T>(shift);
  }
  void run(ChannelRange range) const {
    const auto scale_and_shift = channel_rows<T>().scale_and_shift;
    const bool is_one = m_.inner > 1;
    everywhere(m_, range, [&](int64_t at, int64_t n, int64_t c) {
      alignas(64) T from[kChannelRun], made[kChannelRun];
      T* const to = write_.at(at, made);
      scale_and_shift(read_.get(at, n, from), to, n, {&center_[c], is_one}, {&scale_[c], is_one},
                      {&shift_[c], is_one});
      write_.put(at, n, to);
    });
  }

 private:
  const ChannelLayout& m_;
  const RunReader<T> read_;
  const RunWriter<T> write_;
  std::vector<T> center_, scale_, shift_;
};

void move_toward(Numbers& running, const Numbers& value, double momentum, double factor) {
  for (size_t c = 0; c < running.size(); ++c)
    running[c] = (1 - momentum) * running[c] + momentum * (value[c] * factor);
}

template <class T>
void forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
             const Tensor& running_mean, const Tensor& running_var, bool training, double momentum,
             double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd, Tensor& moved_mean,
             Tensor& moved_var) {
  const ChannelLayout m(out);
  const Tensor x = in_order_of(input, out);
  Numbers new_mean = numbers(running_mean, m.channels, 0),
          new_var = numbers(running_var, m.channels, 1);
  Statistics used{new_mean, new_var};
  Numbers rstd = reciprocal_deviations(used.var, eps);
  const Numbers factor = numbers(weight, m.channels, 1), shift = numbers(bias, m.channels, 0);
  ScaleAndShift<T> finish(x, m, out);
  by_channel_range(m, [&](ChannelRange range) {
    if (training) read_statistics<T>(x, range, used);
    for (int64_t c = range.first; c < range.last; ++c) {
      if (training) rstd[c] = 1 / std::sqrt(used.var[c] + eps);
      finish.set(c, used.mean[c], factor[c] * rstd[c], shift[c]);
    }
    finish.run(range);
  });
  const double count = static_cast<double>(m.count());
  if (training && count > 0) {
    move_toward(new_mean, used.mean, momentum, 1);
    move_toward(new_var, used.var, momentum, count / std::max(count - 1, 1.0));
  }
  put_numbers(new_mean, moved_mean);
  put_numbers(new_var, moved_var);
  if (training) {
    put_numbers(used.mean, save_mean);
    put_numbers(rstd, save_invstd);
  }
}

// Products of a gradient with the deviations from the mean, both tensors of the same strides.
template <class T>
class Products final : public TileMap {
 public:
  Products(const Tensor& grad, const Tensor& x, const Numbers& mean)
      : pairs_(grad, x), channel_stride_(grad.stride(1)), mean_(mean.begin(), mean.end()) {}

  void load(const char* memory, const Block& b, char* tile) const override {
    const auto deviation_products = channel_rows<T>().deviation_products;
    T* to = reinterpret_cast<T*>(tile);
    // A row is of one channel, or its columns are of neighbouring ones. Channels of rows differ
    // only where each is another line.
    const auto channels = static_cast<int64_t>(mean_.size());
    const bool is_one = channels == 1 || pairs_.step_of(b) != channel_stride_;
    const bool is_same = pairs_.row_step_of(b) % (channels * channel_stride_) == 0;
    const T* mean = nullptr;
    pairs_.for_runs(memory, b,
                    [&](const T* grad, const T* x, int64_t n, int64_t row, int64_t column) {
                      if (!mean || !is_same) mean = &mean_[channel_of(row)];
                      deviation_products(grad, x, to, n, {is_one ? mean : mean + column, is_one});
                      to += n;
                    });
  }

 private:
  int64_t channel_of(int64_t at) const {
    return at / channel_stride_ % static_cast<int64_t>(mean_.size());
  }

  RunPairs<T> pairs_;
  int64_t channel_stride_;
  std::vector<T> mean_;
};

// (grad - mean - (x - center) * slope) * scale, with numbers that are known range by range.
template <class T>
class InputGradient {
 public:
  InputGradient(const Tensor& grad, const Tensor& x, const ChannelLayout& m, const Tensor& out)
      : m_(m),
        read_grad_(grad),
        read_(x),
        write_(out),
        mean_(m.channels),
        center_(m.channels),
        slope_(m.channels),
        scale_(m.channels) {}

  void set(int64_t c, double mean, double center, double slope, double scale) {
    mean_[c] = static_cast<T>(mean);
    center_[c] = static_cast<T>(center);
    slope_[c] = static_cast<T>(slope);
    scale_[c] = static_cast<T>(scale);
  }
  void run(ChannelRange range) const {
    const auto batch_gradient = channel_rows<T>().batch_gradient;
    const bool is_one = m_.inner > 1;
    everywhere(m_, range, [&](int64_t at, int64_t n, int64_t c) {
      alignas(64) T grads[kChannelRun], values[kChannelRun], made[kChannelRun];
      T* const to = write_.at(at, made);
      batch_gradient(read_grad_.get(at, n, grads), read_.get(at, n, values), to, n,
                     {&mean_[c], is_one}, {&center_[c], is_one}, {&slope_[c], is_one},
                     {&scale_[c], is_one});
      write_.put(at, n, to);
    });
  }

 private:
  const ChannelLayout& m_;
  const RunReader<T> read_grad_, read_;
  const RunWriter<T> write_;
  std::vector<T> mean_, center_, slope_, scale_;
};

// Sums of a gradient and of its products with the deviations from the mean, by channel.
template <class T>
class GradientSums {
 public:
  GradientSums(const Tensor& grad, const Tensor& x, const ChannelLayout& m, const Numbers& center)
      : sum(m.channels, 0.0),
        product(m.channels, 0.0),
        m_(m),
        grad_(grad),
        x_(x),
        center_(in_type<T>(center)),
        products_(grad, x, center),
        has_plain_rows_(m.inner > 1 && grad.dtype() == DTypeOf<T>::value &&
                        x.dtype() == DTypeOf<T>::value && m.channels >= num_threads()) {}

  Numbers sum, product;

  void run(ChannelRange range) {
    if (has_plain_rows_) return run_rows(range);
    const ComputeType compute = compute_type(DTypeOf<T>::value);
    by_channel<T>(ReduceKind::Sum, compute, TileSource{nullptr, false, &products_}, grad_, range,
                  [&](int64_t c, T value) { product[c] = value; });
    by_channel<T>(ReduceKind::Sum, compute, tile_source(grad_.dtype(), compute), grad_, range,
                  [&](int64_t c, T value) { sum[c] = value; });
  }

 private:
  // Both at once where memory has rows of one channel.
  void run_rows(ChannelRange range) {
    const T *const grad = static_cast<const T*>(grad_.data()), *const x =
                                                                   static_cast<const T*>(x_.data());
    parallel_for(range.first, range.last, grain_of(m_.count()), [&](int64_t first, int64_t last) {
      std::vector<T> sums(m_.outer), products(m_.outer);
      for (int64_t c = first; c < last; ++c) {
        for (int64_t n = 0; n < m_.outer; ++n) {
          const int64_t at = (n * m_.channels + c) * m_.inner;
          channel_rows<T>().gradient_sums(grad + at, x + at, 1, m_.inner, m_.inner, center_[c],
                                          &sums[n], &products[n]);
        }
        sum[c] = joined_planes<T>(m_.outer, [&](int64_t n) { return sums[n]; });
        product[c] = joined_planes<T>(m_.outer, [&](int64_t n) { return products[n]; });
      }
    });
  }

  const ChannelLayout& m_;
  const Tensor &grad_, &x_;
  const std::vector<T> center_;
  const Products<T> products_;
  const bool has_plain_rows_;
};

template <class T>
void backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight, const Tensor& mean,
              const Numbers& rstd, bool train, const Tensor& grad_input, const Tensor& grad_weight,
              const Tensor& grad_bias) {
  const Tensor like = grad_input.defined() ? grad_input : input.contiguous();
  const ChannelLayout m(like);
  const Tensor x = in_order_of(input, like), grad = in_order_of(grad_out, like);
  const Numbers center = numbers(mean, m.channels, 0), factor = numbers(weight, m.channels, 1);
  GradientSums<T> sums(grad, x, m, center);
  const double count = std::max<double>(1, static_cast<double>(m.count()));
  InputGradient<T> finish(grad, x, m, like);
  by_channel_range(m, [&](ChannelRange range) {
    if (train || grad_weight.defined() || grad_bias.defined()) sums.run(range);
    if (!grad_input.defined()) return;
    for (int64_t c = range.first; c < range.last; ++c)
      finish.set(c, train ? sums.sum[c] / count : 0, center[c],
                 train ? sums.product[c] * rstd[c] * rstd[c] / count : 0, factor[c] * rstd[c]);
    finish.run(range);
  });
  if (grad_bias.defined()) put_numbers(sums.sum, grad_bias);
  if (!grad_weight.defined()) return;
  for (size_t c = 0; c < rstd.size(); ++c) sums.product[c] *= rstd[c];
  put_numbers(sums.product, grad_weight);
}

}  // namespace

void _native_batch_norm_legit_functional(const Tensor& input, const Tensor& weight,
                                         const Tensor& bias, const Tensor& running_mean,
                                         const Tensor& running_var, bool training, double momentum,
                                         double eps, Tensor& out0, Tensor& out1, Tensor& out2,
                                         Tensor& running_mean_out, Tensor& running_var_out) {
  const auto run = input.dtype() == DType::Double ? &forward<double> : &forward<float>;
  run(input, weight, bias, running_mean, running_var, training, momentum, eps, out0, out1, out2,
      running_mean_out, running_var_out);
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm_backward(
    const Tensor& grad_out, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
    const Tensor& running_var, const Tensor& save_mean, const Tensor& save_invstd, bool train,
    double eps, Span<bool> output_mask) {
  const auto results =
      impl::native_batch_norm_backward_meta(grad_out, input, weight, running_mean, running_var,
                                            save_mean, save_invstd, train, eps, output_mask);
  const auto& [grad_input, grad_weight, grad_bias] = results;
  const int64_t channels = input.size(1);
  const Numbers rstd = train ? numbers(save_invstd, channels, 1)
                             : reciprocal_deviations(numbers(running_var, channels, 1), eps);
  const auto run = input.dtype() == DType::Double ? &backward<double> : &backward<float>;
  run(grad_out, input, weight, train ? save_mean : running_mean, rstd, train, grad_input,
      grad_weight, grad_bias);
  return results;
}

}  // namespace taeda::cpu
