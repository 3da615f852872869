// Distinct elements, counts of integers and repetitions of fake tensors: sizes that data tells.
#include "taeda/ops/counted.h"

#include "taeda/ops/spec.h"
#include "taeda/ops/unique/operators.h"

namespace taeda {
namespace {

using Distinct = std::tuple<Tensor, Tensor, Tensor>;

Tensor meta_tensor(SymIntList sizes, DType dtype) {
  return OutSpec(sizes, dtype, DeviceType::Meta).allocate();
}

Distinct distinct_elements(const Tensor& self, bool return_inverse, bool return_counts) {
  const SymInt count = new_count({.most = self.sym_numel(), .of = self});
  const SymIntVec none{SymInt(0)}, sizes{count};
  return {meta_tensor(sizes, self.dtype()),
          meta_tensor(return_inverse ? self.sym_sizes() : SymIntList(none), DType::Int64),
          meta_tensor(return_counts ? sizes : none, DType::Int64)};
}

// Places and counts of slices are made whether they are asked for or not, as kernels do.
Distinct distinct_slices(const Tensor& self, int64_t dim) {
  const int64_t along = wrap_dim(dim, self.dim());
  SymIntVec sizes(self.sym_sizes());
  const SymIntVec places{self.dim() == 0 ? SymInt(1) : sizes[along]};
  const SymIntVec counts{new_count({.most = places[0]})};
  if (self.dim() > 0) sizes[along] = counts[0];
  return {meta_tensor(sizes, self.dtype()), meta_tensor(places, DType::Int64),
          meta_tensor(counts, DType::Int64)};
}

}  // namespace

TAEDA_COUNTED(_unique2, Distinct,
              (const Tensor& self, bool, bool return_inverse, bool return_counts)) {
  return distinct_elements(self, return_inverse, return_counts);
}

TAEDA_COUNTED(unique_dim, Distinct, (const Tensor& self, int64_t dim, bool, bool, bool)) {
  return distinct_slices(self, dim);
}

TAEDA_COUNTED(unique_consecutive, Distinct,
              (const Tensor& self, bool return_inverse, bool return_counts,
               std::optional<int64_t> dim)) {
  return dim ? distinct_slices(self, *dim) : distinct_elements(self, return_inverse, return_counts);
}

TAEDA_COUNTED(bincount, Tensor, (const Tensor& self, const Tensor& weights, SymInt minlength)) {
  TAEDA_CHECK(self.dim() == 1 && is_integral(self.dtype()),
              "bincount only supports 1-d non-negative integral inputs.");
  TAEDA_CHECK(minlength >= SymInt(0), "minlength should be >= 0");
  const DType weighed =
      weights.defined() && weights.dtype() == DType::Float ? DType::Float : DType::Double;
  const SymIntVec sizes{new_count({.least = minlength})};
  return meta_tensor(sizes, weights.defined() ? weighed : DType::Int64);
}

TAEDA_COUNTED(repeat_interleave_Tensor, Tensor,
              (const Tensor& repeats, std::optional<SymInt> output_size)) {
  TAEDA_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  const SymIntVec sizes{output_size ? *output_size : new_count({})};
  return meta_tensor(sizes, repeats.dtype());
}

}  // namespace taeda
