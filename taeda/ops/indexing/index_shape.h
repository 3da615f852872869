// The result's shape of advanced indexing, from the shapes of the indices alone.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// One index tensor: the dimension it starts at, how many it covers (a mask covers its own), the
// shape it contributes (a mask: the number of its true elements).
struct IndexEntry {
  int64_t dim, covered;
  SymIntVec sizes;
};

struct TAEDA_API IndexShape {
  SymIntVec index_sizes;  // all entries, broadcast
  int64_t place = 0;      // where the index's dimensions start in the result
  IntVec kept;            // the dimensions that no entry covers
  SymIntVec sizes;        // of the result

  // Adjacent entries are replaced where they stand; separated ones move to the front, as in NumPy.
  IndexShape(const Tensor& self, Span<IndexEntry> entries);
  // Of the result: kept dimensions follow each other as in `self`, the index's as in the indices.
  SymIntVec strides(const Tensor& self, TensorList indices) const;
};

inline bool is_mask_dtype(DType t) { return t == DType::Bool || t == DType::UInt8; }
// Bytes as a mask are PyTorch's older form, and deprecated.
TAEDA_API void warn_of_byte_mask();
// "at least one index must be provided"
TAEDA_API void check_some_index(TensorList indices);
// Dtypes, number of dimensions, mask shapes: everything that can be checked without values.
TAEDA_API void check_indices(const Tensor& self, TensorList indices);
// What index_put_ asks of its arguments; then of the values' shape, then of their dtype.
TAEDA_API void check_index_put(const Tensor& self, TensorList indices, const Tensor& values);
TAEDA_API void check_put_shape(const Tensor& values, SymIntList result);
TAEDA_API void check_put_dtype(const Tensor& self, const Tensor& values);
// Whether there is an index at all: without one the whole tensor is meant.
TAEDA_API bool has_index(TensorList indices);
// The checks of index; tells has_index.
TAEDA_API bool check_index(const Tensor& self, TensorList indices);
// index_put_ without an index, and its checks.
TAEDA_API Tensor& put_whole(Tensor& self, TensorList indices, const Tensor& values,
                            bool accumulate);
// What an assignment to brackets writes: leading dimensions of size one beyond `ndim` do not count.
TAEDA_API Tensor without_leading_ones(const Tensor& value, int64_t ndim);

}  // namespace taeda
