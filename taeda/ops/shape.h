// Shape arithmetic shared by the operators' rules, on SymInt.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"
TAEDA_API SymIntVec broadcast_shapes(SymIntList a, SymIntList b);
TAEDA_API bool is_expandable_to(SymIntList from, SymIntList to);
// Resolves one -1; "shape '[2, -1]' is invalid for input of size 5".
TAEDA_API SymIntVec infer_size(SymIntList shape, const SymInt& numel);
TAEDA_API SymIntVec contiguous_strides(SymIntList sizes);
TAEDA_API SymIntVec channels_last_strides(SymIntList sizes);
// Strides of a dense result whose dimensions follow each other in memory as the inputs' do.
TAEDA_API SymIntVec strides_in_order(Span<const Tensor*> inputs, SymIntList sizes);
// Strides of an empty tensor like `self` in a memory format (Preserve keeps dense permutations).
TAEDA_API SymIntVec strides_like(const Tensor& self, MemoryFormat format);
// Whether a contiguous tensor has strides that its sizes do not give: along dimensions of size one,
// or where it has no elements. Of symbolic sizes only those that are always one are looked at.
TAEDA_API bool has_own_strides(const Tensor& t);
// Sorted, wrapped, checked for repeats: "dim 0 appears multiple times in the list of dims".
TAEDA_API uint64_t dim_bitset(IntList dims, int64_t ndim, bool all_when_empty);
// Sizes after reducing the dimensions in `bits`.
TAEDA_API SymIntVec reduced_sizes(const Tensor& self, uint64_t bits, bool keepdim);
// All on one device, but zero-dimensional tensors on the CPU, which go with any. The first of the
// others; null where there is none.
TAEDA_API const Tensor* check_same_device(const char* op, Span<const Tensor*> tensors);
// The result lies where that tensor does: one that follows a number on the CPU could not be
// written.
TAEDA_API void check_result_device(const char* op, const Tensor* placed, Device result);

// PyTorch's result type: dimensioned tensors decide the category first, then zero-dim ones, then
// numbers.
TAEDA_API DType result_type(Span<const Tensor*> tensors);
TAEDA_API DType result_type(TensorList tensors);

}  // namespace taeda
