// One list of freed blocks a size, reached through one word of thread-local storage.
#include "taeda/base/object_cache.h"

#include <pthread.h>

#include <array>
#include <new>

namespace taeda {
namespace {

constexpr size_t kStep = 16;
constexpr size_t kMaxBytes = 512;
// The free blocks of one size that a thread keeps: enough for the nodes of a large graph, which
// then come and go without malloc.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kKeptBytes = 0;
#else
constexpr size_t kKeptBytes = 8 << 20;
#endif

struct Freed {
  Freed* next;
};
struct Bin {
  Freed* head = nullptr;
  size_t room = 0;
};
struct Cache {
  std::array<Bin, kMaxBytes / kStep> bins;
  Cache() {
    for (size_t i = 0; i < bins.size(); ++i) bins[i].room = kKeptBytes / ((i + 1) * kStep);
  }
};

constinit thread_local Cache* this_thread TAEDA_STATIC_TLS = nullptr;

size_t bin_of(size_t nbytes) { return (nbytes - 1) / kStep; }
size_t rounded(size_t nbytes) { return (nbytes + kStep - 1) / kStep * kStep; }

// Runs at thread exit; a destructor that frees objects later makes a new cache.
void retire(void* cache) {
  this_thread = nullptr;
  for (Bin& bin : static_cast<Cache*>(cache)->bins)
    while (Freed* block = bin.head) {
      bin.head = block->next;
      ::operator delete(block);
    }
  delete static_cast<Cache*>(cache);
}

// nullptr when there is no memory for it.
Cache* make_cache() noexcept {
  static const pthread_key_t exit_key = [] {
    pthread_key_t key;
    pthread_key_create(&key, &retire);
    return key;
  }();
  auto* cache = new (std::nothrow) Cache;
  if (cache) pthread_setspecific(exit_key, cache);
  return this_thread = cache;
}

[[gnu::noinline]] void deallocate_slow(void* object, size_t nbytes) noexcept {
  if (!this_thread && kKeptBytes > 0 && nbytes <= kMaxBytes && make_cache())
    return deallocate_object(object, nbytes);
  ::operator delete(object);
}

}  // namespace

void* allocate_object(size_t nbytes) {
  if (Cache* cache = this_thread; cache && nbytes <= kMaxBytes) [[likely]] {
    Bin& bin = cache->bins[bin_of(nbytes)];
    if (Freed* block = bin.head) [[likely]] {
      bin.head = block->next;
      ++bin.room;
      return block;
    }
  }
  return ::operator new(nbytes <= kMaxBytes ? rounded(nbytes) : nbytes);
}

void deallocate_object(void* object, size_t nbytes) noexcept {
  if (Cache* cache = this_thread; cache && nbytes <= kMaxBytes) [[likely]] {
    Bin& bin = cache->bins[bin_of(nbytes)];
    if (bin.room > 0) [[likely]] {
      auto* block = static_cast<Freed*>(object);
      block->next = bin.head;
      bin.head = block;
      --bin.room;
      return;
    }
  }
  deallocate_slow(object, nbytes);
}

}  // namespace taeda
