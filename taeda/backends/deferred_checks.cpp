// The words of pending checks in a device's memory.
#include "taeda/backends/deferred_checks.h"

#include <algorithm>

#include "taeda/base/error.h"

namespace taeda::devices {

namespace {

// The first words are those that nobody reads.
constexpr size_t kPlaces = 256;

}  // namespace

void DeferredChecks::check(TaedaStatus status) const {
  if (status) fail(ErrorKind::Runtime, "device ", api_.name, ": checks failed: ", status);
}

void* DeferredChecks::words_at(size_t place) {
  if (!words_) {
    const std::vector<Words> zeros(kPlaces);
    void* made = nullptr;
    check(api_.alloc(api_.context, device_, kPlaces * sizeof(Words), &made));
    check(api_.copy_to_device(api_.context, device_, made, zeros.data(), kPlaces * sizeof(Words),
                              nullptr));
    words_ = made;
  }
  return static_cast<Words*>(words_) + place;
}

void* DeferredChecks::words_for(RaiseCheck raise) {
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (pending_.size() + 1 < kPlaces) {
        void* const words = words_at(pending_.size() + 1);
        pending_.push_back(std::move(raise));
        return words;
      }
    }
    settle();
  }
}

void* DeferredChecks::unread_words() {
  std::lock_guard lock(mutex_);
  return words_at(0);
}

void DeferredChecks::settle() {
  RaiseCheck raise;
  Words found{};
  {
    std::lock_guard lock(mutex_);
    if (pending_.empty()) return;
    std::vector<Words> words(pending_.size());
    const size_t bytes = words.size() * sizeof(Words);
    check(api_.copy_to_host(api_.context, device_, words.data(), words_at(1), bytes, nullptr));
    const auto first =
        std::find_if(words.begin(), words.end(), [](const Words& w) { return w.check != 0; });
    if (first != words.end()) {
      found = *first;
      raise = std::move(pending_[static_cast<size_t>(first - words.begin())]);
      std::fill(words.begin(), words.end(), Words{});
      check(api_.copy_to_device(api_.context, device_, words_at(1), words.data(), bytes, nullptr));
    }
    pending_.clear();
  }
  if (raise) raise(static_cast<int>(found.check) - 1, found.value);
}

}  // namespace taeda::devices
