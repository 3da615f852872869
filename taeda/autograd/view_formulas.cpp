// Derivative helpers of views.
#include "taeda/autograd/view_formulas.h"

#include <algorithm>

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::autograd {

namespace {

// Whether some storage element is reached twice.
bool has_overlap(IntList sizes, IntList strides) {
  SmallVector<int64_t, 8> order;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1) order.push_back(static_cast<int64_t>(i));
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  int64_t reach = 0;
  for (int64_t d : order) {
    if (strides[d] <= reach) return true;
    reach += (sizes[d] - 1) * strides[d];
  }
  return false;
}

}  // namespace

int64_t storage_reach(IntList sizes, IntList strides, int64_t offset) {
  int64_t last = offset + 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return last;
}

// The gradient is laid out as the storage was: scattered into it through the view's geometry, then
// read through the input's. Elements that several view elements share get the sum.
Tensor as_strided_backward(const Tensor& grad, IntList self_sizes, IntList self_strides,
                           int64_t self_offset, SymIntList size, SymIntList stride,
                           const std::optional<SymInt>& offset) {
  const int64_t view_offset = offset ? offset->expect_int() : self_offset;
  const int64_t base = std::min(self_offset, view_offset);
  const IntList view_sizes = as_int(size), view_strides = as_int(stride);
  const int64_t length = std::max(storage_reach(self_sizes, self_strides, self_offset - base),
                                  storage_reach(view_sizes, view_strides, view_offset - base));
  Tensor storage = grad.new_zeros({SymInt(length)});
  const bool is_overlapping = has_overlap(view_sizes, view_strides);
  const bool is_input_overlapping = has_overlap(self_sizes, self_strides);
  if (is_overlapping || is_input_overlapping) {
    const Tensor positions = taeda::arange(Scalar(length), DType::Int64, {}, grad.device());
    if (is_overlapping) {
      const Tensor at =
          positions.as_strided(size, stride, view_offset - base).reshape({SymInt(-1)});
      storage = storage.index_add(0, at, grad.reshape({SymInt(-1)}));
    } else {
      storage.as_strided(size, stride, view_offset - base).copy_(grad);
    }
    if (is_input_overlapping) {
      // Input elements that share memory share its gradient evenly.
      const Tensor at =
          positions.as_strided(as_symint(self_sizes), as_symint(self_strides), self_offset - base)
              .reshape({SymInt(-1)});
      const Tensor count = taeda::zeros_like(storage).index_add(
          0, at, taeda::ones({at.sym_size(0)}, grad.dtype(), {}, grad.device()));
      storage = storage.div(count);
    }
  } else {
    storage.as_strided(size, stride, view_offset - base).copy_(grad);
  }
  return storage.as_strided(as_symint(self_sizes), as_symint(self_strides), self_offset - base);
}

}  // namespace taeda::autograd
