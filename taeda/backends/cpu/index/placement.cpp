// Elements of a source in the places that a mask names.
#include <cstring>
#include <vector>

#include "taeda/backends/cpu/index/masks.h"
#include "taeda/backends/cpu/placement_declarations.h"
#include "taeda/backends/cpu/pointwise/logical_walk.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {

void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source, Tensor& out) {
  const TrueElements elements(expanded_to(mask, out.sizes()));
  TAEDA_CHECK(elements.count() <= source.numel(),
              "masked_scatter: expected source to have at least as many elements as the mask has "
              "ones, but got ",
              source.numel(), " elements in source and ", elements.count(), " ones in mask");
  const Tensor values = source.contiguous();
  if (!out.is_same(self)) out.copy_(self);
  if (elements.count() == 0) return;
  const int64_t item = out.element_size();
  std::vector<int64_t> offsets(elements.count());
  elements.offsets(out.strides(), item, offsets.data());
  auto* to = static_cast<char*>(out.data());
  const auto* from = static_cast<const char*>(values.data());
  for (size_t i = 0; i < offsets.size(); ++i)
    std::memcpy(to + offsets[i], from + i * item, static_cast<size_t>(item));
}

}  // namespace taeda::cpu
