// Checks that a device makes while the host goes on; their errors are raised when the host waits.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "taeda/backends/device_api.h"

namespace taeda::devices {

// Raises the error of a check: its number in the kernel, from 0, and the value that it refused.
using RaiseCheck = std::function<void(int, int64_t)>;

// The pending checks of one device. A launch that checks writes to two 64-bit words of its own on
// the device: the number of the check, from 1, and the value; they stay zero where nothing is
// refused. Thread-safe: the error of one thread's launch may be raised where another waits.
class DeferredChecks {
 public:
  DeferredChecks(const TaedaDeviceApi& api, int device) : api_(api), device_(device) {}

  // The words of a launch. Settles the others first where no words are left.
  void* words_for(RaiseCheck raise);
  // Words that nobody reads, for kernels whose caller has checked.
  void* unread_words();
  // Waits for the pending checks and forgets them; raises the error of the earliest that refused.
  void settle();

 private:
  struct Words {
    int64_t check, value;
  };
  void* words_at(size_t place);
  void check(TaedaStatus status) const;

  const TaedaDeviceApi& api_;
  int device_;
  std::mutex mutex_;
  void* words_ = nullptr;  // for the life of the process, as the device
  std::vector<RaiseCheck> pending_;
};

}  // namespace taeda::devices
