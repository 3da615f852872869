// Forward mode: derivatives that travel with the values, as tangents of tensors.
//
// Note [Tangents]: a tensor's tangent lives with its autograd data and is flagged on the tensor, so
// that the Autograd key is there to see it. The generated kernels compute the tangents of results
// from those of their arguments by the records' forward rules, right after the values; the rules
// are ordinary operators, so tangents may themselves be recorded for backward or have tangents at
// an outer level. A view without a tangent of its own sees its part of its base's.
#pragma once

#include "taeda/autograd/variable.h"

namespace taeda::autograd {

TAEDA_API bool forward_enabled();
TAEDA_API void set_forward_enabled(bool on);
class ForwardMode {
 public:
  explicit ForwardMode(bool on) : saved_(forward_enabled()) { set_forward_enabled(on); }
  ~ForwardMode() { set_forward_enabled(saved_); }
  ForwardMode(const ForwardMode&) = delete;

 private:
  bool saved_;
};

// ---- levels of the dual-number interface (forward_ad) ----
// One at a time, for the whole process; leaving it drops the tangents set while it was on.
TAEDA_API int64_t enter_dual_level();
TAEDA_API void exit_dual_level(int64_t level);
TAEDA_API int64_t current_dual_level();  // -1 outside
// A view of `primal` with that tangent.
TAEDA_API Tensor make_dual(const Tensor& primal, const Tensor& tangent);
// The same values without the tangent.
TAEDA_API Tensor primal_of(const Tensor& dual);

// ---- for generated code ----
// Whether anything on this thread may carry tangents or be differentiated later: derivative
// formulas with a fast form that has no derivative itself ask before they use it.
TAEDA_API bool may_be_differentiated();

inline bool may_have_tangent(const Tensor& t) {
  if (!t.defined()) return false;
  const TensorImpl* impl = t.impl();
  return impl->has_tangent() || (impl->view_base() && impl->view_base()->has_tangent());
}
inline bool may_have_tangent(TensorList list) {
  for (const Tensor& t : list)
    if (may_have_tangent(t)) return true;
  return false;
}
template <class... T>
bool any_tangent(const T&... args) {
  return __builtin_expect((may_have_tangent(args) || ...), 0) && forward_enabled();
}
// Undefined if there is none.
TAEDA_API Tensor tangent_of(const Tensor& t);
// Zeros where there is none; undefined for an undefined tensor and for integers.
TAEDA_API Tensor tangent_or_zeros(const Tensor& t);
TAEDA_API std::vector<Tensor> tangents_or_zeros(TensorList list);
// Brought to the shape and dtype of the result it contributes to.
TAEDA_API Tensor fit_tangent(const Tensor& tangent, const Tensor& result);
inline Tensor add_tangents(const Tensor& a, Tensor b) { return a.defined() ? a.add(b) : b; }

// An undefined tangent means none: nothing is set.
TAEDA_API void set_tangent(const Tensor& t, const Tensor& tangent);
TAEDA_API void set_tangent(const std::vector<Tensor>& list, const std::vector<Tensor>& tangents);
// After an in-place operation: a view's base gets the tangent too.
TAEDA_API void set_tangent_inplace(const Tensor& self, const Tensor& tangent);
// A copy of an argument if it shares memory with a tensor that is about to be written, else the
// argument.
TAEDA_API Tensor unshared(const Tensor& t, const Tensor& written);
[[noreturn]] TAEDA_API void fail_no_forward(const char* op, const char* reason);

}  // namespace taeda::autograd
