// Batching rule of view_as_complex: it takes away a dimension, which each example must have.
#include "taeda/ops/complex_view/batching.h"

#include "taeda/ops/functions.h"

namespace taeda::batch {

Batched view_as_complex(const Batched& self) {
  TAEDA_CHECK(self.rank() > 0, "Input tensor must have one or more dimensions");
  return {taeda::view_as_complex(self.front()), 0};
}

}  // namespace taeda::batch
