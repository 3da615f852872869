// Views of a tensor's parts, several at once.
#include "taeda/ops/split/declarations.h"

#include <algorithm>

#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/number_in_tensor.h"
#include "taeda/ops/size_limits.h"

namespace taeda::impl {
namespace {

Tensor part(const Tensor& self, int64_t dim, const SymInt& start, const SymInt& length) {
  SymIntVec sizes(self.sym_sizes());
  sizes[dim] = length;
  return make_alias_sym(self, sizes, self.sym_strides(),
                        self.impl()->sym_storage_offset() + start * self.sym_strides()[dim]);
}

}  // namespace

std::vector<Tensor> unbind_int(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim(), false);
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  const int64_t count = sizes[dim].expect_int();
  const SymInt stride = strides[dim];
  sizes.erase(dim);
  strides.erase(dim);
  std::vector<Tensor> out;
  out.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    out.push_back(make_alias_sym(self, sizes, strides,
                                 self.impl()->sym_storage_offset() + SymInt(i) * stride));
  return out;
}

std::vector<Tensor> split_Tensor(const Tensor& self, SymInt split_size, int64_t dim) {
  TAEDA_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK(split_size >= SymInt(0),
              "split expects split_size be non-negative, but got split_size=", split_size);
  const SymInt size = self.sym_sizes()[dim];
  TAEDA_CHECK(split_size > SymInt(0) || size == SymInt(0),
              "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  // How many parts there are must be known; how long they are need not.
  const int64_t count =
      split_size == SymInt(0) ? 1 : std::max<int64_t>(parts_of(size, split_size).expect_int(), 1);
  std::vector<Tensor> out;
  for (int64_t i = 0; i < count; ++i) {
    const SymInt start = split_size * SymInt(i);
    out.push_back(part(self, dim, start, i + 1 < count ? split_size : size - start));
  }
  return out;
}

std::vector<Tensor> split_with_sizes(const Tensor& self, SymIntList split_sizes, int64_t dim) {
  TAEDA_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, self.dim());
  SymInt total = 0;
  bool is_within_limits = true;
  for (const SymInt& s : split_sizes) {
    TAEDA_CHECK(
        expect_size(s),
        "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
        split_sizes);
    is_within_limits = is_within_limits && add_within_limits(total, s);
  }
  TAEDA_CHECK(is_within_limits && expect(SymOp::Eq, total, self.sym_sizes()[dim]),
              "split_with_sizes expects split_sizes to sum exactly to ", self.sym_sizes()[dim],
              " (input tensor's size at dimension ", dim, "), but got split_sizes=", split_sizes);
  std::vector<Tensor> out;
  SymInt start = 0;
  for (const SymInt& s : split_sizes) {
    out.push_back(part(self, dim, start, s));
    start += s;
  }
  return out;
}

std::vector<Tensor> split_sizes(const Tensor& self, SymIntList split_size, int64_t dim) {
  return self.split_with_sizes(split_size, dim);
}

namespace {

SymInt chunk_length(const Tensor& self, int64_t chunks, int64_t dim) {
  TAEDA_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  TAEDA_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  return parts_of(self.sym_size(dim), SymInt(chunks));
}

// An empty dimension has as many empty parts as asked for; a std::vector refuses a number of them
// that no memory holds.
std::vector<SymInt> empty_sizes(int64_t chunks) {
  return std::vector<SymInt>(static_cast<size_t>(chunks));
}

}  // namespace

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  const SymInt length = chunk_length(self, chunks, dim);
  if (length == SymInt(0)) return self.split_with_sizes(empty_sizes(chunks), dim);
  return self.split(length, dim);
}

namespace {

// Parts that share memory but count as tensors of their own: nobody uses the whole any more.
std::vector<Tensor> as_own(std::vector<Tensor> parts) {
  for (const Tensor& t : parts)
    if (t.impl()->has_version_counter()) t.impl()->own_version_counter();
  return parts;
}

}  // namespace

std::vector<Tensor> unsafe_split_Tensor(const Tensor& self, SymInt split_size, int64_t dim) {
  return as_own(impl::split_Tensor(self, split_size, dim));
}
std::vector<Tensor> unsafe_split_with_sizes(const Tensor& self, SymIntList split_sizes,
                                            int64_t dim) {
  return as_own(impl::split_with_sizes(self, split_sizes, dim));
}
std::vector<Tensor> unsafe_chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  const SymInt length = chunk_length(self, chunks, dim);
  if (length == SymInt(0)) return self.unsafe_split_with_sizes(empty_sizes(chunks), dim);
  return self.unsafe_split(length, dim);
}

