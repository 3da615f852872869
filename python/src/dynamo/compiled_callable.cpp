// taeda._C._dynamo: functions that are compiled as they are called.
#include "python/src/dynamo/compiled_callable.h"

#include <structmember.h>

#include <utility>

#include "python/interop/errors.h"
#include "python/interop/options.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/dynamo/compiled_regions.h"
#include "python/src/dynamo/known_calls.h"
#include "python/src/module_call.h"
#include "taeda/autograd/variable.h"
#include "taeda/dynamo/evaluator/arguments.h"
#include "taeda/dynamo/evaluator/session.h"
#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::python {

namespace {

struct CallableObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weakrefs;
  std::shared_ptr<CompiledRegions> regions;
};

PyTypeObject* callable_type = nullptr;
CallableObject* as_callable(PyObject* o) { return reinterpret_cast<CallableObject*>(o); }

// The arguments in the order of the function's slots, where they are all positional and there are
// as many as parameters.
bool are_slots(PyCodeObject* code, Py_ssize_t count, PyObject* names) {
  return (names == nullptr || PyTuple_GET_SIZE(names) == 0) && count == code->co_argcount &&
         code->co_kwonlyargcount == 0 && !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
}

// Runs the function's frame by regions.
PyObject* run_framed(CallableObject* self, PyObject* const* argv, size_t nargsf, PyObject* names) {
  auto session = std::make_shared<dynamo::Session>();
  session->regions = self->regions;
  session->entry = reinterpret_cast<PyFunctionObject*>(self->function);
  const dynamo::SessionScope scope(session);
  CompiledCall call;
  Ref result(PyObject_Vectorcall(self->function, argv, nargsf, names));
  if (!result || !call.error) return result.release();
  taeda_set_raised(call.error.release());
  return nullptr;
}

// A compiled function is one, whoever calls it: what a function that is left alone calls is not
// compiled for the program around it.
class Enabled {
 public:
  Enabled() : before_(std::exchange(is_disabled, false)) {}
  ~Enabled() { is_disabled = before_; }
  Enabled(const Enabled&) = delete;

 private:
  bool before_;
};

PyObject* call(PyObject* object, PyObject* const* argv, size_t nargsf, PyObject* names) {
  return guarded([&]() -> PyObject* {
    CallableObject* self = as_callable(object);
    if (stance == Stance::ForceEager || dynamo::is_capturing() || has_foreign_modes())
      return PyObject_Vectorcall(self->function, argv, nargsf, names);
    const Enabled enabled;
    auto* function = reinterpret_cast<PyFunctionObject*>(self->function);
    auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    bool is_failed = false, is_native = false;
    if (are_slots(code, count, names)) {
      PyObject* result = self->regions->run_whole(function, argv, is_failed, is_native);
      if (result || is_failed) return result;
    } else {
      std::vector<PyObject*> slots(static_cast<size_t>(code->co_nlocalsplus), nullptr);
      const dynamo::Arguments arguments{argv, count, names};
      const bool is_bound = dynamo::bind_arguments(function, arguments, slots.data());
      PyObject* result =
          is_bound ? self->regions->run_whole(function, slots.data(), is_failed, is_native)
                   : nullptr;
      for (PyObject* slot : slots) Py_XDECREF(slot);
      if (!is_bound) PyErr_Clear();
      if (result || is_failed) return result;
    }
    if (is_native) return PyObject_Vectorcall(self->function, argv, nargsf, names);
    return run_framed(self, argv, nargsf, names);
  });
}

