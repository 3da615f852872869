// The calls of epilogues.
#include "taeda/fx/epilogue_calls.h"

#include "taeda/autograd/variable.h"
#include "taeda/autograd/view_history.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

Value count_write(Span<Value> a) {
  a[0].get<Tensor>().impl()->bump_version();
  return {};
}

Value data(Span<Value> a) {
  const Tensor made = autograd::detached(a[0].get<Tensor>());
  made.impl()->own_version_counter();
  return Value(made);
}

Value view_with_history(Span<Value> a) {
  const autograd::NoGrad unrecorded;
  const Tensor made = taeda::alias(a[0].get<Tensor>());
  if (!made.impl()->view_base()) return Value(made);
  const Tensor value = a[1].is<Tensor>() ? a[1].get<Tensor>() : Tensor();
  if (autograd::has_node(value))
    autograd::assign_node(made.impl(), autograd::grad_fn(value), autograd::output_nr(value));
  made.impl()->set_view_origin(static_cast<ViewOrigin>(a[2].to_int()));
  return Value(made);
}

Value write_with_history(Span<Value> a) {
  const Tensor &t = a[0].get<Tensor>(), &value = a[1].get<Tensor>();
  if (t.is_view() || !autograd::grad_enabled() || !autograd::has_node(value)) {
    t.copy_(value);
    return {};
  }
  {
    const autograd::NoGrad unrecorded;
    t.copy_(value);
  }
  autograd::rebase_history(t, autograd::grad_fn(value), autograd::output_nr(value));
  return {};
}

constexpr Builtin kEpilogueCalls[] = {
    {"_count_write", count_write, true},
    {"_data", data},
    {"_view_with_history", view_with_history},
    {"_write_with_history", write_with_history, true},
};

}  // namespace

Span<Builtin> epilogue_builtins() { return kEpilogueCalls; }

}  // namespace taeda::fx
