// Elements put into places: positions of the flattened tensor, masks, slices and segments.
#include "taeda/ops/placement/rules.h"

#include "taeda/base/log.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/made_apart.h"
#include "taeda/ops/placement/declarations.h"
#include "taeda/ops/placement/functions.h"
#include "taeda/ops/shape.h"

namespace taeda {

Tensor slice_index(const Tensor& index, const Tensor& source, int64_t dim) {
  const Tensor line = index.reshape({SymInt(-1)});
  if (source.dim() == 0) return line.reshape({});
  SymIntVec shape(static_cast<size_t>(source.dim()), SymInt(1));
  shape[wrap_dim(dim, source.dim())] = line.sym_size(0);
  return line.reshape(shape).expand(source.sym_sizes());
}

namespace impl {

// ---- put ----
namespace {

void check_put(const Tensor& self, const Tensor& index, const Tensor& source) {
  TAEDA_CHECK(index.dtype() == DType::Int64, "put_(): Expected a long tensor for index, but got ",
              index.dtype());
  TAEDA_CHECK(self.dtype() == source.dtype(),
              "put_(): self and source expected to have the same "
              "dtype, but got self.dtype = ",
              self.dtype(), " and source.dtype = ", source.dtype());
  TAEDA_CHECK(self.device() == source.device() && self.device() == index.device(),
              "put_(): self, index and source expected to be in the same device, but got "
              "self.device = ",
              self.device(), ", index.device = ", index.device(),
              ", and source.device = ", source.device());
  TAEDA_CHECK_INDEX(source.sym_numel() == index.sym_numel(),
                    "put_(): Expected source and index to have the same number of elements, but "
                    "got source.numel() = ",
                    source.sym_numel(), ", index.numel() = ", index.sym_numel());
  TAEDA_CHECK_INDEX(self.sym_numel() != SymInt(0) || index.sym_numel() == SymInt(0),
                    "put_(): Tried to put elements into an empty tensor");
}
Tensor flattened(const Tensor& t) { return t.reshape({SymInt(-1)}); }

// One index per dimension of `self` for positions of the flattened tensor.
std::vector<Tensor> coordinates_of(const Tensor& index, const Tensor& self) {
  const Tensor line = flattened(index);
  const SymInt count = self.sym_numel();
  Tensor rest = taeda::where(line.lt(Scalar(0)), line + Scalar(count), line);
  std::vector<Tensor> out(static_cast<size_t>(self.dim()));
  for (int64_t d = self.dim() - 1; d > 0; --d) {
    const Scalar size(self.sym_size(d));
    out[d] = rest.remainder(size);
    rest = rest.div(size, "floor");
  }
  // What lies in front of the first element must not count from the end.
  out[0] = taeda::where(rest.lt(Scalar(0)), Scalar(self.sym_size(0)), rest);
  return out;
}

}  // namespace

Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check_put(self, index, source);
  const Tensor at[] = {flattened(index)};
  return flattened(self).index_put(at, flattened(source), accumulate).reshape(self.sym_sizes());
}
Tensor& put_(Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check_put(self, index, source);
  check_no_internal_overlap(self);
  check_no_overlap(self, index);
  check_no_overlap(self, source);
  if (!self.is_contiguous() && index.sym_numel() > SymInt(0))
    return self.index_put_(coordinates_of(index, self), flattened(source), accumulate);
  if (!self.is_contiguous()) return self;
  const Tensor at[] = {flattened(index)};
  Tensor line = self.view({SymInt(-1)});
  line.index_put_(at, flattened(source), accumulate);
  return self;
}
Tensor& put_out(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate,
                Tensor& out) {
  check_put(self, index, source);
  const auto apart = [&](const Tensor& t) { return is_made_apart(out, t) ? t.clone() : t; };
  const Tensor at = apart(index), values = apart(source);
  const Tensor before = out.is_same(self) ? self : apart(self);
  OutSpec(self.sym_sizes(), self.dtype(), self.device()).prepare_out(out, "put");
  if (!out.is_same(self)) out.copy_(before);
  return impl::put_(out, at, values, accumulate);
}

// ---- masked_scatter ----

OutSpec masked_scatter_spec(const Tensor& self, const Tensor& mask, const Tensor& source) {
  TAEDA_CHECK(self.dtype() == source.dtype(),
              "masked_scatter: expected self and source to have same dtypes but got ", self.dtype(),
              " and ", source.dtype());
  TAEDA_CHECK(mask.dtype() == DType::Bool,
              "masked_scatter_ only supports boolean masks, but got mask with dtype ",
              mask.dtype());
  return OutSpec(SymIntList(broadcast_shapes(self.sym_sizes(), mask.sym_sizes())), self.dtype(),
                 self.device());
}

// ---- index_reduce ----
namespace {

void check_index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                        std::string_view reduce, bool include_self) {
  const int64_t d = wrap_dim(dim, self.dim());
  TAEDA_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
              "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ",
              reduce, ".");
  TAEDA_CHECK_INDEX(index.dim() <= 1,
                    "index_reduce_(): Index is supposed to be a vector, but got dim: ", index.dim(),
                    " with type: ", index.dtype(), " and size: ", index.sym_sizes());
  TAEDA_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
              "index_reduce_(): Expected dtype int32/int64 for index but got: ", index.dtype());
  TAEDA_CHECK(self.dtype() == source.dtype(), "index_reduce_(): self (", self.dtype(),
              ") and source (", source.dtype(), ") must have the same scalar type");
  TAEDA_CHECK_NOT_IMPLEMENTED(self.dtype() != DType::Bool && !self.is_complex(), "\"",
                              include_self ? "index_func_" : "index_reduce_func_exclude_input_init",
                              "\" not implemented for '", self.dtype(), "'");
  const SymInt length = source.dim() == 0 ? SymInt(1) : source.sym_size(d);
  TAEDA_CHECK(index.sym_numel() == length, "index_reduce_(): Number of indices (",
              index.sym_numel(), ") should be equal to source.size(dim): (", length,
              "), for dim: ", d);
  bool is_same = self.dim() == source.dim();
  for (int64_t i = 0; is_same && i < self.dim(); ++i)
    is_same = i == d || self.sym_size(i) == source.sym_size(i);
  TAEDA_CHECK(is_same,
              "source tensor shape must match self tensor shape, excluding the specified "
              "dimension. Got self.shape = ",
              self.sym_sizes(), " source.shape = ", source.sym_sizes());
  warn("index_reduce() is in beta and the API may change at any time.");
}

