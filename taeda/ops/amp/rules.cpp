// Gradient scaling without a look at the values: nothing waits for the device.
#include "taeda/ops/amp/declarations.h"

#include "taeda/ops/functions.h"

namespace taeda::impl {
namespace {

void check_single(const Tensor& t, const char* name, DType dtype, const char* kind) {
  TAEDA_CHECK(t.sym_numel() == SymInt(1), name, " must be a 1-element tensor.");
  TAEDA_CHECK(t.dtype() == dtype, name, " must be ", kind, " tensor.");
}

}  // namespace

void _amp_foreach_non_finite_check_and_unscale_(TensorList self, Tensor& found_inf,
                                                const Tensor& inv_scale) {
  check_single(inv_scale, "inv_scale", DType::Float, "a float");
  check_single(found_inf, "found_inf", DType::Float, "a float");
  for (const Tensor& t : self) {
    TAEDA_CHECK_NOT_IMPLEMENTED(
        t.is_floating_point(),
        "\"_amp_foreach_non_finite_check_and_unscale_\" not implemented for '", t.dtype(), "'");
    Tensor grad = t;
    const Tensor is_bad = grad.isfinite().all().logical_not().to(found_inf.dtype());
    found_inf.copy_(taeda::maximum(found_inf, is_bad));
    if (is_reduced_float(grad.dtype()))
      grad.copy_(grad.to(DType::Float).mul(inv_scale));
    else
      grad.mul_(inv_scale);
  }
}

Tensor& _amp_update_scale_(Tensor& self, Tensor& growth_tracker, const Tensor& found_inf,
                           double scale_growth_factor, double scale_backoff_factor,
                           int64_t growth_interval) {
  check_single(growth_tracker, "growth_tracker", DType::Int32, "an int");
  check_single(self, "current_scale", DType::Float, "a float");
  check_single(found_inf, "found_inf", DType::Float, "a float");
  const Tensor is_bad = found_inf.ne(Scalar(0));
  const Tensor steps = growth_tracker.add(Scalar(1));
  const Tensor is_due = steps.eq(Scalar(growth_interval));
  const Tensor grown = self.mul(Scalar(scale_growth_factor));
  const Tensor good = taeda::where(is_due.logical_and(grown.isfinite()), grown, self);
  self.copy_(taeda::where(is_bad, self.mul(Scalar(scale_backoff_factor)), good));
  growth_tracker.copy_(steps.masked_fill(is_bad.logical_or(is_due), Scalar(0)));
  return self;
}

}  // namespace taeda::impl
