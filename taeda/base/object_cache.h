// Memory of small counted objects (tensors, storages, nodes), kept for reuse by each thread.
#pragma once

#include <cstddef>

#include "taeda/base/export.h"

namespace taeda {

// As operator new and delete; an object may be freed on another thread than it was made on, with
// the size it was made with. Up to 256 bytes, a thread keeps freed blocks of each size, 8 MiB at
// most, which costs no lock and no call of malloc; a build with the address sanitizer keeps none.
TAEDA_API void* allocate_object(size_t nbytes);
TAEDA_API void deallocate_object(void* object, size_t nbytes) noexcept;

}  // namespace taeda
