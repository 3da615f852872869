// Class statements of the captured program.
//
// Note [Classes of the capture]: the body of a class statement is captured as what C calls, and C
// makes the class of it. The program makes another one at each run, so nobody may tell the two
// apart: a class whose attributes nothing can change, which ends with the region. Where it, or an
// instance of it, would live on, the region ends before the statement.
#include <algorithm>

#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/messages.h"

namespace taeda::dynamo {

namespace {

bool is_wrapper_of_functions(const PyTypeObject* type) {
  return type == &PyProperty_Type || type == &PyStaticMethod_Type || type == &PyClassMethod_Type;
}

// Of a function: itself, without values of the capture.
bool is_fixed(PyObject* value);

bool are_fixed(PyObject* values) {
  if (values == nullptr) return true;
  PyObject** items = PySequence_Fast_ITEMS(values);
  return std::all_of(items, items + PyTuple_GET_SIZE(values), is_fixed);
}

bool is_fixed_function(PyObject* object) {
  const auto* function = reinterpret_cast<PyFunctionObject*>(object);
  if (function->func_kwdefaults != nullptr || function->func_dict != nullptr ||
      !are_fixed(function->func_defaults))
    return false;
  const Owned names(need(PyObject_GetAttrString(function->func_code, "co_freevars")));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), i), "__class__") != 0)
      return false;
  return true;
}

bool is_fixed_wrapper(PyObject* object) {
  const bool is_of_one = !Py_IS_TYPE(object, &PyProperty_Type);
  for (const char* part : {"__func__", "fget", "fset", "fdel"}) {
    if (is_of_one != (part[0] == '_')) continue;
    const Owned function(need(PyObject_GetAttrString(object, part)));
    if (function.get() != Py_None && !is_fixed(function.get())) return false;
  }
  return true;
}

bool is_fixed(PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  if (PyTuple_CheckExact(value)) return are_fixed(value);
  if (PyFunction_Check(value)) return is_fixed_function(value);
  if (is_wrapper_of_functions(type)) return is_fixed_wrapper(value);
  return is_immutable(value) || type == &PyGetSetDescr_Type || type == &PyMemberDescr_Type;
}

}  // namespace

// object.__init_subclass__, which does nothing, bound to any class.
static bool tells_nobody(PyObject* callable) {
  static PyObject* const known =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__init_subclass__");
  return PyCFunction_Check(callable) &&
         PyCFunction_GET_FUNCTION(callable) == PyCFunction_GET_FUNCTION(known);
}

PyObject* Capture::call_of_class_statement(const Call& call) {
  if (tells_nobody(call.callable))
    return need(
        PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names));
  PyObject* made = make_class(call);
  return made != nullptr ? made : wrap_functions(call);
}

// property(f), in a class body and elsewhere; null for other calls.
PyObject* Capture::wrap_functions(const Call& call) {
  if (!PyType_Check(call.callable) || call.names != nullptr ||
      !is_wrapper_of_functions(reinterpret_cast<PyTypeObject*>(call.callable)))
    return nullptr;
  const auto is_own = [&](PyObject* value) {
    return value == Py_None || (is_made(value) && find(value) == nullptr);
  };
  if (!std::all_of(call.values.begin(), call.values.end(), is_own)) return nullptr;
  return need(PyObject_Vectorcall(call.callable, call.values.data(), call.positional, nullptr));
}

// __build_class__(body, name, *bases); null for other calls.
PyObject* Capture::make_class(const Call& call) {
  static PyObject* const build = imported("builtins", "__build_class__");
  if (call.callable != build || call.names != nullptr || call.values.size() < 2) return nullptr;
  if (!is_made(call.values[0])) return nullptr;
  for (size_t i = 2; i < call.values.size(); ++i) {
    if (!Py_IS_TYPE(call.values[i], &PyType_Type)) return nullptr;
    check_class(reinterpret_cast<PyTypeObject*>(call.values[i]));
  }
  Owned made(need(PyObject_Vectorcall(build, call.values.data(), call.positional, nullptr)));
  PyObject* names = Py_IS_TYPE(made.get(), &PyType_Type)
                        ? reinterpret_cast<PyTypeObject*>(made.get())->tp_dict
                        : nullptr;
  if (names == nullptr) throw Abandoned{"a class of another class", Abandoned::kHere};
  Py_ssize_t position = 0;
  PyObject *name, *value;
  while (PyDict_Next(names, &position, &name, &value))
    if (!is_fixed(value)) throw Abandoned{"a class that holds values", Abandoned::kHere};
  keep(made.get());
  made_classes_.insert(made.get());
  return made.release();
}

// The names of a class body that C calls for a class of the capture. Those of modules, and of
// bodies that the region begins in, are the program's.
PyObject* Capture::own_namespace(const State& state) {
  PyObject* names = taeda_frame_namespace(state.frame);
  if (names == nullptr || !PyDict_CheckExact(names) || frame_of(state).number >= 0 ||
      find(names) != nullptr)
    throw Break{"names of a namespace of its own"};
  return names;
}

Flow Capture::load_name(State& state, int argument) {
  PyObject* name = state.name(argument);
  PyObject* value = PyDict_GetItemWithError(own_namespace(state), name);
  if (value == nullptr) value = global_value(state, name);
  if (value == nullptr) return run::raise_name_error(name);
  state.push(Py_NewRef(value));
  return Flow::Next;
}

Flow Capture::store_name(State& state, int argument) {
  own_namespace(state);
  return run::STORE_NAME_(state, argument);
}

}  // namespace taeda::dynamo
