// Group normalization and its gradients on the CPU: sums by group or by example and channel, then
// one pass over the elements, in rows or with channels innermost.
#include <cmath>

#include "taeda/backends/cpu/normalization_declarations.h"
#include "taeda/backends/cpu/reduce/channel_passes.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"

namespace taeda::cpu {
namespace {

struct GroupShape {
  int64_t examples, channels, inner, groups;
  bool is_channels_last;  // channels lie innermost, and there is something outside them
  GroupShape(const Tensor& like, int64_t groups)
      : examples(like.size(0)), channels(like.size(1)), inner(1), groups(groups) {
    for (int64_t d = 2; d < like.dim(); ++d) inner *= like.size(d);
    is_channels_last = !like.is_contiguous();
  }
  int64_t per_group() const { return channels / groups; }
  int64_t places() const { return examples * channels; }
  int64_t group_of(int64_t place) const { return place / per_group(); }
};

// Calls each(offset, n, first place, step) for all elements: a place is an example's channel, and
// the next element is `step` places further.
template <class Each>
void each_run(const GroupShape& s, Each&& each) {
  const bool is_row = s.is_channels_last || s.inner == 1;
  const int64_t length = is_row ? s.channels : s.inner;
  const int64_t rows = is_row ? s.examples * s.inner : s.places();
  parallel_for(0, rows, grain_of(length), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
      for (int64_t i = 0; i < length; i += kChannelRun)
        each(r * length + i, std::min(kChannelRun, length - i),
             is_row ? r / s.inner * s.channels + i : r, is_row ? 1 : 0);
  });
}

// The dimensions behind the first two.
uint64_t behind_two(const Tensor& t) { return ((uint64_t{1} << t.dim()) - 1) & ~uint64_t{3}; }

// (examples, groups, channels of a group, the rest).
Tensor in_groups(const Tensor& x, const GroupShape& s) {
  IntVec sizes{s.examples, s.groups, s.per_group()};
  for (int64_t d = 2; d < x.dim(); ++d) sizes.push_back(x.size(d));
  return x.view(IntList(sizes));
}

template <class T>
void forward(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t groups,
             double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const GroupShape s(out, groups);
  const Tensor x = in_order_of(input, out);
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  Numbers means(s.examples * groups), rstds(s.examples * groups);
  const Tensor grouped = in_groups(x, s);
  by_place<MomentState>(ReduceKind::Moments, compute, tile_source(x.dtype(), compute), grouped,
                        behind_two(grouped), [&](int64_t place, const MomentState& m) {
                          means[place] = m.mean;
                          rstds[place] = 1 / std::sqrt(m.squares / m.count + eps);
                        });
  put_numbers(means, mean);
  put_numbers(rstds, rstd);
  const Numbers w = numbers(weight, s.channels, 1), b = numbers(bias, s.channels, 0);
  std::vector<T> center(s.places()), scale(s.places()), shift(s.places());
  for (int64_t p = 0; p < s.places(); ++p) {
    center[p] = static_cast<T>(means[s.group_of(p)]);
    scale[p] = static_cast<T>(rstds[s.group_of(p)] * w[p % s.channels]);
    shift[p] = static_cast<T>(b[p % s.channels]);
  }
  const RunReader<T> read(x);
  const RunWriter<T> write(out);
  each_run(s, [&](int64_t at, int64_t n, int64_t place, int64_t step) {
    alignas(64) T from[kChannelRun], made[kChannelRun];
    const T* const p = read.get(at, n, from);
    T* const to = write.at(at, made);
    const T *const c = center.data() + place, *const a = scale.data() + place,
                   *const d = shift.data() + place;
    if (step == 0) {
      const T mean_here = *c, scale_here = *a, shift_here = *d;
      for (int64_t j = 0; j < n; ++j) to[j] = (p[j] - mean_here) * scale_here + shift_here;
    } else {
      for (int64_t j = 0; j < n; ++j) to[j] = (p[j] - c[j]) * a[j] + d[j];
    }
    write.put(at, n, to);
  });
}

// Products of a gradient with the deviations from the group's mean, both tensors of the same
// strides.
template <class T>
class GroupProducts final : public TileMap {
 public:
  GroupProducts(const Tensor& grad, const Tensor& x, const GroupShape& s, const Numbers& means)
      : load_grad_(load_fn(grad.dtype(), compute_type(DTypeOf<T>::value))),
        load_x_(load_fn(x.dtype(), compute_type(DTypeOf<T>::value))),
        grad_(static_cast<const char*>(grad.data())),
        x_(static_cast<const char*>(x.data())),
        grad_item_(grad.element_size()),
        x_item_(x.element_size()),
        s_(s),
        channel_stride_(s.is_channels_last ? 1 : s.inner) {
    for (int64_t p = 0; p < s.places(); ++p)
      center_.push_back(static_cast<T>(means[s.group_of(p)]));
  }

  void load(const char* memory, const Block& b, char* tile) const override {
    alignas(64) T deviations[kChannelRun];
    T* to = reinterpret_cast<T*>(tile);
    load_grad_(memory, b, tile);
    const int64_t step = b.col_stride / grad_item_;
    // Neighbours are of one channel, or of neighbouring ones.
    const int64_t next = s_.channels > 1 && step == channel_stride_ ? 1 : 0;
    for (int64_t r = 0; r < b.rows; ++r)
      for (int64_t c = 0; c < b.cols; c += kChannelRun) {
        const int64_t n = std::min(kChannelRun, b.cols - c);
        const int64_t at = (memory - grad_ + r * b.row_stride) / grad_item_ + c * step;
        load_x_(x_ + at * x_item_, Block{1, n, 0, step * x_item_},
                reinterpret_cast<char*>(deviations));
        const T* const center = center_.data() + place_of(at);
        for (int64_t i = 0; i < n; ++i) *to++ *= deviations[i] - center[i * next];
      }
  }

