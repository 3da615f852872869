// The two allocators cpu_allocator() chooses from, and the error they share.
#pragma once

#include <cstddef>

#include "taeda/core/allocator.h"

namespace taeda {

TAEDA_API Allocator& caching_cpu_allocator();
// malloc and free with statistics; for memory checkers.
TAEDA_API Allocator& system_cpu_allocator();

[[noreturn]] void throw_cpu_out_of_memory(size_t nbytes);

}  // namespace taeda
