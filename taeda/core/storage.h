// A run of bytes on a device, shared by a tensor and its views.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "taeda/base/intrusive_ptr.h"
#include "taeda/core/allocator.h"
#include "taeda/core/device.h"

namespace taeda {

using VersionCounter = std::atomic<uint32_t>;

// Note [Version counters]: a storage counts in-place writes; all views of it share the count, which
// is how a saved tensor notices that its values changed. A tensor may count elsewhere
// (TensorExtra::version, shared by its views): `Tensor.data` is cut off by a counter of its own,
// and a tensor whose data is replaced goes on counting where it did, together with the views it
// has. Tensors made in inference mode count nothing.
class TAEDA_API StorageImpl final : public RefCounted {
 public:
  using Deleter = void (*)(void* context);
  // Memory from `allocator`; device types without memory (meta) pass null.
  StorageImpl(size_t nbytes, Device device, Allocator* allocator)
      : data_(allocator ? allocator->allocate(nbytes) : nullptr),
        nbytes_(nbytes),
        capacity_(nbytes),
        allocator_(allocator),
        device_(device) {}
  // Memory owned by somebody else; `deleter(context)` runs when the last view is gone.
  StorageImpl(void* data, size_t nbytes, Device device, Deleter deleter, void* context)
      : data_(data), nbytes_(nbytes), deleter_(deleter), context_(context), device_(device) {}
  ~StorageImpl() override { drop(); }

  void* data() const { return data_; }
  size_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool is_resizable() const { return !deleter_ && !is_fixed_; }
  // Others now point into the memory (NumPy, a buffer, DLPack): it stays where it is.
  void fix_in_place() { is_fixed_ = true; }
  // Grows or shrinks, keeping the common prefix. A smaller storage keeps its memory, which tensors
  // may still reach; one of no bytes lets go of it, and TensorImpl::data notices.
  void resize(size_t nbytes);

  // Who gives foreign memory back, and with what; null for memory of an allocator. Whoever lent the
  // memory knows it again by them.
  Deleter deleter() const { return deleter_; }
  void* context() const { return context_; }
  // Exchanges the memory of two storages, for every tensor over them.
  void swap_memory(StorageImpl& other) {
    std::swap(data_, other.data_);
    std::swap(nbytes_, other.nbytes_);
    std::swap(capacity_, other.capacity_);
    std::swap(allocator_, other.allocator_);
    std::swap(deleter_, other.deleter_);
    std::swap(context_, other.context_);
    std::swap(is_fixed_, other.is_fixed_);
  }

  // Something that another layer keeps for as long as the storage lives; null until it is set.
  const IntrusivePtr<RefCounted>& companion() const { return companion_; }
  void set_companion(IntrusivePtr<RefCounted> companion) { companion_ = std::move(companion); }

  VersionCounter& version() { return shared_version_ ? *shared_version_ : version_; }
  // The counter as an object that outlives the storage; made at the first call.
  const std::shared_ptr<VersionCounter>& share_version() {
    if (!shared_version_) shared_version_ = std::make_shared<VersionCounter>(version_.load());
    return shared_version_;
  }

 private:
  void release_resources() override { drop(); }
  void drop() {
    companion_.reset();
    if (deleter_)
      deleter_(context_);
    else if (allocator_ && data_)
      allocator_->deallocate(data_, capacity_);
    deleter_ = nullptr;
    allocator_ = nullptr;
    data_ = nullptr;
  }

  VersionCounter version_{0};
  std::shared_ptr<VersionCounter> shared_version_;
  IntrusivePtr<RefCounted> companion_;
  void* data_;
  size_t nbytes_;
  size_t capacity_ = 0;  // bytes that the allocator gave
  Allocator* allocator_ = nullptr;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
  Device device_;
  bool is_fixed_ = false;
};

using Storage = IntrusivePtr<StorageImpl>;

}  // namespace taeda
