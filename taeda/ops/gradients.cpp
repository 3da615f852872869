// Derivative helpers built from operators.
#include "taeda/ops/gradients.h"

#include "taeda/core/unbacked.h"
#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"

namespace taeda::gradients {

// Whether a dimension is summed to one. Where only data tells, sizes are neither 0 nor 1.
static bool is_summed(const SymInt& from, const SymInt& to) {
  return !is_known(SymOp::Eq, to, from) && is_known(SymOp::Eq, to, 1);
}

bool can_sum_to(SymIntList from, SymIntList to) {
  if (to.size() > from.size()) return false;
  const size_t lead = from.size() - to.size();
  for (size_t i = 0; i < to.size(); ++i)
    if (!is_summed(from[lead + i], to[i]) && !expect(SymOp::Eq, to[i], from[lead + i]))
      return false;
  return true;
}

Tensor sum_to(const Tensor& grad, SymIntList sizes) {
  const SymIntList from = grad.sym_sizes();
  TAEDA_CHECK(can_sum_to(from, sizes), "a gradient of shape ", from, " cannot be summed to ",
              sizes);
  const size_t lead = from.size() - sizes.size();
  IntVec dims;
  for (size_t i = 0; i < from.size(); ++i)
    if (i < lead || is_summed(from[i], sizes[i - lead])) dims.push_back(static_cast<int64_t>(i));
  if (dims.empty()) return grad;
  Tensor out = grad.sum(IntList(dims), /*keepdim=*/true);
  return lead ? out.view(sizes) : out;
}

std::vector<std::vector<SymInt>> list_sizes(TensorList tensors) {
  std::vector<std::vector<SymInt>> out;
  for (const Tensor& t : tensors) out.push_back(t.sym_sizes().vec());
  return out;
}

std::vector<DType> list_dtypes(TensorList tensors) {
  std::vector<DType> out;
  for (const Tensor& t : tensors) out.push_back(t.dtype());
  return out;
}

Tensor cast_gradient(const Tensor& grad, DType dtype) {
  Tensor out = grad.is_complex() && !is_complex(dtype) ? real(grad) : grad;
  return out.dtype() == dtype ? out : out.to(dtype);
}

bool may_have_zeros(const Tensor& t) {
  const bool is_opaque = t.keys().has(Key::Python) || t.keys().has(Key::Fake);
  if (is_opaque || t.is_meta() || dispatch::wrapper_of(t)) return true;
  return read_scalar(t.detach().eq(0).any()).to_bool();
}

Tensor no_formula(const char* op) {
  fail(ErrorKind::Runtime, "derivative for aten::", op, " is not implemented");
}

Tensor no_derivative(const char* name) {
  fail(ErrorKind::NotImplemented, "the derivative for '", name, "' is not implemented.");
}

}  // namespace taeda::gradients
