// Complex views followed by a copy: the same results in memory of their own.
#include "taeda/ops/complex_copy/declarations.h"
#include "taeda/ops/functions.h"

namespace taeda::impl {
namespace {

Tensor in_own_memory(const Tensor& view) { return view.clone(MemoryFormat::Contiguous); }

}  // namespace

Tensor _conj_copy(const Tensor& self) { return in_own_memory(taeda::_conj(self)); }
Tensor _neg_view_copy(const Tensor& self) { return in_own_memory(taeda::_neg_view(self)); }
// A copy may resolve the flag that keeps a conjugate from being viewed.
Tensor view_as_real_copy(const Tensor& self) {
  return in_own_memory(taeda::view_as_real(self.resolve_conj()));
}
Tensor view_as_complex_copy(const Tensor& self) {
  return in_own_memory(taeda::view_as_complex(self));
}

}  // namespace taeda::impl
