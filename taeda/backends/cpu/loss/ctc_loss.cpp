// The connectionist temporal classification loss on the CPU: the forward and backward variables of
// each example in logarithms, examples side by side on threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/backends/cpu/loss_declarations.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/functions.h"

namespace taeda::cpu {
namespace {

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T>
T log_add(T a, T b) {
  const T top = std::max(a, b);
  return top == kNever<T> ? top : std::log(std::exp(a - top) + std::exp(b - top)) + top;
}
template <class T>
T log_add(T a, T b, T c) {
  const T top = std::max(a, std::max(b, c));
  if (top == kNever<T>) return top;
  return std::log(std::exp(a - top) + std::exp(b - top) + std::exp(c - top)) + top;
}

// A target with blanks around and between its labels.
struct Path {
  std::vector<int64_t> labels;
  std::vector<char> can_skip;  // from two places before: another label stands there

  Path(const int64_t* target, int64_t stride, int64_t length, int64_t blank, int64_t classes) {
    labels.assign(static_cast<size_t>(2 * length + 1), blank);
    can_skip.assign(labels.size(), 0);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t label = target[i * stride];
      TAEDA_CHECK_INDEX(label >= 0 && label < classes, "ctc_loss: target ", label,
                        " is out of bounds for ", classes, " labels");
      labels[static_cast<size_t>(2 * i + 1)] = label;
    }
    for (size_t s = 2; s < labels.size(); ++s) can_skip[s] = labels[s] != labels[s - 2];
  }
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

// The scores of one example: (steps, classes).
template <class T>
struct Scores {
  const T* data;
  int64_t by_step, by_class;

  Scores(const Tensor& log_probs, int64_t example)
      : data(static_cast<const T*>(log_probs.data()) + example * log_probs.strides()[1]),
        by_step(log_probs.strides()[0]),
        by_class(log_probs.strides()[2]) {}
  T operator()(int64_t step, int64_t label) const {
    return data[step * by_step + label * by_class];
  }
};

// Where each example's target starts.
std::vector<int64_t> target_starts(const Tensor& targets, IntList lengths) {
  std::vector<int64_t> starts;
  int64_t at = 0;
  for (size_t b = 0; b < lengths.size(); ++b) {
    starts.push_back(targets.dim() == 1 ? at * targets.strides()[0]
                                        : static_cast<int64_t>(b) * targets.strides()[0]);
    at += lengths[b];
  }
  return starts;
}

template <class T>
void first_step(const Scores<T>& scores, const Path& path, T* alpha) {
  std::fill_n(alpha, path.size(), kNever<T>);
  for (int64_t s = 0; s < std::min<int64_t>(2, path.size()); ++s)
    alpha[s] = scores(0, path.labels[static_cast<size_t>(s)]);
}

template <class T>
void next_step(const Scores<T>& scores, const Path& path, int64_t step, const T* before, T* alpha) {
  for (int64_t s = 0; s < path.size(); ++s) {
    const T b = s > 0 ? before[s - 1] : kNever<T>;
    const T c = path.can_skip[static_cast<size_t>(s)] ? before[s - 2] : kNever<T>;
    alpha[s] = log_add(before[s], b, c) + scores(step, path.labels[static_cast<size_t>(s)]);
  }
}

// The negative log-likelihood of one example; writes its forward variables, rows of `width`.
template <class T>
T forward_example(const Scores<T>& scores, const Path& path, int64_t steps, int64_t width,
                  T* alpha) {
  if (steps == 0) return path.size() == 1 ? T(0) : std::numeric_limits<T>::infinity();
  first_step(scores, path, alpha);
  for (int64_t t = 1; t < steps; ++t)
    next_step(scores, path, t, alpha + (t - 1) * width, alpha + t * width);
  const T* last = alpha + (steps - 1) * width;
  const int64_t n = path.size();
  return -log_add(last[n - 1], n > 1 ? last[n - 2] : kNever<T>);
}

// The backward variables of a step from those of the step after it.
template <class T>
void step_back(const Scores<T>& scores, const Path& path, int64_t step, std::vector<T>& beta,
               std::vector<T>& after) {
  std::swap(beta, after);
  const int64_t n = path.size();
  for (int64_t s = 0; s < n; ++s) {
    const auto i = static_cast<size_t>(s);
    const T b = s + 1 < n ? after[i + 1] : kNever<T>;
    const T c = s + 2 < n && path.can_skip[i + 2] ? after[i + 2] : kNever<T>;
    beta[i] = log_add(after[i], b, c) + scores(step, path.labels[i]);
  }
}

template <class T>
void last_step(const Scores<T>& scores, const Path& path, int64_t step, std::vector<T>& beta) {
  std::fill(beta.begin(), beta.end(), kNever<T>);
  for (size_t s = beta.size(); s-- > 0 && s + 2 >= beta.size();)
    beta[s] = scores(step, path.labels[s]);
}

// Writes the gradient of one example, (steps, classes) with the strides of `out`.
template <class T>
void backward_example(const Scores<T>& scores, const Path& path, int64_t steps, int64_t classes,
                      const T* alpha, int64_t width, T loss, T grad, T* out, int64_t by_step,
                      int64_t by_class) {
  std::vector<T> beta(path.labels.size()), after(path.labels.size()),
      of_label(static_cast<size_t>(classes));
  for (int64_t t = steps; t-- > 0;) {
    if (t == steps - 1)
      last_step(scores, path, t, beta);
    else
      step_back(scores, path, t, beta, after);
    std::fill(of_label.begin(), of_label.end(), kNever<T>);
    // From the last place on, as PyTorch adds.
    for (size_t s = beta.size(); s-- > 0;) {
      T& sum = of_label[static_cast<size_t>(path.labels[s])];
      sum = log_add(sum, alpha[t * width + static_cast<int64_t>(s)] + beta[s]);
    }
    for (int64_t k = 0; k < classes; ++k) {
      const T score = scores(t, k);
      const T share = std::exp(of_label[static_cast<size_t>(k)] + loss - score);
      out[t * by_step + k * by_class] = (std::exp(score) - share) * grad;
    }
  }
}

// Calls f(example, scores, path, a T) for each example of the batch.
template <class F>
void for_examples(const Tensor& log_probs, const Tensor& targets, IntList target_lengths,
                  int64_t blank, F&& f) {
  const Tensor labels = int64_index(targets);
  const std::vector<int64_t> starts = target_starts(labels, target_lengths);
  const auto* data = static_cast<const int64_t*>(labels.data());
  const int64_t stride = labels.strides().back(), classes = log_probs.sizes()[2];
  auto run = [&](auto tag) {
    using T = decltype(tag);
    parallel_for(0, log_probs.sizes()[1], 1, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        const auto i = static_cast<size_t>(b);
        const Path path(data + starts[i], stride, target_lengths[i], blank, classes);
        f(b, Scores<T>(log_probs, b), path, tag);
      }
    });
  };
  if (log_probs.dtype() == DType::Float)
    run(float{});
  else
    run(double{});
}

}  // namespace

