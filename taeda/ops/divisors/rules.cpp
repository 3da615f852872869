// Common divisors and multiples: the results of pairs of integers.
#include "taeda/ops/divisors/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

OutSpec integer_spec(const char* op, const Tensor& self, const Tensor& other) {
  const Tensor* const inputs[] = {&self, &other};
  const Tensor* const placed = check_same_device(op, inputs);
  const DType dtype = result_type(inputs);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_integral(dtype, false), "\"", op, "_cpu\" not implemented for '",
                              dtype, "'");
  OutSpec spec(SymIntList(broadcast_shapes(self.sym_sizes(), other.sym_sizes())), dtype,
               placed ? placed->device() : self.device());
  spec.strides = strides_in_order(inputs, spec.sizes);
  return spec;
}

}  // namespace

OutSpec gcd_spec(const Tensor& self, const Tensor& other) {
  return integer_spec("gcd", self, other);
}
OutSpec lcm_spec(const Tensor& self, const Tensor& other) {
  return integer_spec("lcm", self, other);
}

}  // namespace taeda::impl
