// Operators over lists whose rows are not those of another operator as it is.
#include "taeda/ops/distance/functions.h"
#include "taeda/ops/foreach/declarations.h"
#include "taeda/ops/foreach/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/lists.h"

namespace taeda {

void write_row(Tensor& target, FunctionRef<Tensor(const Tensor&)> row) {
  Tensor result = row(target);
  // A history keeps the operands, and the write would change one.
  if (result.requires_grad()) result = row(target.clone());
  TAEDA_CHECK(target.sym_sizes() == result.sym_sizes(), "output with shape ", target.sym_sizes(),
              " doesn't match the broadcast shape ", result.sym_sizes());
  TAEDA_CHECK(can_cast(result.dtype(), target.dtype()), "result type ", result.dtype(),
              " can't be cast to the desired output type ", target.dtype());
  target.copy_(result);
}

}  // namespace taeda

namespace taeda::impl {
namespace {

// The numbers of a tensor, one per row of the lists.
std::vector<Scalar> numbers_of(const Tensor& scalars, size_t rows) {
  TAEDA_CHECK(scalars.dim() == 1, "Expected packed scalar Tensor to be of dimension 1. Got ",
              scalars.dim(), " instead.");
  TAEDA_CHECK(static_cast<size_t>(scalars.numel()) == rows,
              "Expected length of scalars to match input of length ", rows, " but got ",
              scalars.numel(), " instead.");
  std::vector<Scalar> numbers;
  for (const Tensor& number : scalars.unbind()) numbers.push_back(number.item());
  return numbers;
}

}  // namespace

std::vector<Tensor> _foreach_addcmul_Tensor(TensorList self, TensorList tensor1, TensorList tensor2,
                                            const Tensor& scalars) {
  return taeda::_foreach_addcmul(self, tensor1, tensor2,
                                 Span<Scalar>(numbers_of(scalars, self.size())));
}
void _foreach_addcmul__Tensor(TensorList self, TensorList tensor1, TensorList tensor2,
                              const Tensor& scalars) {
  taeda::_foreach_addcmul_(self, tensor1, tensor2, Span<Scalar>(numbers_of(scalars, self.size())));
}
std::vector<Tensor> _foreach_addcdiv_Tensor(TensorList self, TensorList tensor1, TensorList tensor2,
                                            const Tensor& scalars) {
  return taeda::_foreach_addcdiv(self, tensor1, tensor2,
                                 Span<Scalar>(numbers_of(scalars, self.size())));
}
void _foreach_addcdiv__Tensor(TensorList self, TensorList tensor1, TensorList tensor2,
                              const Tensor& scalars) {
  taeda::_foreach_addcdiv_(self, tensor1, tensor2, Span<Scalar>(numbers_of(scalars, self.size())));
}

std::vector<Tensor> _foreach_norm_Scalar(TensorList self, const Scalar& ord,
                                         std::optional<DType> dtype) {
  check_lists(self);
  return rows_of(self.size(), [&](size_t i) {
    return taeda::linalg_vector_norm(self[i], ord, std::nullopt, false, dtype);
  });
}

std::vector<Tensor> _foreach_zero(TensorList self) {
  check_lists(self);
  return rows_of(self.size(), [&](size_t i) { return taeda::zeros_like(self[i]); });
}

std::vector<Tensor> _foreach_powsum_Scalar(TensorList self, const Scalar& ord,
                                           std::optional<DType> dtype) {
  check_lists(self);
  return rows_of(self.size(), [&](size_t i) {
    const Tensor& t = self[i];
    TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(t.dtype()) || is_complex(t.dtype()),
                                "\"powsum_cpu\" not implemented for '", t.dtype(), "'");
    const Tensor x = dtype ? t.to(*dtype) : t;
    return x.abs().pow(ord).sum();
  });
}

}  // namespace taeda::impl
