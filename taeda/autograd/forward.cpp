// Keeping and moving tangents.
#include "taeda/autograd/forward.h"

#include <mutex>

#include "taeda/autograd/view_history.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {
namespace {

thread_local bool forward_on = true;

// The dual level and the tensors that got a tangent in it.
struct DualLevel {
  std::mutex mutex;
  bool is_active = false;
  std::vector<WeakPtr<TensorImpl>> tensors;
};
DualLevel& dual_level() {
  static DualLevel* level = new DualLevel;
  return *level;
}

void store(const Tensor& t, Tensor tangent) {
  if (!dispatch::wrapper_of(t)) {
    DualLevel& level = dual_level();
    const std::lock_guard lock(level.mutex);
    // Outside a level the tangent would never be dropped.
    if (!level.is_active) return;
    if (!t.impl()->has_tangent()) level.tensors.push_back(WeakPtr<TensorImpl>(t.impl_ptr()));
  }
  meta_of(t).tangent = std::move(tangent);
  t.impl()->set_has_tangent(true);
}

Tensor own_tangent(const Tensor& t) {
  return t.impl()->has_tangent() ? meta_of(t).tangent : Tensor();
}

Tensor base_of(const Tensor& t) {
  return t.is_view() ? Tensor(IntrusivePtr<TensorImpl>::share(t.impl()->view_base())) : Tensor();
}

// Memory of a size that is known, and may be compared.
bool has_plain_memory(const Tensor& t) {
  return !dispatch::wrapper_of(t) && !dispatch::has_no_memory(t) && !t.is_meta() &&
         !t.impl()->has_symbolic_sizes() && !t.keys().has(Key::Python);
}

// Whether both lie in their storage in the same place, and the storages hold equally many elements.
bool has_same_place(const Tensor& a, const Tensor& b) {
  if (!has_plain_memory(a) || !has_plain_memory(b) || a.numel() == 0) return true;
  return a.storage_offset() == b.storage_offset() &&
         a.storage()->nbytes() * b.element_size() == b.storage()->nbytes() * a.element_size();
}

// Memory for a tangent of `t`: strides, place in the storage and lazy flags are those of `t`.
Tensor new_tangent(const Tensor& t, const Tensor& like) {
  Tensor out;
  if (has_plain_memory(t) && has_plain_memory(like)) {
    const auto count = static_cast<int64_t>(t.storage()->nbytes()) / t.element_size();
    out = like.new_zeros({SymInt(count)})
              .as_strided(t.sym_sizes(), t.sym_strides(), t.storage_offset());
  } else {
    out = like.new_empty_strided(t.sym_sizes(), t.sym_strides());
  }
  if (t.is_conj()) out = out.conj();
  return t.is_neg() ? out._neg_view() : out;
}

// Tangents have the strides of what they belong to, and its place in its storage, so that views of
// one are views of the other.
Tensor with_strides_of(const Tensor& t, const Tensor& tangent) {
  if (tangent.sym_strides() == t.sym_strides() && tangent.is_conj() == t.is_conj() &&
      tangent.is_neg() == t.is_neg() && has_same_place(t, tangent))
    return tangent;
  if (!t.impl()->is_non_overlapping_and_dense()) return tangent;
  Tensor out = new_tangent(t, tangent);
  out.copy_(tangent);
  return out;
}

}  // namespace

Tensor unshared(const Tensor& t, const Tensor& written) {
  return t.defined() && t.storage() == written.storage() ? t.clone() : t;
}

bool forward_enabled() { return forward_on; }
void set_forward_enabled(bool on) { forward_on = on; }

int64_t enter_dual_level() {
  DualLevel& level = dual_level();
  const std::lock_guard lock(level.mutex);
  TAEDA_CHECK(!level.is_active,
              "Nested forward mode AD is not supported at the moment. Use taeda.func.jvp, which "
              "nests.");
  level.is_active = true;
  return 0;
}

void exit_dual_level(int64_t number) {
  DualLevel& level = dual_level();
  std::vector<WeakPtr<TensorImpl>> tensors;
  {
    const std::lock_guard lock(level.mutex);
    TAEDA_CHECK(level.is_active && number == 0,
                "Trying to exit a forward AD level that was not the last one that was created.");
    level.is_active = false;
    tensors.swap(level.tensors);
  }
  for (const WeakPtr<TensorImpl>& weak : tensors) {
    const Tensor t(weak.lock());
    if (!t.defined()) continue;
    meta_of(t).tangent.reset();
    t.impl()->set_has_tangent(false);
  }
}

int64_t current_dual_level() {
  DualLevel& level = dual_level();
  const std::lock_guard lock(level.mutex);
  return level.is_active ? 0 : -1;
}