// The index for each element of `source`. index_select has the IndexError of one out of range.
Tensor reduced_places(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const SymInt size = self.dim() == 0 ? SymInt(1) : self.sym_size(wrap_dim(dim, self.dim()));
  const Tensor places =
      taeda::arange(Scalar(size), DType::Int64, std::nullopt, index.device(), std::nullopt);
  return slice_index(places.index_select(0, index.reshape({SymInt(-1)})), source, dim);
}

}  // namespace

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self) {
  check_index_reduce(self, dim, index, source, reduce, include_self);
  const Tensor at = reduced_places(self, dim, index, source);
  return self.scatter_reduce(dim, at, source, reduce, include_self);
}
Tensor& index_reduce_(Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                      std::string_view reduce, bool include_self) {
  check_index_reduce(self, dim, index, source, reduce, include_self);
  const Tensor at = reduced_places(self, dim, index, source);
  return self.scatter_reduce_(dim, at, source, reduce, include_self);
}
Tensor& index_reduce_out(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                         std::string_view reduce, bool include_self, Tensor& out) {
  check_index_reduce(self, dim, index, source, reduce, include_self);
  const Tensor at = reduced_places(self, dim, index, source);
  return taeda::scatter_reduce_out(out, self, dim, at, source, reduce, include_self);
}

// ---- masked indices ----
namespace {

// The indices moved into the tensor: what lies outside is masked.
std::vector<Tensor> clamped_indices(const Tensor& self, TensorList indices) {
  std::vector<Tensor> out;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) {
      out.push_back(indices[d]);
      continue;
    }
    const SymInt size = self.sym_size(static_cast<int64_t>(d));
    out.push_back(indices[d].clamp_min(Scalar(-size)).clamp_max(Scalar(size - SymInt(1))));
  }
  return out;
}
// The mask against dimensions that no index names.
Tensor aligned_mask(const Tensor& mask, const Tensor& values) {
  Tensor out = mask.logical_not();
  for (int64_t d = mask.dim(); d < values.dim(); ++d) out = out.unsqueeze(-1);
  return out;
}
bool are_broadcast_alike(const Tensor& mask, const Tensor& values) {
  return is_expandable_to(mask.sym_sizes(), values.sym_sizes());
}
Tensor hidden(const Tensor& mask, const Tensor& values) {
  return are_broadcast_alike(mask, values) ? mask.logical_not() : aligned_mask(mask, values);
}

}  // namespace

Tensor _unsafe_masked_index(const Tensor& self, const Tensor& mask, TensorList indices,
                            const Scalar& fill) {
  const std::vector<Tensor> at = clamped_indices(self, indices);
  const Tensor taken = taeda::index(self, at);
  return taken.masked_fill(hidden(mask, taken), fill);
}
Tensor _unsafe_masked_index_put_accumulate(const Tensor& self, const Tensor& mask,
                                           TensorList indices, const Tensor& values) {
  const std::vector<Tensor> at = clamped_indices(self, indices);
  return self.index_put(at, values.masked_fill(hidden(mask, values), Scalar(0)), true);
}

