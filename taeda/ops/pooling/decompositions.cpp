// Gradients of greatest elements, and unpooling, as elements scattered over planes.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/pooling/functions.h"
#include "taeda/ops/pooling/operators.h"
#include "taeda/ops/pooling/windows.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

SymIntVec flat_planes(SymIntList sizes, size_t spatial) {
  SymIntVec out;
  SymInt plane = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d + spatial < sizes.size())
      out.push_back(sizes[d]);
    else
      plane *= sizes[d];
  }
  out.push_back(plane);
  return out;
}

// In the memory format of `like`, which results have.
Tensor as_planes(const Tensor& flat, SymIntList sizes, const Tensor& like) {
  return flat.reshape(sizes).contiguous(like.suggested_format());
}

Tensor added_to_planes(const Tensor& grad, const Tensor& self, const Tensor& indices,
                       int64_t spatial) {
  const Wide w({&grad});
  const Tensor zeros = taeda::zeros(flat_planes(self.sym_sizes(), static_cast<size_t>(spatial)),
                                    w.compute(), {}, grad.device());
  const Tensor flat =
      zeros.scatter_add(-1, indices.flatten(-spatial, -1), w(grad).flatten(-spatial, -1));
  return as_planes(w.rounded(flat), self.sym_sizes(), self);
}

Tensor put_into_planes(const Tensor& self, const Tensor& indices, SymIntList output_size) {
  const int64_t spatial = static_cast<int64_t>(output_size.size());
  SymIntVec sizes(self.sym_sizes());
  for (size_t d = 0; d < output_size.size(); ++d)
    sizes[sizes.size() - output_size.size() + d] = output_size[d];
  const Tensor zeros =
      taeda::zeros(flat_planes(sizes, output_size.size()), self.dtype(), {}, self.device());
  const Tensor flat = zeros.scatter(-1, indices.flatten(-spatial, -1), self.flatten(-spatial, -1));
  return as_planes(flat, sizes, self);
}

}  // namespace

TAEDA_DECOMPOSITION(max_pool3d_with_indices_backward,
                    (const Tensor& grad_output, const Tensor& self, IntList, IntList, IntList,
                     IntList, bool, const Tensor& indices)) {
  return added_to_planes(grad_output, self, indices, 3);
}
TAEDA_DECOMPOSITION(adaptive_max_pool2d_backward,
                    (const Tensor& grad_output, const Tensor& self, const Tensor& indices)) {
  return added_to_planes(grad_output, self, indices, 2);
}
TAEDA_DECOMPOSITION(adaptive_max_pool3d_backward,
                    (const Tensor& grad_output, const Tensor& self, const Tensor& indices)) {
  return added_to_planes(grad_output, self, indices, 3);
}
TAEDA_DECOMPOSITION(fractional_max_pool2d_backward, (const Tensor& grad_output, const Tensor& self,
                                                     IntList, IntList, const Tensor& indices)) {
  return added_to_planes(grad_output, self, indices, 2);
}
TAEDA_DECOMPOSITION(fractional_max_pool3d_backward, (const Tensor& grad_output, const Tensor& self,
                                                     IntList, IntList, const Tensor& indices)) {
  return added_to_planes(grad_output, self, indices, 3);
}
TAEDA_DECOMPOSITION(max_unpool2d,
                    (const Tensor& self, const Tensor& indices, SymIntList output_size)) {
  return put_into_planes(self, indices, output_size);
}
TAEDA_DECOMPOSITION(max_unpool3d, (const Tensor& self, const Tensor& indices,
                                   SymIntList output_size, IntList, IntList)) {
  return put_into_planes(self, indices, output_size);
}

}  // namespace taeda
