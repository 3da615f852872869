// Calls: Python functions are entered, functions of tensors become nodes, functions of C that are
// known to do nothing else run on stand-ins; everything else is a break.
#include <algorithm>

#include "python/interop/sym_numbers.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/arguments.h"

namespace taeda::dynamo {

namespace {

PyObject* builtin(const char* name) {
  static PyObject* const builtins = PyImport_ImportModule("builtins");
  PyObject* found = PyObject_GetAttrString(builtins, name);
  Py_XDECREF(found);  // the module keeps it
  return found;
}

// The attribute of a class that a bound method of C belongs to.
PyObject* descriptor_of(PyObject* method) {
  PyObject* self = PyCFunction_GET_SELF(method);
  if (self == nullptr || PyModule_Check(self)) return nullptr;
  const PyMethodDef* definition = reinterpret_cast<PyCFunctionObject*>(method)->m_ml;
  Owned name(PyUnicode_FromString(definition->ml_name));
  if (!name) throw Raised{};
  PyObject* classes = Py_TYPE(self)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i) {
    Owned names(PyObject_GetAttrString(PyTuple_GET_ITEM(classes, i), "__dict__"));
    PyObject* found = names ? PyObject_GetItem(names.get(), name.get()) : nullptr;
    PyErr_Clear();
    if (found == nullptr) continue;
    Py_DECREF(found);  // the class keeps it
    if (Py_IS_TYPE(found, &PyMethodDescr_Type) &&
        reinterpret_cast<PyMethodDescrObject*>(found)->d_method == definition)
      return found;
  }
  return PyType_Check(self) ? _PyType_Lookup(reinterpret_cast<PyTypeObject*>(self), name.get())
                            : nullptr;
}

bool is_method_wrapper(PyObject* callable) {
  static PyTypeObject* const type = [] {
    Owned wrapper(PyObject_GetAttrString(Py_None, "__repr__"));
    return wrapper ? Py_TYPE(wrapper.get()) : nullptr;
  }();
  return Py_IS_TYPE(callable, type);
}

std::string name_of(PyObject* callable) {
  Owned text(PyObject_GetAttrString(callable, "__qualname__"));
  if (!text) PyErr_Clear();
  const char* bytes = text && PyUnicode_Check(text.get()) ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (bytes == nullptr) PyErr_Clear();
  return bytes == nullptr ? Py_TYPE(callable)->tp_name : bytes;
}

bool is_exception_class(PyObject* callable) {
  return PyType_Check(callable) &&
         PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(callable),
                          reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

// A class whose instances are made as those of most classes.
bool is_made_plainly(PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  PyObject* call = _PyType_Lookup(Py_TYPE(type), name);
  return call == _PyType_Lookup(&PyType_Type, name);
}

}  // namespace

// Gives a call of a Python function its frame. Defaults that were filled in are the program's.
bool Capture::enter(State& state, const Call& call) {
  auto* function = reinterpret_cast<PyFunctionObject*>(call.callable);
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  if (decoded(code) == nullptr) throw Raised{};
  bool raised = false;
  const Arguments arguments{call.values.data(), static_cast<Py_ssize_t>(call.positional),
                            call.names};
  TaedaFrame* frame = frame_for_call(state.thread, function, arguments, state.frame, raised);
  if (raised) throw Raised{};
  if (frame == nullptr) return false;
  import_defaults(frame);
  state.callee = frame;
  return true;
}

PyObject* Capture::call_operator(const Call& call) {
  for (PyObject* value : call.values) open_deep(value);
  Owned args(need(PyTuple_New(static_cast<Py_ssize_t>(call.positional))));
  for (size_t i = 0; i < call.positional; ++i)
    PyTuple_SET_ITEM(args.get(), i, Py_NewRef(call.values[i]));
  Owned kwargs(need(PyDict_New()));
  for (size_t i = call.positional; i < call.values.size(); ++i)
    need(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(call.names, i - call.positional),
                        call.values[i]));
  return need(recorder_.call(call.callable, args.get(), kwargs.get()));
}

