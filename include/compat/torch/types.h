// torch:: names of tensors, options and factories.
#pragma once

#include "ATen/ATen.h"
#include "ATen/TensorIndexing.h"

namespace torch {
inline TensorOptions dtype(Dtype t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device(DeviceType d) { return TensorOptions(d); }
inline TensorOptions requires_grad(bool value = true) {
  return TensorOptions().requires_grad(value);
}

// Numbers in nested braces, {{1, 2}, {3, 4}}, or one number.
class TensorData {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  TensorData(T value) : values_{Scalar(value)}, dtype_(natural<T>()) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  TensorData(const std::vector<T>& list) : dtype_(natural<T>()) {
    sizes_.push_back(static_cast<int64_t>(list.size()));
    for (const T v : list) values_.push_back(Scalar(v));
  }
  TensorData(std::initializer_list<TensorData> items) {
    sizes_.push_back(static_cast<int64_t>(items.size()));
    for (const TensorData& item : items) {
      TORCH_CHECK(item.sizes_ == items.begin()->sizes_,
                  "Expected all sub-lists to have sizes: ", items.begin()->sizes_,
                  ", but got sub-list with sizes: ", item.sizes_);
      dtype_ = item.dtype_;
      values_.insert(values_.end(), item.values_.begin(), item.values_.end());
    }
    if (items.size())
      sizes_.insert(sizes_.end(), items.begin()->sizes_.begin(), items.begin()->sizes_.end());
  }

  Tensor made(const TensorOptions& options) const {
    Tensor flat = ::taeda::empty({static_cast<int64_t>(values_.size())},
                                 options.dtype_opt().value_or(dtype_));
    for (size_t i = 0; i < values_.size(); ++i) flat[static_cast<int64_t>(i)].fill_(values_[i]);
    Tensor t = flat.reshape(IntArrayRef(sizes_));
    if (options.device_opt()) t = t.to(*options.device_opt());
    return options.requires_grad() ? t.set_requires_grad(true) : t;
  }

 private:
  // As Python's: reals are float, whole numbers int64.
  template <class T>
  static Dtype natural() {
    if (std::is_same_v<T, bool>) return Dtype::Bool;
    return std::is_floating_point_v<T> ? ::taeda::default_dtype() : Dtype::Long;
  }

  std::vector<int64_t> sizes_;
  std::vector<Scalar> values_;
  Dtype dtype_ = Dtype::Float;
};
inline Tensor tensor(const TensorData& data, const TensorOptions& options = {}) {
  return data.made(options);
}

namespace indexing {
using namespace ::taeda::indexing;
using TensorIndex = ::taeda::TensorIndex;
}  // namespace indexing
}  // namespace torch
