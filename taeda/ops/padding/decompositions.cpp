// Borders as elements picked by index along each dimension, and their gradients as elements added.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/padding/functions.h"
#include "taeda/ops/padding/operators.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

// For each index of the result along dimension `d` the one it comes from.
Tensor border_index(const Tensor& self, int64_t d, const SymInt& before, const SymInt& after,
                    bool is_reflected) {
  const SymInt size = self.sym_size(d), last = size - SymInt(1);
  const Tensor at = taeda::arange(Scalar(size + before + after), DType::Int64, {}, self.device()) -
                    Scalar(before);
  if (!is_reflected) return at.clamp(Scalar(0), Scalar(last));
  return (((at.abs() - Scalar(last)).abs()).neg()) + Scalar(last);
}

Tensor border_by_index(const Tensor& self, SymIntList padding, bool is_reflected) {
  Tensor out = self;
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    const int64_t d = self.dim() - 1 - static_cast<int64_t>(i);
    out = taeda::index_select(
        out, d, border_index(out, d, padding[2 * i], padding[2 * i + 1], is_reflected));
  }
  return out.contiguous(self.suggested_format());
}

Tensor border_added_back(const Tensor& grad, const Tensor& self, SymIntList padding,
                         bool is_reflected) {
  const Wide w({&grad});
  Tensor out = w(grad);
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    const int64_t d = self.dim() - 1 - static_cast<int64_t>(i);
    SymIntVec sizes(out.sym_sizes());
    sizes[d] = self.sym_size(d);
    const Tensor index = border_index(self, d, padding[2 * i], padding[2 * i + 1], is_reflected);
    out = taeda::zeros(sizes, out.dtype(), {}, out.device()).index_add(d, index, out);
  }
  return w.rounded(out).contiguous(self.suggested_format());
}

}  // namespace

TAEDA_DECOMPOSITION(replication_pad1d, (const Tensor& self, SymIntList padding)) {
  return border_by_index(self, padding, false);
}
TAEDA_DECOMPOSITION(reflection_pad1d_backward,
                    (const Tensor& grad_output, const Tensor& self, SymIntList padding)) {
  return border_added_back(grad_output, self, padding, true);
}
TAEDA_DECOMPOSITION(reflection_pad2d_backward,
                    (const Tensor& grad_output, const Tensor& self, SymIntList padding)) {
  return border_added_back(grad_output, self, padding, true);
}
TAEDA_DECOMPOSITION(reflection_pad3d_backward,
                    (const Tensor& grad_output, const Tensor& self, SymIntList padding)) {
  return border_added_back(grad_output, self, padding, true);
}
TAEDA_DECOMPOSITION(replication_pad1d_backward,
                    (const Tensor& grad_output, const Tensor& self, SymIntList padding)) {
  return border_added_back(grad_output, self, padding, false);
}
TAEDA_DECOMPOSITION(replication_pad2d_backward,
                    (const Tensor& grad_output, const Tensor& self, SymIntList padding)) {
  return border_added_back(grad_output, self, padding, false);
}
TAEDA_DECOMPOSITION(replication_pad3d_backward,
                    (const Tensor& grad_output, const Tensor& self, SymIntList padding)) {
  return border_added_back(grad_output, self, padding, false);
}

}  // namespace taeda