PyObject* Capture::call_native(const Call& call, CallKind kind) {
  for (PyObject* value : call.values) {
    if (is_opaque(value)) throw Break{name_of(call.callable) + " of an object that is not known"};
    open_deep(value);
  }
  if (kind == CallKind::Mutates) {
    ++writes_;
    if (!call.values.empty() && find(call.values[0]) != nullptr &&
        twin_of(call.values[0]) == nullptr)
      throw Break{name_of(call.callable) + " writes to an object that is not known"};
  }
  return need(PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names));
}

// Functions of C that ask the world of stand-ins something.
PyObject* Capture::call_builtin(const Call& call, bool& is_known) {
  static PyObject* const getattr_ = builtin("getattr");
  static PyObject* const hasattr_ = builtin("hasattr");
  static PyObject* const setattr_ = builtin("setattr");
  static PyObject* const delattr_ = builtin("delattr");
  static PyObject* const isinstance_ = builtin("isinstance");
  static PyObject* const len_ = builtin("len");
  static PyObject* const vars_ = builtin("vars");
  static PyObject* const callable_ = builtin("callable");
  static PyObject* const object_setattr =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__setattr__");
  static PyObject* const object_delattr =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__delattr__");
  static PyObject* const dict_get_ =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "get");
  PyObject* callable = call.callable;
  const auto& values = call.values;
  const size_t count = values.size();
  is_known = true;
  if (call.names == nullptr) {
    if (callable == getattr_ && (count == 2 || count == 3) && PyUnicode_Check(values[1])) {
      try {
        return attribute(values[0], values[1]);
      } catch (Raised&) {
        if (count == 2 || !PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
        PyErr_Clear();
        return Py_NewRef(values[2]);
      }
    }
    if (callable == hasattr_ && count == 2 && PyUnicode_Check(values[1])) {
      try {
        Owned found(attribute(values[0], values[1]));
        return Py_NewRef(Py_True);
      } catch (Raised&) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
        PyErr_Clear();
        return Py_NewRef(Py_False);
      }
    }
    if ((callable == setattr_ || callable == object_setattr) && count == 3 &&
        PyUnicode_Check(values[1])) {
      set_attribute(values[0], values[1], values[2], callable == object_setattr);
      return Py_NewRef(Py_None);
    }
    if ((callable == delattr_ || callable == object_delattr) && count == 2 &&
        PyUnicode_Check(values[1])) {
      set_attribute(values[0], values[1], nullptr, callable == object_delattr);
      return Py_NewRef(Py_None);
    }
    if (callable == reinterpret_cast<PyObject*>(&PyType_Type) && count == 1) {
      PyTypeObject* type =
          recorder_.is_value(values[0]) ? recorder_.class_of(values[0]) : Py_TYPE(values[0]);
      return Py_NewRef(type);
    }
    if (callable == isinstance_ && count == 2 && recorder_.is_value(values[0])) {
      const int is_one = PyObject_IsSubclass(
          reinterpret_cast<PyObject*>(recorder_.class_of(values[0])), values[1]);
      need(is_one);
      return PyBool_FromLong(is_one);
    }
    if (callable == isinstance_ && count == 2 && is_opaque(values[0])) {
      const int is_one =
          PyObject_IsSubclass(reinterpret_cast<PyObject*>(Py_TYPE(values[0])), values[1]);
      need(is_one);
      return PyBool_FromLong(is_one);
    }
    if (callable == callable_ && count == 1) return PyBool_FromLong(PyCallable_Check(values[0]));
    if (callable == vars_ && count == 1 && !PyType_Check(values[0])) {
      if (PyObject* names = attributes_of(values[0])) return Py_NewRef(names);
    }
    if (callable == len_ && count == 1) {
      Twin* twin = twin_of(values[0]);
      if (twin != nullptr && !twin->is_open && PyDict_Check(values[0]) &&
          PyDict_GET_SIZE(values[0]) == PyDict_GET_SIZE(twin->seen.get())) {
        check(Check::Kind::Length, twin->source, nullptr, PyDict_GET_SIZE(twin->original));
        if (PySet_GET_SIZE(twin->missing.get()) == 0)
          return PyLong_FromSsize_t(PyDict_GET_SIZE(twin->original));
      }
    }
    if (callable == dict_get_ && (count == 2 || count == 3) && PyDict_CheckExact(values[0])) {
      PyObject* found = dict_get(values[0], values[1]);
      return Py_NewRef(found != nullptr ? found : count == 3 ? values[2] : Py_None);
    }
    // A symbolic number is the number it stands for.
    if (count == 1 &&
        ((callable == reinterpret_cast<PyObject*>(&PyLong_Type) && python::is_symint(values[0])) ||
         (callable == reinterpret_cast<PyObject*>(&PyFloat_Type) &&
          python::is_symfloat(values[0]))))
      return Py_NewRef(values[0]);
  }
  is_known = false;
  return nullptr;
}