// CompiledCallable(function, options); see CompileOptions
PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *function = nullptr, *given = nullptr;
    if (!PyArg_ParseTuple(args, "O!O!", &PyFunction_Type, &function, &PyDict_Type, &given))
      throw_python_error();
    CompileOptions options;
    options.compile = Ref::share(option(given, "compile"));
    TAEDA_CHECK_TYPE(options.compile, "compile is a function of a graph");
    options.report = Ref::share(option(given, "report"));
    options.filter = Ref::share(option(given, "filter"));
    options.siblings = Ref::share(option(given, "siblings"));
    options.shares_history = is_set(given, "shares_history");
    options.is_whole = is_set(given, "fullgraph");
    options.dynamic = Ref::share(option(given, "dynamic"));
    options.recompile_limit = Ref::share(option(given, "recompile_limit"));
    TAEDA_CHECK_TYPE(options.dynamic && options.recompile_limit,
                     "dynamic and recompile_limit are functions");
    Ref object(checked(type->tp_alloc(type, 0)));
    CallableObject* self = as_callable(object.get());
    new (&self->regions)
        std::shared_ptr<CompiledRegions>(std::make_shared<CompiledRegions>(std::move(options)));
    self->function = Py_NewRef(function);
    self->vectorcall = call;
    return object.release();
  });
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(as_callable(object)->function);
  Py_VISIT(as_callable(object)->dict);
  // A session that runs them holds them, too.
  const auto& regions = as_callable(object)->regions;
  return regions.use_count() == 1 ? regions->visit(visit, arg) : 0;
}
int clear(PyObject* object) {
  const auto& regions = as_callable(object)->regions;
  if (regions.use_count() == 1) regions->clear();
  Py_CLEAR(as_callable(object)->function);
  Py_CLEAR(as_callable(object)->dict);
  return 0;
}
void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  if (as_callable(object)->weakrefs) PyObject_ClearWeakRefs(object);
  clear(object);
  as_callable(object)->regions.~shared_ptr();
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

// As functions do, so that methods of classes can be compiled.
PyObject* bind_to(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

PyObject* num_entries(PyObject* object, void*) {
  return PyLong_FromSize_t(as_callable(object)->regions->num_entries());
}
PyObject* guards(PyObject* object, void*) {
  return guarded([&] { return as_callable(object)->regions->guards().release(); });
}

// What the function has, for those who ask a function.
PyObject* of_function(PyObject* object, void* name) {
  return PyObject_GetAttrString(as_callable(object)->function, static_cast<const char*>(name));
}

// As functions are, it is copied as itself and pickled by its name.
PyObject* copy_of(PyObject* object, PyObject*) { return Py_NewRef(object); }
PyObject* name_of_global(PyObject* object, PyObject*) {
  PyObject* dict = as_callable(object)->dict;
  PyObject* name = dict ? PyDict_GetItemString(dict, "__qualname__") : nullptr;
  if (name) return Py_NewRef(name);
  PyErr_SetString(PyExc_TypeError, "a compiled callable that is no function has no name to pickle");
  return nullptr;
}

PyObject* forget(PyObject* object, PyObject*) {
  as_callable(object)->regions->clear();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"clear", forget, METH_NOARGS, "Forgets what was compiled."},
    {"__copy__", copy_of, METH_NOARGS, "The callable itself."},
    {"__deepcopy__", copy_of, METH_O, "The callable itself."},
    {"__reduce__", name_of_global, METH_NOARGS, "Its name, by which it is pickled."},
    {},
};
// Keeps what was compiled when the callable and its function are gone.
using KeptRegions = std::shared_ptr<CompiledRegions>;
constexpr const char* kKeptName = "taeda.compiled_regions";

