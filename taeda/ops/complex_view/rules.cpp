// Complex numbers as views: flags of conjugation and negation, real and imaginary parts.
#include "taeda/ops/complex_view/declarations.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

Tensor whole(const Tensor& self) {
  return make_alias_sym(self, self.sym_sizes(), self.sym_strides(),
                        self.impl()->sym_storage_offset());
}

// Parts of a number as views of it; its negative flag stays with them.
Tensor part(const Tensor& self, int64_t index) {
  return taeda::view_as_real(self.is_conj() ? taeda::_conj(self) : self).select(self.dim(), index);
}

}  // namespace

Tensor _conj(const Tensor& self) {
  Tensor out = whole(self);
  const KeySet flag(Key::Conjugate);
  out.impl()->set_keys(self.is_conj() ? out.keys() - flag : out.keys() | flag);
  return out;
}

Tensor _neg_view(const Tensor& self) {
  Tensor out = whole(self);
  const KeySet flag(Key::Negative);
  out.impl()->set_keys(self.is_neg() ? out.keys() - flag : out.keys() | flag);
  return out;
}

Tensor resolve_neg(const Tensor& self) { return self.is_neg() ? self.clone() : self; }

Tensor conj(const Tensor& self) { return self.is_complex() ? taeda::_conj(self) : self; }
Tensor resolve_conj(const Tensor& self) { return self.is_conj() ? self.clone() : self; }

Tensor view_as_real(const Tensor& self) {
  TAEDA_CHECK(self.is_complex(), "view_as_real is only supported for complex tensors");
  TAEDA_CHECK(!self.is_conj(),
              "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the "
              "conjugate tensor so you can view "
              "it as real, use self.resolve_conj(); however, be warned that the resulting tensor "
              "will NOT alias the original.");
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  for (SymInt& s : strides) s = s * SymInt(2);
  sizes.push_back(2);
  strides.push_back(1);
  Tensor out = make_alias_sym(self, sizes, strides, self.impl()->sym_storage_offset() * SymInt(2));
  out.impl()->set_dtype(to_real(self.dtype()));
  return out;
}

Tensor view_as_complex(const Tensor& self) {
  TAEDA_CHECK(self.dtype() == DType::Float || self.dtype() == DType::Double,
              "view_as_complex is only supported for half, float and double tensors, but got a "
              "tensor of scalar type: ",
              self.dtype());
  TAEDA_CHECK(self.dim() > 0, "Input tensor must have one or more dimensions");
  TAEDA_CHECK(self.sym_size(-1) == SymInt(2), "Tensor must have a last dimension of size 2");
  TAEDA_CHECK(self.sym_strides().back() == SymInt(1),
              "Tensor must have a last dimension with stride 1");
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  sizes.pop_back();
  strides.pop_back();
  for (size_t i = 0; i < strides.size(); ++i) {
    // No step is taken along a dimension of size one.
    TAEDA_CHECK(strides[i] % SymInt(2) == SymInt(0) || sizes[i] == SymInt(1),
                "Tensor must have a stride divisible by 2 for all but last dimension");
    strides[i] = strides[i] / SymInt(2);
  }
  const SymInt offset = self.impl()->sym_storage_offset();
  TAEDA_CHECK(offset % SymInt(2) == SymInt(0), "Tensor must have a storage_offset divisible by 2");
  Tensor out = make_alias_sym(self, sizes, strides, offset / SymInt(2));
  out.impl()->set_dtype(to_complex(self.dtype()));
  return out;
}

Tensor real(const Tensor& self) {
  if (!self.is_complex()) return self;
  return part(self, 0);
}

Tensor imag(const Tensor& self) {
  TAEDA_CHECK(self.is_complex(), "imag is not implemented for tensors with non-complex dtypes.");
  const Tensor out = part(self, 1);
  return self.is_conj() ? taeda::_neg_view(out) : out;
}

Tensor conj_physical(const Tensor& self) {
  return self.is_complex() ? taeda::_conj(self).clone() : self;
}

Tensor& conj_physical_(Tensor& self) {
  if (self.is_complex()) self.copy_(taeda::_conj(self));
  return self;
}

Tensor& conj_physical_out(const Tensor& self, Tensor& out) {
  TAEDA_CHECK(can_cast(self.dtype(), out.dtype()), "result type ", self.dtype(),
              " can't be cast to the desired output type ", out.dtype());
  resize_output(out, self.sym_sizes());
  check_no_internal_overlap(out);
  check_no_partial_overlap(out, self);
  return out.copy_(self.is_complex() ? taeda::_conj(self) : self);
}

namespace {

OutSpec complex_spec(const Tensor& real, const Tensor& imag) {
  auto is_part = [](DType t) {
    return t == DType::Half || t == DType::Float || t == DType::Double;
  };
  TAEDA_CHECK(is_part(real.dtype()) && is_part(imag.dtype()),
              "Expected both inputs to be Half, Float or Double tensors but got ", real.dtype(),
              " and ", imag.dtype());
  TAEDA_CHECK(real.dtype() == imag.dtype(), "Expected object of scalar type ", real.dtype(),
              " but got scalar type ", imag.dtype(), " for second argument");
  TAEDA_CHECK_NOT_IMPLEMENTED(
      real.dtype() != DType::Half,
      "complex numbers of Half parts are not supported; supported: Float, Double");
  const Tensor* const parts[] = {&real, &imag};
  check_same_device("complex", parts);
  OutSpec spec(SymIntList(broadcast_shapes(real.sym_sizes(), imag.sym_sizes())),
               to_complex(real.dtype()), real.device());
  if (!real.is_contiguous() || !imag.is_contiguous())
    spec.strides = strides_in_order(parts, spec.sizes);
  return spec;
}

void write_parts(const Tensor& real, const Tensor& imag, const Tensor& out) {
  const Tensor parts = taeda::view_as_real(out);
  parts.select(-1, 0).copy_(real);
  parts.select(-1, 1).copy_(imag);
}

}  // namespace

Tensor complex(const Tensor& real, const Tensor& imag) {
  const Tensor out = complex_spec(real, imag).allocate();
  write_parts(real, imag, out);
  return out;
}

Tensor& complex_out(const Tensor& real, const Tensor& imag, Tensor& out) {
  const OutSpec spec = complex_spec(real, imag);
  TAEDA_CHECK(out.dtype() == spec.dtype, "Expected object of scalar type ", spec.dtype,
              " but got scalar type ", out.dtype(), " for argument 'out'");
  spec.prepare_out(out, "complex");
  check_no_partial_overlap(out, real);
  check_no_partial_overlap(out, imag);
  write_parts(real, imag, out);
  return out;
}

}  // namespace taeda::impl
