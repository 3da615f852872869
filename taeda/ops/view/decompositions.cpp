// Views, joins and rearrangements outside the core set as functions of core operators.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/rearrange/declarations.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/view_part/stepped.h"

namespace taeda {
namespace {

Tensor swapped(const Tensor& self, int64_t dim0, int64_t dim1) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < self.dim(); ++d) order.push_back(d);
  if (!order.empty()) std::swap(order[static_cast<size_t>(dim0)], order[static_cast<size_t>(dim1)]);
  return taeda::permute(self, order);
}

// Turned by `shift` along one dimension.
Tensor rolled(const Tensor& self, const SymInt& shift, int64_t dim) {
  const SymInt size = self.sym_size(dim);
  if (size == SymInt(0)) return self;
  const SymInt by = shift % size;
  const SymInt start = size - by;
  // Parts of symbolic lengths may be empty, which would be a condition on sizes.
  if (by.is_symbolic()) return taeda::narrow(taeda::cat({self, self}, dim), dim, start, size);
  if (by == SymInt(0)) return self;
  return taeda::cat({taeda::slice(self, dim, start, size, 1), taeda::slice(self, dim, 0, start, 1)},
                    dim);
}

// The column's number less the row's, for every element of the last two dimensions.
Tensor diagonal_numbers(const SymInt& rows, const SymInt& columns, Device device) {
  const auto range = [&](const SymInt& n) {
    return taeda::arange(Scalar(n), DType::Int64, {}, device);
  };
  return range(columns) - range(rows).unsqueeze(1);
}

Scalar zero_of(const Tensor& t) { return t.dtype() == DType::Bool ? Scalar(false) : Scalar(0); }

Tensor masked(const Tensor& mask, const Tensor& self) {
  return taeda::where(mask, self, zero_of(self));
}

}  // namespace

TAEDA_DECOMPOSITION(transpose_int, (const Tensor& self, int64_t dim0, int64_t dim1)) {
  return swapped(self, wrap_dim(dim0, self.dim()), wrap_dim(dim1, self.dim()));
}
TAEDA_DECOMPOSITION(t, (const Tensor& self)) {
  return self.dim() < 2 ? taeda::alias(self) : swapped(self, 0, 1);
}
TAEDA_DECOMPOSITION(squeeze, (const Tensor& self)) {
  std::vector<int64_t> single;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (self.sym_size(d) == SymInt(1)) single.push_back(d);
  return ops::squeeze_dims(self, single);
}
TAEDA_DECOMPOSITION(_reshape_alias, (const Tensor& self, SymIntList size, SymIntList)) {
  return taeda::view(self, size);
}

TAEDA_DECOMPOSITION(detach, (const Tensor& self)) { return taeda::alias(self); }

TAEDA_DECOMPOSITION(unbind_int, (const Tensor& self, int64_t dim)) {
  std::vector<Tensor> parts;
  for (int64_t i = 0, n = self.sym_size(dim).expect_int(); i < n; ++i)
    parts.push_back(taeda::select(self, dim, i));
  return parts;
}
TAEDA_DECOMPOSITION(split_Tensor, (const Tensor& self, SymInt split_size, int64_t dim)) {
  std::vector<SymInt> sizes;
  const SymInt whole = self.sym_size(dim);
  for (SymInt at = 0; at < whole; at = at + split_size)
    sizes.push_back(sym_min(split_size, whole - at));
  if (sizes.empty()) sizes.push_back(whole);
  return ops::split_with_sizes(self, sizes, dim);
}
TAEDA_DECOMPOSITION(unsafe_split_Tensor, (const Tensor& self, SymInt split_size, int64_t dim)) {
  return ops::split_Tensor(self, split_size, dim);
}
TAEDA_DECOMPOSITION(unsafe_split_with_sizes,
                    (const Tensor& self, SymIntList split_sizes, int64_t dim)) {
  return ops::split_with_sizes(self, split_sizes, dim);
}

TAEDA_DECOMPOSITION(unfold, (const Tensor& self, int64_t dimension, int64_t size, int64_t step)) {
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  const SymInt window(size), by(step);
  if (self.dim() == 0) {
    sizes.push_back(window);
    strides.push_back(SymInt(1));
  } else {
    const auto d = static_cast<size_t>(wrap_dim(dimension, self.dim()));
    sizes.push_back(window);
    strides.push_back(SymInt(strides[d]));
    sizes[d] = (sizes[d] - window) / by + SymInt(1);
    strides[d] = stepped(strides[d], by);
  }
  return taeda::as_strided(self, sizes, strides, self.impl()->sym_storage_offset());
}

