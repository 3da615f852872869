// Reference counting inside the object: one word with strong and weak counts, one allocation an
// object.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "taeda/base/export.h"
#include "taeda/base/object_cache.h"

namespace taeda {

// Base of everything held by IntrusivePtr. At zero strong references `release_resources` runs (drop
// what is large or may form cycles); the destructor runs when the weak references are gone too. All
// strong references together hold one weak reference.
class TAEDA_API RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  static void* operator new(size_t nbytes) { return allocate_object(nbytes); }
  static void operator delete(void* object, size_t nbytes) { deallocate_object(object, nbytes); }

  uint32_t use_count() const { return strong_.load(std::memory_order_acquire); }
  void retain() const { strong_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (strong_.load(std::memory_order_acquire) == 1 &&
        weak_.load(std::memory_order_acquire) == 1) {
      // Sole owner and no observers: nobody can race us.
      strong_.store(0, std::memory_order_relaxed);
      delete this;
      return;
    }
    if (strong_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const_cast<RefCounted*>(this)->release_resources();
      release_weak();
    }
  }
  void retain_weak() const { weak_.fetch_add(1, std::memory_order_relaxed); }
  void release_weak() const {
    if (weak_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // Turns a weak reference into a strong one; false if the object is gone.
  bool try_retain() const {
    uint32_t n = strong_.load(std::memory_order_relaxed);
    while (n != 0)
      if (strong_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

 protected:
  virtual ~RefCounted() = default;
  virtual void release_resources() {}

 private:
  mutable std::atomic<uint32_t> strong_{1};
  mutable std::atomic<uint32_t> weak_{1};
};

template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  IntrusivePtr(std::nullptr_t) {}
  // Takes over one reference.
  static IntrusivePtr steal(T* p) {
    IntrusivePtr r;
    r.p_ = p;
    return r;
  }
  static IntrusivePtr share(T* p) {
    if (p) p->retain();
    return steal(p);
  }
  IntrusivePtr(const IntrusivePtr& o) : p_(o.p_) {
    if (p_) p_->retain();
  }
  IntrusivePtr(IntrusivePtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
  IntrusivePtr(IntrusivePtr<U> o) : p_(o.detach()) {}
  IntrusivePtr& operator=(IntrusivePtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~IntrusivePtr() {
    if (p_) p_->release();
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  // Gives up the reference without dropping it.
  T* detach() { return std::exchange(p_, nullptr); }
  void reset() { IntrusivePtr().swap(*this); }
  void swap(IntrusivePtr& o) { std::swap(p_, o.p_); }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

// Observes an object without keeping it; `lock` gives an empty pointer once it is gone.
template <class T>
class WeakPtr {
 public:
  WeakPtr() = default;
  WeakPtr(const IntrusivePtr<T>& o) : p_(o.get()) {
    if (p_) p_->retain_weak();
  }
  WeakPtr(const WeakPtr& o) : p_(o.p_) {
    if (p_) p_->retain_weak();
  }
  WeakPtr(WeakPtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  WeakPtr& operator=(WeakPtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~WeakPtr() {
    if (p_) p_->release_weak();
  }
  IntrusivePtr<T> lock() const {
    return p_ && p_->try_retain() ? IntrusivePtr<T>::steal(p_) : IntrusivePtr<T>();
  }

 private:
  T* p_ = nullptr;
};

template <class T, class... A>
IntrusivePtr<T> make_intrusive(A&&... args) {
  return IntrusivePtr<T>::steal(new T(std::forward<A>(args)...));
}

}  // namespace taeda
