// mse_loss, l1_loss and cross_entropy_loss: how each follows from other operators.
#include "taeda/ops/loss/declarations.h"

#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/kernel_name.h"
#include "taeda/ops/loss/functions.h"
#include "taeda/ops/loss/operators.h"
#include "taeda/ops/loss/reduction.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

// The weights with the classes' dimension where the loss has it.
Tensor class_weights(const Tensor& weight, const Tensor& self, int64_t class_dim) {
  SymIntVec shape(static_cast<size_t>(self.dim()), SymInt(1));
  shape[static_cast<size_t>(class_dim)] = weight.sym_size(0);
  return weight.view(shape);
}

Tensor with_probabilities(const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction, double smoothing) {
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  const SymInt classes = self.sym_size(class_dim);
  TAEDA_CHECK(is_floating(target.dtype()),
              "Expected floating point type for target with class probabilities, got ",
              target.dtype());
  TAEDA_CHECK(!weight.defined() || (weight.dim() == 1 && weight.sym_numel() == classes),
              "cross_entropy: weight tensor should be defined either for all ", classes,
              " classes or no classes but got weight tensor of shape: ", weight.sym_sizes());
  Tensor likelihood = taeda::log_softmax(self, class_dim);
  if (weight.defined()) likelihood = likelihood.mul(class_weights(weight, self, class_dim));
  const Tensor smooth =
      smoothing > 0
          ? target.mul(Scalar(1 - smoothing)).add(Scalar(smoothing / classes.expect_int()))
          : target;
  const Tensor product = likelihood.mul(smooth);
  if (reduction == kNone) return product.sum(IntList({class_dim})).neg();
  const Tensor total = product.sum().neg();
  if (reduction == kSum) return total;
  return total.div(Scalar(self.sym_numel() / sym_max(classes, 1)));
}

// A part of the loss comes from a uniform distribution over the classes.
Tensor smoothed(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                const SymInt& ignore_index, double smoothing) {
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  const double classes = static_cast<double>(self.sym_size(class_dim).expect_int());
  const Tensor likelihood = taeda::log_softmax(self, class_dim);
  const Tensor nll = taeda::nll_loss_nd(likelihood, target, weight, reduction, ignore_index);
  const Tensor spread =
      weight.defined() ? likelihood.mul(class_weights(weight, self, class_dim)) : likelihood;
  const Tensor ignored = target.eq(Scalar(ignore_index));
  Tensor smooth = spread.sum(IntList({class_dim})).neg().masked_fill(ignored, Scalar(0));
  if (reduction == kSum) {
    smooth = smooth.sum();
  } else if (reduction == kMean) {
    if (weight.defined()) {
      const Tensor used =
          weight.gather(0, target.masked_fill(ignored, Scalar(0)).reshape({SymInt(-1)}));
      smooth = smooth.sum().div(used.masked_fill(ignored.reshape({SymInt(-1)}), Scalar(0)).sum());
    } else {
      const Tensor counted = ignored.logical_not().sum();
      smooth = smooth.sum().div(counted);
    }
  }
  return nll.mul(Scalar(1 - smoothing)).add(smooth.mul(Scalar(smoothing / classes)));
}

// Whether the device has the loss in one pass. Meta tensors show the operators that any device
// would run.
bool has_fused_kernel(const Tensor& self) {
  const int slot = slot_of(Key::Dense, self.device().type);
  return !self.is_meta() && dispatch::has_kernel(ops::_fused_cross_entropy, slot);
}

}  // namespace

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction, SymInt ignore_index, double label_smoothing) {
  TAEDA_CHECK(label_smoothing >= 0 && label_smoothing <= 1,
              "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  if (self.sym_sizes() == target.sym_sizes()) {
    TAEDA_CHECK(ignore_index < SymInt(0),
                "ignore_index is not supported for floating point target");
    return with_probabilities(self, target, weight, reduction, label_smoothing);
  }
  if (label_smoothing > 0)
    return smoothed(self, target, weight, reduction, ignore_index, label_smoothing);
  const bool can_fuse = self.dim() == 2 && target.dim() == 1 && !weight.defined() &&
                        has_fused_kernel(self) &&
                        (self.dtype() == DType::Float || self.dtype() == DType::Double) &&
                        self.sym_size(0) == target.sym_size(0) && target.dtype() == DType::Int64;
  if (can_fuse)
    return std::get<0>(taeda::_fused_cross_entropy(self, target, reduction, ignore_index));
  return taeda::nll_loss_nd(taeda::log_softmax(self, self.dim() == 1 ? 0 : 1), target, weight,
                            reduction, ignore_index);
}

namespace {

// Checks that the loss can be fused: a row of scores and one class for each example.
void check_fusible(const Tensor& self, const Tensor& target) {
  TAEDA_CHECK(self.dim() == 2 && target.dim() == 1 && self.sym_size(0) == target.sym_size(0) &&
                  target.dtype() == DType::Int64,
              "_fused_cross_entropy: expected (N, C) and N classes of int64, got ",
              self.sym_sizes(), " and ", target.sym_sizes(), " of ", target.dtype());
  TAEDA_CHECK_NOT_IMPLEMENTED(self.dtype() == DType::Float || self.dtype() == DType::Double,
                              "\"_fused_cross_entropy\" not implemented for '", self.dtype(), "'");
}

}  // namespace

std::array<OutSpec, 3> _fused_cross_entropy_spec(const Tensor& self, const Tensor& target,
                                                 int64_t reduction, SymInt) {
  check_fusible(self, target);
  return {
      OutSpec(reduction == kNone ? target.sym_sizes() : SymIntList(), self.dtype(), self.device()),
      OutSpec(SymIntList({self.sym_size(0), SymInt(2)}), self.dtype(), self.device()),
      OutSpec(SymIntList(), self.dtype(), self.device())};
}

OutSpec _fused_cross_entropy_backward_spec(const Tensor& grad_output, const Tensor& self,
                                           const Tensor& target, int64_t reduction, SymInt,
                                           const Tensor& norms, const Tensor& count) {
  check_fusible(self, target);
  const bool is_each = reduction == kNone;
  TAEDA_CHECK((is_each ? grad_output.sym_sizes() == target.sym_sizes() : grad_output.dim() == 0) &&
                  count.dim() == 0 && norms.dim() == 2 && norms.sym_size(0) == self.sym_size(0),
              "_fused_cross_entropy_backward: got gradients of ", grad_output.sym_sizes(),
              " and norms of ", norms.sym_sizes(), " for scores of ", self.sym_sizes());
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor* const inputs[] = {&self, &target};
  const DType common = result_type(inputs);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(common), "\"", kernel_name("mse", self.device()),
                              "\" not implemented for '", common, "'");
  if (reduction == kNone) return taeda::_squared_difference(self, target);
  return taeda::_reduced_squared_difference(self, target, reduction == kMean);
}

OutSpec _reduced_squared_difference_spec(const Tensor& self, const Tensor& target, bool) {
  const Tensor* const inputs[] = {&self, &target};
  check_same_device("mse_loss", inputs);
  broadcast_shapes(self.sym_sizes(), target.sym_sizes());
  const DType dtype = result_type(inputs);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(dtype) && !is_float8(dtype),
                              "\"mse_loss\" not implemented for '", dtype, "'");
  return OutSpec(SymIntList(), dtype, self.device());
}

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced(self.sub(target).abs(), reduction);
}

}  // namespace taeda::impl
