// Tensors over memory that somebody else made.
//
//   float numbers[6] = {...};
//   Tensor x = from_blob(numbers, {2, 3});     // the numbers must outlive x and its views
#pragma once

#include <algorithm>
#include <concepts>

#include "taeda/core/tensor.h"

namespace taeda {

// `deleter(data)` runs when the last tensor over the memory is gone.
template <class Deleter>
  requires std::invocable<Deleter, void*>
Tensor from_blob(void* data, IntList sizes, IntList strides, Deleter deleter,
                 const TensorOptions& options = {}) {
  const auto nbytes = static_cast<size_t>(storage_bytes(sizes, strides, 0, options.dtype()));
  struct Owner {
    void* data;
    Deleter deleter;
  };
  auto* owner = new Owner{data, std::move(deleter)};
  const auto drop = [](void* context) {
    auto* o = static_cast<Owner*>(context);
    o->deleter(o->data);
    delete o;
  };
  auto storage = make_intrusive<StorageImpl>(data, nbytes, options.device(), +drop, owner);
  Tensor t(make_intrusive<TensorImpl>(std::move(storage), options.dtype(),
                                      dense_keys(options.device()), sizes));
  t.impl()->set_geometry(sizes, strides, 0);
  return track_if_asked(std::move(t), options);
}
template <class Deleter>
  requires std::invocable<Deleter, void*>
Tensor from_blob(void* data, IntList sizes, Deleter deleter, const TensorOptions& options = {}) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(sizes[d], 1);
  return from_blob(data, sizes, IntList(strides), std::move(deleter), options);
}
// The memory stays the caller's.
inline Tensor from_blob(void* data, IntList sizes, const TensorOptions& options = {}) {
  return from_blob(data, sizes, [](void*) {}, options);
}
inline Tensor from_blob(void* data, IntList sizes, IntList strides,
                        const TensorOptions& options = {}) {
  return from_blob(data, sizes, strides, [](void*) {}, options);
}

}  // namespace taeda
