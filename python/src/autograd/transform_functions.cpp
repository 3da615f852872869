// Function transforms and forward mode for Python: levels, wrappers and tangents.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/factories.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/grad_level.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/foreign_wrappers.h"
#include "taeda/dispatch/levels.h"
#include "taeda/func/level_scope.h"
#include "taeda/fx/functionalize.h"
#include "taeda/ops/batching.h"

namespace taeda::python {
namespace {

PyObject* none() { return Py_NewRef(Py_None); }

const Tensor& need_tensor(PyObject* o) {
  TAEDA_CHECK_TYPE(is_tensor(o), "expected a Tensor, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

void need_count(const char* name, Py_ssize_t given, Py_ssize_t wanted) {
  TAEDA_CHECK_TYPE(given == wanted, name, "() takes ", wanted, " arguments, got ", given);
}

uint64_t to_level(PyObject* o) { return static_cast<uint64_t>(to_int64(o)); }
PyObject* wrap_level(uint64_t id) { return PyLong_FromUnsignedLongLong(id); }

// ---- levels ----
PyObject* enter_grad(PyObject*, PyObject*) {
  return guarded([] { return wrap_level(autograd::enter_grad_level()); });
}
PyObject* enter_jvp(PyObject*, PyObject*) {
  return guarded([] { return wrap_level(autograd::enter_jvp_level()); });
}
PyObject* exit_grad(PyObject*, PyObject* id) {
  return guarded([&] {
    autograd::exit_level(to_level(id));
    return none();
  });
}
// (batch_size, randomness) with randomness 0 error, 1 same, 2 different
PyObject* enter_vmap(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_enter_vmap", nargs, 2);
    const SymInt size = to_symint(argv[0]);
    const int64_t randomness = to_int64(argv[1]);
    TAEDA_CHECK_VALUE(randomness >= 0 && randomness <= 2, "no such randomness: ", randomness);
    dispatch::Level& level = dispatch::push_level(dispatch::LevelKind::Vmap);
    level.batch_size = size;
    level.randomness = static_cast<dispatch::Randomness>(randomness);
    return wrap_level(level.id);
  });
}
PyObject* exit_vmap(PyObject*, PyObject* id) {
  return guarded([&] {
    dispatch::pop_level(to_level(id));
    return none();
  });
}
PyObject* num_levels(PyObject*, PyObject*) { return PyLong_FromSize_t(dispatch::num_levels()); }

const char* kind_name(dispatch::LevelKind kind) {
  switch (kind) {
    case dispatch::LevelKind::Grad: return "grad";
    case dispatch::LevelKind::Jvp: return "jvp";
    case dispatch::LevelKind::Functionalize: return "functionalize";
    default: return "vmap";
  }
}

// (id, kind, batch_size, randomness) of the innermost level, None without one
PyObject* top_level(PyObject*, PyObject*) {
  return guarded([] {
    if (dispatch::num_levels() == 0) return none();
    const dispatch::Level& level = dispatch::top_level();
    return Py_BuildValue("(KsNi)", static_cast<unsigned long long>(level.id), kind_name(level.kind),
                         wrap(level.batch_size), static_cast<int>(level.randomness));
  });
}

// Calls a function with the innermost level taken off, with the modes that hold outside it.
PyObject* call_below(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs >= 1, "_call_below_level() needs a function");
    const dispatch::Level level = dispatch::top_level();
    const dispatch::BelowLevel below(level.outer_keys);
    const bool is_vmap = level.kind == dispatch::LevelKind::Vmap;
    const autograd::GradMode grad(is_vmap ? autograd::grad_enabled() : level.outer_grad_mode);
    const autograd::ForwardMode forward(is_vmap ? autograd::forward_enabled()
                                                : level.outer_forward_mode);
    const autograd::InferenceMode inference(is_vmap ? is_inference_mode()
                                                    : level.outer_inference_mode);
    return checked(PyObject_Vectorcall(argv[0], argv + 1, static_cast<size_t>(nargs - 1), nullptr));
  });
}

// _call_replacing(replacement, function, *args): calls the function; where operators meet a wrapper
// of a level that is off they take replacement(wrapper).
PyObject* call_replacing(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs >= 2, "_call_replacing() needs two functions");
    PyObject* replacement = argv[0];
    const dispatch::ReplaceForeign scope([replacement](const Tensor& t) {
      const GilHold gil;
      const Ref given(checked(wrap(t)));
      const Ref result(PyObject_CallOneArg(replacement, given.get()));
      if (!result) throw_python_error();
      return need_tensor(result.get());
    });
    return checked(PyObject_Vectorcall(argv[1], argv + 2, static_cast<size_t>(nargs - 2), nullptr));
  });
}

