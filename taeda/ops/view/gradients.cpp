// Derivative helpers of views.
#include "taeda/ops/view/gradients.h"

#include <algorithm>

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::gradients {

namespace {

// Whether some storage element is reached twice.
bool has_overlap(SymIntList sizes, SymIntList strides) {
  SmallVector<int64_t, 8> order;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > SymInt(1)) order.push_back(static_cast<int64_t>(i));
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  SymInt reach = 0;
  for (int64_t d : order) {
    if (strides[d] <= reach) return true;
    reach += (sizes[d] - SymInt(1)) * strides[d];
  }
  return false;
}

}  // namespace

SymInt storage_reach(SymIntList sizes, SymIntList strides, const SymInt& offset) {
  SymInt last = offset + SymInt(1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == SymInt(0)) return 0;
    last += (sizes[i] - SymInt(1)) * strides[i];
  }
  return last;
}

// The gradient is laid out as the storage was: scattered into it through the view's geometry, then
// read through the input's. Elements that several view elements share get the sum.
Tensor as_strided_backward(const Tensor& grad, SymIntList self_sizes, SymIntList self_strides,
                           const SymInt& self_offset, SymIntList size, SymIntList stride,
                           const std::optional<SymInt>& offset) {
  const SymInt view_offset = offset ? *offset : self_offset;
  const SymInt base = sym_min(self_offset, view_offset);
  const SymInt length = sym_max(storage_reach(self_sizes, self_strides, self_offset - base),
                                storage_reach(size, stride, view_offset - base));
  Tensor storage = grad.new_zeros({length});
  const bool is_overlapping = has_overlap(size, stride);
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
          positions.as_strided(self_sizes, self_strides, self_offset - base).reshape({SymInt(-1)});
      const Tensor count = taeda::zeros_like(storage).index_add(
          0, at, taeda::ones({at.sym_size(0)}, grad.dtype(), {}, grad.device()));
      storage = storage.div(count);
    }
  } else {
    storage.as_strided(size, stride, view_offset - base).copy_(grad);
  }
  return storage.as_strided(self_sizes, self_strides, self_offset - base);
}

Tensor restore_squeezed(const Tensor& grad, SymIntList sizes) {
  Tensor out = grad;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] == 1) out = out.unsqueeze(static_cast<int64_t>(d));
  return out;
}

Tensor restore_squeezed(const Tensor& grad, SymIntList sizes, IntList dims) {
  const int64_t rank = static_cast<int64_t>(sizes.size());
  Tensor out = grad;
  for (int64_t d = 0; d < rank; ++d) {
    const bool is_named = std::any_of(dims.begin(), dims.end(),
                                      [&](int64_t dim) { return dim == d || dim + rank == d; });
    if (is_named && sizes[d] == 1) out = out.unsqueeze(d);
  }
  return out;
}

}  // namespace taeda::gradients