namespace {

void check_tensor_split(const Tensor& self) {
  TAEDA_CHECK(self.dim() > 0,
              "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ",
              self.dim(), " dims");
}

}  // namespace

std::vector<Tensor> tensor_split_sections(const Tensor& self, SymInt sections, int64_t dim) {
  check_tensor_split(self);
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK(sections > SymInt(0), "number of sections must be larger than 0, got ", sections);
  const SymInt size = self.sym_sizes()[dim];
  const int64_t count = sections.expect_int();
  std::vector<Tensor> out;
  out.reserve(static_cast<size_t>(count));  // here, where too many of them fail at once
  SymInt start = 0;
  for (int64_t i = 0; i < count; ++i) {
    const SymInt length = size / sections + SymInt(SymInt(i) < size % sections ? 1 : 0);
    out.push_back(self.slice(dim, start, start + length, 1));
    start += length;
  }
  return out;
}

std::vector<Tensor> tensor_split_indices(const Tensor& self, SymIntList indices, int64_t dim) {
  check_tensor_split(self);
  dim = wrap_dim(dim, self.dim());
  std::vector<Tensor> out;
  SymInt start = 0;
  for (const SymInt& end : indices) {
    out.push_back(self.slice(dim, start, end, 1));
    start = end;
  }
  out.push_back(self.slice(dim, start, self.sym_sizes()[dim], 1));
  return out;
}

std::vector<Tensor> tensor_split_tensor_indices_or_sections(
    const Tensor& self, const Tensor& tensor_indices_or_sections, int64_t dim) {
  const Tensor& given = tensor_indices_or_sections;
  check_tensor_split(self);
  // PyTorch names the CPU: the indices are read on the host.
  TAEDA_CHECK(given.device().is_cpu(),
              "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on ",
              given.device());
  TAEDA_CHECK(given.dtype() == DType::Int64,
              "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
              given.dtype());
  TAEDA_CHECK(given.dim() <= 1,
              "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
              "one-dimensional tensor, but got a tensor with ",
              given.dim(), " dims");
  if (given.dim() == 0) return self.tensor_split(number_in_tensor(given), dim);
  SymIntVec indices;
  for (int64_t i = 0; i < given.numel(); ++i)
    indices.push_back(number_in_tensor(given.select(0, SymInt(i))));
  return self.tensor_split(SymIntList(indices), dim);
}

namespace {

// Dimension that hsplit, vsplit and dsplit divide, checked.
int64_t axis_of(const Tensor& self, const char* name, int64_t least_dims, int64_t axis) {
  TAEDA_CHECK(self.dim() >= least_dims, "torch.", name, " requires a tensor with at least ",
              least_dims, " dimension, but got a tensor with ", self.dim(), " dimensions!");
  return axis;
}

// Checked one by one: a number that no SymInt holds is refused.
SymIntVec positions(IntList indices) {
  SymIntVec out;
  for (int64_t i : indices) out.push_back(SymInt(i));
  return out;
}

std::vector<Tensor> equal_parts(const Tensor& self, const char* name, int64_t sections,
                                int64_t axis) {
  const SymInt size = self.sym_sizes()[axis];
  TAEDA_CHECK(sections > 0 && size % SymInt(sections) == SymInt(0), "torch.", name,
              " attempted to split along dimension ", axis, ", but the size of the dimension ",
              size, " is not divisible by the split_size ", sections, "!");
  return self.tensor_split(SymInt(sections), axis);
}

}  // namespace

std::vector<Tensor> hsplit_int(const Tensor& self, int64_t sections) {
  return equal_parts(self, "hsplit", sections, axis_of(self, "hsplit", 1, self.dim() == 1 ? 0 : 1));
}
std::vector<Tensor> hsplit_array(const Tensor& self, IntList indices) {
  return self.tensor_split(positions(indices), axis_of(self, "hsplit", 1, self.dim() == 1 ? 0 : 1));
}
std::vector<Tensor> vsplit_int(const Tensor& self, int64_t sections) {
  return equal_parts(self, "vsplit", sections, axis_of(self, "vsplit", 2, 0));
}
std::vector<Tensor> vsplit_array(const Tensor& self, IntList indices) {
  return self.tensor_split(positions(indices), axis_of(self, "vsplit", 2, 0));
}
std::vector<Tensor> dsplit_int(const Tensor& self, int64_t sections) {
  return equal_parts(self, "dsplit", sections, axis_of(self, "dsplit", 3, 2));
}
std::vector<Tensor> dsplit_array(const Tensor& self, IntList indices) {
  return self.tensor_split(positions(indices), axis_of(self, "dsplit", 3, 2));
}

}  // namespace taeda::impl
