// Tensors and their parts on C++ streams, in the form of PyTorch's C++ library.
//
//    1  1
//    1  1
//   [ CPUFloatType{2,2} ]
#pragma once

#include <ostream>

#include "taeda/core/tensor.h"

namespace taeda {

// Columns that do not fit `line_width` follow in blocks of their own.
TAEDA_API void print(std::ostream& out, const Tensor& t, int64_t line_width = 80);

inline std::ostream& operator<<(std::ostream& out, const Tensor& t) { return print(out, t), out; }
inline std::ostream& operator<<(std::ostream& out, Half v) { return out << static_cast<float>(v); }
inline std::ostream& operator<<(std::ostream& out, BFloat16 v) {
  return out << static_cast<float>(v);
}
inline std::ostream& operator<<(std::ostream& out, DType t) { return out << dtype_long_name(t); }
inline std::ostream& operator<<(std::ostream& out, Device d) { return out << d.text(); }
inline std::ostream& operator<<(std::ostream& out, DeviceType t) {
  return out << device_type_name(t);
}
// "Strided", "ChannelsLast": the enumerators.
TAEDA_API std::ostream& operator<<(std::ostream& out, Layout l);
TAEDA_API std::ostream& operator<<(std::ostream& out, MemoryFormat m);
// "TensorOptions(dtype=float (default), device=cpu, ...)": each property, and whether it was set.
TAEDA_API std::ostream& operator<<(std::ostream& out, const TensorOptions& options);
inline std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  if (s.is_bool() && !s.is_symbolic()) return out << (s.to_bool() ? "true" : "false");
  return out << str(s);
}
template <class T>
std::ostream& operator<<(std::ostream& out, Span<T> values) {
  out << '[';
  for (size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
  return out << ']';
}

}  // namespace taeda
