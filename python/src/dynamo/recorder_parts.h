// What the files of the recorder share.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"
#include "python/src/dispatch/function_modes.h"
#include "python/src/dispatch/overrides.h"
#include "python/src/dynamo/graph_recorder.h"
#include "taeda/dynamo/capture/source.h"
#include "taeda/dynamo/evaluator/session.h"

namespace taeda::python {

// A new reference.
inline PyObject* attribute_of(const char* module, const char* name) {
  Ref loaded(checked(dynamo::imported_module(module)));
  return checked(PyObject_GetAttrString(loaded.get(), name));
}

// taeda.nn.Parameter; null where the program did not import it.
inline PyObject* parameter_class() {
  static dynamo::Loaded parameter("taeda.nn.parameter", "Parameter");
  return parameter.get();
}

// Without an error for what is no text.
inline const char* text_or_empty(PyObject* o) {
  const char* text = o && PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

// The folder of the package, with a slash behind it.
const std::string& package_folder();

// Whether a tensor is of a class that answers calls, whether or not this thread asks classes now.
inline bool is_of_asked_class(PyObject* tensor) {
  const OverrideState state = override_state();
  set_override_state(OverrideState::Enabled);
  const bool is_one = overrides(tensor);
  set_override_state(state);
  return is_one;
}

// What is no list, tuple or dict in a value, and in lists, tuples and dicts in it.
template <class Visit>
void for_each_leaf(PyObject* value, const Visit& visit) {
  if (PyTuple_Check(value) || PyList_Check(value)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
    for (Py_ssize_t i = 0; i < count; ++i) for_each_leaf(PySequence_Fast_GET_ITEM(value, i), visit);
  } else if (PyDict_Check(value)) {
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(value, &position, &key, &item)) for_each_leaf(item, visit);
  } else {
    visit(value);
  }
}

// The tensors among them.
template <class Visit>
void for_each_tensor(PyObject* value, const Visit& visit) {
  for_each_leaf(value, [&](PyObject* leaf) {
    if (is_tensor(leaf)) visit(leaf);
  });
}

// The memory that a call writes to. What a graph without writes cannot say throws Break: writes to
// elements that share their memory, to a part of the memory of another argument (kernels say which
// they refuse), and calls that resize their out.
class WrittenMemory {
 public:
  // Before the call; the arguments must live as long. Calls that write nothing cost a look at the
  // function's name.
  WrittenMemory(PyObject* function, PyObject* args, PyObject* kwargs, dispatch::Mode& mode);
  // Behind a call that wrote.
  void check_after() const;

 private:
  void check_repeats() const;
  PyObject* args_;
  std::vector<std::pair<Tensor, SymIntVec>> sizes_;  // of out=
};

// The arguments with truth values for symbolic ones, which functions of C take as numbers: each is
// a guard. Null where there are none.
Ref with_truth_values(PyObject* function, PyObject* args);

// Python code that belongs to the recorder, not to the program: neither captured nor recorded.
class GraphRecorder::Natively {
 public:
  // On behalf of whatever records on this thread.
  Natively() : scope_(nullptr) {
    if (is_function_mode_active() && records(innermost_function_mode())) aside_.emplace();
  }

 private:
  dynamo::SessionScope scope_;
  std::optional<SetAsideFunctionMode> aside_;
};

}  // namespace taeda::python
