// Calls of the functions that users give to control-flow operators, which may neither write to
// their arguments nor return tensors that share memory with them: a graph would mean something
// else.
#include "python/src/dispatch/control_flow_functions.h"

#include <vector>

#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"

namespace taeda::python {
namespace {

// The tensors in nested tuples, lists and dicts.
void collect(PyObject* o, std::vector<Tensor>& out) {
  if (is_tensor(o)) {
    out.push_back(tensor_of(o));
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      collect(PySequence_Fast_GET_ITEM(o, i), out);
  } else if (PyDict_Check(o)) {
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(o, &at, &key, &value)) collect(value, out);
  }
}

uint32_t version_of(const Tensor& t) { return t.impl()->has_version_counter() ? t.version() : 0; }

bool is_alias_of_any(const Tensor& t, Span<Tensor> others) {
  for (const Tensor& other : others)
    if (t.storage() == other.storage()) return true;
  return false;
}

const char* text(PyObject* o) {
  const char* chars = PyUnicode_AsUTF8(o);
  if (!chars) throw_python_error();
  return chars;
}

void check_unwritten(const std::vector<Tensor>& given, const std::vector<uint32_t>& versions,
                     PyObject* name) {
  for (size_t i = 0; i < given.size(); ++i)
    TAEDA_CHECK(version_of(given[i]) == versions[i],
                "Encountered input mutation during higher order op tracing: Higher order ops do "
                "not support input mutation. Found in ",
                text(name), "; write to a clone");
}

void check_unaliased(const std::vector<Tensor>& given, PyObject* results, PyObject* name) {
  std::vector<Tensor> tensors;
  collect(results, tensors);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool is_input = is_alias_of_any(tensors[i], given);
    TAEDA_CHECK(!is_input && !is_alias_of_any(tensors[i], Span<Tensor>(tensors.data(), i)),
                "Encountered aliasing during higher order op tracing: Higher order ops do not "
                "support aliasing. Found in ",
                text(name), ". ", is_input ? "Input" : "Output",
                "-to-output aliasing detected; replace `return input` with `return "
                "input.clone()` to avoid aliasing");
  }
}

// _checked_call(name of the operator, may alias, function, args)
PyObject* checked_call(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 4 && PyTuple_Check(argv[3]), "_checked_call() takes four arguments");
    std::vector<Tensor> given;
    collect(argv[3], given);
    std::vector<uint32_t> versions;
    for (const Tensor& t : given) versions.push_back(version_of(t));
    Ref results(checked(PyObject_Call(argv[2], argv[3], nullptr)));
    check_unwritten(given, versions, argv[0]);
    if (argv[1] != Py_True) check_unaliased(given, results.get(), argv[0]);
    return results.release();
  });
}

}  // namespace

PyMethodDef control_flow_table[] = {
    {"_checked_call", as_function(checked_call), METH_FASTCALL, nullptr},
    {},
};

}  // namespace taeda::python
