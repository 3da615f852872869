// The windows of pooling operators: their arguments by dimension, and how many fit.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// One entry per pooled dimension.
struct PoolWindow {
  IntVec kernel, stride, padding, dilation;
};

// The dilation of operators without one.
inline constexpr int64_t kDense[] = {1};

// One number stands for all dimensions; no stride stands for the kernel's size. PyTorch's errors,
// with `op` in front.
TAEDA_API PoolWindow pool_window(const char* op, int64_t spatial, IntList kernel, IntList stride,
                                 IntList padding, IntList dilation = kDense);

// How many windows lie in `size` elements: with ceil_mode also those that reach over the end, as
// long as they start inside or in the padding in front.
TAEDA_API SymInt pooled_size(const SymInt& size, const PoolWindow& window, int64_t d,
                             bool ceil_mode);

// The sizes of the last `spatial` dimensions.
TAEDA_API SymIntVec last_sizes(const Tensor& t, int64_t spatial);

}  // namespace taeda