PyObject* versions(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    auto kept = std::make_unique<KeptRegions>(as_callable(self)->regions);
    Ref capsule(checked(PyCapsule_New(kept.get(), kKeptName, [](PyObject* object) {
      delete static_cast<KeptRegions*>(PyCapsule_GetPointer(object, kKeptName));
    })));
    (void)kept.release();
    return capsule.release();
  });
}

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"__code__", of_function, nullptr, nullptr, const_cast<char*>("__code__")},
    {"__globals__", of_function, nullptr, nullptr, const_cast<char*>("__globals__")},
    {"__closure__", of_function, nullptr, nullptr, const_cast<char*>("__closure__")},
    {"__defaults__", of_function, nullptr, nullptr, const_cast<char*>("__defaults__")},
    {"__kwdefaults__", of_function, nullptr, nullptr, const_cast<char*>("__kwdefaults__")},
    {"versions", versions, nullptr, "What was compiled, for siblings; lives on by itself.",
     nullptr},
    {"num_entries", num_entries, nullptr, "Regions that were compiled.", nullptr},
    {"guards", guards, nullptr,
     "By compiled version: file, line, and guards as (kind, name, text, sources, object).",
     nullptr},
    {},
};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CallableObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CallableObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CallableObject, weakrefs), READONLY, nullptr},
    {"function", T_OBJECT, offsetof(CallableObject, function), READONLY, nullptr},
    {},
};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(create)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"taeda._C._dynamo.CompiledCallable", sizeof(CallableObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

dynamo::CallKind read_kind(PyObject* kind) {
  const long number = PyLong_AsLong(kind);
  if (number == -1 && PyErr_Occurred()) throw_python_error();
  return static_cast<dynamo::CallKind>(number);
}
// set_known_call(function, kind)
PyObject* set_known_call(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *function = nullptr, *kind = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &function, &kind)) throw_python_error();
    known_calls().set(function, read_kind(kind));
    return Py_NewRef(Py_None);
  });
}
// add_known_calls({function: kind})
PyObject* add_known_calls(PyObject*, PyObject* kinds) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyDict_Check(kinds), "add_known_calls takes a dict");
    Py_ssize_t position = 0;
    PyObject *function, *kind;
    while (PyDict_Next(kinds, &position, &function, &kind))
      known_calls().add(function, read_kind(kind));
    return Py_NewRef(Py_None);
  });
}
// known_call(function): its kind
PyObject* known_call(PyObject*, PyObject* function) {
  return guarded([&] {
    if (known_calls().is_new(function)) known_calls().learn(function);
    return wrap(static_cast<int64_t>(known_calls().of(function)));
  });
}

// substitute(function, with): captures enter another function in place of one
PyObject* substitute(PyObject*, PyObject* args) {
  PyObject *function = nullptr, *with = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &function, &with)) return nullptr;
  if (!PyFunction_Check(with) && !PyUnicode_Check(with)) {
    PyErr_SetString(PyExc_TypeError, "a substitute is a function, or the module that has it");
    return nullptr;
  }
  known_calls().substitute(function, with);
  Py_RETURN_NONE;
}
PyObject* has_substitute(PyObject*, PyObject* function) {
  return guarded([&] {
    if (known_calls().is_new(function)) known_calls().learn(function);
    return wrap(known_calls().is_substituted(function));
  });
}

// Functions that captures know; see CallKind. Several: functions of C are equal where their
// code is.
PyObject* capture_body(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "capture_body is called by captured programs alone");
  return nullptr;
}
// Behind a break they are plain calls.
PyObject* as_operator(PyObject*, PyObject* given) {
  PyObject *function = nullptr, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO!O!", &function, &PyTuple_Type, &args, &PyDict_Type, &kwargs))
    return nullptr;
  return PyObject_Call(function, args, kwargs);
}
PyObject* bound_to(PyObject*, PyObject* given) {
  PyObject *function = nullptr, *args = nullptr;
  if (!PyArg_ParseTuple(given, "OO!", &function, &PyTuple_Type, &args)) return nullptr;
  return PyObject_Call(function, args, nullptr);
}
PyObject* set_undivided(PyObject*, PyObject*) { Py_RETURN_NONE; }

// A tensor over the same memory that is one of inference mode, or is none.
PyObject* as_inference(PyObject*, PyObject* given) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor = nullptr, *on = nullptr;
    if (!PyArg_ParseTuple(given, "OO", &tensor, &on)) return nullptr;
    const Tensor made = autograd::detached(tensor_of(tensor));
    const KeySet kept = made.keys() - KeySet(Key::ADInplaceOrView);
    made.impl()->set_keys(on == Py_True ? kept : kept | KeySet(Key::ADInplaceOrView));
    return wrap(made);
  });
}

