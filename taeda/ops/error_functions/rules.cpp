// Error functions and the normal distribution: the results of one tensor.
#include "taeda/ops/special_math/rules.h"
#include "taeda/ops/error_functions/declarations.h"

namespace taeda::impl {

OutSpec special_erfcx_spec(const Tensor& self) { return full_float_spec("erfcx", self, self); }
OutSpec special_log_ndtr_spec(const Tensor& self) {
  return full_float_spec("log_ndtr", self, self);
}
OutSpec special_ndtri_spec(const Tensor& self) { return full_float_spec("ndtri", self, self); }

}  // namespace taeda::impl