// _enter_functionalize(removes views, keeps composites)
PyObject* enter_functionalize(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 1 || nargs == 2, "_enter_functionalize takes one or two arguments");
    const bool keeps_composites = nargs == 2 && PyObject_IsTrue(argv[1]) == 1;
    return wrap_level(
        fx::enter_functionalize_level(PyObject_IsTrue(argv[0]) == 1, keeps_composites));
  });
}
PyObject* exit_functionalize(PyObject*, PyObject* id) {
  return guarded([&] {
    fx::exit_functionalize_level(to_level(id));
    return none();
  });
}
PyObject* make_functional(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_make_functional", nargs, 2);
    return wrap(fx::make_functional(need_tensor(argv[0]), to_level(argv[1])));
  });
}
// (value, whether it was written to)
PyObject* functional_value(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_functional_value", nargs, 2);
    const Tensor& t = need_tensor(argv[0]);
    const bool is_written = fx::is_written(t, to_level(argv[1]));
    const Ref value(checked(wrap(fx::functional_value(t, to_level(argv[1])))));
    return PyTuple_Pack(2, value.get(), is_written ? Py_True : Py_False);
  });
}

// ---- wrappers ----
PyObject* wrap_grad(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_wrap_grad", nargs, 2);
    return wrap(autograd::wrap_at_level(need_tensor(argv[0]), to_level(argv[1])));
  });
}
// The same, as a variable to differentiate by.
PyObject* track_grad(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_track_grad", nargs, 2);
    const Tensor t = autograd::wrap_at_level(need_tensor(argv[0]), to_level(argv[1]));
    autograd::set_requires_grad(t, true);
    return wrap(t);
  });
}
// Marks a tensor made by the library; users' functions may not, see autograd::check_outside_levels.
PyObject* mark_requires_grad(PyObject*, PyObject* o) {
  return guarded([&] {
    autograd::set_requires_grad(need_tensor(o), true);
    return Py_NewRef(o);
  });
}
PyObject* wrap_batched(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_wrap_batched", nargs, 3);
    const Tensor& t = need_tensor(argv[0]);
    const int64_t dim = wrap_dim(to_int64(argv[1]), t.dim(), false);
    return wrap(dispatch::make_wrapper(t, to_level(argv[2]), dim));
  });
}
// The value inside a wrapper of that level; any other tensor as it is.
PyObject* unwrap(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_unwrap_level", nargs, 2);
    if (!is_tensor(argv[0])) return Py_NewRef(argv[0]);
    const auto* w = dispatch::wrapper_at(tensor_of(argv[0]), to_level(argv[1]));
    return w ? wrap(w->value) : Py_NewRef(argv[0]);
  });
}
// (value, batch dimension or None)
PyObject* unwrap_batched(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_unwrap_batched", nargs, 2);
    const auto* w = dispatch::wrapper_at(need_tensor(argv[0]), to_level(argv[1]));
    if (!w) return PyTuple_Pack(2, argv[0], Py_None);
    const Ref value(checked(wrap(w->value))), dim(checked(PyLong_FromLongLong(w->batch_dim)));
    return PyTuple_Pack(2, value.get(), dim.get());
  });
}
// _remove_batch(value, level, batch size, out_dim): in a graph the place of the batch is that of
// the run, which may differ from the capture's.
PyObject* remove_batch(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_remove_batch", nargs, 4);
    return wrap(func::remove_batch(need_tensor(argv[0]), to_level(argv[1]), to_symint(argv[2]),
                                   to_int64(argv[3])));
  });
}
// (value, depth of the level, 0 once it is over, batch dimension or -1), None for plain tensors
PyObject* wrapper_info(PyObject*, PyObject* o) {
  return guarded([&] {
    const auto* w = is_tensor(o) ? dispatch::wrapper_of(tensor_of(o)) : nullptr;
    if (!w) return none();
    const Ref value(checked(wrap(w->value)));
    return Py_BuildValue("(OnL)", value.get(),
                         static_cast<Py_ssize_t>(dispatch::level_depth(w->level)),
                         static_cast<long long>(w->batch_dim));
  });
}
// The values of all examples, whatever levels wrap them
Tensor values_of(Tensor t) {
  while (const dispatch::LevelWrapper* w = dispatch::wrapper_of(t)) t = Tensor(w->value);
  return t;
}
PyObject* all_values(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(values_of(need_tensor(o))); });
}
// Whether there are values behind the tensor: it is neither a meta nor a fake one
PyObject* has_values(PyObject*, PyObject* o) {
  return guarded([&] {
    const Tensor t = values_of(need_tensor(o));
    return wrap(!t.is_meta() && !t.keys().has(Key::Fake));
  });
}
PyObject* fallback_count(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(batch_each_count());
}
PyObject* warn_fallback(PyObject*, PyObject* on) {
  return guarded([&] {
    set_batch_each_warning(PyObject_IsTrue(on) == 1);
    return none();
  });
}