// ---- segments ----
namespace {

void check_segments(const Tensor& data, std::string_view reduce, const Tensor& lengths,
                    const Tensor& offsets, int64_t axis) {
  TAEDA_CHECK(lengths.defined() || offsets.defined(),
              "segment_reduce(): Either lengths or offsets must be defined.");
  TAEDA_CHECK(
      reduce == "max" || reduce == "mean" || reduce == "min" || reduce == "sum" || reduce == "prod",
      "unsupported reduction given! ", reduce);
  const Tensor& given = offsets.defined() ? offsets : lengths;
  TAEDA_CHECK(data.dim() >= given.dim(), "segment_reduce(): got ", given.dim(),
              " dimensions of segments for data of ", data.dim());
  TAEDA_CHECK(axis == given.dim() - 1,
              "segment_reduce(): Expected axis to be the last dimension of ",
              offsets.defined() ? "offsets" : "lengths", " but got ", axis, ".");
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(data.dtype()),
                              "\"_segment_reduce_cpu\" not implemented "
                              "for '",
                              data.dtype(), "'");
}

}  // namespace

OutSpec segment_reduce_spec(const Tensor& data, std::string_view reduce, const Tensor& lengths,
                            const Tensor& indices, const Tensor& offsets, int64_t axis, bool,
                            std::optional<Scalar>) {
  axis = wrap_dim(axis, data.dim());
  TAEDA_CHECK(!indices.defined(),
              "segment_reduce(): indices based reduction is not supported yet.");
  check_segments(data, reduce, lengths, offsets, axis);
  const Tensor& given = offsets.defined() ? offsets : lengths;
  SymIntVec sizes(given.sym_sizes());
  if (offsets.defined()) sizes[axis] = sizes[axis] - SymInt(1);
  for (int64_t d = axis + 1; d < data.dim(); ++d) sizes.push_back(data.sym_size(d));
  return OutSpec(SymIntList(sizes), data.dtype(), data.device());
}

OutSpec _segment_reduce_backward_spec(const Tensor&, const Tensor&, const Tensor& data,
                                      std::string_view reduce, const Tensor& lengths,
                                      const Tensor& offsets, int64_t axis, std::optional<Scalar>) {
  check_segments(data, reduce, lengths, offsets, wrap_dim(axis, data.dim()));
  return OutSpec(data.sym_sizes(), data.dtype(), data.device());
}

// ---- chunks and sums ----

namespace {

// The tensors with their chunks in a dimension of their own.
std::vector<Tensor> chunks_of(TensorList tensors, int64_t dim, int64_t num_chunks) {
  TAEDA_CHECK(num_chunks >= 1, "_chunk_cat expects positive num_chunks");
  TAEDA_CHECK(tensors.size() > 0, "_chunk_cat expects a non-empty input tensor list");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    TAEDA_CHECK(t.dtype() == tensors[0].dtype(), "_chunk_cat expects all tensors of one dtype");
    TAEDA_CHECK(t.sym_numel() > SymInt(0), "_chunk_cat expects non-empty tensor");
    TAEDA_CHECK(dim < t.dim(), "_chunk_cat expects dim < ndim for all input tensors");
    const int64_t d = wrap_dim(dim, t.dim());
    SymIntVec sizes(t.sym_sizes());
    const SymInt chunks(num_chunks), rows = (sizes[d] + chunks - SymInt(1)) / chunks;
    const SymInt missing = rows * chunks - sizes[d];
    Tensor whole = t;
    if (missing > SymInt(0)) {
      SymIntVec padding(t.sym_sizes());
      padding[d] = missing;
      whole = taeda::cat({t, t.new_zeros(padding)}, d);
    }
    SymIntVec shape;
    for (int64_t i = 0; i < d; ++i) shape.push_back(sizes[i]);
    shape.push_back(chunks);
    shape.push_back(SymInt(-1));
    parts.push_back(whole.reshape(shape));
  }
  return parts;
}

}  // namespace

Tensor _chunk_cat(TensorList tensors, int64_t dim, int64_t num_chunks) {
  const std::vector<Tensor> parts = chunks_of(tensors, dim, num_chunks);
  return taeda::cat(parts, wrap_dim(dim, tensors[0].dim()) + 1);
}
Tensor& _chunk_cat_out(TensorList tensors, int64_t dim, int64_t num_chunks, Tensor& out) {
  const std::vector<Tensor> parts = chunks_of(tensors, dim, num_chunks);
  return taeda::cat_out(out, parts, wrap_dim(dim, tensors[0].dim()) + 1);
}

Tensor sum_to_size(const Tensor& self, SymIntList size) {
  TAEDA_CHECK(gradients::can_sum_to(self.sym_sizes(), size), "size {", size,
              "} is not expandable to size {", self.sym_sizes(), "}.");
  // A sum to a single element adds in the dtype of sums, of one element too.
  return size.empty() ? self.sum() : gradients::sum_to(self, size);
}

Tensor flatten_dense_tensors(TensorList tensors) {
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.contiguous().view({-1}));
  return parts.size() == 1 ? parts[0] : taeda::cat(parts);
}

std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
  std::vector<Tensor> out;
  SymInt offset(0);
  for (const Tensor& t : tensors) {
    const SymInt numel = t.sym_numel();
    if (numel == SymInt(0)) {  // shares no memory with the others
      out.push_back(flat.new_empty(t.sym_sizes()));
      continue;
    }
    out.push_back(flat.narrow(0, offset, numel).view(t.sym_sizes()));
    offset = offset + numel;
  }
  return out;
}

}  // namespace impl
}  // namespace taeda
