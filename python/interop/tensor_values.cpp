// Reads the numbers of tensors whose memory is not simply there: of modes, transforms, lazy views
// and devices.
#include "python/interop/tensor_values.h"

#include "taeda/autograd/grad_mode.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/operators.h"

namespace taeda::python {

// Copies of conjugate and negative views are recorded, so that views which must not be read any
// more say so.
Tensor values_on_cpu(const Tensor& given) {
  const Tensor t = dispatch::plain_value(given);
  TAEDA_CHECK_NOT_IMPLEMENTED(!t.is_meta(), "Cannot copy out of meta tensor; no data!");
  TAEDA_CHECK(!dispatch::has_no_memory(t),
              "Cannot access data pointer of Tensor that doesn't have storage");
  Tensor r = t.is_conj() ? taeda::resolve_conj(t) : t;
  if (r.is_neg()) r = taeda::resolve_neg(r);
  const autograd::NoGrad no_grad;
  return r.is_cpu() ? r : taeda::to(r, Device(), r.dtype());
}

Scalar read_item(const Tensor& t) {
  TAEDA_CHECK(t.impl()->has_symbolic_sizes() || t.numel() == 1, "a Tensor with ", t.numel(),
              " elements cannot be converted to Scalar");
  // The answer of a mode, of the tensor's class or of the fake mode.
  constexpr KeySet asked = KeySet(Key::Python) | KeySet(Key::Fake);
  if (!(dispatch::with_local(t.keys()) & asked).empty())
    return dispatch::has_mode_before_autograd() ? ops::item(t) : ops::_local_scalar_dense(t);
  TAEDA_CHECK(!t.is_meta(), "Tensor.item() cannot be called on meta tensors");
  const bool is_plain = t.is_cpu() && !dispatch::wrapper_of(t);
  return read_scalar(is_plain ? t : values_on_cpu(t));
}

}  // namespace taeda::python