// A module's call is that of its forward, where nothing else is part of it.
PyObject* Capture::call_module(State& state, const Call& module_call) {
  PyObject* module = module_call.callable;
  const Outside* outside = find(module);
  const bool is_plain = is_plain_module_call(module);
  if (outside != nullptr) {
    if (!is_plain)
      check(Check::Kind::TypeIs, outside->source, reinterpret_cast<PyObject*>(Py_TYPE(module)));
    else
      check(Check::Kind::PlainCall, outside->source);
  }
  static PyObject* const forward = PyUnicode_InternFromString("forward");
  static PyObject* const general = PyUnicode_InternFromString("_wrapped_call_impl");
  Owned method(attribute(module, is_plain ? forward : general));
  keep(method.get());
  Call inner = module_call;
  inner.callable = method.get();
  return call(state, std::move(inner));
}

PyObject* Capture::call_class(const Call& call) {
  auto* type = reinterpret_cast<PyTypeObject*>(call.callable);
  const CallKind kind = recorder_.kind_of(call.callable);
  if (kind == CallKind::Operator) return call_operator(call);
  if (kind == CallKind::Pure || is_exception_class(call.callable))
    return call_native(call, CallKind::Pure);
  if (!is_made_plainly(type)) throw Break{"call of the class " + name_of(call.callable)};
  check_class(type);
  // Its __new__ and __init__ come back through the hook.
  const PyTypeObject* base = type;
  while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
  if (base != &PyBaseObject_Type && base != &PyTuple_Type && base != &PyDict_Type &&
      base != &PyList_Type && base != &PyLong_Type && base != &PyUnicode_Type &&
      base != reinterpret_cast<PyTypeObject*>(PyExc_Exception))
    throw Break{"call of the class " + name_of(call.callable)};
  return need(PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names));
}