// ---- forward mode ----
PyObject* enter_dual(PyObject*, PyObject*) {
  return guarded([] { return PyLong_FromLongLong(autograd::enter_dual_level()); });
}
PyObject* exit_dual(PyObject*, PyObject* level) {
  return guarded([&] {
    autograd::exit_dual_level(to_int64(level));
    return none();
  });
}
PyObject* dual_level(PyObject*, PyObject*) {
  return PyLong_FromLongLong(autograd::current_dual_level());
}
PyObject* make_dual(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_make_dual", nargs, 2);
    return wrap(autograd::make_dual(need_tensor(argv[0]), need_tensor(argv[1])));
  });
}
// (primal, tangent or None)
PyObject* unpack_dual(PyObject*, PyObject* o) {
  return guarded([&] {
    const Tensor& t = need_tensor(o);
    const Ref primal(checked(wrap(autograd::primal_of(t))));
    const Ref tangent(checked(wrap(autograd::tangent_of(t))));
    return PyTuple_Pack(2, primal.get(), tangent.get());
  });
}
// The tangent of a tensor or None
PyObject* tangent(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(autograd::tangent_of(need_tensor(o))); });
}
PyObject* set_tangent(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("_set_tangent", nargs, 2);
    autograd::set_tangent(need_tensor(argv[0]), need_tensor(argv[1]));
    return none();
  });
}
PyObject* is_forward_enabled(PyObject*, PyObject*) { return wrap(autograd::forward_enabled()); }
PyObject* set_forward(PyObject*, PyObject* on) {
  return guarded([&] {
    autograd::set_forward_enabled(PyObject_IsTrue(on) == 1);
    return none();
  });
}

}  // namespace

PyMethodDef transform_table[] = {
    {"_enter_grad", enter_grad, METH_NOARGS, nullptr},
    {"_enter_jvp", enter_jvp, METH_NOARGS, nullptr},
    {"_exit_grad", exit_grad, METH_O, nullptr},
    {"_enter_vmap", as_function(enter_vmap), METH_FASTCALL, nullptr},
    {"_exit_vmap", exit_vmap, METH_O, nullptr},
    {"_enter_functionalize", as_function(enter_functionalize), METH_FASTCALL, nullptr},
    {"_exit_functionalize", exit_functionalize, METH_O, nullptr},
    {"_make_functional", as_function(make_functional), METH_FASTCALL, nullptr},
    {"_functional_value", as_function(functional_value), METH_FASTCALL, nullptr},
    {"_num_levels", num_levels, METH_NOARGS, nullptr},
    {"_top_level", top_level, METH_NOARGS, nullptr},
    {"_call_below_level", as_function(call_below), METH_FASTCALL, nullptr},
    {"_call_replacing", as_function(call_replacing), METH_FASTCALL, nullptr},
    {"_wrap_grad", as_function(wrap_grad), METH_FASTCALL, nullptr},
    {"_track_grad", as_function(track_grad), METH_FASTCALL, nullptr},
    {"_mark_requires_grad", mark_requires_grad, METH_O, nullptr},
    {"_wrap_batched", as_function(wrap_batched), METH_FASTCALL, nullptr},
    {"_unwrap_level", as_function(unwrap), METH_FASTCALL, nullptr},
    {"_unwrap_batched", as_function(unwrap_batched), METH_FASTCALL, nullptr},
    {"_remove_batch", as_function(remove_batch), METH_FASTCALL, nullptr},
    {"_wrapper_info", wrapper_info, METH_O, nullptr},
    {"_values_of", all_values, METH_O, nullptr},
    {"_has_values", has_values, METH_O, nullptr},
    {"_vmap_fallback_count", fallback_count, METH_NOARGS, nullptr},
    {"_set_vmap_fallback_warning_enabled", warn_fallback, METH_O, nullptr},
    {"_enter_dual_level", enter_dual, METH_NOARGS, nullptr},
    {"_exit_dual_level", exit_dual, METH_O, nullptr},
    {"_current_dual_level", dual_level, METH_NOARGS, nullptr},
    {"_make_dual", as_function(make_dual), METH_FASTCALL, nullptr},
    {"_unpack_dual", unpack_dual, METH_O, nullptr},
    {"_tangent_of", tangent, METH_O, nullptr},
    {"_set_tangent", as_function(set_tangent), METH_FASTCALL, nullptr},
    {"_is_fwd_grad_enabled", is_forward_enabled, METH_NOARGS, nullptr},
    {"_set_fwd_grad_enabled", set_forward, METH_O, nullptr},
    {},
};

}  // namespace taeda::python
