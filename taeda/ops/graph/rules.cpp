// Operators that graphs hold.
#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/graph/declarations.h"

namespace taeda::impl {

SymInt sym_size_int(const Tensor& self, int64_t dim) { return self.sym_size(dim); }
SymInt sym_stride_int(const Tensor& self, int64_t dim) {
  return self.sym_strides()[static_cast<size_t>(wrap_dim(dim, self.dim(), false))];
}
SymInt sym_numel(const Tensor& self) { return self.sym_numel(); }
SymInt sym_storage_offset(const Tensor& self) { return self.impl()->sym_storage_offset(); }

void _assert_scalar(const Scalar& self, std::string_view assert_msg) {
  const bool is_symbolic = self.is_symbolic() && self.kind() == Scalar::Kind::Bool;
  TAEDA_CHECK(is_symbolic ? self.node()->expect_true() : self.to_bool(), assert_msg);
}

void _assert_tensor_metadata(const Tensor& a, std::optional<SymIntList> size,
                             std::optional<SymIntList> stride, std::optional<DType> dtype,
                             std::optional<Device> device, std::optional<Layout> layout) {
  const auto same = [](SymIntList one, SymIntList other) {
    bool is_same = one.size() == other.size();
    for (size_t i = 0; is_same && i < one.size(); ++i)
      is_same = expect(SymOp::Eq, one[i], other[i]);
    return is_same;
  };
  if (size)
    TAEDA_CHECK(same(*size, a.sym_sizes()), "Tensor sizes mismatch! Expected: ", *size,
                ", Got: ", a.sym_sizes());
  if (stride)
    TAEDA_CHECK(same(*stride, a.sym_strides()), "Tensor strides mismatch! Expected: ", *stride,
                ", Got: ", a.sym_strides());
  if (dtype)
    TAEDA_CHECK(*dtype == a.dtype(), "Tensor dtype mismatch! Expected: ", dtype_name(*dtype),
                ", Got: ", dtype_name(a.dtype()));
  if (device)
    TAEDA_CHECK(*device == a.device(), "Tensor device mismatch! Expected: ", *device,
                ", Got: ", a.device());
  if (layout)
    TAEDA_CHECK(*layout == a.layout(), "Tensor layout mismatch! Expected: ", layout_name(*layout),
                ", Got: ", layout_name(a.layout()));
}

Tensor lift_fresh_copy(const Tensor& self) { return self.clone(); }

}  // namespace taeda::impl
