// Functions that derivative formulas call beside operators.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::gradients {

// Whether a gradient of shape `from` can be summed to `to`: the reverse of broadcasting.
TAEDA_API bool can_sum_to(SymIntList from, SymIntList to);
// Sums a gradient over the dimensions along which a tensor of `sizes` was broadcast.
TAEDA_API Tensor sum_to(const Tensor& grad, SymIntList sizes);

// Metadata that a node keeps of a TensorList argument instead of the tensors.
TAEDA_API std::vector<std::vector<SymInt>> list_sizes(TensorList tensors);
TAEDA_API std::vector<DType> list_dtypes(TensorList tensors);

// A complex gradient of a real tensor loses its imaginary part; any other dtype is converted.
TAEDA_API Tensor cast_gradient(const Tensor& grad, DType dtype);

// Whether a zero is among the values; true where they cannot be looked at (meta, inside
// transforms), so that formulas take the form that is right either way.
TAEDA_API bool may_have_zeros(const Tensor& t);

// What stands in the place of a gradient that does not exist, with PyTorch's words: of an operator
// without a formula (RuntimeError), and of a formula that is not written (NotImplementedError).
[[noreturn]] TAEDA_API Tensor no_formula(const char* op);
[[noreturn]] TAEDA_API Tensor no_derivative(const char* name);

}  // namespace taeda::gradients
