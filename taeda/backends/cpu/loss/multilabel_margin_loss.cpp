// multilabel_margin_loss on the CPU: pairs of a target's classes and others, row by row.
#include <algorithm>
#include <vector>

#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/backends/cpu/loss_declarations.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/reduction.h"

namespace taeda::cpu {
namespace {

Tensor checked_labels(const Tensor& target, int64_t classes) {
  const Tensor labels = target.contiguous();
  TAEDA_CHECK(!first_outside(labels, -1, classes), "argument #2 'target' is out of range");
  return labels;
}

// One row: its scores, its labels up to the first -1, and which classes they name.
struct Row {
  const double* scores;
  const int64_t* labels;
  int64_t classes;
  std::vector<char> is_target;

  Row(const double* scores_of_row, const int64_t* labels_of_row, int64_t n)
      : scores(scores_of_row), labels(labels_of_row), classes(n) {
    is_target.assign(static_cast<size_t>(n), 0);
    for (int64_t i = 0; i < n && labels[i] >= 0; ++i) is_target[static_cast<size_t>(labels[i])] = 1;
  }
  // f(label, other, excess) for each pair whose scores are less than one apart.
  template <class F>
  void for_pairs(F&& f) const {
    for (int64_t i = 0; i < classes && labels[i] >= 0; ++i)
      for (int64_t k = 0; k < classes; ++k) {
        const double excess = 1 - scores[labels[i]] + scores[k];
        if (!is_target[static_cast<size_t>(k)] && excess > 0) f(labels[i], k, excess);
      }
  }
};

// Rows of doubles beside rows of labels.
struct Rows {
  Tensor scores, labels;
  int64_t count, classes;

  Rows(const Tensor& self, const Tensor& target)
      : classes(self.dim() == 0 ? 1 : self.sizes().back()) {
    count = self.numel() / std::max<int64_t>(classes, 1);
    scores = self.to(DType::Double).contiguous();
    labels = checked_labels(target, classes);
  }
  Row operator[](int64_t i) const {
    return Row(static_cast<const double*>(scores.data()) + i * classes,
               static_cast<const int64_t*>(labels.data()) + i * classes, classes);
  }
  template <class F>
  void for_each(F&& f) const {
    parallel_for(0, count, std::max<int64_t>(1, 16384 / std::max<int64_t>(classes * classes, 1)),
                 [&](int64_t first, int64_t last) {
                   for (int64_t i = first; i < last; ++i) f(i, (*this)[i]);
                 });
  }
};

Tensor doubles(IntList sizes, const Tensor& like) {
  return make_tensor(sizes, DType::Double, like.device());
}

}  // namespace

void multilabel_margin_loss_forward(const Tensor& self, const Tensor& target, int64_t reduction,
                                    Tensor& output, Tensor& is_target) {
  const Rows rows(self, target);
  Tensor losses = doubles({rows.count}, self), flags = doubles(target.sizes(), self);
  rows.for_each([&](int64_t i, const Row& row) {
    double sum = 0;
    row.for_pairs([&](int64_t, int64_t, double excess) { sum += excess; });
    static_cast<double*>(losses.data())[i] = sum / static_cast<double>(rows.classes);
    std::copy(row.is_target.begin(), row.is_target.end(),
              static_cast<double*>(flags.data()) + i * rows.classes);
  });
  is_target.copy_(flags);
  const bool is_each = reduction == impl::kNone;
  const Tensor result = is_each ? losses : impl::reduced(losses, reduction);
  output.copy_(result.reshape(output.sizes()));
}

void multilabel_margin_loss_backward(const Tensor& grad_output, const Tensor& self,
                                     const Tensor& target, int64_t reduction, const Tensor&,
                                     Tensor& out) {
  const Rows rows(self, target);
  const Tensor grads = grad_output.to(DType::Double).contiguous();
  Tensor slopes = doubles(self.sizes(), self);
  slopes.fill_(Scalar(0));
  const int64_t step = grads.numel() == 1 ? 0 : 1;
  const double divisor =
      static_cast<double>(rows.classes * (reduction == impl::kMean ? rows.count : 1));
  rows.for_each([&](int64_t i, const Row& row) {
    const double share = static_cast<const double*>(grads.data())[i * step] / divisor;
    double* slope = static_cast<double*>(slopes.data()) + i * rows.classes;
    row.for_pairs([&](int64_t label, int64_t other, double) {
      slope[label] -= share;
      slope[other] += share;
    });
  });
  out.copy_(slopes);
}

}  // namespace taeda::cpu
