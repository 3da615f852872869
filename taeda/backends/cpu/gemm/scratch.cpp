// Thread-local buffers that grow and are freed when their thread ends.
#include "taeda/backends/cpu/gemm/scratch.h"

#include <cstdlib>

#include "taeda/base/error.h"

namespace taeda::cpu {
namespace {

struct Buffer {
  void* data = nullptr;
  size_t size = 0;
  ~Buffer() { std::free(data); }
};

thread_local Buffer buffers[static_cast<int>(Scratch::kCount)];

}  // namespace

void* scratch(Scratch slot, size_t bytes) {
  Buffer& buffer = buffers[static_cast<int>(slot)];
  if (bytes > buffer.size) {
    const size_t size = (bytes + bytes / 4 + 4095) / 4096 * 4096;
    std::free(buffer.data);
    buffer = {};
    buffer.data = std::aligned_alloc(64, size);
    TAEDA_CHECK_KIND(ErrorKind::OutOfMemory, buffer.data, "[gemm] out of memory: got no ", size,
                     " bytes for a pack buffer");
    buffer.size = size;
  }
  return buffer.data;
}

}  // namespace taeda::cpu
