// The scores of a linear layer by blocks of rows, and the slopes of their cross entropy.
#pragma once

#include <algorithm>

#include "taeda/core/tensor.h"

namespace taeda {

struct ScoreBlocks {
  ScoreBlocks(const Tensor& input, const Tensor& linear_weight, const Tensor& linear_bias,
              const Tensor& target, const Tensor& weight, const SymInt& ignore_index,
              const SymInt& chunk_size);

  Tensor input, linear_weight, linear_bias, target;
  Tensor index;  // the class of each row, 0 where it is ignored
  Tensor share;  // the weight of each row, 0 where it is ignored
  int64_t count, rows;

  // Calls f(start, length) per block; once for an empty batch.
  template <class F>
  void for_each(F&& f) const {
    for (int64_t at = 0; at == 0 || at < count; at += rows) f(at, std::min(rows, count - at));
  }
  Tensor scores(int64_t start, int64_t length) const;
  // The derivative of the sum of `factor` times the rows' losses by the scores of a block.
  Tensor slope(const Tensor& factor, int64_t start, int64_t length) const;
  // The factor of each row's unweighted loss in the whole loss, times its gradient.
  Tensor factor(const Tensor& grad, int64_t reduction) const;
};

}  // namespace taeda
