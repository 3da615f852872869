// Starting and ending levels, and wrapping tensors that go into and out of them.
#include "taeda/func/level_scope.h"

#include "taeda/autograd/forward.h"
#include "taeda/autograd/grad_level.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/ops/functions.h"

namespace taeda::func {
namespace {

uint64_t enter_vmap(const SymInt& batch_size, Randomness randomness) {
  dispatch::Level& level = dispatch::push_level(dispatch::LevelKind::Vmap);
  level.batch_size = batch_size;
  level.randomness = randomness;
  return level.id;
}

void end_innermost() {
  const dispatch::Level& level = dispatch::top_level();
  const bool has_modes =
      level.kind == dispatch::LevelKind::Grad || level.kind == dispatch::LevelKind::Jvp;
  const uint64_t id = level.id;
  if (has_modes)
    autograd::exit_level(id);
  else
    dispatch::pop_level(id);
}

}  // namespace

LevelScope::~LevelScope() {
  if (dispatch::level_depth(id_) != depth_) return;
  while (dispatch::num_levels() >= depth_) end_innermost();
}

Tensor LevelScope::unwrap(const Tensor& t) const {
  const dispatch::LevelWrapper* w = dispatch::wrapper_at(t, id_);
  return w ? w->value : t;
}

GradScope::GradScope()
    : LevelScope(autograd::enter_grad_level()),
      outer_message_(autograd::saved_tensor_hooks_disabled()) {
  autograd::disable_saved_tensor_hooks(
      "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open "
      "an issue with your use case.");
}
GradScope::~GradScope() {
  if (outer_message_.empty())
    autograd::enable_saved_tensor_hooks();
  else
    autograd::disable_saved_tensor_hooks(outer_message_);
}

Tensor GradScope::track(const Tensor& t) const {
  Tensor wrapped = wrap(t);
  autograd::set_requires_grad(wrapped, true);
  return wrapped;
}

Tensor GradScope::wrap(const Tensor& t) const { return autograd::wrap_at_level(t, id()); }

JvpScope::JvpScope() : LevelScope(autograd::enter_jvp_level()) {}

Tensor JvpScope::make_dual(const Tensor& primal, const Tensor& tangent) const {
  return autograd::make_dual(autograd::wrap_at_level(primal, id()),
                             autograd::wrap_at_level(tangent, id()));
}

Tensor JvpScope::primal(const Tensor& t) const { return unwrap(autograd::primal_of(t)); }

Tensor JvpScope::tangent(const Tensor& t, bool is_strict) const {
  const Tensor found = autograd::tangent_of(t);
  if (found.defined()) return unwrap(found);
  return is_strict ? Tensor() : unwrap(taeda::zeros_like(autograd::primal_of(t)));
}

VmapScope::VmapScope(SymInt batch_size, Randomness randomness)
    : LevelScope(enter_vmap(batch_size, randomness)), batch_size_(std::move(batch_size)) {}

Tensor VmapScope::wrap(const Tensor& t, std::optional<int64_t> dim) const {
  return dim ? dispatch::make_wrapper(t, id(), *dim) : t;
}

Tensor VmapScope::unwrap(const Tensor& t, std::optional<int64_t> out_dim) const {
  if (out_dim) return remove_batch(t, id(), batch_size_, *out_dim);
  TAEDA_CHECK_VALUE(!dispatch::wrapper_at(t, id()),
                    "vmap(f, ...): `f` can not return a BatchedTensor when out_dim is None");
  return t;
}

Tensor remove_batch(const Tensor& t, uint64_t level, const SymInt& batch_size, int64_t out_dim) {
  if (const dispatch::LevelWrapper* w = dispatch::wrapper_at(t, level))
    return w->batch_dim == out_dim ? w->value : w->value.movedim(w->batch_dim, out_dim);
  SymIntVec sizes{batch_size};
  for (const SymInt& s : t.sym_sizes()) sizes.push_back(s);
  const Tensor all = t.expand(sizes);
  return out_dim == 0 ? all : all.movedim(0, out_dim);
}

}  // namespace taeda::func
