// Batch normalization and its gradients on the CPU: sums by channel, then one pass over the
// elements.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "taeda/backends/cpu/normalization_declarations.h"
#include "taeda/backends/cpu/reduce/channel_passes.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"

namespace taeda::cpu {
namespace {

// Every dimension but that of the channels.
uint64_t all_but_channels(const Tensor& t) { return ((uint64_t{1} << t.dim()) - 1) & ~uint64_t{2}; }

// A number per channel from its state.
template <class State, class Value>
void by_channel(ReduceKind kind, ComputeType compute, TileSource source, const Tensor& x,
                Value&& value) {
  by_place<State>(kind, compute, source, x, all_but_channels(x), value);
}

struct Statistics {
  Numbers mean, var;  // of the batch, divided by the count
};

template <class T>
Statistics statistics_of(const Tensor& x) {
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  Statistics made{Numbers(x.size(1)), Numbers(x.size(1))};
  by_channel<MomentState>(ReduceKind::Moments, compute, tile_source(x.dtype(), compute), x,
                          [&](int64_t c, const MomentState& s) {
                            made.mean[c] = s.mean;
                            made.var[c] = s.squares / s.count;
                          });
  return made;
}

Numbers reciprocal_deviations(const Numbers& var, double eps) {
  Numbers out(var.size());
  for (size_t c = 0; c < var.size(); ++c) out[c] = 1 / std::sqrt(var[c] + eps);
  return out;
}

// (x - mean) * scale + bias
template <class T>
void scale_and_shift(const Tensor& x, const ChannelLayout& m, const Numbers& means,
                     const Numbers& scales, const Numbers& shifts, const Tensor& out) {
  const std::vector<T> mean = in_type<T>(means), scale = in_type<T>(scales),
                       shift = in_type<T>(shifts);
  const RunReader<T> read(x);
  const RunWriter<T> write(out);
  everywhere(m, [&](int64_t at, int64_t n, int64_t c) {
    alignas(64) T from[kChannelRun], made[kChannelRun];
    const T* const p = read.get(at, n, from);
    T* const to = write.at(at, made);
    if (m.inner > 1) {
      const T a = mean[c], s = scale[c], b = shift[c];
      for (int64_t j = 0; j < n; ++j) to[j] = (p[j] - a) * s + b;
    } else {
      for (int64_t j = 0; j < n; ++j) to[j] = (p[j] - mean[c + j]) * scale[c + j] + shift[c + j];
    }
    write.put(at, n, to);
  });
}

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
  Numbers mean = numbers(running_mean, m.channels, 0), var = numbers(running_var, m.channels, 1);
  Numbers new_mean = mean, new_var = var;
  if (training) {
    const bool is_empty = m.count() == 0;
    Statistics batch = statistics_of<T>(input);
    mean = std::move(batch.mean);
    var = std::move(batch.var);
    const double count = static_cast<double>(m.count());
    if (!is_empty) {
      move_toward(new_mean, mean, momentum, 1);
      move_toward(new_var, var, momentum, count / std::max(count - 1, 1.0));
    }
  }
  const Numbers rstd = reciprocal_deviations(var, eps);
  put_numbers(new_mean, moved_mean);
  put_numbers(new_var, moved_var);
  if (training) {
    put_numbers(mean, save_mean);
    put_numbers(rstd, save_invstd);
  }
  Numbers scale = numbers(weight, m.channels, 1);
  for (size_t c = 0; c < scale.size(); ++c) scale[c] *= rstd[c];
  scale_and_shift<T>(x, m, mean, scale, numbers(bias, m.channels, 0), out);
}

// Products of a gradient with the deviations from the mean, both tensors of the same strides.
template <class T>
class Products final : public TileMap {
 public:
  Products(const Tensor& grad, const Tensor& x, const Numbers& mean)
      : load_grad_(load_fn(grad.dtype(), compute_type(DTypeOf<T>::value))),
        load_x_(load_fn(x.dtype(), compute_type(DTypeOf<T>::value))),
        grad_(static_cast<const char*>(grad.data())),
        x_(static_cast<const char*>(x.data())),
        grad_item_(grad.element_size()),
        x_item_(x.element_size()),
        channel_stride_(grad.stride(1)),
        mean_(mean.begin(), mean.end()) {}

