// Writes the numbers of nested braces into a new tensor.
#include "taeda/ops/factory/tensor_data.h"

#include "taeda/ops/functions.h"

namespace taeda {

TensorData::TensorData(std::initializer_list<TensorData> items)
    : sizes_{static_cast<int64_t>(items.size())}, dtype_(default_dtype()) {
  if (items.size() == 0) return;
  const TensorData& first = *items.begin();
  dtype_ = first.dtype_;
  for (const TensorData& item : items) {
    TAEDA_CHECK(item.sizes_ == first.sizes_,
                "Expected all sub-lists to have sizes: ", IntList(first.sizes_),
                ", but got sub-list with sizes: ", IntList(item.sizes_));
    TAEDA_CHECK(item.dtype_ == first.dtype_,
                "Expected all elements of the tensor to have the same scalar type: ",
                dtype_long_name(first.dtype_),
                ", but got element of scalar type: ", dtype_long_name(item.dtype_));
    values_.insert(values_.end(), item.values_.begin(), item.values_.end());
  }
  sizes_.insert(sizes_.end(), first.sizes_.begin(), first.sizes_.end());
}

Tensor TensorData::made(const TensorOptions& options) const {
  const DType dtype = options.dtype_opt().value_or(dtype_);
  // PyTorch names the CPU: the program's own numbers lie there, and go to other devices from there.
  Tensor t = make_tensor(sizes_, dtype, DeviceType::CPU);
  visit_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = static_cast<T*>(t.data());
    for (const Scalar& value : values_) *out++ = value.to<T>();
  });
  const Device device = options.device();
  return track_if_asked(t.device() == device ? t : t.to(device), options);
}

DType TensorData::natural(DType of_number) {
  if (of_number == DType::Int32) return DType::Int64;
  if (of_number == DType::Float || of_number == DType::Double) return default_dtype();
  return of_number;
}

}  // namespace taeda