TAEDA_DECOMPOSITION(stack, (TensorList tensors, int64_t dim)) {
  dim = wrap_dim(dim, tensors[0].dim() + 1);
  if (dim < tensors[0].dim()) {
    SymIntVec sizes(tensors[0].sym_sizes());
    sizes.insert(dim, SymInt(tensors.size()));
    return taeda::view(taeda::cat(tensors, dim), sizes);
  }
  std::vector<Tensor> columns;
  for (const Tensor& each : tensors) columns.push_back(each.unsqueeze(-1));
  return taeda::cat(columns, -1);
}

TAEDA_DECOMPOSITION(roll, (const Tensor& self, SymIntList shifts, IntList dims)) {
  const bool is_flat = dims.empty();
  Tensor out = is_flat ? self.reshape({SymInt(-1)}) : self;
  for (size_t i = 0; i < shifts.size(); ++i)
    out = rolled(out, shifts[i], is_flat ? 0 : wrap_dim(dims[i], self.dim()));
  if (is_flat) out = taeda::view(out, self.sym_sizes());
  // The parts that are joined have the operator's layout, where that is another one.
  return out.clone(impl::roll_spec(self, shifts, dims).strides.empty() ? MemoryFormat::Contiguous
                                                                       : MemoryFormat::Preserve);
}

TAEDA_DECOMPOSITION(tril, (const Tensor& self, SymInt diagonal)) {
  const Tensor at = diagonal_numbers(self.sym_size(-2), self.sym_size(-1), self.device());
  return masked(taeda::le(at, Scalar(diagonal)), self).clone(MemoryFormat::Contiguous);
}
TAEDA_DECOMPOSITION(triu, (const Tensor& self, SymInt diagonal)) {
  const Tensor at = diagonal_numbers(self.sym_size(-2), self.sym_size(-1), self.device());
  return masked(taeda::ge(at, Scalar(diagonal)), self).clone(MemoryFormat::Contiguous);
}

// ---- gradients of parts ----

TAEDA_DECOMPOSITION(select_backward, (const Tensor& grad_output, SymIntList input_sizes,
                                      int64_t dim, SymInt index)) {
  return taeda::select_scatter(grad_output.new_zeros(input_sizes), grad_output, dim, index);
}
TAEDA_DECOMPOSITION(slice_backward, (const Tensor& grad_output, SymIntList input_sizes, int64_t dim,
                                     SymInt start, SymInt end, SymInt step)) {
  return taeda::slice_scatter(grad_output.new_zeros(input_sizes), grad_output, dim, start, end,
                              step);
}

// The gradient as a column (a row below the diagonal) of the matrix it is the diagonal of.
TAEDA_DECOMPOSITION(diagonal_backward, (const Tensor& grad_output, SymIntList input_sizes,
                                        int64_t offset, int64_t dim1, int64_t dim2)) {
  const auto ndim = static_cast<int64_t>(input_sizes.size());
  dim1 = wrap_dim(dim1, ndim);
  dim2 = wrap_dim(dim2, ndim);
  const SymInt rows = input_sizes[static_cast<size_t>(dim1)],
               columns = input_sizes[static_cast<size_t>(dim2)];
  SymIntVec line(grad_output.sym_sizes());
  line.back() = offset >= 0 ? rows : columns;
  const Tensor padded = taeda::slice_scatter(grad_output.new_zeros(SymIntList(line)), grad_output,
                                             -1, SymInt(0), grad_output.sym_size(-1), 1);
  const Tensor at = diagonal_numbers(rows, columns, grad_output.device());
  const Tensor matrix =
      masked(taeda::eq(at, Scalar(offset)), padded.unsqueeze(offset >= 0 ? -1 : -2));
  return taeda::movedim(matrix, IntList({-2, -1}), IntList({dim1, dim2}))
      .clone(MemoryFormat::Contiguous);
}

TAEDA_DECOMPOSITION(unfold_backward, (const Tensor& grad_in, SymIntList input_sizes, int64_t dim,
                                      int64_t size, int64_t step)) {
  const Tensor zeros = grad_in.new_zeros(input_sizes);
  if (zeros.dim() == 0) return ops::sum_dim_IntList(grad_in, std::nullopt, false, {});
  dim = wrap_dim(dim, zeros.dim());
  const Tensor range =
      taeda::arange(Scalar(zeros.sym_size(dim)), DType::Int64, {}, grad_in.device());
  const Tensor windows = taeda::movedim(grad_in, -1, dim + 1).flatten(dim, dim + 1);
  return taeda::index_add(zeros, dim, range.unfold(0, size, step).flatten(), windows);
}

}  // namespace taeda
