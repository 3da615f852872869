// A matrix plus the outer product of two vectors.
#include "taeda/ops/functions.h"
#include "taeda/ops/matrix_forms/declarations.h"
#include "taeda/ops/matrix_forms/functions.h"
#include "taeda/ops/out_alias.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                const Scalar& alpha) {
  TAEDA_CHECK(vec1.dim() == 1 && vec2.dim() == 1,
              "addr: Expected 1-D argument vec1 and vec2, but got ", vec1.dim(), "-D and ",
              vec2.dim(), "-D");
  const Tensor* const inputs[] = {&self, &vec1, &vec2};
  const DType common = result_type(inputs);
  const bool is_whole = is_integral(common, true);
  TAEDA_CHECK(!is_whole || (!beta.is_floating() && !beta.is_complex()),
              "For integral input tensors, argument beta must not be a floating point number.");
  TAEDA_CHECK(!is_whole || (!alpha.is_floating() && !alpha.is_complex()),
              "For integral input tensors, argument alpha must not be a floating point number.");
  TAEDA_CHECK(common == DType::Bool || !(beta.is_bool() || alpha.is_bool()),
              "Boolean beta and alpha only supported for Boolean results.");
  const SymIntVec sizes{vec1.sym_size(0), vec2.sym_size(0)};
  TAEDA_CHECK(is_expandable_to(self.sym_sizes(), sizes), "size mismatch, input: ", self.sym_sizes(),
              ", v1: ", vec1.sym_sizes(), ", v2: ", vec2.sym_sizes());
}

OutSpec addr_spec(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                  const Scalar& alpha) {
  check_addr(self, vec1, vec2, beta, alpha);
  const Tensor* const inputs[] = {&self, &vec1, &vec2};
  return OutSpec(SymIntList({vec1.sym_size(0), vec2.sym_size(0)}), result_type(inputs),
                 self.device());
}

// The factors of the outer product, one of them times alpha. 16-bit numbers that are scaled stay in
// float: the result is rounded once.
struct OuterFactors {
  Tensor column, row;

  OuterFactors(const Tensor& vec1, const Tensor& vec2, const Scalar& alpha, DType dtype)
      : row(vec2.to(dtype)) {
    const bool is_scaled = dtype != DType::Bool && !alpha.equals(1);
    const Tensor line = vec1.to(is_scaled && is_reduced_float(dtype) ? DType::Float : dtype);
    column = (is_scaled ? line * alpha : line).unsqueeze(1);
  }
};

Tensor scaled_input(const Tensor& self, const Scalar& beta, DType dtype) {
  if (beta.equals(1)) return self;
  return self.to(is_reduced_float(dtype) ? DType::Float : dtype) * beta;
}

Tensor bool_addr(const Tensor& self, const OuterFactors& factors, const Scalar& beta,
                 const Scalar& alpha) {
  const Tensor product = factors.column.logical_and(factors.row);
  const Tensor added = alpha.to_bool() ? product : taeda::zeros_like(product);
  return beta.to_bool() ? self.logical_or(added) : added;
}

// Truth values in `out`, which has the result's size; the product beside self is made apart.
Tensor& write_bool_addr(const Tensor& self, const OuterFactors& factors, const Scalar& beta,
                        const Scalar& alpha, Tensor& out) {
  if (!alpha.to_bool()) return beta.to_bool() ? out.copy_(self) : out.zero_();
  if (!beta.to_bool()) return taeda::logical_and_out(out, factors.column, factors.row);
  return taeda::logical_or_out(out, self, factors.column.logical_and(factors.row));
}

// Writes the sum into `out`, which has the result's size.
Tensor& write_addr(const Tensor& self, const OuterFactors& factors, const Scalar& beta, DType dtype,
                   Tensor& out) {
  // Whatever self holds, zero times it is nothing.
  if (beta.equals(0)) return taeda::mul_out(out, factors.column, factors.row);
  const bool is_apart = !out.is_alias_of(factors.column) && !out.is_alias_of(factors.row);
  if (beta.equals(1) || is_reduced_float(dtype) || out.dtype() != dtype || !is_apart)
    return taeda::addcmul_out(out, scaled_input(self, beta, dtype), factors.column, factors.row);
  taeda::mul_out(out, self.to(dtype).expand(out.sym_sizes()), wrapped_scalar(beta));
  return out.addcmul_(factors.column, factors.row);
}

}  // namespace

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  const DType dtype = addr_spec(self, vec1, vec2, beta, alpha).dtype;
  const OuterFactors factors(vec1, vec2, alpha, dtype);
  if (dtype == DType::Bool) return bool_addr(self, factors, beta, alpha);
  if (beta.equals(0)) return factors.column.mul(factors.row).to(dtype);
  const Tensor scaled = scaled_input(self, beta, dtype);
  return taeda::addcmul(scaled, factors.column, factors.row).to(dtype);
}
Tensor& addr_(Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
              const Scalar& alpha) {
  const OutSpec spec = addr_spec(self, vec1, vec2, beta, alpha);
  spec.check_inplace(self, "addr_");
  check_no_overlap(self, vec1);
  check_no_overlap(self, vec2);
  const OuterFactors factors(vec1, vec2, alpha, spec.dtype);
  if (spec.dtype == DType::Bool) return write_bool_addr(self, factors, beta, alpha, self);
  return write_addr(self, factors, beta, spec.dtype, self);
}
Tensor& addr_out(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                 const Scalar& alpha, Tensor& out) {
  const OutSpec spec = addr_spec(self, vec1, vec2, beta, alpha);
  TAEDA_CHECK(can_cast(spec.dtype, out.dtype()), "result type ", spec.dtype,
              " can't be cast to the desired output type ", out.dtype());
  check_no_internal_overlap(out);
  for (const Tensor* input : {&self, &vec1, &vec2}) check_keeps_input(spec, out, *input);
  resize_output(out, spec.sizes);
  for (const Tensor* input : {&self, &vec1, &vec2}) check_no_overlap(out, *input);
  const OuterFactors factors(vec1, vec2, alpha, spec.dtype);
  if (spec.dtype == DType::Bool) return write_bool_addr(self, factors, beta, alpha, out);
  return write_addr(self, factors, beta, spec.dtype, out);
}

}  // namespace taeda::impl
