// linspace and logspace as functions of other operators, for ends in tensors.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// `steps` numbers at equal distances from start to end along the last dimension, with which the
// ends broadcast; powers of the base with such exponents where there is one.
Tensor spaced_numbers(Tensor start, Tensor end, int64_t steps, std::optional<double> base,
                      std::optional<DType> dtype, std::optional<Layout> layout,
                      std::optional<Device> device, std::optional<bool> pin_memory);
// A number as one end.
Tensor number_tensor(const Scalar& s);

}  // namespace taeda
