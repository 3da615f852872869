// Operators by name from Python: the functions behind taeda.ops.
#include <optional>
#include <string>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/text.h"
#include "python/src/dispatch/boxed_values.h"
#include "python/src/dispatch/overrides.h"
#include "python/src/tensor/factories.h"
#include "taeda/base/trace.h"

namespace taeda::python {

namespace {

using dispatch::Operator;

// find_overloads(name): [(overload name, handle), ...]
PyObject* find_overloads(PyObject*, PyObject* name) {
  return guarded([&] {
    Ref list(checked(PyList_New(0)));
    for (Operator* op : dispatch::find_overloads(text_of(name))) {
      const Ref handle(checked(PyCapsule_New(op, kOperatorHandleName, nullptr)));
      const Ref entry(checked(Py_BuildValue("(sO)", op->overload, handle.get())));
      if (PyList_Append(list.get(), entry.get()) < 0) throw_python_error();
    }
    return list.release();
  });
}

PyObject* describe(const dispatch::Argument& a, const dispatch::Value& default_value) {
  const Ref value(wrap_value(default_value));
  return checked(Py_BuildValue("(sssOOOO)", a.name.c_str(), shown_type(a.type).c_str(),
                               a.alias.c_str(), a.is_written ? Py_True : Py_False,
                               a.is_kwarg_only ? Py_True : Py_False,
                               a.has_default ? Py_True : Py_False, value.get()));
}

// parsed_schema(handle): (declaration, name, overload name, is composite, arguments, results), the
// last two lists of (name, type, alias set, is written, is keyword-only, has default, default).
PyObject* parsed_schema(PyObject*, PyObject* handle) {
  return guarded([&] {
    const Operator& op = operator_of_handle(handle);
    const CallSchema& schema = call_schema(op);
    const auto& arguments = schema.arguments;
    const auto& returns = schema.returns;
    Ref in(checked(PyList_New(static_cast<Py_ssize_t>(arguments.size()))));
    for (size_t i = 0; i < arguments.size(); ++i)
      PyList_SET_ITEM(in.get(), static_cast<Py_ssize_t>(i),
                      describe(arguments[i], schema.defaults[i]));
    Ref out(checked(PyList_New(static_cast<Py_ssize_t>(returns.size()))));
    for (size_t i = 0; i < returns.size(); ++i)
      PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), describe(returns[i], {}));
    return Py_BuildValue("(sssOOO)", schema.declaration.c_str(), schema.qualified_name.c_str(),
                         op.overload, op.is_composite ? Py_True : Py_False, in.get(), out.get());
  });
}

bool has_large_tensor(const dispatch::Stack& stack) {
  bool any = false;
  for (const dispatch::Value& v : stack)
    for_each_tensor(v, [&](const Tensor& t) { any |= is_large(t); });
  return any;
}

PyObject* call_and_wrap(Operator& op, dispatch::Stack& stack) {
  {
    const GilRelease release(has_large_tensor(stack));
    std::optional<TraceScope> scope;
    if (is_tracing()) scope.emplace("op", op.name, op.overload);
    dispatch::call_boxed(op, stack);
  }
  return wrap_results(stack);
}

void need_call(PyObject* const* argv, Py_ssize_t nargs) {
  TAEDA_CHECK_TYPE(nargs == 4 && PyTuple_Check(argv[1]) && PyDict_Check(argv[2]),
                   "expected handles of operators, a tuple, a dict and the function");
}

// _dispatch_find_schema_or_throw(name, overload name): the operator's handle.
PyObject* find_schema(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "_dispatch_find_schema_or_throw(name, overload_name)");
    const std::string name = text_of(argv[0]), overload = text_of(argv[1]);
    const std::string_view own = std::string_view(name).starts_with("aten::")
                                     ? std::string_view(name).substr(6)
                                     : std::string_view(name);
    for (Operator* op : dispatch::find_overloads(own))
      if (overload == op->overload) return PyCapsule_New(op, kOperatorHandleName, nullptr);
    fail(ErrorKind::Runtime, "Could not find schema for ", name, ".", overload);
  });
}

