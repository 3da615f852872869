// Memory that calls of a graph write to, and truth values that they take.
#include <string_view>

#include "python/interop/sym_numbers.h"
#include "python/src/dynamo/recorder_parts.h"
#include "taeda/dynamo/capture/errors.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/spec.h"

namespace taeda::python {

using dynamo::Break;

namespace {

// Names of functions that write to their first tensor: add_, __setitem__.
bool writes_by_name(PyObject* function) {
  const Ref name(PyObject_GetAttrString(function, "__name__"));
  if (!name) PyErr_Clear();
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (!text) return false;
  const std::string_view s(text);
  return s == "__setitem__" || s == "setitem" || (s.ends_with("_") && !s.ends_with("__"));
}

bool overlaps_partly(const Tensor& written, const Tensor& other) {
  try {
    check_no_partial_overlap(written, other);
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

WrittenMemory::WrittenMemory(PyObject* function, PyObject* args, PyObject* kwargs) : args_(args) {
  PyObject* out = kwargs ? PyDict_GetItemString(kwargs, "out") : nullptr;
  if (out)
    for_each_tensor(out, [&](PyObject* o) {
      sizes_.emplace_back(tensor_of(o), SymIntVec(tensor_of(o).sym_sizes()));
    });
  if (!writes_by_name(function)) return;
  check_repeats();
  std::optional<Tensor> written;
  for_each_tensor(args, [&](PyObject* o) {
    if (!written)
      written = tensor_of(o);
    else if (overlaps_partly(*written, tensor_of(o)))
      throw Break{"a write to a part of the memory of an argument"};
  });
}

void WrittenMemory::check_after() const {
  if (sizes_.empty()) check_repeats();
  for (const auto& [t, before] : sizes_)
    if (t.sym_sizes() != SymIntList(before)) throw Break{"a call that resizes its out"};
}

void WrittenMemory::check_repeats() const {
  bool is_first = true;
  for_each_tensor(args_, [&](PyObject* o) {
    if (is_first && repeats_elements(tensor_of(o)))
      throw Break{"a write to a tensor whose elements share memory"};
    is_first = false;
  });
}

Ref with_truth_values(PyObject* function, PyObject* args) {
  Ref known;
  const bool is_of_c = PyCFunction_Check(function) || Py_IS_TYPE(function, &PyMethodDescr_Type) ||
                       Py_IS_TYPE(function, &PyWrapperDescr_Type);
  if (!is_of_c || !PyTuple_Check(args)) return known;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* given = PyTuple_GET_ITEM(args, i);
    if (!is_symbool(given)) continue;
    const int truth = PyObject_IsTrue(given);
    if (truth < 0) throw dynamo::Raised{};
    if (!known) {
      const Ref items(checked(PySequence_List(args)));
      known = Ref(checked(PyList_AsTuple(items.get())));
    }
    PyTuple_SetItem(known.get(), i, Py_NewRef(truth ? Py_True : Py_False));
  }
  return known;
}

}  // namespace taeda::python
