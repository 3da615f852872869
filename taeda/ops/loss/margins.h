// What multi_margin_loss, its gradient and its tangent share.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// By how much the scores of other classes come within the margin of the target's: (N, C), zero at
// the target. The constructor checks the loss's arguments.
struct Margins {
  Tensor excess, index, share;  // share: the target's weight per row, undefined without weights
  SymInt classes;
  double order;

  Margins(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
          const Tensor& weight);
  // The loss of each row.
  Tensor rows() const;
  // The derivative of each row's loss by its scores.
  Tensor slope() const;
};

}  // namespace taeda