bool may_be_differentiated() {
  return grad_enabled() || dispatch::num_levels() > 0 || current_dual_level() >= 0;
}

Tensor make_dual(const Tensor& primal, const Tensor& tangent) {
  TAEDA_CHECK(is_differentiable(primal) || primal.is_complex(),
              "Expected primal to be floating point or complex, but got: ", primal.dtype());
  TAEDA_CHECK(is_differentiable(tangent),
              "Expected tangent to be floating point or complex, but got: ", tangent.dtype());
  TAEDA_CHECK(!own_tangent(primal).defined(),
              "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
              "same level ",
              current_dual_level(), " is not supported.");
  TAEDA_CHECK(!tangent_of(tangent).defined(),
              "Setting a forward grad that itself has a forward gradient at the same level",
              current_dual_level(), " is not supported.");
  TAEDA_CHECK(
      primal.sym_sizes() == tangent.sym_sizes(),
      "Trying to set a forward gradient that has a different size than that of the original "
      "Tensor, this is not supported. Tensor is of size ",
      primal.sym_sizes(), " while the given forward gradient is of size ", tangent.sym_sizes(),
      ".");
  TAEDA_CHECK(primal.dtype() == tangent.dtype(),
              "Expected tangent to have the same dtype as the primal: ", primal.dtype(), ", got ",
              tangent.dtype());
  Tensor dual = taeda::alias(primal);
  store(dual, with_strides_of(dual, tangent));
  return dual;
}

Tensor primal_of(const Tensor& dual) {
  const ForwardMode off(false);
  Tensor primal = taeda::alias(dual);
  // As a view it would see the tangent of its base.
  if (may_have_tangent(primal)) primal.impl()->set_view_base(nullptr, ViewOrigin::Default);
  return primal;
}

Tensor tangent_of(const Tensor& t) {
  if (!t.defined()) return {};
  if (t.impl()->has_tangent()) return meta_of(t).tangent;
  const Tensor base = base_of(t);
  if (!base.defined() || !base.impl()->has_tangent() || !is_differentiable(t)) return {};
  return ViewGeometry(t).of(meta_of(base).tangent);
}

Tensor tangent_or_zeros(const Tensor& t) {
  if (!t.defined() || !is_differentiable(t)) return {};
  Tensor tangent = tangent_of(t);
  return tangent.defined() ? tangent : taeda::zeros_like(t);
}

std::vector<Tensor> tangents_or_zeros(TensorList list) {
  std::vector<Tensor> out;
  for (const Tensor& t : list) out.push_back(tangent_or_zeros(t));
  return out;
}

Tensor fit_tangent(const Tensor& tangent, const Tensor& result) {
  // The written value has no tangent: integers written into a tensor of floats.
  if (!tangent.defined()) return taeda::zeros_like(result);
  Tensor t = tangent;
  if (t.dtype() != result.dtype()) t = t.to(result.dtype());
  return t.sym_sizes() == result.sym_sizes() ? t : t.expand(result.sym_sizes());
}

void set_tangent(const Tensor& t, const Tensor& tangent) {
  if (!t.defined() || !tangent.defined() || !is_differentiable(t)) return;
  // A view computed from a view: it aliases its base's tangent already.
  store(t, t.is_view() ? tangent : with_strides_of(t, tangent));
}

void set_tangent(const std::vector<Tensor>& list, const std::vector<Tensor>& tangents) {
  for (size_t i = 0; i < list.size() && i < tangents.size(); ++i) set_tangent(list[i], tangents[i]);
}

void set_tangent_inplace(const Tensor& self, const Tensor& tangent) {
  if (!tangent.defined() || !is_differentiable(self)) return;
  if (Tensor own = own_tangent(self); own.defined()) {
    // In place, so that views see it; a tangent that differs between examples of a batch does not
    // fit into one that does not.
    if (dispatch::is_batched(tangent) && !dispatch::is_batched(own))
      store(self, with_strides_of(self, tangent));
    else if (!own.is_same(tangent))
      own.copy_(tangent);
    return;
  }
  const Tensor base = base_of(self);
  if (!base.defined() || !is_differentiable(base))
    return store(self, with_strides_of(self, tangent));
  Tensor whole = own_tangent(base);
  if (!whole.defined()) {
    whole = tangent.new_empty_strided(base.sym_sizes(), base.sym_strides());
    whole.zero_();
    store(base, whole);
  }
  Tensor part = ViewGeometry(self).of(whole);
  part.copy_(tangent);
  store(self, part);
}

void fail_no_forward(const char* op, const char* reason) {
  fail(ErrorKind::NotImplemented, "Trying to use forward AD with ", op,
       " that does not support it because ", reason);
}

}  // namespace taeda::autograd
