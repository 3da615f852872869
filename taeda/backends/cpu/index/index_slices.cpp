// index_select, index_add, index_copy and index_fill on the CPU: one vector of indices, whole
// slices.
#include "taeda/backends/cpu/index/index_plan.h"
#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/backends/cpu/index/slice_map.h"
#include "taeda/backends/cpu/index_slices_declarations.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/number_range.h"

namespace taeda::cpu {
namespace {

// A scalar as a vector of one.
Tensor with_dim(const Tensor& t) {
  return t.dim() ? t : make_alias(t, {1}, {1}, t.storage_offset());
}

// Pairs the slices of `plain` along `dim` with those of `indexed` that `index` (int64, checked)
// names.
SliceMap slices(const Tensor& plain, const Tensor& indexed, int64_t dim, const Tensor& index) {
  IntVec kept;
  for (int64_t d = 0; d < indexed.dim(); ++d)
    if (d != dim) kept.push_back(d);
  const int64_t step = indexed.strides()[dim] * indexed.element_size();
  return SliceMap(plain, dim, 1, indexed, kept, wrapped_offsets(index, indexed.sizes()[dim], step));
}

void check_written(const Tensor& out, const Tensor& index, const Tensor* source) {
  check_disjoint(out, index);
  if (source) check_disjoint(out, *source);
}

}  // namespace

void index_select(const Tensor& self, int64_t dim, const Tensor& given_index, Tensor& out) {
  check_written(out, given_index, &self);
  dim = wrap_dim(dim, self.dim());
  const Tensor index = with_dim(int64_index(given_index)), from = with_dim(self);
  const int64_t size = from.sizes()[dim];
  if (const auto bad = first_outside(index, 0, size)) {
    // PyTorch's own kinds and words, which differ by dimension.
    TAEDA_CHECK_INDEX(dim != 0 && self.dim() > 1, "index out of range in self");
    fail(ErrorKind::Runtime, "INDICES element is out of DATA bounds, id=", *bad,
         " axis_dim=", size);
  }
  slices(with_dim(out), from, dim, index).read();
}

void index_add(const Tensor& self, int64_t dim, const Tensor& given_index, const Tensor& source,
               const Scalar& alpha, Tensor& out) {
  check_written(out, given_index, &source);
  dim = wrap_dim(dim, self.dim());
  const Tensor index = with_dim(int64_index(given_index));
  // PyTorch's own kind and words for vectors.
  TAEDA_CHECK_INDEX(self.dim() > 1 || !first_outside(index, 0, with_dim(self).sizes()[dim]),
                    "index out of range in self");
  if (source.numel() > 0) check_index_bounds(index, dim, with_dim(self).sizes()[dim]);
  if (!out.is_same(self)) out.copy_(self);
  if (!is_reduced_float(out.dtype())) {
    slices(with_dim(source), with_dim(out), dim, index).add(alpha);
    return;
  }
  // Sums are rounded once: 256 + 1 is 256 in bfloat16.
  const Tensor wide = out.to(DType::Float);
  slices(with_dim(source.to(DType::Float)), with_dim(wide), dim, index).add(alpha);
  out.copy_(wide);
}

void index_copy(const Tensor& self, int64_t dim, const Tensor& given_index, const Tensor& source,
                Tensor& out) {
  check_written(out, given_index, &source);
  dim = wrap_dim(dim, self.dim());
  const Tensor index = with_dim(given_index);
  const int64_t size = with_dim(self).sizes()[dim];
  if (const auto bad = first_outside(index, 0, size))
    fail(ErrorKind::Index, "index_copy_(): index ", *bad, " is out of bounds for dimension ", dim,
         " with size ", size);
  if (!out.is_same(self)) out.copy_(self);
  slices(with_dim(source), with_dim(out), dim, index).write();
}

void index_fill_int_Scalar(const Tensor& self, int64_t dim, const Tensor& given_index,
                           const Scalar& value, Tensor& out) {
  check_written(out, given_index, nullptr);
  dim = wrap_dim(dim, self.dim());
  const Tensor index = with_dim(given_index), to = with_dim(out);
  const int64_t size = to.sizes()[dim];
  if (const auto bad = first_outside(index, -size, size))
    fail(ErrorKind::Index, "index ", *bad, " is out of bounds for dimension ", dim, " with size ",
         size);
  check_fits(value, self.dtype());
  const Tensor number = scalar_tensor_of(value, self.dtype(), self.device());
  if (!out.is_same(self)) out.copy_(self);
  IntVec sizes(to.sizes());
  sizes[dim] = index.numel();
  slices(make_alias(number, sizes, IntVec(sizes.size(), 0), 0), to, dim, index).write();
}

void index_fill_int_Tensor(const Tensor& self, int64_t dim, const Tensor& index,
                           const Tensor& value, Tensor& out) {
  index_fill_int_Scalar(self, dim, index, read_scalar(value), out);
}

}  // namespace taeda::cpu
