// The memory of the tests' devices that run generated kernels.
//
// Addresses lie in pages that nobody may touch but while the device copies or runs a kernel: a CPU
// kernel that is given one ends the process.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <mutex>

#include "taeda/backends/device_api.h"

namespace walled {

class Memory {
 public:
  void* alloc(size_t bytes) {
    std::lock_guard lock(mutex_);
    const size_t size = (bytes + 4095) / 4096 * 4096;
    if (used_ + size > kReserved) return nullptr;
    char* address = base_ + used_;
    used_ += size;
    return address;
  }
  void free(void* pointer, size_t bytes) {
    std::lock_guard lock(mutex_);
    ::madvise(pointer, (bytes + 4095) / 4096 * 4096, MADV_DONTNEED);
  }
  // Runs f with the pages open.
  template <class F>
  void open(F&& f) {
    std::lock_guard lock(mutex_);
    ::mprotect(base_, used_, PROT_READ | PROT_WRITE);
    f();
    ::mprotect(base_, used_, PROT_NONE);
  }

 private:
  static constexpr size_t kReserved = size_t{1} << 38;
  std::mutex mutex_;
  char* base_ = static_cast<char*>(
      ::mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  size_t used_ = 4096;
};

inline Memory& memory() {
  static Memory* m = new Memory;
  return *m;
}

inline TaedaStatus alloc(void*, int32_t, size_t bytes, void** pointer) {
  *pointer = memory().alloc(bytes);
  return *pointer ? nullptr : "address space used up";
}
inline TaedaStatus release(void*, int32_t, void* pointer, size_t bytes) {
  memory().free(pointer, bytes);
  return nullptr;
}
inline TaedaStatus copy(void*, int32_t, void* dst, const void* src, size_t bytes, void*) {
  memory().open([&] { std::memmove(dst, src, bytes); });
  return nullptr;
}
inline TaedaStatus copy_on_device(void*, int32_t, void* dst, int32_t, const void* src, size_t bytes,
                                  void*) {
  memory().open([&] { std::memmove(dst, src, bytes); });
  return nullptr;
}

// What both devices share; the caller adds compile, launch, slot and dialect.
inline TaedaDeviceApi memory_api(const char* name, uint32_t slot) {
  TaedaDeviceApi a{};
  a.version = TAEDA_DEVICE_API_VERSION;
  a.size = sizeof(TaedaDeviceApi);
  a.name = name;
  a.slot = slot;
  a.alloc = &alloc;
  a.free = &release;
  a.copy_to_device = &copy;
  a.copy_to_host = &copy;
  a.copy_on_device = &copy_on_device;
  return a;
}

}  // namespace walled

#define EXPORT extern "C" __attribute__((visibility("default")))
