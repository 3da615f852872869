// Group normalization and its gradients on the CPU: sums by group or by example and channel, then
// one pass over the elements, in rows or with channels innermost.
#include <cmath>

#include "taeda/backends/cpu/normalization_declarations.h"
#include "taeda/backends/cpu/reduce/channel_passes.h"
#include "taeda/backends/cpu/reduce/channel_rows.h"
#include "taeda/backends/cpu/reduce/tree_sum.h"
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

// (examples, groups, channels of a group, the rest).
Tensor in_groups(const Tensor& x, const GroupShape& s) {
  IntVec sizes{s.examples, s.groups, s.per_group()};
  for (int64_t d = 2; d < x.dim(); ++d) sizes.push_back(x.size(d));
  return x.view(IntList(sizes));
}

// Whether memory has rows of one channel in compute type T, and groups enough for all threads: then
// each group is one thread's, which finds its elements in the cache at every pass.
template <class T>
bool has_plain_groups(const GroupShape& s, const Tensor& x) {
  return !s.is_channels_last && s.inner > 1 && x.dtype() == DTypeOf<T>::value &&
         s.examples * s.groups >= num_threads();
}
// Calls each(first, last) for at most two groups, whose sums are made side by side.
template <class Each>
void each_two_groups(const GroupShape& s, Each&& each) {
  const int64_t groups = s.examples * s.groups;
  parallel_for(0, (groups + 1) / 2, grain_of(2 * s.per_group() * s.inner),
               [&](int64_t first, int64_t last) {
                 for (int64_t g = 2 * first; g < std::min(groups, 2 * last); g += 2)
                   each(g, std::min(groups, g + 2));
               });
}

template <class T>
void forward_groups(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t groups,
                    double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const GroupShape s(out, groups);
  const Tensor x = in_order_of(input, out);
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  Numbers means(s.examples * groups), rstds(s.examples * groups);
  const Numbers w = numbers(weight, s.channels, 1), b = numbers(bias, s.channels, 0);
  std::vector<T> center(s.places()), scale(s.places()), shift(s.places());
  const auto set_group = [&](int64_t group, const MomentState& m) {
    means[group] = m.mean;
    rstds[group] = 1 / std::sqrt(m.squares / m.count + eps);
    for (int64_t p = group * s.per_group(); p < (group + 1) * s.per_group(); ++p) {
      center[p] = static_cast<T>(means[group]);
      scale[p] = static_cast<T>(rstds[group] * w[p % s.channels]);
      shift[p] = static_cast<T>(b[p % s.channels]);
    }
  };
  const RunReader<T> read(x);
  const RunWriter<T> write(out);
  const auto run = [&](int64_t at, int64_t n, int64_t place, int64_t step) {
    alignas(64) T from[kChannelRun], made[kChannelRun];
    T* const to = write.at(at, made);
    const bool is_one = step == 0;
    channel_rows<T>().scale_and_shift(read.get(at, n, from), to, n, {&center[place], is_one},
                                      {&scale[place], is_one}, {&shift[place], is_one});
    write.put(at, n, to);
  };
  if (write.is_plain() && has_plain_groups<T>(s, x)) {
    const ReduceOp& moments = reduce_op(ReduceKind::Moments, compute);
    const int64_t length = s.per_group() * s.inner;
    each_two_groups(s, [&](int64_t first, int64_t last) {
      MomentState m[2];
      reduce_plain_lines(moments, static_cast<const T*>(x.data()) + first * length, last - first,
                         length, m);
      for (int64_t group = first; group < last; ++group) {
        set_group(group, m[group - first]);
        for (int64_t p = group * s.per_group(); p < (group + 1) * s.per_group(); ++p)
          run(p * s.inner, s.inner, p, 0);
      }
    });
  } else {
    const Tensor grouped = in_groups(x, s);
    by_place<MomentState>(ReduceKind::Moments, compute, tile_source(x.dtype(), compute), grouped,
                          behind_two(grouped), set_group);
    each_run(s, run);
  }
  put_numbers(means, mean);
  put_numbers(rstds, rstd);
}

// Products of a gradient with the deviations from the group's mean, both tensors of the same
// strides.
template <class T>
class GroupProducts final : public TileMap {
 public:
  GroupProducts(const Tensor& grad, const Tensor& x, const GroupShape& s, const Numbers& means)
      : pairs_(grad, x), s_(s), channel_stride_(s.is_channels_last ? 1 : s.inner) {
    for (int64_t p = 0; p < s.places(); ++p)
      center_.push_back(static_cast<T>(means[s.group_of(p)]));
  }

