// Shape and dtype rules of joins, and the joins that are made of others.
#include "taeda/ops/join/declarations.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/join/rules.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/view/strides.h"

namespace taeda::impl {
namespace {

// Results take the format in which all inputs are.
MemoryFormat common_format(TensorList tensors) {
  std::optional<MemoryFormat> format;
  for (const Tensor& t : tensors) {
    if (is_skipped_in_cat(t)) continue;
    const MemoryFormat own = t.suggested_format();
    if (format && *format != own) return MemoryFormat::Contiguous;
    format = own;
  }
  return format.value_or(MemoryFormat::Contiguous);
}

// With a last dimension of size one. No operator runs.
Tensor as_column(const Tensor& t) {
  SymIntVec sizes(t.sym_sizes()), strides(t.sym_strides());
  sizes.push_back(SymInt(1));
  strides.push_back(SymInt(1));
  const ExcludeKeys untracked(KeySet(Key::ADInplaceOrView));
  return make_alias_sym(t, sizes, strides, t.impl()->sym_storage_offset());
}

void check_devices(TensorList tensors) {
  for (const Tensor& t : tensors)
    TAEDA_CHECK(t.device() == tensors[0].device(), "Tensor on device ", t.device(),
                " is not on the expected device ", tensors[0].device(), "!");
}

}  // namespace

OutSpec cat_spec(TensorList tensors, int64_t dim) {
  TAEDA_CHECK_VALUE(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  const Tensor* model = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TAEDA_CHECK(tensors[i].dim() > 0, "zero-dimensional tensor (at position ", i,
                ") cannot be concatenated");
    if (!model && !is_skipped_in_cat(tensors[i])) model = &tensors[i];
  }
  check_devices(tensors);
  const DType dtype = result_type(tensors);
  OutSpec spec(model ? model->sym_sizes() : tensors[0].sym_sizes(), dtype, tensors[0].device());
  dim = wrap_dim(dim, static_cast<int64_t>(spec.sizes.size()));
  if (model) {
    SymInt total = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = tensors[i];
      if (is_skipped_in_cat(t)) continue;
      TAEDA_CHECK(t.dim() == model->dim(), "Tensors must have same number of dimensions: got ",
                  model->dim(), " and ", t.dim());
      for (int64_t d = 0; d < t.dim(); ++d)
        TAEDA_CHECK(d == dim || t.sym_sizes()[d] == model->sym_sizes()[d],
                    "Sizes of tensors must match except in dimension ", dim, ". Expected size ",
                    model->sym_sizes()[d], " but got size ", t.sym_sizes()[d],
                    " for tensor number ", i, " in the list.");
      total += t.sym_sizes()[dim];
    }
    spec.sizes[dim] = total;
    if (common_format(tensors) != MemoryFormat::Contiguous)
      spec.strides = channels_last_strides(spec.sizes);
  }
  spec.is_cast_allowed = true;
  return spec;
}

OutSpec stack_spec(TensorList tensors, int64_t dim) {
  TAEDA_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  dim = wrap_dim(dim, tensors[0].dim() + 1);
  for (size_t i = 1; i < tensors.size(); ++i)
    TAEDA_CHECK(tensors[i].sym_sizes() == tensors[0].sym_sizes(),
                "stack expects each tensor to be equal size, but got ", tensors[0].sym_sizes(),
                " at entry 0 and ", tensors[i].sym_sizes(), " at entry ", i);
  check_devices(tensors);
  OutSpec spec(tensors[0].sym_sizes(), result_type(tensors), tensors[0].device());
  SymIntVec joined = spec.sizes;
  spec.sizes.insert(dim, SymInt(tensors.size()));
  // As PyTorch's: joined along the dimension behind the new one, which is then cut in two; behind
  // the last one, joined with the new one.
  if (dim == tensors[0].dim()) {
    const bool may_have_format = dim == 3 || dim == 4;
    std::vector<Tensor> columns;
    for (const Tensor& t : may_have_format ? tensors : TensorList())
      columns.push_back(as_column(t));
    if (common_format(columns) != MemoryFormat::Contiguous)
      spec.strides = channels_last_strides(spec.sizes);
  } else if (common_format(tensors) != MemoryFormat::Contiguous) {
    joined[dim] = joined[dim] * SymInt(tensors.size());
    spec.strides = *view_strides(joined, channels_last_strides(joined), spec.sizes);
  }
  spec.is_cast_allowed = true;
  return spec;
}

