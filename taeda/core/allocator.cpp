// Defaults of the interface, and the choice of the CPU's allocator.
#include "taeda/core/allocator.h"

#include "taeda/base/error.h"
#include "taeda/core/cpu_allocator.h"

#include <cstdlib>
#include <cstring>

namespace taeda {
namespace {

bool is_cache_wanted() {
#ifdef __SANITIZE_ADDRESS__
  return false;
#else
  const char* choice = std::getenv("TAEDA_CPU_ALLOCATOR");
  return !choice || std::strcmp(choice, "system") != 0;
#endif
}

}  // namespace

Allocator::~Allocator() = default;
void Allocator::copy(void* dst, const void* src, size_t nbytes) { std::memcpy(dst, src, nbytes); }
AllocatorStats Allocator::stats() const { return {}; }
void Allocator::reset_peak_stats() {}
void Allocator::empty_cache() {}

Allocator& cpu_allocator() {
  static Allocator& chosen = is_cache_wanted() ? caching_cpu_allocator() : system_cpu_allocator();
  return chosen;
}

void throw_cpu_out_of_memory(size_t nbytes) {
  fail(ErrorKind::OutOfMemory, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ",
       nbytes, " bytes.");
}

}  // namespace taeda