// _dispatch_call_boxed(handle, *args, **kwargs): the operator, without a look at overrides.
PyObject* call_handle(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyTuple_GET_SIZE(args) > 0, "_dispatch_call_boxed(handle, *args, **kwargs)");
    Operator& op = operator_of_handle(PyTuple_GET_ITEM(args, 0));
    const Ref rest(checked(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args))));
    dispatch::Stack stack = bind_arguments(call_schema(op), rest.get(), kwargs);
    return call_and_wrap(op, stack);
  });
}

// Arguments whose classes override, also those in lists: tensors, and proxies that stand for them.
void find_overriding(PyObject* o, Overloaded& found) {
  if (is_exact_tensor(o) || o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o)) return;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      find_overriding(PySequence_Fast_GET_ITEM(o, i), found);
  } else {
    found.add_if_overrides(o);
  }
}

// The answer of these objects or of a mode; null when there is nobody to ask.
PyObject* ask_overriding(PyObject* args, PyObject* kwargs, PyObject* function) {
  Overloaded found;
  find_overriding(args, found);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &key, &value);) find_overriding(value, found);
  if (!found.size() && !(num_function_modes && is_function_mode_active())) return nullptr;
  return checked(call_operator_override(function, found, args, kwargs));
}

// call(handle, args, kwargs, function): the operator from its outermost key on.
PyObject* call(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_call(argv, nargs);
    if (PyObject* answer = ask_overriding(argv[1], argv[2], argv[3])) return answer;
    Operator& op = operator_of_handle(argv[0]);
    const CallSchema& schema = call_schema(op);
    // Recorded graphs hold numbers in place of tensor arguments of Taeda's own operators; arguments
    // of users' operators stay tensors.
    const Numbers numbers =
        schema.qualified_name.starts_with("aten::") ? Numbers::AsTensors : Numbers::Apart;
    dispatch::Stack stack = bind_arguments(schema, argv[1], argv[2], numbers);
    return call_and_wrap(op, stack);
  });
}

// call_first(handles, args, kwargs, function): the first operator of a tuple that takes the
// arguments.
PyObject* call_first(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    need_call(argv, nargs);
    TAEDA_CHECK_TYPE(PyTuple_Check(argv[0]), "expected a tuple of handles");
    if (PyObject* answer = ask_overriding(argv[1], argv[2], argv[3])) return answer;
    std::string reasons;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(argv[0]); ++i) {
      Operator& op = operator_of_handle(PyTuple_GET_ITEM(argv[0], i));
      const Numbers numbers = op.traits.takes_numbers ? Numbers::AsTensors : Numbers::Apart;
      dispatch::Stack stack;
      try {
        stack = bind_arguments(call_schema(op), argv[1], argv[2], numbers);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::Runtime) throw;
        reasons += str(error.what(), "\n\n");
        continue;
      }
      return call_and_wrap(op, stack);
    }
    fail(ErrorKind::Runtime,
         "Overloaded torch operator invoked from Python failed to match any schema:\n", reasons);
  });
}

}  // namespace

Operator& operator_of_handle(PyObject* handle) {
  void* op = PyCapsule_GetPointer(handle, kOperatorHandleName);
  if (!op) throw_python_error();
  return *static_cast<Operator*>(op);
}

// By PyTorch's names, in the extension module itself.
PyMethodDef operator_handle_table[] = {
    {"_dispatch_find_schema_or_throw", as_function(find_schema), METH_FASTCALL, nullptr},
    {"_dispatch_call_boxed", as_function(call_handle), METH_VARARGS | METH_KEYWORDS, nullptr},
    {},
};

PyMethodDef boxed_call_table[] = {
    {"find_overloads", find_overloads, METH_O,
     "find_overloads(name): (overload name, handle) of each."},
    {"parsed_schema", parsed_schema, METH_O, "parsed_schema(handle): the signature in parts."},
    {"call", as_function(call), METH_FASTCALL,
     "call(handle, args, kwargs, function): calls an operator."},
    {"call_first", as_function(call_first), METH_FASTCALL,
     "call_first(handles, args, kwargs, function): calls the first operator that takes the "
     "arguments."},
    {},
};

}  // namespace taeda::python
