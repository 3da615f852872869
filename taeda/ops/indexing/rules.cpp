// Shape rules of advanced indexing, masks and take, and operators composed of these.
#include "taeda/ops/indexing/declarations.h"

#include "taeda/dispatch/levels.h"
#include "taeda/ops/batching.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_shape.h"
#include "taeda/ops/selection/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

// Sizes of indexing without values; empty when no index is given. Masks have no size before they
// are read.
std::optional<IndexShape> shape_without_values(const Tensor& self, TensorList indices) {
  check_indices(self, indices);
  SmallVector<IndexEntry, 4> entries;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].defined()) continue;
    TAEDA_CHECK_NOT_IMPLEMENTED(!is_mask_dtype(indices[i].dtype()),
                                "nonzero: indexing a meta tensor with a mask: the result's size "
                                "depends on the mask's values");
    entries.push_back({static_cast<int64_t>(i), 1, SymIntVec(indices[i].sym_sizes())});
  }
  if (entries.empty()) return std::nullopt;
  return IndexShape(self, entries);
}

}  // namespace

Tensor index_Tensor_meta(const Tensor& self, TensorList indices) {
  check_some_index(indices);
  const auto shape = shape_without_values(self, indices);
  if (!shape) return taeda::empty_like(self);  // no index: a clone
  OutSpec spec(SymIntList(shape->sizes), self.dtype(), self.device());
  spec.strides = shape->strides(self, indices);
  return spec.allocate();
}

Tensor& _index_put_impl__meta(Tensor& self, TensorList indices, const Tensor& values, bool, bool) {
  check_index_put(self, indices, values);
  bool has_mask = false;
  for (const Tensor& t : indices) has_mask |= t.defined() && is_mask_dtype(t.dtype());
  const auto shape = has_mask ? std::nullopt : shape_without_values(self, indices);
  if (shape) check_put_shape(values, shape->sizes);
  check_put_dtype(self, values);
  // No index: what is put is a copy.
  return shape || has_mask ? self : self.copy_(values);
}

namespace {

bool is_one_mask(TensorList indices) {
  int64_t masks = 0;
  for (const Tensor& t : indices) {
    if (!t.defined()) continue;
    if (!is_mask_dtype(t.dtype())) return false;
    ++masks;
  }
  return masks == 1;
}

// One value written under one mask is converted, and may be an element of self, as in masked_fill;
// others have self's dtype and lie apart from it.
Tensor put_values(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  const bool is_fill = !accumulate &&
                       (values.dtype() != self.dtype() || self.is_alias_of(values)) &&
                       values.sym_numel() == SymInt(1) && is_one_mask(indices);
  if (!is_fill) return values;
  if (values.dtype() == self.dtype()) return values.clone();
  TAEDA_CHECK(!values.is_complex() || self.is_complex(), "value cannot be converted to type ",
              is_floating(self.dtype()) ? "float" : "int64_t", " without overflow");
  return values.to(self.dtype());
}

}  // namespace

Tensor& index_put_(Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  const Tensor source = put_values(self, indices, values, accumulate);
  return taeda::_index_put_impl_(self, indices, source, accumulate);
}
Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  Tensor out = self.clone();
  const Tensor source = put_values(self, indices, values, accumulate);
  return taeda::_index_put_impl_(out, indices, source, accumulate);
}

OutSpec take_spec(const Tensor& self, const Tensor& index) {
  const Tensor* const inputs[] = {&self, &index};
  check_same_device("take", inputs);
  TAEDA_CHECK(index.dtype() == DType::Int64, "take(): Expected a long tensor for index, but got ",
              index.dtype());
  return OutSpec(index.sym_sizes(), self.dtype(), self.device());
}

namespace {

// The arguments of the gather behind take_along_dim: source, indices, dimension.
struct AlongDim {
  Tensor self, index;
  int64_t dim = 0;

  AlongDim(const Tensor& from, const Tensor& indices, std::optional<int64_t> along_dim)
      : self(from), index(indices) {
    if (!along_dim) {
      self = from.reshape({SymInt(-1)});
      index = indices.reshape({SymInt(-1)});
      return;
    }
    TAEDA_CHECK(from.dim() == indices.dim(),
                "torch.take_along_dim(): input and indices should have the same number of "
                "dimensions, but got ",
                from.dim(), " dimensions for input, and ", indices.dim(),
                " dimensions for indices");
    TAEDA_CHECK(indices.dtype() == DType::Int64,
                "torch.take_along_dim(): dtype of indices should be Long but got ",
                indices.dtype());
    dim = wrap_dim(*along_dim, from.dim());
    SymIntVec self_sizes(from.sym_sizes()), index_sizes(indices.sym_sizes());
    if (self_sizes.empty()) return;
    const SymInt along = index_sizes[dim], own = self_sizes[dim];
    index_sizes[dim] = own;
    const SymIntVec shape = broadcast_shapes(self_sizes, index_sizes);
    SymIntVec index_shape = shape;
    index_shape[dim] = along;
    index = indices.expand(index_shape);
    self = from.expand(shape);
    // Indices wrap around in both directions, as in PyTorch.
    index = index.remainder(Scalar(own));
  }
};

}  // namespace

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  const AlongDim given(self, indices, dim);
  return given.self.gather(given.dim, given.index);
}

Tensor& take_along_dim_out(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim,
                           Tensor& out) {
  const AlongDim given(self, indices, dim);
  return taeda::gather_out(out, given.self, given.dim, given.index);
}

Tensor argwhere(const Tensor& self) { return self.nonzero(); }

std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  // A scalar counts as a vector of one.
  const Tensor found = (self.dim() == 0 ? self.reshape({SymInt(1)}) : self).nonzero();
  return found.unbind(1);
}

Tensor where_Scalar(const Tensor& condition, const Scalar& self, const Scalar& other) {
  return taeda::where(condition, wrapped_scalar(self), wrapped_scalar(other));
}
std::vector<Tensor> where(const Tensor& condition) {
  if (dispatch::is_batched(condition)) fail_dynamic_batch("where");
  return taeda::nonzero_numpy(condition);
}

Scalar item(const Tensor& self) { return taeda::_local_scalar_dense(self); }

// The coordinates are laid out by dimension, as the kernels write them.
Tensor nonzero_counted(const Tensor& self, const SymInt& count) {
  Tensor out = make_tensor({0}, DType::Int64, DeviceType::Meta);
  out.impl()->set_sym_geometry(SymIntVec{count, SymInt(self.dim())}, SymIntVec{SymInt(1), count},
                               0);
  return out;
}

Tensor masked_select_counted(const Tensor& self, const SymInt& count) {
  Tensor out = make_tensor({0}, self.dtype(), DeviceType::Meta);
  out.impl()->set_sym_geometry(SymIntVec{count}, SymIntVec{SymInt(1)}, 0);
  return out;
}

}  // namespace taeda::impl

namespace taeda {

// An operator as the others: modes and transforms see it.
Scalar Tensor::item() const { return taeda::item(*this); }

}  // namespace taeda
