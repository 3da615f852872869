// Looks decompositions up by operator.
#include "python/src/fx/decomposition_table.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/src/dispatch/boxed_values.h"
#include "python/src/dispatch/overloads.h"

namespace taeda::python {

DecompositionTable::DecompositionTable(PyObject* dict) {
  TAEDA_CHECK_TYPE(PyDict_Check(dict), "a decomposition table is a dict");
  const Ref module(checked(PyImport_ImportModule("taeda.fx.decompositions")));
  const Ref native(checked(PyObject_GetAttrString(module.get(), "NativeDecomposition")));
  PyObject *key = nullptr, *function = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &function)) {
    const dispatch::Operator* op = operator_of_overload(key);
    if (!op) continue;
    const bool is_native = Py_TYPE(function) == reinterpret_cast<PyTypeObject*>(native.get());
    functions_[op] = {is_native ? find_decomposition(*op) : nullptr, keep_object(function)};
  }
}

bool DecompositionTable::operator()(dispatch::Operator& op, dispatch::Stack& stack) const {
  const auto it = functions_.find(&op);
  if (it == functions_.end()) return false;
  if (it->second.native) {
    (*it->second.native)(stack);
    return true;
  }
  const GilHold gil;
  const CallSchema& schema = call_schema(op);
  const auto [args, kwargs] = wrap_arguments(schema, stack);
  const Ref result(PyObject_Call(it->second.function.get(), args.get(), kwargs.get()));
  if (!result) throw_python_error();
  if (result.get() == Py_NotImplemented) return false;
  stack = read_results(schema, result.get());
  return true;
}

}  // namespace taeda::python
