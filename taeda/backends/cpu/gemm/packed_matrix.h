// The second operand of products, packed once for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "taeda/base/export.h"

namespace taeda::cpu {

// Holds the panels of one matrix, made by the first product that packs: others read the matrix as
// it lies. Its elements, sizes and strides must not change meanwhile. Any number of threads at
// once.
class TAEDA_API PackedMatrix {
 public:
  // 0 while no product has packed.
  int64_t bytes() const;

  // For gemm: the panels, which `fill` writes where they are not there yet. Throws OutOfMemory.
  template <class Fill>
  const void* panels(int64_t bytes, Fill&& fill) {
    const std::lock_guard lock(mutex_);
    if (!data_) {
      auto made = allocate(bytes);
      fill(made.get());
      data_ = std::move(made);
      bytes_ = bytes;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(void* data) const;
  };
  using Data = std::unique_ptr<void, Free>;
  static Data allocate(int64_t bytes);

  mutable std::mutex mutex_;
  Data data_;
  int64_t bytes_ = 0;
};

}  // namespace taeda::cpu