  void load(const char* memory, const Block& b, char* tile) const override {
    const auto deviation_products = channel_rows<T>().deviation_products;
    T* to = reinterpret_cast<T*>(tile);
    // A row is of one channel, or its columns are of neighbouring ones.
    const bool is_one = s_.channels == 1 || pairs_.step_of(b) != channel_stride_;
    pairs_.for_runs(
        memory, b, [&](const T* grad, const T* x, int64_t n, int64_t row, int64_t column) {
          const T* const center = &center_[place_of(row)];
          deviation_products(grad, x, to, n, {is_one ? center : center + column, is_one});
          to += n;
        });
  }

 private:
  int64_t place_of(int64_t at) const {
    return at / (s_.channels * s_.inner) * s_.channels + at / channel_stride_ % s_.channels;
  }

  RunPairs<T> pairs_;
  const GroupShape& s_;
  int64_t channel_stride_;
  std::vector<T> center_;
};

// Sums of the gradient and of its products with deviations, by example and channel.
struct PlaceSums {
  Numbers sum, product;
};

template <class T>
void gradient_sums(const Tensor& grad, const Tensor& x, const GroupShape& s, const Numbers& means,
                   PlaceSums& sums) {
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  by_place<T>(ReduceKind::Sum, compute, tile_source(grad.dtype(), compute), grad, behind_two(grad),
              [&](int64_t place, T value) { sums.sum[place] = value; });
  const GroupProducts<T> products(grad, x, s, means);
  by_place<T>(ReduceKind::Sum, compute, TileSource{nullptr, false, &products}, grad,
              behind_two(grad), [&](int64_t place, T value) { sums.product[place] = value; });
}

// The same for plain groups; calls finish(group) as soon as the sums of a group are there.
template <class T, class Finish>
void plain_gradient_sums(const Tensor& grad, const Tensor& x, const GroupShape& s,
                         const Numbers& means, PlaceSums& sums, Finish&& finish) {
  const T *const from_grad = static_cast<const T*>(grad.data()), *const from =
                                                                     static_cast<const T*>(
                                                                         x.data());
  const auto run = [&](int64_t group) {
    const T center = static_cast<T>(means[group]);
    for (int64_t p = group * s.per_group(); p < (group + 1) * s.per_group(); ++p) {
      T sum, product;
      channel_rows<T>().gradient_sums(from_grad + p * s.inner, from + p * s.inner, 1, s.inner,
                                      s.inner, center, &sum, &product);
      sums.sum[p] = sum;
      sums.product[p] = product;
    }
    finish(group);
  };
  parallel_for(0, s.examples * s.groups, grain_of(s.per_group() * s.inner),
               [&](int64_t first, int64_t last) {
                 for (int64_t group = first; group < last; ++group) run(group);
               });
}

// (grad * weight - a - (x - mean) * b) * rstd, where a and b are the shares of the group's sums, as
// factor * grad + slope * (x - center) + shift with numbers that are known group by group.
template <class T>
class GroupInputGradient {
 public:
  GroupInputGradient(const Tensor& grad, const Tensor& x, const GroupShape& s, const Tensor& out)
      : s_(s),
        read_grad_(grad),
        read_(x),
        write_(out),
        factor_(s.places()),
        slope_(s.places()),
        shift_(s.places()),
        center_(s.places()) {}

  bool is_plain() const { return write_.is_plain(); }
  void set(int64_t group, const PlaceSums& sums, double mean, double rstd, const Numbers& weight) {
    const int64_t first = group * s_.per_group(), last = first + s_.per_group();
    const double count = static_cast<double>(s_.per_group() * s_.inner);
    const auto of_channels = [&](const Numbers& from) {
      return tree_sum(s_.per_group(), [&](int64_t i) {
        return from[first + i] * weight[(first + i) % s_.channels];
      });
    };
    const double a = of_channels(sums.sum), b = of_channels(sums.product);
    const double share = b * rstd * rstd * rstd / count;
    for (int64_t p = first; p < last; ++p) {
      factor_[p] = static_cast<T>(weight[p % s_.channels] * rstd);
      slope_[p] = static_cast<T>(-share);
      shift_[p] = static_cast<T>(-a * rstd / count);
      center_[p] = static_cast<T>(mean);
    }
  }
  // The elements from `at` on; the next one is `step` places further.
  void run(int64_t at, int64_t n, int64_t place, int64_t step) const {
    alignas(64) T grads[kChannelRun], values[kChannelRun], made[kChannelRun];
    T* const to = write_.at(at, made);
    const bool is_one = step == 0;
    channel_rows<T>().group_gradient(read_grad_.get(at, n, grads), read_.get(at, n, values), to, n,
                                     {&factor_[place], is_one}, {&center_[place], is_one},
                                     {&slope_[place], is_one}, {&shift_[place], is_one});
    write_.put(at, n, to);
  }

