// Complex views followed by a copy: the same results in memory of their own.
#include "taeda/ops/complex_copy/declarations.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/view_copy/written.h"

namespace taeda::impl {
namespace {

Tensor in_own_memory(const Tensor& view) { return view.clone(MemoryFormat::Contiguous); }
// A copy may resolve the flag that keeps a conjugate from being viewed.
Tensor as_real(const Tensor& self) { return taeda::view_as_real(self.resolve_conj()); }

}  // namespace

Tensor _conj_copy(const Tensor& self) { return in_own_memory(taeda::_conj(self)); }
Tensor& _conj_copy_out(const Tensor& self, Tensor& out) {
  return written(out, self, taeda::_conj(self));
}
Tensor _neg_view_copy(const Tensor& self) { return in_own_memory(taeda::_neg_view(self)); }
Tensor& _neg_view_copy_out(const Tensor& self, Tensor& out) {
  return written(out, self, taeda::_neg_view(self));
}
Tensor view_as_real_copy(const Tensor& self) { return in_own_memory(as_real(self)); }
Tensor& view_as_real_copy_out(const Tensor& self, Tensor& out) {
  return written(out, self, as_real(self));
}
Tensor view_as_complex_copy(const Tensor& self) {
  return in_own_memory(taeda::view_as_complex(self));
}
Tensor& view_as_complex_copy_out(const Tensor& self, Tensor& out) {
  return written(out, self, taeda::view_as_complex(self));
}

}  // namespace taeda::impl
