// Advanced indexing, masks and take on the CPU.
#include "taeda/backends/cpu/index/index_plan.h"
#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/backends/cpu/index/masks.h"
#include "taeda/backends/cpu/index/slice_map.h"
#include "taeda/backends/cpu/indexing_declarations.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/spec.h"

namespace taeda::cpu {
namespace {

int64_t ndim_of(const IndexShape& shape) { return static_cast<int64_t>(shape.index_sizes.size()); }

Tensor mask_of(const Tensor& self) {
  return self.dtype() == DType::Bool ? self : self.to(DType::Bool);
}

// Without a list of offsets, which would be larger than the result.
void take_contiguous(const Tensor& self, const Tensor& index, Tensor& out) {
  constexpr int64_t kGrain = 16384;
  const int64_t numel = self.numel();
  const auto* at = static_cast<const int64_t*>(index.data());
  visit_item(self.element_size(), [&](auto tag) {
    using T = decltype(tag);
    const T* from = static_cast<const T*>(self.data());
    T* to = static_cast<T*>(out.data());
    parallel_for(0, index.numel(), kGrain, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) to[p] = from[at[p] < 0 ? at[p] + numel : at[p]];
    });
  });
}

void write_coordinates(const TrueElements& elements, Tensor& out) {
  if (out.numel() > 0)
    elements.coordinates(static_cast<int64_t*>(out.data()), out.strides()[0], out.strides()[1]);
}

// The elements of `self` where `mask` is true, both broadcast; allocate(n) supplies the result.
template <class F>
Tensor& select_masked(const Tensor& self, const Tensor& mask, F&& allocate) {
  const SymIntVec shape = broadcast_shapes(self.sym_sizes(), mask.sym_sizes());
  const Tensor values = self.expand(shape), wide = mask.expand(shape);
  const TrueElements elements(wide);
  std::vector<int64_t> offsets(static_cast<size_t>(elements.count()));
  elements.offsets(values.strides(), values.element_size(), offsets.data());
  Tensor& out = allocate(elements.count());
  SliceMap(out, 0, 1, values, {}, std::move(offsets)).read();
  return out;
}

void check_mask(const Tensor& mask) {
  TAEDA_CHECK(mask.dtype() == DType::Bool, "masked_select: expected BoolTensor for mask");
}

}  // namespace

Tensor index_Tensor(const Tensor& self, TensorList indices) {
  if (!check_index(self, indices)) return self.clone();
  IndexPlan plan = plan_indices(self, indices);
  Tensor out =
      make_tensor_strided(as_int(plan.shape.sizes), as_int(plan.shape.strides(self, indices)),
                          self.dtype(), self.device());
  SliceMap(out, plan.shape.place, ndim_of(plan.shape), self, plan.shape.kept,
           std::move(plan.offsets))
      .read();
  return out;
}

Tensor& _index_put_impl_(Tensor& self, TensorList indices, const Tensor& values, bool accumulate,
                         bool) {
  if (!has_index(indices)) return put_whole(self, indices, values, accumulate);
  check_index_put(self, indices, values);
  IndexPlan plan = plan_indices(self, indices);
  check_put_shape(values, plan.shape.sizes);
  check_put_dtype(self, values);
  const Tensor source = values.expand(plan.shape.sizes);
  const SliceMap map(source, plan.shape.place, ndim_of(plan.shape), self, plan.shape.kept,
                     std::move(plan.offsets));
  if (accumulate)
    map.add(Scalar(1));
  else
    map.write();
  return self;
}

void take(const Tensor& self, const Tensor& index, Tensor& out) {
  check_disjoint(out, self);
  check_disjoint(out, index);
  if (index.numel() == 0) return;
  const int64_t numel = self.numel();
  TAEDA_CHECK_INDEX(numel > 0, "take(): tried to take from an empty tensor");
  if (const auto bad = first_outside(index, -numel, numel))
    fail(ErrorKind::Index, "out of range: tried to access index ", *bad, " on a tensor of ", numel,
         " elements.");
  if (self.is_contiguous() && index.is_contiguous() && out.is_contiguous())
    return take_contiguous(self, index, out);
  std::vector<int64_t> offsets = wrapped_offsets(index, numel, 1);
  const IntList sizes = self.sizes(), strides = self.strides();
  for (int64_t& o : offsets) {
    int64_t rest = o;
    o = self.is_contiguous() ? rest : 0;
    for (size_t d = self.is_contiguous() ? 0 : sizes.size(); d-- > 0; rest /= sizes[d])
      o += rest % sizes[d] * strides[d];
    o *= self.element_size();
  }
  SliceMap(out, 0, out.dim(), make_alias(self, {}, {}, self.storage_offset()), {},
           std::move(offsets))
      .read();
}

Tensor nonzero(const Tensor& self) {
  const TrueElements elements(mask_of(self));
  // Each coordinate in one piece: they are mostly taken apart.
  Tensor out = make_tensor_strided({elements.count(), self.dim()}, {1, elements.count()},
                                   DType::Int64, self.device());
  write_coordinates(elements, out);
  return out;
}

Tensor& nonzero_out(const Tensor& self, Tensor& out) {
  TAEDA_CHECK(out.dtype() == DType::Int64,
              "nonzero: Expected out tensor to have scalar type Long but got scalar type",
              out.dtype());
  const TrueElements elements(mask_of(self));
  check_disjoint(out, self);
  resize_output(out, {SymInt(elements.count()), SymInt(self.dim())});
  check_no_internal_overlap(out);
  write_coordinates(elements, out);
  return out;
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  check_mask(mask);
  Tensor out;
  return select_masked(self, mask, [&](int64_t n) -> Tensor& {
    return out = make_tensor({n}, self.dtype(), self.device());
  });
}

Tensor& masked_select_out(const Tensor& self, const Tensor& mask, Tensor& out) {
  check_mask(mask);
  TAEDA_CHECK(self.dtype() == out.dtype(),
              "masked_select(): self and result must have the same scalar type");
  check_no_internal_overlap(out);
  check_disjoint(out, self);
  check_disjoint(out, mask);
  return select_masked(self, mask, [&](int64_t n) -> Tensor& {
    resize_output(out, {SymInt(n)});
    return out;
  });
}

Scalar _local_scalar_dense(const Tensor& self) {
  TAEDA_CHECK(self.numel() == 1, "a Tensor with ", self.numel(),
              " elements cannot be converted to Scalar");
  return read_scalar(self);
}

}  // namespace taeda::cpu