 private:
  int64_t place_of(int64_t at) const {
    return at / (s_.channels * s_.inner) * s_.channels + at / channel_stride_ % s_.channels;
  }

  LoadFn load_grad_, load_x_;
  const char *grad_, *x_;
  int64_t grad_item_, x_item_;
  const GroupShape& s_;
  int64_t channel_stride_;
  std::vector<T> center_;
};

// Sums of the gradient and of its products with deviations, by example and channel.
struct PlaceSums {
  Numbers sum, product;
};

template <class T>
PlaceSums gradient_sums(const Tensor& grad, const Tensor& x, const GroupShape& s,
                        const Numbers& means) {
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  PlaceSums sums{Numbers(s.places()), Numbers(s.places())};
  by_place<T>(ReduceKind::Sum, compute, tile_source(grad.dtype(), compute), grad, behind_two(grad),
              [&](int64_t place, T value) { sums.sum[place] = value; });
  const GroupProducts<T> products(grad, x, s, means);
  by_place<T>(ReduceKind::Sum, compute, TileSource{nullptr, false, &products}, grad,
              behind_two(grad), [&](int64_t place, T value) { sums.product[place] = value; });
  return sums;
}

// (grad * weight - a - (x - mean) * b) * rstd, where a and b are the shares of the group's sums.
template <class T>
void input_backward(const Tensor& grad, const Tensor& x, const GroupShape& s, const PlaceSums& sums,
                    const Numbers& means, const Numbers& rstds, const Numbers& weight,
                    const Tensor& out) {
  const double count = static_cast<double>(s.per_group() * s.inner);
  Numbers a(means.size(), 0.0), b(means.size(), 0.0);
  for (int64_t p = 0; p < s.places(); ++p) {
    a[s.group_of(p)] += sums.sum[p] * weight[p % s.channels];
    b[s.group_of(p)] += sums.product[p] * weight[p % s.channels];
  }
  // factor * grad + slope * x + shift
  std::vector<T> factor(s.places()), slope(s.places()), shift(s.places()), center(s.places());
  for (int64_t p = 0; p < s.places(); ++p) {
    const double r = rstds[s.group_of(p)], share = b[s.group_of(p)] * r * r * r / count;
    factor[p] = static_cast<T>(weight[p % s.channels] * r);
    slope[p] = static_cast<T>(-share);
    shift[p] = static_cast<T>(-a[s.group_of(p)] * r / count);
    center[p] = static_cast<T>(means[s.group_of(p)]);
  }
  const RunReader<T> read_grad(grad), read(x);
  const RunWriter<T> write(out);
  each_run(s, [&](int64_t at, int64_t n, int64_t place, int64_t step) {
    alignas(64) T grads[kChannelRun], values[kChannelRun], made[kChannelRun];
    const T *const g = read_grad.get(at, n, grads), *const v = read.get(at, n, values);
    T* const to = write.at(at, made);
    for (int64_t j = 0; j < n; ++j) {
      const int64_t k = place + j * step;
      to[j] = g[j] * factor[k] + (v[j] - center[k]) * slope[k] + shift[k];
    }
    write.put(at, n, to);
  });
}

template <class T>
void backward(const Tensor& grad_out, const Tensor& input, const Tensor& mean, const Tensor& rstd,
              const Tensor& weight, int64_t groups, const Tensor& grad_input,
              const Tensor& grad_weight, const Tensor& grad_bias) {
  const Tensor like =
      grad_input.defined() ? grad_input : input.contiguous(input.suggested_format());
  const GroupShape s(like, groups);
  const Tensor x = in_order_of(input, like), grad = in_order_of(grad_out, like);
  const Numbers means = numbers(mean.contiguous().flatten(), s.examples * groups, 0),
                rstds = numbers(rstd.contiguous().flatten(), s.examples * groups, 1);
  const PlaceSums sums = gradient_sums<T>(grad, x, s, means);
  Numbers by_weight(s.channels, 0.0), by_bias(s.channels, 0.0);
  for (int64_t p = 0; p < s.places(); ++p) {
    by_weight[p % s.channels] += sums.product[p] * rstds[s.group_of(p)];
    by_bias[p % s.channels] += sums.sum[p];
  }
  if (grad_weight.defined()) put_numbers(by_weight, grad_weight);
  if (grad_bias.defined()) put_numbers(by_bias, grad_bias);
  if (grad_input.defined())
    input_backward<T>(grad, x, s, sums, means, rstds, numbers(weight, s.channels, 1), grad_input);
}

}  // namespace

void native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, SymInt,
                       SymInt, SymInt, int64_t group, double eps, Tensor& out0, Tensor& out1,
                       Tensor& out2) {
  BelowADInplaceOrView guard;
  const auto run = input.dtype() == DType::Double ? &forward<double> : &forward<float>;
  run(input, weight, bias, group, eps, out0, out1, out2);
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(
    const Tensor& grad_out, const Tensor& input, const Tensor& mean, const Tensor& rstd,
    const Tensor& weight, SymInt N, SymInt C, SymInt HxW, int64_t group, Span<bool> output_mask) {
  BelowADInplaceOrView guard;
  const auto results = impl::native_group_norm_backward_meta(grad_out, input, mean, rstd, weight, N,
                                                             C, HxW, group, output_mask);
  const auto& [grad_input, grad_weight, grad_bias] = results;
  const auto run = input.dtype() == DType::Double ? &backward<double> : &backward<float>;
  run(grad_out, input, mean, rstd, weight, group, grad_input, grad_weight, grad_bias);
  return results;
}

}  // namespace taeda::cpu
