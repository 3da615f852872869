// Memory of packed matrices.
#include "taeda/backends/cpu/gemm/packed_matrix.h"

#include <cstdlib>

#include "taeda/base/error.h"

namespace taeda::cpu {

void PackedMatrix::Free::operator()(void* data) const { std::free(data); }

PackedMatrix::Data PackedMatrix::allocate(int64_t bytes) {
  const size_t size = (static_cast<size_t>(bytes) + 63) / 64 * 64;
  Data data(std::aligned_alloc(64, size));
  TAEDA_CHECK_KIND(ErrorKind::OutOfMemory, data, "[gemm] out of memory: got no ", size,
                   " bytes for a packed matrix");
  return data;
}

int64_t PackedMatrix::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace taeda::cpu
