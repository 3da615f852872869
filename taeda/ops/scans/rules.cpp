// Shapes of running extremes and running sums of exponentials.
#include "taeda/ops/functions.h"
#include "taeda/ops/scans/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

std::array<OutSpec, 2> running_extreme_spec(const char* op, const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  TAEDA_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "\"", op, "_cpu\" not implemented for '",
                              self.dtype(), "'");
  return {OutSpec(self.sym_sizes(), self.dtype(), self.device()),
          OutSpec(self.sym_sizes(), DType::Int64, self.device())};
}

}  // namespace

std::array<OutSpec, 2> cummax_spec(const Tensor& self, int64_t dim) {
  return running_extreme_spec("cummax", self, dim);
}
std::array<OutSpec, 2> cummin_spec(const Tensor& self, int64_t dim) {
  return running_extreme_spec("cummin", self, dim);
}

OutSpec logcumsumexp_spec(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(self.dtype()) || self.is_complex(),
                              "\"logcumsumexp_out_cpu\" not implemented for '", self.dtype(), "'");
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

}  // namespace taeda::impl