PyObject* Capture::call_partial(State& state, const Call& given) {
  Owned func(need(PyObject_GetAttrString(given.callable, "func")));
  Owned args(need(PyObject_GetAttrString(given.callable, "args")));
  Owned keywords(need(PyObject_GetAttrString(given.callable, "keywords")));
  Call inner{func.get(), {}, 0, nullptr};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
    inner.values.push_back(PyTuple_GET_ITEM(args.get(), i));
  inner.values.insert(inner.values.end(), given.values.begin(),
                      given.values.begin() + static_cast<std::ptrdiff_t>(given.positional));
  inner.positional = inner.values.size();
  // Keywords of the call replace those of the partial.
  Owned merged(need(PyDict_Copy(keywords.get())));
  for (size_t i = given.positional; i < given.values.size(); ++i)
    need(PyDict_SetItem(merged.get(), PyTuple_GET_ITEM(given.names, i - given.positional),
                        given.values[i]));
  Owned names(need(PySequence_Tuple(merged.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
    inner.values.push_back(PyDict_GetItemWithError(merged.get(), PyTuple_GET_ITEM(names.get(), i)));
  if (PyTuple_GET_SIZE(names.get()) > 0) inner.names = names.get();
  for (Owned* object : {&func, &args, &keywords, &merged, &names}) keep(object->get());
  return call(state, std::move(inner));
}

PyObject* Capture::call(State& state, Call call) {
  if (PyMethod_Check(call.callable)) {
    PyObject* method = call.callable;
    call.values.insert(call.values.begin(), PyMethod_GET_SELF(method));
    ++call.positional;
    call.callable = PyMethod_GET_FUNCTION(method);
    return this->call(state, std::move(call));
  }
  if (PyObject* function = recorder_.function_of(call.callable)) {
    if (find(function) == nullptr) Py_DECREF(note_outside(function, pin(function)));
    call.callable = function;
    return this->call(state, std::move(call));
  }
  bool is_known = false;
  // Methods of C that are bound to their object.
  if (is_method_wrapper(call.callable)) {
    Owned self(need(PyObject_GetAttrString(call.callable, "__self__")));
    Owned name(need(PyObject_GetAttrString(call.callable, "__name__")));
    PyObject* descriptor = _PyType_Lookup(Py_TYPE(self.get()), name.get());
    Owned owner(need(PyObject_GetAttrString(call.callable, "__objclass__")));
    PyObject* own = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(owner.get()), name.get());
    if (own != nullptr) descriptor = own;
    if (descriptor == nullptr) throw Break{"call of " + name_of(call.callable)};
    keep(self.get());
    call.values.insert(call.values.begin(), self.get());
    ++call.positional;
    call.callable = descriptor;
    return this->call(state, std::move(call));
  }
  PyObject* descriptor = PyCFunction_Check(call.callable) ? descriptor_of(call.callable) : nullptr;
  if (descriptor != nullptr) {
    if (Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) {
      call.values.insert(call.values.begin(), PyCFunction_GET_SELF(call.callable));
      ++call.positional;
      call.callable = descriptor;
    }
  }
  if (PyObject* result = call_builtin(call, is_known); is_known) return need(result);
  if (PyFunction_Check(call.callable)) {
    switch (recorder_.kind_of(call.callable)) {
      case CallKind::Operator: return call_operator(call);
      case CallKind::Entered:
        if (!is_plain_function(call.callable)) break;
        if (enter(state, call)) return nullptr;
        // Arguments that do not fit: CPython says why.
        return call_native(call, CallKind::Pure);
      case CallKind::Constant: {
        const SessionScope natively(nullptr);
        PyObject* result = need(
            PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names));
        if (!is_immutable(result)) Py_DECREF(note_outside(result, pin(result)));
        return result;
      }
      default: break;
    }
    throw Break{"call of " + name_of(call.callable) + ", which is left alone"};
  }
  if (PyType_Check(call.callable)) return call_class(call);
  if (is_partial(call.callable)) return call_partial(state, call);
  CallKind kind = recorder_.kind_of(call.callable);
  if (kind == CallKind::Unknown && descriptor != nullptr) kind = recorder_.kind_of(descriptor);
  switch (kind) {
    case CallKind::Operator: return call_operator(call);
    case CallKind::Pure:
    case CallKind::Mutates: return call_native(call, kind);
    case CallKind::SetsMode: {
      Owned args(need(PyTuple_New(static_cast<Py_ssize_t>(call.positional))));
      for (size_t i = 0; i < call.positional; ++i)
        PyTuple_SET_ITEM(args.get(), i, Py_NewRef(call.values[i]));
      // A graph without gradients stays without.
      if (!modes_.has_grad && call.positional == 1 && call.values[0] == Py_True)
        throw Break{"gradients are switched on where there were none"};
      ++writes_;
      recorder_.note(call.callable, args.get());
      return need(
          PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names));
    }
    default: break;
  }
  PyTypeObject* type = Py_TYPE(call.callable);
  // What a pure class makes is pure: operator.itemgetter(1).
  if (find(call.callable) == nullptr &&
      recorder_.kind_of(reinterpret_cast<PyObject*>(type)) == CallKind::Pure)
    return call_native(call, CallKind::Pure);
  if (!is_opaque(call.callable) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    static PyObject* const name = PyUnicode_InternFromString("__call__");
    PyObject* found = _PyType_Lookup(type, name);
    check_class(type);
    if (found != nullptr && PyFunction_Check(found)) {
      Owned function(import(
          found, sources_.of(Step::TypeLookup, pin(reinterpret_cast<PyObject*>(type)), 0, name)));
      keep(function.get());
      call.values.insert(call.values.begin(), call.callable);
      ++call.positional;
      call.callable = function.get();
      return this->call(state, std::move(call));
    }
    if (found != nullptr && recorder_.kind_of(found) == CallKind::Entered)
      return call_module(state, call);
  }
  throw Break{"call of " + name_of(call.callable)};
}

}  // namespace taeda::dynamo