 private:
  const GroupShape& s_;
  const RunReader<T> read_grad_, read_;
  const RunWriter<T> write_;
  std::vector<T> factor_, slope_, shift_, center_;
};

template <class T>
void backward_groups(const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                     const Tensor& rstd, const Tensor& weight, int64_t groups,
                     const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias) {
  const Tensor like =
      grad_input.defined() ? grad_input : input.contiguous(input.suggested_format());
  const GroupShape s(like, groups);
  const Tensor x = in_order_of(input, like), grad = in_order_of(grad_out, like);
  const Numbers means = numbers(mean.contiguous().flatten(), s.examples * groups, 0),
                rstds = numbers(rstd.contiguous().flatten(), s.examples * groups, 1);
  const Numbers w = numbers(weight, s.channels, 1);
  GroupInputGradient<T> finish(grad, x, s, like);
  const auto set_group = [&](int64_t group, const PlaceSums& sums) {
    finish.set(group, sums, means[group], rstds[group], w);
  };
  PlaceSums sums{Numbers(s.places()), Numbers(s.places())};
  if (finish.is_plain() && grad.dtype() == x.dtype() && has_plain_groups<T>(s, x)) {
    plain_gradient_sums<T>(grad, x, s, means, sums, [&](int64_t group) {
      if (!grad_input.defined()) return;
      set_group(group, sums);
      for (int64_t p = group * s.per_group(); p < (group + 1) * s.per_group(); ++p)
        finish.run(p * s.inner, s.inner, p, 0);
    });
  } else {
    gradient_sums<T>(grad, x, s, means, sums);
    if (grad_input.defined()) {
      for (int64_t group = 0; group < s.examples * groups; ++group) set_group(group, sums);
      each_run(s, [&](int64_t at, int64_t n, int64_t place, int64_t step) {
        finish.run(at, n, place, step);
      });
    }
  }
  Numbers by_weight(s.channels, 0.0), by_bias(s.channels, 0.0);
  for (int64_t c = 0; c < s.channels; ++c) {
    by_weight[c] = tree_sum(s.examples, [&](int64_t i) {
      const int64_t p = i * s.channels + c;
      return sums.product[p] * rstds[s.group_of(p)];
    });
    by_bias[c] = tree_sum(s.examples, [&](int64_t i) { return sums.sum[i * s.channels + c]; });
  }
  if (grad_weight.defined()) put_numbers(by_weight, grad_weight);
  if (grad_bias.defined()) put_numbers(by_bias, grad_bias);
}

}  // namespace

void native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, SymInt,
                       SymInt, SymInt, int64_t group, double eps, Tensor& out0, Tensor& out1,
                       Tensor& out2) {
  BelowADInplaceOrView guard;
  const auto run =
      input.dtype() == DType::Double ? &forward_groups<double> : &forward_groups<float>;
  run(input, weight, bias, group, eps, out0, out1, out2);
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(
    const Tensor& grad_out, const Tensor& input, const Tensor& mean, const Tensor& rstd,
    const Tensor& weight, SymInt N, SymInt C, SymInt HxW, int64_t group, Span<bool> output_mask) {
  BelowADInplaceOrView guard;
  const auto results = impl::native_group_norm_backward_meta(grad_out, input, mean, rstd, weight, N,
                                                             C, HxW, group, output_mask);
  const auto& [grad_input, grad_weight, grad_bias] = results;
  const auto run =
      input.dtype() == DType::Double ? &backward_groups<double> : &backward_groups<float>;
  run(grad_out, input, mean, rstd, weight, group, grad_input, grad_weight, grad_bias);
  return results;
}

}  // namespace taeda::cpu