PyObject* is_capturing(PyObject*, PyObject*) { return wrap(dynamo::is_capturing()); }

// A tensor, or a list or tuple that has one somewhere inside.
bool has_tensor(PyObject* data) {
  if (is_tensor(data)) return true;
  if (!PyList_Check(data) && !PyTuple_Check(data)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data); ++i)
    if (has_tensor(PySequence_Fast_GET_ITEM(data, i))) return true;
  return false;
}
PyObject* holds_tensor(PyObject*, PyObject* data) { return wrap(has_tensor(data)); }

PyObject* is_unbacked(PyObject*, PyObject* number) {
  const fx::SymExprNode* node =
      is_symbolic(number) ? fx::SymExprNode::from(sym_node_of(number).get()) : nullptr;
  return wrap(node && !node->raw_expr()->has_hint);
}

PyObject* is_symbol(PyObject*, PyObject* number) { return wrap(is_symbolic(number)); }

// set_stance(number): the former one
PyObject* set_stance(PyObject*, PyObject* number) {
  return guarded([&] {
    const long given = PyLong_AsLong(number);
    if (given == -1 && PyErr_Occurred()) throw_python_error();
    const auto former = static_cast<int64_t>(stance);
    stance = static_cast<Stance>(given);
    return wrap(former);
  });
}

// Each gives the former value.
PyObject* set_flag(bool& flag, PyObject* value) {
  return guarded([&] {
    const int given = PyObject_IsTrue(value);
    if (given < 0) throw_python_error();
    return wrap(std::exchange(flag, given == 1));
  });
}
PyObject* set_skips_guards(PyObject*, PyObject* value) { return set_flag(skips_guards, value); }
PyObject* set_disabled(PyObject*, PyObject* value) { return set_flag(is_disabled, value); }
PyObject* set_fails_at_breaks(PyObject*, PyObject* value) {
  return set_flag(dynamo::fails_at_breaks(), value);
}
// call_leaving_alone(function, args, kwargs): the function runs as it is; those that it calls are
// compiled as the program around it is
PyObject* call_leaving_alone(PyObject*, PyObject* given) {
  PyObject *function = nullptr, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO!O!", &function, &PyTuple_Type, &args, &PyDict_Type, &kwargs))
    return nullptr;
  PyObject* plain = PyMethod_Check(function) ? PyMethod_GET_FUNCTION(function) : function;
  const std::shared_ptr<dynamo::Session> around = dynamo::active_session();
  if (!PyFunction_Check(plain) || !around || !around->regions)
    return PyObject_Call(function, args, kwargs);
  auto session = std::make_shared<dynamo::Session>();
  session->regions = around->regions;
  session->callees_of = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(plain));
  session->codes.emplace_back(Py_NewRef(PyFunction_GET_CODE(plain)));
  const dynamo::SessionScope scope(session);
  return PyObject_Call(function, args, kwargs);
}
// call_keeping_modes(function, *args): an exception leaves modes and levels as they were
PyObject* call_keeping_modes(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs >= 1, "call_keeping_modes() needs a function");
    const dynamo::Modes modes = dynamo::Modes::now();
    PyObject* result =
        PyObject_Vectorcall(argv[0], argv + 1, static_cast<size_t>(nargs - 1), nullptr);
    if (result == nullptr) modes.restore();
    return result;
  });
}
// Whether the caller is called by a compiled program that compiles what it can.
PyObject* is_in_region(PyObject*, PyObject*) {
  const std::shared_ptr<dynamo::Session> around = dynamo::active_session();
  return wrap(!is_disabled && around && around->regions);
}
PyObject* compiles_provisionally(PyObject*, PyObject*) { return wrap(is_provisional); }

