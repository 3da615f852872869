// Classes of tensors with a __torch_dispatch__ of their own, and switches for all handlers.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/handler_call.h"
#include "taeda/autograd/autocast.h"
#include "taeda/dispatch/modes.h"

namespace taeda::python {

namespace {

PyObject* disabled_handler = nullptr;

// ---- guards: in force from their construction to the end of `with`, or until they are freed ----
struct GuardObject {
  PyObject_HEAD bool is_on;
  bool was_enabled;
  KeySet excluded;
};
GuardObject& guard_of(PyObject* o) { return *reinterpret_cast<GuardObject*>(o); }

// While it is on, calls go to neither modes nor classes of tensors.
struct Disable {
  static constexpr const char* kName = "taeda._C._DisableTorchDispatch";
  static void enter(GuardObject& g) { g.was_enabled = dispatch::set_python_key_enabled(false); }
  static void leave(GuardObject& g) { dispatch::set_python_key_enabled(g.was_enabled); }
};
// Inside a handler: autograd and the other keys above handlers act again on the handler's own
// calls.
struct Restore {
  static constexpr const char* kName = "taeda._C._RestorePythonTLSSnapshot";
  static void enter(GuardObject& g) {
    g.excluded = local_keys().exclude & dispatch::kAboveHandlers;
    local_keys().exclude = local_keys().exclude - dispatch::kAboveHandlers;
  }
  static void leave(GuardObject& g) { local_keys().exclude = local_keys().exclude | g.excluded; }
};

// Excludes autograd and the other keys above handlers, so that nothing is recorded.
struct Below {
  static constexpr const char* kName = "taeda._C._AutoDispatchBelowAutograd";
  static void enter(GuardObject& g) {
    g.excluded = local_keys().exclude;
    local_keys().exclude = g.excluded | dispatch::kAboveHandlers;
  }
  static void leave(GuardObject& g) { local_keys().exclude = g.excluded; }
};

template <class Guard>
PyObject* make_guard(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  Guard::enter(guard_of(self));
  guard_of(self).is_on = true;
  return self;
}
template <class Guard>
void release_guard(GuardObject& guard) {
  if (guard.is_on) Guard::leave(guard);
  guard.is_on = false;
}
template <class Guard>
void drop_guard(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  release_guard<Guard>(guard_of(self));
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* enter_guard(PyObject* self, PyObject*) { return Py_NewRef(self); }
template <class Guard>
PyObject* leave_guard(PyObject* self, PyObject*) {
  release_guard<Guard>(guard_of(self));
  Py_RETURN_NONE;
}

template <class Guard>
bool add_guard(PyObject* module) {
  static PyMethodDef methods[] = {
      {"__enter__", enter_guard, METH_NOARGS, nullptr},
      {"__exit__", leave_guard<Guard>, METH_VARARGS, nullptr},
      {},
  };
  PyType_Slot slots[] = {{Py_tp_methods, methods},
                         {Py_tp_new, reinterpret_cast<void*>(make_guard<Guard>)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(drop_guard<Guard>)},
                         {0, nullptr}};
  PyType_Spec spec = {Guard::kName, sizeof(GuardObject), 0, Py_TPFLAGS_DEFAULT, slots};
  const Ref type(PyType_FromSpec(&spec));
  return type && PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) == 0;
}

// _disabled_torch_dispatch_impl(func, types, args=(), kwargs=None): the call with no handler asked.
PyObject* run_disabled(PyObject*, PyObject* given) {
  PyObject *func = nullptr, *types = nullptr, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO|OO", &func, &types, &args, &kwargs)) return nullptr;
  const Ref tuple(args ? PySequence_Tuple(args) : PyTuple_New(0));
  if (!tuple) return nullptr;
  const bool was_enabled = dispatch::set_python_key_enabled(false);
  PyObject* result = PyObject_Call(func, tuple.get(), kwargs == Py_None ? nullptr : kwargs);
  dispatch::set_python_key_enabled(was_enabled);
  return result;
}

// _is_below_autograd(): whether autograd is excluded, so that calls are not recorded in any grad
// mode.
PyObject* is_below_autograd(PyObject*, PyObject*) {
  return wrap(local_keys().exclude.has(Key::Autograd));
}

// The keys that a call with the tensor may meet. Autograd and autocast belong to the thread:
// kernels under their keys serve every tensor outside inference mode, and every device that has
// autocast.
KeySet keys_in_calls(const Tensor& t) {
  KeySet keys = t.keys();
  if (!t.is_inference()) keys = keys | KeySet(Key::Autograd);
  if (autocast::is_available(t.device().type)) keys = keys | KeySet(Key::Autocast);
  return keys;
}

// _dispatch_key_set(tensor): those keys as text, by the names of PyTorch.
PyObject* dispatch_key_set(PyObject*, PyObject* o) {
  return guarded([&] {
    const Tensor& t = expect_tensor(o, "_dispatch_key_set(): argument 'tensor'");
    const KeySet keys = keys_in_calls(t);
    std::string text = "DispatchKeySet(";
    for (int k = 0; k < kNumKeys; ++k) {
      const auto key = static_cast<Key>(k);
      if (keys.has(key)) text += str(k ? ", " : "", slot_name(slot_of(key, t.device().type)));
    }
    return wrap(text + ")");
  });
}

// _dispatch_isTensorSubclassLike(tensor): whether operators on it are not plain kernels on memory.
PyObject* is_subclass_like(PyObject*, PyObject* o) {
  return guarded([&] {
    const Tensor& t = expect_tensor(o, "_dispatch_isTensorSubclassLike(): argument");
    constexpr KeySet others = KeySet(Key::Python) | KeySet(Key::Fake) | KeySet(Key::TransformFront);
    return wrap(!(t.keys() & others).empty() || dispatch::has_no_memory(t));
  });
}

// _storage_id(tensor): the same number for tensors that share memory.
PyObject* storage_id(PyObject*, PyObject* o) {
  return guarded([&] {
    return PyLong_FromVoidPtr(expect_tensor(o, "_storage_id(): argument").storage().get());
  });
}

PyMethodDef functions[] = {
    {"_dispatch_key_set", dispatch_key_set, METH_O, nullptr},
    {"_dispatch_isTensorSubclassLike", is_subclass_like, METH_O, nullptr},
    {"_storage_id", storage_id, METH_O, nullptr},
    {"_is_below_autograd", is_below_autograd, METH_NOARGS, nullptr},
    {"_disabled_torch_dispatch_impl", run_disabled, METH_VARARGS, nullptr},
    {"_is_memoryless", is_memoryless, METH_O, nullptr},
    {"_set_storage_of", as_function(set_storage_of), METH_FASTCALL, nullptr},
    {"_set_geometry_of", as_function(set_geometry_of), METH_FASTCALL, nullptr},
    {},
};

// Note [Subclasses]: asks the classes in turn, until one answers.
void ask_classes(dispatch::Operator& op, dispatch::Stack& stack, dispatch::Mode* declined) {
  const GilHold gil;
  const HandlerCall call(op, stack);
  for (size_t i = 0; i < call.subclasses().size(); ++i) {
    const Ref answer = call.ask(call.subclasses()[i]);
    if (answer.get() != Py_NotImplemented) return call.finish(answer.get(), stack);
  }
  const Ref mode(declined ? mode_object(*declined) : nullptr);
  call.fail_declined(mode.get());
}

}  // namespace

bool class_dispatches(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__torch_dispatch__");
  const PyObject* handler = _PyType_Lookup(type, name);
  return handler && handler != disabled_handler;
}

bool init_handlers(PyObject* module) {
  dispatch::set_subclass_handler(&ask_classes);
  if (!add_guard<Disable>(module) || !add_guard<Restore>(module) || !add_guard<Below>(module) ||
      PyModule_AddFunctions(module, functions) < 0)
    return false;
  disabled_handler = PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl");
  return disabled_handler != nullptr;
}

}  // namespace taeda::python
