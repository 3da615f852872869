// Results in dense memory.
#include "taeda/backends/cpu/window/volume.h"

#include <algorithm>

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {

DenseResult::DenseResult(Tensor& given, MemoryFormat format) : given_(given), dense_(given) {
  if (!given.is_contiguous(format))
    dense_ =
        taeda::empty_like(given, std::nullopt, std::nullopt, std::nullopt, std::nullopt, format);
}

void DenseResult::finish() {
  if (!dense_.is_same(given_)) given_.copy_(dense_);
}

int64_t row_grain(int64_t cost) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(cost, 1)); }

}  // namespace taeda::cpu
