// Runs of neighbouring elements of dense memory in a compute type, in place where memory has it.
#pragma once

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Reads `n` elements from the `first` on, which stay valid as long as the buffer and the tensor.
template <class T>
class RunReader {
 public:
  explicit RunReader(const Tensor& t)
      : load_(load_fn(t.dtype(), compute_type(DTypeOf<T>::value))),
        base_(static_cast<const char*>(t.data())),
        item_(t.element_size()),
        is_plain_(t.dtype() == DTypeOf<T>::value) {}
  bool is_plain() const { return is_plain_; }
  const T* get(int64_t first, int64_t n, T* buffer) const {
    const char* const at = base_ + first * item_;
    if (is_plain_) return reinterpret_cast<const T*>(at);
    load_(at, Block{1, n, 0, item_}, reinterpret_cast<char*>(buffer));
    return buffer;
  }

 private:
  LoadFn load_;
  const char* base_;
  int64_t item_;
  bool is_plain_;
};

template <class T>
class RunWriter {
 public:
  explicit RunWriter(const Tensor& t)
      : store_(store_fn(compute_type(DTypeOf<T>::value), t.dtype())),
        base_(static_cast<char*>(t.data())),
        item_(t.element_size()),
        is_plain_(t.dtype() == DTypeOf<T>::value) {}
  bool is_plain() const { return is_plain_; }
  // Where to write n elements; `put` then brings them to memory.
  T* at(int64_t first, T* buffer) const {
    return is_plain_ ? reinterpret_cast<T*>(base_ + first * item_) : buffer;
  }
  void put(int64_t first, int64_t n, const T* from) const {
    if (!is_plain_)
      store_(reinterpret_cast<const char*>(from), Block{1, n, 0, item_}, base_ + first * item_);
  }

 private:
  StoreFn store_;
  char* base_;
  int64_t item_;
  bool is_plain_;
};

}  // namespace taeda::cpu
