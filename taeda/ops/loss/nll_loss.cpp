// Shape rules of nll_loss and the form for any number of dimensions.
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/declarations.h"
#include "taeda/ops/loss/functions.h"
#include "taeda/ops/scalar_type.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_weight(const Tensor& self, const Tensor& weight, const SymInt& classes) {
  if (!weight.defined()) return;
  TAEDA_CHECK(weight.dim() == 1 && weight.sym_numel() == classes,
              "weight tensor should be defined either for all ", classes,
              " classes or no classes but got weight tensor of shape: ", weight.sym_sizes());
  check_scalar_type(self.dtype(), weight);
}

void check_nll_total(const Tensor& self, const Tensor& grad_output, const Tensor& total_weight) {
  TAEDA_CHECK(total_weight.sym_numel() == SymInt(1), "expected total_weight to be a ",
              self.dim() == 4 ? "" : " ", "single element tensor, got: ", total_weight.sym_sizes(),
              " (", total_weight.sym_numel(), " elements)");
  check_scalar_type(self.dtype(), grad_output);
  check_scalar_type(self.dtype(), total_weight);
}

void check_types(const Tensor& self, const Tensor& target) {
  TAEDA_CHECK(target.dtype() == DType::Int64 || target.dtype() == DType::UInt8,
              "expected target dtype to be Long or Byte, but got ", target.dtype());
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(self.dtype()),
                              "\"nll_loss_out_frame\" not implemented for '", self.dtype(), "'");
}

std::array<OutSpec, 2> specs(const Tensor& self, SymIntList rows, int64_t reduction) {
  const bool is_each = reduction == 0;
  return {OutSpec(is_each ? rows : SymIntList(), self.dtype(), self.device()),
          OutSpec(SymIntList(), self.dtype(), self.device())};
}

void check_nll(const Tensor& self, const Tensor& target, const Tensor& weight) {
  TAEDA_CHECK(self.dim() > 0 && self.dim() <= 2, "input tensor should be 1D or 2D");
  TAEDA_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  const bool has_batch = self.dim() == 2;
  TAEDA_CHECK(!has_batch || (target.dim() == 1 && self.sym_size(0) == target.sym_size(0)),
              "size mismatch (got input: ", self.sym_sizes(), ", target: ", target.sym_sizes(),
              ")");
  TAEDA_CHECK_VALUE(
      has_batch || target.sym_numel() == SymInt(1),
      "For 1D input, 1D target must have size 1, but got target size: ", target.sym_numel());
  check_weight(self, weight, self.sym_size(-1));
  check_types(self, target);
}

void check_nll2d(const Tensor& self, const Tensor& target, const Tensor& weight) {
  TAEDA_CHECK(
      target.dim() == 3,
      "only batches of spatial targets supported (3D tensors) but got targets of dimension: ",
      target.dim());
  TAEDA_CHECK(self.dim() == 4,
              "only batches of spatial inputs supported (4D tensors), but got input of dimension: ",
              self.dim());
  TAEDA_CHECK(self.sym_size(0) == target.sym_size(0) && self.sym_size(2) == target.sym_size(1) &&
                  self.sym_size(3) == target.sym_size(2),
              "size mismatch (got input: ", self.sym_sizes(), " , target: ", target.sym_sizes());
  check_weight(self, weight, self.sym_size(1));
  check_types(self, target);
}

}  // namespace

std::array<OutSpec, 2> nll_loss_forward_spec(const Tensor& self, const Tensor& target,
                                             const Tensor& weight, int64_t reduction, SymInt) {
  check_nll(self, target, weight);
  return specs(self, self.dim() == 1 ? SymIntList() : self.sym_sizes().slice(0, 1), reduction);
}

OutSpec nll_loss_backward_spec(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                               const Tensor& weight, int64_t, SymInt, const Tensor& total_weight) {
  check_nll(self, target, weight);
  check_nll_total(self, grad_output, total_weight);
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

std::array<OutSpec, 2> nll_loss2d_forward_spec(const Tensor& self, const Tensor& target,
                                               const Tensor& weight, int64_t reduction, SymInt) {
  check_nll2d(self, target, weight);
  return specs(self, target.sym_sizes(), reduction);
}

OutSpec nll_loss2d_backward_spec(const Tensor& grad_output, const Tensor& self,
                                 const Tensor& target, const Tensor& weight, int64_t, SymInt,
                                 const Tensor& total_weight) {
  check_nll2d(self, target, weight);
  check_nll_total(self, grad_output, total_weight);
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                SymInt ignore_index) {
  return std::get<0>(taeda::nll_loss_forward(self, target, weight, reduction, ignore_index));
}

Tensor nll_loss2d(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                  SymInt ignore_index) {
  return std::get<0>(taeda::nll_loss2d_forward(self, target, weight, reduction, ignore_index));
}

Tensor nll_loss_nd(const Tensor& self, const Tensor& target, const Tensor& weight,
                   int64_t reduction, SymInt ignore_index) {
  TAEDA_CHECK_VALUE(self.dim() > 0, "Expected 1 or more dimensions (got 0)");
  TAEDA_CHECK_VALUE(self.dim() == 1 || (target.dim() > 0 && self.sym_size(0) == target.sym_size(0)),
                    "Expected input batch_size (", self.sym_size(0),
                    ") to match target batch_size (", target.dim() ? target.sym_size(0) : SymInt(0),
                    ").");
  if (self.dim() <= 2) return taeda::nll_loss(self, target, weight, reduction, ignore_index);
  if (self.dim() == 4) return taeda::nll_loss2d(self, target, weight, reduction, ignore_index);
  // Everything after the classes as one dimension.
  const SymInt batch = self.sym_size(0), classes = self.sym_size(1);
  SymIntVec expected(1, batch);
  SymInt rest = 1;
  for (int64_t d = 2; d < self.dim(); ++d) {
    expected.push_back(self.sym_size(d));
    rest *= self.sym_size(d);
  }
  TAEDA_CHECK(target.sym_sizes() == SymIntList(expected), "Expected target size ",
              SymIntList(expected), ", got ", target.sym_sizes());
  const Tensor flat = self.reshape({batch, classes, SymInt(1), rest});
  const Tensor loss = taeda::nll_loss2d(flat, target.reshape({batch, SymInt(1), rest}), weight,
                                        reduction, ignore_index);
  return reduction == 0 ? loss.reshape(expected) : loss;
}

}  // namespace taeda::impl