void _ctc_loss(const Tensor& log_probs, const Tensor& targets, IntList input_lengths,
               IntList target_lengths, int64_t blank, bool, Tensor& losses, Tensor& log_alpha) {
  Tensor alphas = log_alpha.is_contiguous() ? log_alpha : taeda::empty_like(log_alpha).contiguous();
  alphas.fill_(Scalar(-std::numeric_limits<double>::infinity()));
  const int64_t width = alphas.sizes()[2], rows = alphas.sizes()[1];
  for_examples(log_probs, targets, target_lengths, blank,
               [&](int64_t b, const auto& scores, const Path& path, auto tag) {
                 using T = decltype(tag);
                 T* alpha = static_cast<T*>(alphas.data()) + b * rows * width;
                 static_cast<T*>(losses.data())[b * losses.strides()[0]] = forward_example(
                     scores, path, input_lengths[static_cast<size_t>(b)], width, alpha);
               });
  if (!log_alpha.is_contiguous()) log_alpha.copy_(alphas);
}

void _ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                        IntList input_lengths, IntList target_lengths,
                        const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank,
                        bool zero_infinity, Tensor& out) {
  const Tensor alphas = log_alpha.contiguous();
  const int64_t width = alphas.sizes()[2], rows = alphas.sizes()[1], classes = out.sizes()[2];
  out.fill_(Scalar(0));
  for_examples(log_probs, targets, target_lengths, blank,
               [&](int64_t b, const auto& scores, const Path& path, auto tag) {
                 using T = decltype(tag);
                 const auto at = [b](const Tensor& t) {
                   return static_cast<const T*>(t.data())[b * t.strides()[0]];
                 };
                 const T loss = at(neg_log_likelihood);
                 if (zero_infinity && loss == std::numeric_limits<T>::infinity()) return;
                 const T* alpha = static_cast<const T*>(alphas.data()) + b * rows * width;
                 T* to = static_cast<T*>(out.data()) + b * out.strides()[1];
                 backward_example(scores, path, input_lengths[static_cast<size_t>(b)], classes,
                                  alpha, width, loss, at(grad), to, out.strides()[0],
                                  out.strides()[2]);
               });
}

namespace {

std::vector<int64_t> lengths_in(const Tensor& lengths) {
  const Tensor numbers = lengths.to(DType::Int64).contiguous();
  const auto* const first = static_cast<const int64_t*>(numbers.data());
  return {first, first + numbers.numel()};
}

}  // namespace

void _ctc_loss_backward_Tensor(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                               const Tensor& input_lengths, const Tensor& target_lengths,
                               const Tensor& neg_log_likelihood, const Tensor& log_alpha,
                               int64_t blank, bool zero_infinity, Tensor& out) {
  out.copy_(taeda::_ctc_loss_backward(grad, log_probs, targets, lengths_in(input_lengths),
                                      lengths_in(target_lengths), neg_log_likelihood, log_alpha,
                                      blank, zero_infinity));
}

}  // namespace taeda::cpu
