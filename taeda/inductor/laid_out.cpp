// Comparing and changing how elements lie in memory.
#include "taeda/inductor/laid_out.h"

#include <algorithm>

#include "taeda/ops/functions.h"

namespace taeda::inductor {

bool has_strides(const Tensor& t, const TensorShape& shape) {
  const IntList strides = t.strides();
  bool is_alike = true;
  for (size_t d = 0; d < strides.size(); ++d)
    is_alike &= shape.sizes[d] <= 1 || strides[d] == shape.strides[d];
  return is_alike;
}

// Along the next larger stride all that lies below fits.
bool do_elements_lie_apart(const TensorShape& shape) {
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride and size
  for (size_t d = 0; d < shape.sizes.size(); ++d)
    if (shape.sizes[d] > 1) axes.emplace_back(shape.strides[d], shape.sizes[d]);
  std::ranges::sort(axes);
  int64_t last = 0;
  for (const auto& [stride, size] : axes) {
    if (stride <= last) return false;
    last += stride * (size - 1);
  }
  return true;
}

Tensor laid_out(Tensor t, const TensorShape& shape) {
  if (has_strides(t, shape)) return t;
  const Tensor copy = make_tensor_strided(shape.sizes, shape.strides, t.dtype(), t.device());
  copy.impl()->set_keys(copy.keys() | (t.keys() & kLazyValues));
  return copy.copy_(t);
}

Tensor with_flags(const Tensor& t, KeySet flags) {
  Tensor resolved = t.resolve_conj().resolve_neg();
  if (flags == KeySet()) return resolved;
  if (flags.has(Key::Conjugate)) resolved = resolved.conj_physical();
  if (flags.has(Key::Negative)) resolved = resolved.neg();
  Tensor flagged =
      make_alias(resolved, resolved.sizes(), resolved.strides(), resolved.storage_offset());
  flagged.impl()->set_keys(flagged.keys() | flags);
  return flagged;
}

}  // namespace taeda::inductor