Tensor concat(TensorList tensors, int64_t dim) { return taeda::cat(tensors, dim); }
Tensor& concat_out(TensorList tensors, int64_t dim, Tensor& out) {
  return taeda::cat_out(out, tensors, dim);
}
Tensor concatenate(TensorList tensors, int64_t dim) { return taeda::cat(tensors, dim); }
Tensor& concatenate_out(TensorList tensors, int64_t dim, Tensor& out) {
  return taeda::cat_out(out, tensors, dim);
}

namespace {

struct Joined {
  std::vector<Tensor> tensors;
  int64_t dim;
};

Joined horizontal(TensorList tensors) {
  TAEDA_CHECK(!tensors.empty(), "hstack expects a non-empty TensorList");
  std::vector<Tensor> each = taeda::atleast_1d(tensors);
  const int64_t dim = each[0].dim() == 1 ? 0 : 1;
  return {std::move(each), dim};
}
Joined vertical(TensorList tensors) {
  TAEDA_CHECK(!tensors.empty(), "vstack expects a non-empty TensorList");
  return {taeda::atleast_2d(tensors), 0};
}
Joined depthwise(TensorList tensors) {
  TAEDA_CHECK(!tensors.empty(), "dstack expects a non-empty TensorList");
  return {taeda::atleast_3d(tensors), 2};
}
Joined columns(TensorList tensors) {
  TAEDA_CHECK(!tensors.empty(), "column_stack expects a non-empty TensorList");
  std::vector<Tensor> each;
  for (const Tensor& t : tensors)
    each.push_back(t.dim() <= 1 ? t.reshape({t.sym_numel(), SymInt(1)}) : t);
  return horizontal(each);
}
Tensor join(const Joined& j) { return taeda::cat(j.tensors, j.dim); }
Tensor& join(const Joined& j, Tensor& out) { return taeda::cat_out(out, j.tensors, j.dim); }

}  // namespace

Tensor hstack(TensorList tensors) { return join(horizontal(tensors)); }
Tensor& hstack_out(TensorList tensors, Tensor& out) { return join(horizontal(tensors), out); }
Tensor vstack(TensorList tensors) { return join(vertical(tensors)); }
Tensor& vstack_out(TensorList tensors, Tensor& out) { return join(vertical(tensors), out); }
Tensor row_stack(TensorList tensors) { return join(vertical(tensors)); }
Tensor& row_stack_out(TensorList tensors, Tensor& out) { return join(vertical(tensors), out); }
Tensor dstack(TensorList tensors) { return join(depthwise(tensors)); }
Tensor& dstack_out(TensorList tensors, Tensor& out) { return join(depthwise(tensors), out); }
Tensor column_stack(TensorList tensors) { return join(columns(tensors)); }
Tensor& column_stack_out(TensorList tensors, Tensor& out) { return join(columns(tensors), out); }

std::vector<Tensor> meshgrid(TensorList tensors) {
  TAEDA_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  SymIntVec shape;
  for (const Tensor& t : tensors) {
    TAEDA_CHECK(
        t.dim() <= 1,
        "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", t.sym_sizes());
    TAEDA_CHECK(t.dtype() == tensors[0].dtype(),
                "torch.meshgrid expects all tensors to have the same dtype");
    TAEDA_CHECK(t.device() == tensors[0].device(),
                "torch.meshgrid expects all tensors to have the same device");
    shape.push_back(t.sym_numel());
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    SymIntVec ones(tensors.size(), SymInt(1));
    ones[i] = SymInt(-1);
    out.push_back(tensors[i].view(ones).expand(shape));
  }
  return out;
}

std::vector<Tensor> meshgrid_indexing(TensorList tensors, std::string_view indexing) {
  TAEDA_CHECK(indexing == "ij" || indexing == "xy",
              "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  const bool is_swapped = indexing == "xy" && tensors.size() >= 2;
  std::vector<Tensor> given = tensors.vec();
  if (is_swapped) std::swap(given[0], given[1]);
  std::vector<Tensor> out = taeda::meshgrid(given);
  if (is_swapped) std::swap(out[0], out[1]);
  return out;
}

}  // namespace taeda::impl
