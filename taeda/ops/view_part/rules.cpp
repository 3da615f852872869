// Views of parts of a tensor, and the operators that put gradients of parts back.
#include "taeda/ops/view_part/declarations.h"

#include <algorithm>
#include <limits>

#include "taeda/core/unbacked.h"
#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/number_in_tensor.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/size_limits.h"
#include "taeda/ops/view_part/stepped.h"

namespace taeda {

SymInt stepped(const SymInt& stride, const SymInt& step) {
  int64_t product;
  const bool is_plain = !stride.is_symbolic() && !step.is_symbolic();
  if (is_plain && (__builtin_mul_overflow(stride.word(), step.word(), &product) ||
                   product > std::numeric_limits<int64_t>::max() / 4))
    return stride;
  return stride * step;
}

}  // namespace taeda

namespace taeda::impl {

Tensor select_int(const Tensor& self, int64_t dim, SymInt index) {
  TAEDA_CHECK_INDEX(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, self.dim());
  const SymInt size = self.sym_sizes()[dim];
  // Conditions on an index that only data tells are checked by the operator when it runs.
  const auto is_given = [&](SymOp op, const SymInt& bound) {
    return index.is_symbolic() ? known(op, index, bound).value_or(true) : expect(op, index, bound);
  };
  TAEDA_CHECK_INDEX(is_given(SymOp::Ge, -size) && is_given(SymOp::Lt, size), "select(): index ",
                    index, " out of range for tensor of size ", self.sym_sizes(), " at dimension ",
                    dim);
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  SymInt offset = self.impl()->sym_storage_offset();
  if (const std::optional<bool> from_end = known(SymOp::Lt, index, 0))
    offset = offset + (*from_end ? index + size : index) * strides[dim];
  else
    offset = number_of("offset of select", {offset, index, size, strides[dim]});
  sizes.erase(dim);
  strides.erase(dim);
  return make_alias_sym(self, sizes, strides, offset);
}

namespace {

// A bound of a slice as a position from 0 to the size; nothing where only data tells which.
std::optional<SymInt> clamped(SymInt at, const SymInt& size) {
  std::optional<bool> is_negative = known(SymOp::Lt, at, 0);
  if (is_negative == true) {
    at = at + size;
    is_negative = known(SymOp::Lt, at, 0);
  }
  if (!is_negative) return std::nullopt;
  if (*is_negative) return SymInt(0);
  const std::optional<bool> is_beyond = known(SymOp::Gt, at, size);
  if (!is_beyond) return std::nullopt;
  return *is_beyond ? size : at;
}

// The number of steps from one position to another.
std::optional<SymInt> distance(const SymInt& first, const SymInt& last, const SymInt& step) {
  const std::optional<bool> is_empty = known(SymOp::Lt, last, first);
  if (!is_empty) return std::nullopt;
  if (*is_empty) return SymInt(0);
  return parts_of(last - first, step);
}

}  // namespace

Tensor slice_Tensor(const Tensor& self, int64_t dim, std::optional<SymInt> start,
                    std::optional<SymInt> end, SymInt step) {
  TAEDA_CHECK_INDEX(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK(step > SymInt(0), "slice step must be positive");
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  const SymInt size = sizes[dim];
  const std::optional<SymInt> first = clamped(start.value_or(0), size);
  // The largest integer is how graphs write "to the end"; it asks nothing of the size.
  const bool is_open = !end || (!end->is_symbolic() && end->word() == INT64_MAX);
  const std::optional<SymInt> last = is_open ? size : clamped(*end, size);
  SymInt offset = self.impl()->sym_storage_offset();
  if (first) {
    offset = offset + *first * strides[dim];
  } else {
    offset = number_of("offset of slice", {offset, *start, size, strides[dim]});
    learn(SymOp::Ge, offset, 0);
  }
  std::optional<SymInt> length = first && last ? distance(*first, *last, step) : std::nullopt;
  if (!length) {
    const SymInt to = is_open ? size : *end;
    length = number_of("length of slice", {size, start.value_or(0), to, step});
    learn_size(*length);
    learn(SymOp::Le, *length, size);
  }
  sizes[dim] = *length;
  strides[dim] = stepped(strides[dim], step);
  return make_alias_sym(self, sizes, strides, offset);
}

Tensor narrow(const Tensor& self, int64_t dim, SymInt start, SymInt length) {
  TAEDA_CHECK(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  TAEDA_CHECK(expect_size(length), "narrow(): length must be non-negative.");
  const SymInt size = self.sym_size(dim);
  // A start that only data tells counts from the front.
  const std::optional<bool> from_end = known(SymOp::Lt, start, 0);
  TAEDA_CHECK_INDEX(
      expect(SymOp::Ge, start, from_end ? -size : SymInt(0)) && expect(SymOp::Le, start, size),
      "start out of range (expected to be in range of [", -size, ", ", size, "], but got ", start,
      ")");
  if (from_end == true) start = start + size;
  const bool is_too_long = are_plain(length, size) && length > size;
  TAEDA_CHECK(!is_too_long && expect(SymOp::Le, start, size - length), "start (", start,
              ") + length (", length, ") exceeds dimension size (", size, ").");
  return self.slice(dim, start, start + length, 1);
}

Tensor narrow_Tensor(const Tensor& self, int64_t dim, const Tensor& start, SymInt length) {
  TAEDA_CHECK(start.dim() == 0 && is_integral(start.dtype()),
              "start must be an 0-dim integral Tensor.");
  return self.narrow(dim, number_in_tensor(start), length);
}

namespace {

// No dimension is as long: a diagonal so far off is as empty as one still farther.
constexpr int64_t kFarthestOffset = std::numeric_limits<int64_t>::max() / 4;

}  // namespace

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  offset = std::clamp(offset, -kFarthestOffset, kFarthestOffset);
  const int64_t given1 = dim1, given2 = dim2;
  dim1 = wrap_dim(dim1, self.dim());
  dim2 = wrap_dim(dim2, self.dim());
  TAEDA_CHECK(dim1 != dim2, "diagonal dimensions cannot be identical ", given1, ", ", given2);
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  const SymInt rows = offset < 0 ? sizes[dim1] + SymInt(offset) : sizes[dim1];
  const SymInt cols = offset > 0 ? sizes[dim2] - SymInt(offset) : sizes[dim2];
  const SymInt length = sym_max(sym_min(rows, cols), 0);
  SymInt start = self.impl()->sym_storage_offset();
  if (length != SymInt(0))
    start += offset >= 0 ? SymInt(offset) * strides[dim2] : SymInt(-offset) * strides[dim1];
  const SymInt stride = strides[dim1] + strides[dim2];
  for (int64_t d : {std::max(dim1, dim2), std::min(dim1, dim2)}) {
    sizes.erase(d);
    strides.erase(d);
  }
  sizes.push_back(length);
  strides.push_back(stride);
  return make_alias_sym(self, sizes, strides, start);
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  dimension = wrap_dim(dimension, self.dim());
  const SymInt whole = self.dim() ? self.sym_sizes()[dimension] : SymInt(1);
  TAEDA_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  TAEDA_CHECK(expect(SymOp::Le, size, whole), "maximum size for tensor at dimension ", dimension,
              " is ", whole, " but size is ", size);
  TAEDA_CHECK(step > 0, "step is ", step, " but must be > 0");
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  sizes.push_back(SymInt(size));
  strides.push_back(self.dim() ? strides[dimension] : SymInt(1));
  if (self.dim()) {
    sizes[dimension] = (whole - SymInt(size)) / SymInt(step) + SymInt(1);
    strides[dimension] = stepped(strides[dimension], SymInt(step));
  }
  return make_alias_sym(self, sizes, strides, self.impl()->sym_storage_offset());
}

namespace {

Tensor zeros_for(const Tensor& grad, SymIntList sizes) { return grad.new_zeros(sizes); }

}  // namespace

Tensor select_backward(const Tensor& grad_output, SymIntList input_sizes, int64_t dim,
                       SymInt index) {
  Tensor out = zeros_for(grad_output, input_sizes);
  out.select(dim, index).copy_(grad_output);
  return out;
}

Tensor slice_backward(const Tensor& grad_output, SymIntList input_sizes, int64_t dim, SymInt start,
                      SymInt end, SymInt step) {
  Tensor out = zeros_for(grad_output, input_sizes);
  out.slice(dim, start, end, step).copy_(grad_output);
  return out;
}

Tensor diagonal_backward(const Tensor& grad_output, SymIntList input_sizes, int64_t offset,
                         int64_t dim1, int64_t dim2) {
  Tensor out = zeros_for(grad_output, input_sizes);
  out.diagonal(offset, dim1, dim2).copy_(grad_output);
  return out;
}

Tensor unfold_backward(const Tensor& grad_in, SymIntList input_sizes, int64_t dim, int64_t size,
                       int64_t step) {
  TAEDA_CHECK_VALUE(step > 0, "step is ", step, " but must be > 0");
  Tensor out = zeros_for(grad_in, input_sizes);
  if (step >= size) {
    out.unfold(dim, size, step).copy_(grad_in);
    return out;
  }
  // Windows overlap: their k-th elements, taken together, do not.
  dim = wrap_dim(dim, out.dim());
  const SymInt count = grad_in.sym_size(dim);
  if (count == SymInt(0)) return out;
  for (int64_t k = 0; k < size; ++k) {
    const SymInt last = SymInt(k) + (count - SymInt(1)) * SymInt(step) + SymInt(1);
    out.slice(dim, SymInt(k), last, SymInt(step)).add_(grad_in.select(-1, SymInt(k)));
  }
  return out;
}

namespace {

void check_part(const Tensor& src, const Tensor& part) {
  TAEDA_CHECK(src.sym_sizes() == part.sym_sizes(),
              "expected src to have a size equal to the slice of self. src size = ",
              src.sym_sizes(), ", slice size = ", part.sym_sizes());
}

}  // namespace

namespace {

// A copy that `src` can be written into: batched under vmap where `src` alone is.
Tensor copy_to_fill(const Tensor& self, const Tensor& src) {
  if (!dispatch::wrapper_of(src) || dispatch::wrapper_of(self)) return self.clone();
  Tensor out = src.new_empty(self.sym_sizes(), self.dtype());
  return out.copy_(self);
}

}  // namespace

Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, SymInt index) {
  Tensor out = copy_to_fill(self, src);
  Tensor part = out.select(dim, index);
  check_part(src, part);
  part.copy_(src);
  return out;
}

Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim,
                     std::optional<SymInt> start, std::optional<SymInt> end, SymInt step) {
  Tensor out = copy_to_fill(self, src);
  Tensor part = out.slice(dim, start, end, step);
  check_part(src, part);
  part.copy_(src);
  return out;
}

Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  Tensor out = copy_to_fill(self, src);
  Tensor part = out.diagonal(offset, dim1, dim2);
  check_part(src, part);
  part.copy_(src);
  return out;
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t ndim = self.dim() + 1;
  const int64_t given1 = dim1, given2 = dim2;
  dim1 = wrap_dim(dim1, ndim);
  dim2 = wrap_dim(dim2, ndim);
  TAEDA_CHECK(dim1 != dim2, "diagonal dimensions cannot be identical ", given1, ", ", given2);
  const SymInt side = diagonal_side(self.sym_size(-1), offset);
  SymIntVec sizes(self.sym_sizes());
  sizes.pop_back();
  sizes.insert(std::min(dim1, dim2), side);
  sizes.insert(std::max(dim1, dim2), side);
  Tensor out = self.new_zeros(sizes);
  out.diagonal(offset, dim1, dim2).copy_(self);
  return out;
}

}  // namespace taeda::impl
