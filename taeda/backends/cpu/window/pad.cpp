// Borders around tensors on the CPU.
#include <cstring>

#include "taeda/backends/cpu/padding_declarations.h"
#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/window/axis_map.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/plane_format.h"

namespace taeda::cpu {
namespace {

using Border = AxisMap (*)(int64_t in, int64_t before, int64_t out);

// Maps of the last dimensions, whose padding goes from the last one on.
void read_borders(Border border, IntList inner_sizes, IntList outer_sizes, SymIntList padding,
                  AxisMap (&axes)[3]) {
  const size_t spatial = padding.size() / 2;
  for (AxisMap& axis : axes) axis = AxisMap::identity(1);
  for (size_t d = 0; d < spatial; ++d)
    axes[3 - spatial + d] = border(inner_sizes[inner_sizes.size() - spatial + d],
                                   padding[2 * (spatial - 1 - d)].expect_int(),
                                   outer_sizes[outer_sizes.size() - spatial + d]);
}

void pad(Border border, const Tensor& self, SymIntList padding, Tensor& out) {
  AxisMap axes[3];
  read_borders(border, self.sizes(), out.sizes(), padding, axes);
  const auto spatial = static_cast<int64_t>(padding.size() / 2);
  move_volume(self, axes, spatial, plane_format(self, spatial), out);
}

void pad_backward(Border border, const Tensor& grad, const Tensor& self, SymIntList padding,
                  Tensor& out) {
  AxisMap axes[3];
  read_borders(border, self.sizes(), grad.sizes(), padding, axes);
  const auto spatial = static_cast<int64_t>(padding.size() / 2);
  add_by_maps(grad, axes, spatial, plane_format(self, spatial), out);
}

// Dimensions from the outermost to the innermost in memory.
IntVec memory_order(int64_t ndim, MemoryFormat format) {
  IntVec order;
  for (int64_t d = 0; d < ndim; ++d)
    if (format == MemoryFormat::Contiguous || d != 1) order.push_back(d);
  if (format != MemoryFormat::Contiguous) order.push_back(1);
  return order;
}

}  // namespace

void constant_pad_nd(const Tensor& self, SymIntList pad, const Scalar& value, Tensor& out) {
  if (out.numel() == 0) return;
  const MemoryFormat format = self.suggested_format();
  const int64_t ndim = self.dim();
  const Tensor x = self.contiguous(format);
  DenseResult made(out, format);
  // Dimensions without a border are one with those around them.
  std::vector<AxisMap> axes{AxisMap::identity(1)};
  int64_t inner = 1;
  bool is_inside = true;
  std::vector<AxisMap> reversed;
  const IntVec order = memory_order(ndim, format);
  for (size_t k = order.size(); k-- > 0;) {
    const int64_t d = order[k], at = 2 * (ndim - 1 - d);
    const bool is_padded = at < static_cast<int64_t>(pad.size());
    const int64_t before = is_padded ? pad[at].expect_int() : 0;
    if (is_inside && before == 0 && self.size(d) == out.size(d)) {
      inner *= self.size(d);
      continue;
    }
    is_inside = false;
    reversed.push_back(constant_border(self.size(d), before, out.size(d)));
  }
  axes.insert(axes.end(), reversed.rbegin(), reversed.rend());
  const Tensor element = scalar_tensor_of(value, self.dtype(), self.device());
  move_by_maps(static_cast<const char*>(x.data()), static_cast<char*>(made.tensor().data()), axes,
               inner, x.element_size(), static_cast<const char*>(element.data()));
  made.finish();
}

void reflection_pad1d(const Tensor& self, SymIntList padding, Tensor& out) {
  pad(&reflected_border, self, padding, out);
}
void reflection_pad2d(const Tensor& self, SymIntList padding, Tensor& out) {
  pad(&reflected_border, self, padding, out);
}
void reflection_pad3d(const Tensor& self, SymIntList padding, Tensor& out) {
  pad(&reflected_border, self, padding, out);
}
void replication_pad1d(const Tensor& self, SymIntList padding, Tensor& out) {
  pad(&replicated_border, self, padding, out);
}
void replication_pad2d(const Tensor& self, SymIntList padding, Tensor& out) {
  pad(&replicated_border, self, padding, out);
}
void replication_pad3d(const Tensor& self, SymIntList padding, Tensor& out) {
  pad(&replicated_border, self, padding, out);
}
void reflection_pad1d_backward(const Tensor& grad_output, const Tensor& self, SymIntList padding,
                               Tensor& grad_input) {
  pad_backward(&reflected_border, grad_output, self, padding, grad_input);
}
void reflection_pad2d_backward(const Tensor& grad_output, const Tensor& self, SymIntList padding,
                               Tensor& grad_input) {
  pad_backward(&reflected_border, grad_output, self, padding, grad_input);
}
void reflection_pad3d_backward(const Tensor& grad_output, const Tensor& self, SymIntList padding,
                               Tensor& grad_input) {
  pad_backward(&reflected_border, grad_output, self, padding, grad_input);
}
void replication_pad1d_backward(const Tensor& grad_output, const Tensor& self, SymIntList padding,
                                Tensor& grad_input) {
  pad_backward(&replicated_border, grad_output, self, padding, grad_input);
}
void replication_pad2d_backward(const Tensor& grad_output, const Tensor& self, SymIntList padding,
                                Tensor& grad_input) {
  pad_backward(&replicated_border, grad_output, self, padding, grad_input);
}
void replication_pad3d_backward(const Tensor& grad_output, const Tensor& self, SymIntList padding,
                                Tensor& grad_input) {
  pad_backward(&replicated_border, grad_output, self, padding, grad_input);
}

}  // namespace taeda::cpu
