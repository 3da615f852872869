// torch:: names of tensors, options and factories.
#pragma once

#include "ATen/ATen.h"

namespace torch {
inline TensorOptions dtype(Dtype t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device(DeviceType d) { return TensorOptions(d); }
inline TensorOptions requires_grad(bool value = true) {
  return TensorOptions().requires_grad(value);
}

// A one-dimensional tensor of numbers.
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
  constexpr Dtype natural = std::is_floating_point_v<T> ? Dtype::Float : Dtype::Long;
  Tensor out =
      ::taeda::empty({static_cast<int64_t>(values.size())}, options.dtype_opt().value_or(natural));
  int64_t i = 0;
  for (const T v : values) out[i++].fill_(Scalar(v));
  return options.device_opt() ? out.to(*options.device_opt()) : out;
}
inline Tensor tensor(const Scalar& value, const TensorOptions& options = {}) {
  return at::full({}, value, options);
}
}  // namespace torch