PyMethodDef functions[] = {
    {"set_skips_guards", set_skips_guards, METH_O,
     "set_skips_guards(on): versions that are alone are taken by the guards of tensors."},
    {"set_disabled", set_disabled, METH_O,
     "set_disabled(on): what this thread calls is not compiled for the program around it."},
    {"call_leaving_alone", call_leaving_alone, METH_VARARGS,
     "call_leaving_alone(function, args, kwargs): compiles what the function calls, not itself."},
    {"call_keeping_modes", as_function(call_keeping_modes), METH_FASTCALL,
     "call_keeping_modes(function, *args): where it raises, modes and the levels of function "
     "transforms are as they were."},
    {"set_fails_at_breaks", set_fails_at_breaks, METH_O,
     "set_fails_at_breaks(on): a break is an error, in this thread."},
    {"compiles_provisionally", compiles_provisionally, METH_NOARGS,
     "Whether what is compiled now will be compiled again at the next call."},
    {"is_in_region", is_in_region, METH_NOARGS, "Whether a compiled program calls."},
    {"is_capturing", is_capturing, METH_NOARGS, "Whether the caller is being captured."},
    {"holds_tensor", holds_tensor, METH_O, "Whether it is, or nested lists have, a tensor."},
    {"is_unbacked", is_unbacked, METH_O, "Whether it is a number that only data tells."},
    {"is_symbol", is_symbol, METH_O, "Whether it is a number that changes from call to call."},
    {"substitute", substitute, METH_VARARGS,
     "substitute(function, with): captures enter another function, or one that the module of this "
     "name has, in place of one."},
    {"capture_body", capture_body, METH_VARARGS,
     "capture_body(function, args, kwargs, takes_hooks=True): (a module, what it takes, the "
     "result, "
     "places of what it writes to)."},
    {"as_operator", as_operator, METH_VARARGS,
     "as_operator(function, args, kwargs): the call as one node of the graph."},
    {"bound_to", bound_to, METH_VARARGS,
     "bound_to(function, args): called once, with the program's objects; a constant of the graph."},
    {"set_undivided", set_undivided, METH_O,
     "set_undivided(on): the region that is captured does not end until it is off."},
    {"as_inference", as_inference, METH_VARARGS,
     "as_inference(tensor, on): the same memory as a tensor of inference mode, or as none."},
    {"set_stance", set_stance, METH_O, "set_stance(number): how compiled functions behave."},
    {"set_known_call", set_known_call, METH_VARARGS,
     "set_known_call(function, kind): what a function does that is not entered."},
    {"add_known_calls", add_known_calls, METH_O,
     "add_known_calls(kinds): the same of others, by function, where nobody said so before."},
    {"known_call", known_call, METH_O, "known_call(function): what it does, as a number."},
    {"has_substitute", has_substitute, METH_O,
     "has_substitute(function): whether captures enter another function in place of it."},
    {},
};

}  // namespace

PyObject* compiled_function_of(PyObject* object) {
  return Py_IS_TYPE(object, callable_type) ? as_callable(object)->function : nullptr;
}

bool is_compiled_as_whole(PyObject* object) {
  return Py_IS_TYPE(object, callable_type) && as_callable(object)->regions->options().is_whole;
}

std::shared_ptr<CompiledRegions> regions_of(PyObject* object) {
  if (PyCapsule_CheckExact(object))
    return *static_cast<KeptRegions*>(PyCapsule_GetPointer(object, kKeptName));
  return as_callable(object)->regions;
}

bool init_dynamo(PyObject* module) {
  if (taeda_frames_begin() < 0) return false;
  dynamo::is_plain_module_call = is_plain_module_call;
  dynamo::tables_of_plain_call = tables_of_plain_call;
  callable_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return callable_type && init_recorder_mode(module) &&
         PyModule_AddFunctions(module, functions) == 0 &&
         PyModule_AddObjectRef(module, "CompiledCallable",
                               reinterpret_cast<PyObject*>(callable_type)) == 0;
}

}  // namespace taeda::python