  void load(const char* memory, const Block& b, char* tile) const override {
    alignas(64) T deviations[kChannelRun];
    T* to = reinterpret_cast<T*>(tile);
    load_grad_(memory, b, tile);
    const int64_t step = b.col_stride / grad_item_;
    // Neighbours are of one channel, or of neighbouring ones.
    const int64_t next = mean_.size() > 1 && step == channel_stride_ ? 1 : 0;
    for (int64_t r = 0; r < b.rows; ++r)
      for (int64_t c = 0; c < b.cols; c += kChannelRun) {
        const int64_t n = std::min(kChannelRun, b.cols - c);
        const int64_t at = (memory - grad_ + r * b.row_stride) / grad_item_ + c * step;
        load_x_(x_ + at * x_item_, Block{1, n, 0, step * x_item_},
                reinterpret_cast<char*>(deviations));
        const T* const mean = mean_.data() + channel_of(at);
        for (int64_t i = 0; i < n; ++i) *to++ *= deviations[i] - mean[i * next];
      }
  }

 private:
  int64_t channel_of(int64_t at) const {
    return at / channel_stride_ % static_cast<int64_t>(mean_.size());
  }

  LoadFn load_grad_, load_x_;
  const char *grad_, *x_;
  int64_t grad_item_, x_item_, channel_stride_;
  std::vector<T> mean_;
};

// The sums of the gradient, and of its products with the deviations from the mean.
template <class T>
void gradient_sums(const Tensor& grad, const Tensor& x, const Numbers& mean, Numbers& sum,
                   Numbers& product) {
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  by_channel<T>(ReduceKind::Sum, compute, tile_source(grad.dtype(), compute), grad,
                [&](int64_t c, T value) { sum[c] = value; });
  const Products<T> products(grad, x, mean);
  by_channel<T>(ReduceKind::Sum, compute, TileSource{nullptr, false, &products}, grad,
                [&](int64_t c, T value) { product[c] = value; });
}

// (grad - a - (x - mean) * b) * scale, where a and b are zero outside training.
template <class T>
void input_backward(const Tensor& grad, const Tensor& x, const ChannelLayout& m,
                    const Numbers& means, const Numbers& sums, const Numbers& products,
                    const Numbers& scales, const Tensor& out) {
  const std::vector<T> mean = in_type<T>(means), a = in_type<T>(sums), b = in_type<T>(products),
                       scale = in_type<T>(scales);
  const RunReader<T> read_grad(grad), read(x);
  const RunWriter<T> write(out);
  everywhere(m, [&](int64_t at, int64_t n, int64_t c) {
    alignas(64) T grads[kChannelRun], values[kChannelRun], made[kChannelRun];
    const T *const g = read_grad.get(at, n, grads), *const p = read.get(at, n, values);
    T* const to = write.at(at, made);
    const int64_t step = m.inner > 1 ? 0 : 1;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t k = c + j * step;
      to[j] = (g[j] - a[k] - (p[j] - mean[k]) * b[k]) * scale[k];
    }
    write.put(at, n, to);
  });
}

template <class T>
void backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight, const Tensor& mean,
              const Numbers& rstd, bool train, const Tensor& grad_input, const Tensor& grad_weight,
              const Tensor& grad_bias) {
  const Tensor like = grad_input.defined() ? grad_input : input.contiguous();
  const ChannelLayout m(like);
  const Tensor x = in_order_of(input, like), grad = in_order_of(grad_out, like);
  const Numbers means = numbers(mean, m.channels, 0);
  Numbers sum(m.channels, 0.0), product(m.channels, 0.0);
  if (train || grad_weight.defined() || grad_bias.defined())
    gradient_sums<T>(grad, x, means, sum, product);
  if (grad_bias.defined()) put_numbers(sum, grad_bias);
  if (grad_weight.defined()) {
    Numbers made = product;
    for (size_t c = 0; c < made.size(); ++c) made[c] *= rstd[c];
    put_numbers(made, grad_weight);
  }
  if (!grad_input.defined()) return;
  Numbers scale = numbers(weight, m.channels, 1);
  const double count = std::max<double>(1, static_cast<double>(m.count()));
  for (size_t c = 0; c < scale.size(); ++c) {
    scale[c] *= rstd[c];
    sum[c] = train ? sum[c] / count : 0;
    product[c] = train ? product[c] * rstd[c] * rstd[c] / count : 0;
  }
  input_backward<T>(grad, x, m, means, sum, product, scale, grad_input);
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
