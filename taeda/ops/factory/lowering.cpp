// Tensors of one number, and ranges.
#include "taeda/ops/factory/lowerings.h"

#include "taeda/ops/index_map.h"

namespace taeda::lowering {

void full(SymIntList, const Scalar& fill_value, std::optional<DType>, std::optional<Layout>,
          std::optional<Device>, std::optional<bool>, const Tensor& out) {
  filled(out, fill_value);
}

void scalar_tensor(const Scalar& s, std::optional<DType>, std::optional<Layout>,
                   std::optional<Device>, std::optional<bool>, const Tensor& out) {
  filled(out, s);
}

void arange_start_step(const Scalar& start, const Scalar&, const Scalar& step, std::optional<DType>,
                       std::optional<Layout>, std::optional<Device>, std::optional<bool>,
                       const Tensor& out) {
  // Floats are rounded as eager's kernel rounds them, which is its own affair.
  if (start.is_symbolic() || step.is_symbolic() || !is_integral(out.dtype())) return;
  Lowering::current().define(out, [start, step](Emitter& e, const Place& at) {
    return e.constant(start, Type::I64) + e.index(at[0]) * e.constant(step, Type::I64);
  });
}

}  // namespace taeda::lowering
