// Shapes and checks of searches in sorted sequences and of membership.
#include <climits>

#include "taeda/ops/functions.h"
#include "taeda/ops/order_statistics/declarations.h"
#include "taeda/ops/order_statistics/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_side(bool right, std::optional<std::string_view> side) {
  if (!side) return;
  TAEDA_CHECK(*side == "left" || *side == "right",
              "torch.searchsorted(): side can only be 'left' or 'right' but got ", *side);
  TAEDA_CHECK(!right || *side == "right",
              "torch.searchsorted(): side and right can't be set to opposites, got side of ", *side,
              " while right was True");
}

void check_sorter(const Tensor& sorter, const Tensor& boundaries) {
  if (!sorter.defined()) return;
  TAEDA_CHECK(sorter.sym_sizes() == boundaries.sym_sizes(),
              "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
              "tensor ",
              boundaries.sym_sizes(), "and got sorter tensor ", sorter.sym_sizes());
  TAEDA_CHECK(sorter.dtype() == DType::Int64,
              "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
              sorter.dtype());
}

bool is_same_before_last(const Tensor& a, const Tensor& b) {
  if (a.dim() != b.dim()) return false;
  for (int64_t d = 0; d + 1 < a.dim(); ++d)
    if (a.sym_size(d) != b.sym_size(d)) return false;
  return true;
}

}  // namespace

OutSpec searchsorted_Tensor_spec(const Tensor& sorted_sequence, const Tensor& self, bool out_int32,
                                 bool right, std::optional<std::string_view> side,
                                 const Tensor& sorter) {
  const Tensor& boundaries = sorted_sequence;
  check_side(right, side);
  TAEDA_CHECK(boundaries.device() == self.device(),
              "torch.searchsorted(): boundaries and input value tensors should have same device "
              "type, but got boundaries tensor device type ",
              boundaries.device(), " and input value tensor device type ", self.device());
  check_sorter(sorter, boundaries);
  TAEDA_CHECK(self.dim() > 0 || boundaries.dim() == 1,
              "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
              "dimension is 1, but we got boundaries tensor dim(",
              boundaries.dim(), ") and input value's dim(", self.dim(), ") numel(",
              self.sym_numel(), ")");
  TAEDA_CHECK(boundaries.dim() != 0,
              "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
              "dimension");
  TAEDA_CHECK(boundaries.dim() == 1 || is_same_before_last(boundaries, self),
              "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
              "dimensions of boundaries tensor and input value tensor must match, but we got "
              "boundaries tensor ",
              boundaries.sym_sizes(), " and input value tensor ", self.sym_sizes());
  TAEDA_CHECK(!out_int32 || boundaries.sym_size(-1) < SymInt(INT_MAX),
              "torch.searchsorted(): the size of boundaries' last dimension should be less than ",
              INT_MAX, ", but we got ", boundaries.sym_size(-1));
  const Tensor* const inputs[] = {&boundaries, &self};
  const DType common = result_type(inputs);
  TAEDA_CHECK_NOT_IMPLEMENTED(common != DType::Bool && !is_complex(common),
                              "\"searchsorted_out_cpu\" not implemented for '", common, "'");
  return OutSpec(self.sym_sizes(), out_int32 ? DType::Int32 : DType::Int64, self.device());
}

// A number has no say in the dtype that boundaries of its kind are compared in.
static Tensor value_of(const Scalar& number, const Tensor& boundaries) {
  DType dtype = number.is_floating() ? default_dtype() : number.dtype();
  if (is_floating(boundaries.dtype()) && !number.is_complex()) dtype = boundaries.dtype();
  return boundaries.new_full({}, number, dtype);
}

Tensor searchsorted_Scalar(const Tensor& sorted_sequence, const Scalar& self, bool out_int32,
                           bool right, std::optional<std::string_view> side, const Tensor& sorter) {
  const Tensor value = value_of(self, sorted_sequence);
  return taeda::searchsorted(sorted_sequence, value, out_int32, right, side, sorter);
}
Tensor& searchsorted_Scalar_out(const Tensor& sorted_sequence, const Scalar& self, bool out_int32,
                                bool right, std::optional<std::string_view> side,
                                const Tensor& sorter, Tensor& out) {
  const Tensor value = value_of(self, sorted_sequence);
  return taeda::searchsorted_out(out, sorted_sequence, value, out_int32, right, side, sorter);
}

namespace {

void check_boundaries(const Tensor& boundaries) {
  TAEDA_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
              boundaries.dim(), ")");
}

}  // namespace

Tensor bucketize_Tensor(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  check_boundaries(boundaries);
  return taeda::searchsorted(boundaries, self, out_int32, right, std::nullopt, Tensor());
}
Tensor& bucketize_Tensor_out(const Tensor& self, const Tensor& boundaries, bool out_int32,
                             bool right, Tensor& out) {
  check_boundaries(boundaries);
  return taeda::searchsorted_out(out, boundaries, self, out_int32, right, std::nullopt, Tensor());
}
Tensor bucketize_Scalar(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  check_boundaries(boundaries);
  return searchsorted_Scalar(boundaries, self, out_int32, right, std::nullopt, Tensor());
}
Tensor& bucketize_Scalar_out(const Scalar& self, const Tensor& boundaries, bool out_int32,
                             bool right, Tensor& out) {
  check_boundaries(boundaries);
  return searchsorted_Scalar_out(boundaries, self, out_int32, right, std::nullopt, Tensor(), out);
}

// ---- membership ----

namespace {

void check_isin(const Tensor& t) {
  TAEDA_CHECK(t.dtype() != DType::Bool && !t.is_complex(),
              "Unsupported input type encountered for isin(): ", t.dtype());
}

}  // namespace

OutSpec isin_Tensor_Tensor_spec(const Tensor& elements, const Tensor& test_elements, bool, bool) {
  check_isin(elements);
  check_isin(test_elements);
  return OutSpec(elements.sym_sizes(), DType::Bool, elements.device());
}
Tensor isin_Tensor_Scalar(const Tensor& elements, const Scalar& test_element, bool, bool invert) {
  check_isin(elements);
  return invert ? elements.ne(test_element) : elements.eq(test_element);
}
Tensor& isin_Tensor_Scalar_out(const Tensor& elements, const Scalar& test_element, bool,
                               bool invert, Tensor& out) {
  check_isin(elements);
  return invert ? taeda::ne_out(out, elements, test_element)
                : taeda::eq_out(out, elements, test_element);
}
Tensor isin_Scalar_Tensor(const Scalar& element, const Tensor& test_elements, bool assume_unique,
                          bool invert) {
  const Tensor x = wrapped_scalar(element).to(test_elements.device());
  return taeda::isin(x, test_elements, assume_unique, invert);
}
Tensor& isin_Scalar_Tensor_out(const Scalar& element, const Tensor& test_elements,
                               bool assume_unique, bool invert, Tensor& out) {
  const Tensor x = wrapped_scalar(element).to(test_elements.device());
  return taeda::isin_out(out, x, test_elements, assume_unique, invert);
}

}  // namespace taeda::impl
