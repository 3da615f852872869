// Tensors like others, of one number.
#include "taeda/ops/factory_like/lowerings.h"

#include "taeda/ops/index_map.h"

namespace taeda::lowering {

void full_like(const Tensor&, const Scalar& fill_value, std::optional<DType>, std::optional<Layout>,
               std::optional<Device>, std::optional<bool>, std::optional<MemoryFormat>,
               const Tensor& out) {
  filled(out, fill_value);
}

}  // namespace taeda::lowering
