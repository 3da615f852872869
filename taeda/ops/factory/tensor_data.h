// tensor({{1, 2}, {3, 4}}): a tensor of numbers that are written down.
#pragma once

#include <initializer_list>
#include <type_traits>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda {

// One number, a list of numbers, or braces around such, as deep as the tensor has dimensions.
//
// Whole numbers make int64, other reals the default dtype, as in Python; types of another width
// (int8_t, Half) and truth values keep theirs. Throws RuntimeError where sub-lists differ in size
// or numbers in type.
class TAEDA_API TensorData {
 public:
  template <class T>
    requires requires { DTypeOf<T>::value; }
  TensorData(T value) : values_{Scalar(value)}, dtype_(natural(DTypeOf<T>::value)) {}
  TensorData(long long value) : TensorData(static_cast<int64_t>(value)) {}
  TensorData(const Scalar& value) : values_{value}, dtype_(natural(value.dtype())) {}
  template <class T>
    requires requires { DTypeOf<T>::value; }
  TensorData(Span<T> list)
      : sizes_{static_cast<int64_t>(list.size())},
        values_(list.begin(), list.end()),
        dtype_(natural(DTypeOf<T>::value)) {}
  template <class T>
    requires requires { DTypeOf<T>::value; }
  TensorData(const std::vector<T>& list)
      : sizes_{static_cast<int64_t>(list.size())},
        values_(list.begin(), list.end()),
        dtype_(natural(DTypeOf<T>::value)) {}
  TensorData(std::initializer_list<TensorData> items);

  // The tensor; the options' dtype counts before that of the numbers.
  Tensor made(const TensorOptions& options) const;

 private:
  static DType natural(DType of_number);

  std::vector<int64_t> sizes_;
  std::vector<Scalar> values_;
  DType dtype_ = DType::Float;
};

inline Tensor tensor(const TensorData& data, const TensorOptions& options = {}) {
  return data.made(options);
}

}  // namespace taeda
