// Shapes of advanced indexing and the checks that need no values.
#include "taeda/ops/indexing/index_shape.h"

#include "taeda/base/log.h"
#include "taeda/core/unbacked.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/stride_order.h"

namespace taeda {
namespace {

SymIntVec broadcast_entries(Span<IndexEntry> entries) {
  SymIntVec out;
  for (const IndexEntry& e : entries) {
    bool fits = true;
    for (size_t i = 1; i <= std::min(out.size(), e.sizes.size()); ++i) {
      const SymInt &a = out[out.size() - i], &b = e.sizes[e.sizes.size() - i];
      fits = fits && (a == b || a == SymInt(1) || b == SymInt(1));
    }
    if (!fits) {
      std::string shapes;
      for (const IndexEntry& entry : entries)
        shapes += str(shapes.empty() ? "" : ", ", entry.sizes);
      fail(ErrorKind::Index,
           "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
    }
    out = broadcast_shapes(out, e.sizes);
  }
  return out;
}

// Contiguous, with the usual strides of dimensions of size one too.
bool has_plain_strides(const Tensor& t) {
  SymInt running = 1;
  for (size_t d = static_cast<size_t>(t.dim()); d-- > 0; running = running * t.sym_sizes()[d])
    if (!is_known(SymOp::Eq, t.sym_strides()[d], running)) return false;
  return true;
}

}  // namespace

IndexShape::IndexShape(const Tensor& self, Span<IndexEntry> entries)
    : index_sizes(broadcast_entries(entries)) {
  const int64_t first = entries.front().dim;
  int64_t next = first;
  bool is_adjacent = true;
  uint64_t covered = 0;
  for (const IndexEntry& e : entries) {
    is_adjacent = is_adjacent && e.dim == next;
    next = e.dim + e.covered;
    for (int64_t d = e.dim; d < next; ++d) covered |= 1ULL << d;
  }
  place = is_adjacent ? first : 0;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (!(covered >> d & 1)) kept.push_back(d);
  for (int64_t i = 0; i < place; ++i) sizes.push_back(self.sym_sizes()[i]);
  for (const SymInt& s : index_sizes) sizes.push_back(s);
  for (size_t i = static_cast<size_t>(place); i < kept.size(); ++i)
    sizes.push_back(self.sym_sizes()[kept[i]]);
}

SymIntVec IndexShape::strides(const Tensor& self, TensorList indices) const {
  bool is_plain = has_plain_strides(self);
  for (const Tensor& t : indices) is_plain = is_plain && (!t.defined() || t.is_contiguous());
  if (is_plain) return contiguous_strides(sizes);
  std::vector<SymIntVec> along{SymIntVec(sizes.size(), SymInt(0))};
  const auto first = static_cast<size_t>(place), rank = index_sizes.size();
  for (size_t i = 0; i < kept.size(); ++i)
    along[0][i < first ? i : i + rank] = self.sym_strides()[kept[i]];
  for (const Tensor& t : indices) {
    if (!t.defined()) continue;
    // A mask is the coordinates of its elements, which lie in rows.
    const bool is_mask = is_mask_dtype(t.dtype());
    SymIntVec own(sizes.size(), SymInt(0));
    const size_t ndim = is_mask ? 1 : static_cast<size_t>(t.dim());
    for (size_t d = 0; d < ndim; ++d) {
      const size_t to = rank - ndim + d;
      if (is_mask)
        own[first + to] = SymInt(t.dim());
      else if (t.sym_sizes()[d] == index_sizes[to])
        own[first + to] = t.sym_strides()[d];
    }
    // Dimensions of size one around the index's have the strides of a view with them.
    for (size_t d = 0; rank > 0 && d < sizes.size(); ++d) {
      if (!is_known(SymOp::Eq, sizes[d], 1)) continue;
      if (d < first) own[d] = own[first] * index_sizes[0];
      if (d >= first + rank) own[d] = own[first + rank - 1];
    }
    along.push_back(std::move(own));
  }
  return strides_in_order(Span<SymIntVec>(along.data(), along.size()), sizes);
}

void warn_of_byte_mask() {
  warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
}

void check_some_index(TensorList indices) {
  TAEDA_CHECK_INDEX(!indices.empty(), "at least one index must be provided");
}

void check_indices(const Tensor& self, TensorList indices) {
  int64_t dim = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor& index = indices[i];
    if (!index.defined()) {
      ++dim;
      continue;
    }
    TAEDA_CHECK_INDEX(is_mask_dtype(index.dtype()) || index.dtype() == DType::Int64 ||
                          index.dtype() == DType::Int32,
                      "tensors used as indices must be long, int, byte or bool tensors");
    // An index without values says nothing about a tensor that has some.
    TAEDA_CHECK(self.is_meta() || !index.is_meta(),
                "indices should be either on cpu or on the same device as the indexed tensor (",
                self.device(), ")");
    if (!is_mask_dtype(index.dtype())) {
      ++dim;
      continue;
    }
    if (index.dtype() == DType::UInt8) warn_of_byte_mask();
    for (int64_t d = 0; d < index.dim(); ++d, ++dim)
      TAEDA_CHECK_INDEX(dim < self.dim() && index.sym_sizes()[d] == self.sym_sizes()[dim],
                        "The shape of the mask ", index.sym_sizes(), " at index ", d,
                        " does not match the shape of the indexed tensor ", self.sym_sizes(),
                        " at index ", dim);
  }
  TAEDA_CHECK_INDEX(dim <= self.dim(), "too many indices for tensor of dimension ", self.dim(),
                    " (got ", dim, ")");
}

void check_index_put(const Tensor& self, TensorList indices, const Tensor& values) {
  check_indices(self, indices);
  const Tensor* const written[] = {&self, &values};
  check_same_device("index_put_", written);
  check_disjoint(self, values);
  for (const Tensor& index : indices)
    if (index.defined()) check_disjoint(self, index);
}

bool has_index(TensorList indices) {
  for (const Tensor& t : indices)
    if (t.defined()) return true;
  return false;
}

bool check_index(const Tensor& self, TensorList indices) {
  check_some_index(indices);
  check_indices(self, indices);
  return has_index(indices);
}

Tensor& put_whole(Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  check_index_put(self, indices, values);
  check_put_dtype(self, values);
  return accumulate ? self.add_(values) : self.copy_(values);
}

void check_put_dtype(const Tensor& self, const Tensor& values) {
  TAEDA_CHECK(self.dtype() == values.dtype(),
              "Index put requires the source and destination dtypes match, got ", self.dtype(),
              " for the destination and ", values.dtype(), " for the source.");
}

void check_put_shape(const Tensor& values, SymIntList result) {
  TAEDA_CHECK(is_expandable_to(values.sym_sizes(), result),
              "shape mismatch: value tensor of shape ", values.sym_sizes(),
              " cannot be broadcast to indexing result of shape ", result);
}

}  // namespace taeda
