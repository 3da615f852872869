// Tensors from data with symbolic numbers in it: operators that a trace can write down.
#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/src/tensor/factories.h"
#include "taeda/ops/functions.h"

namespace taeda::python {
namespace {

bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

template <class F>
void for_each_item(PyObject* list, F&& f) {
  const Ref items(checked(PySequence_Fast(list, "expected a sequence")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    f(PySequence_Fast_GET_ITEM(items.get(), i));
}

Scalar number_of(PyObject* o) { return is_symbolic(o) ? Scalar(sym_node_of(o)) : to_scalar(o); }

DType dtype_of(PyObject* o) {
  if (is_list(o)) {
    DType result = DType::Undefined;
    for_each_item(o, [&](PyObject* item) {
      const DType t = dtype_of(item);
      result = result == DType::Undefined ? t : promote_types(result, t);
    });
    return result;
  }
  TAEDA_CHECK(!is_symbool(o), "Could not infer dtype of SymBool");
  if (is_symint(o) || PyLong_Check(o)) return PyBool_Check(o) ? DType::Bool : DType::Int64;
  return default_dtype();
}

}  // namespace

bool has_symbolic_data(PyObject* data) {
  if (!is_list(data)) return is_symbolic(data);
  bool found = false;
  for_each_item(data, [&](PyObject* item) { found = found || has_symbolic_data(item); });
  return found;
}

Tensor tensor_from_symbolic_data(PyObject* data, DType dtype, Device device) {
  if (dtype == DType::Undefined) dtype = dtype_of(data);
  if (!is_list(data)) return scalar_tensor(number_of(data), dtype, {}, device);
  std::vector<Tensor> items;
  for_each_item(data, [&](PyObject* item) {
    items.push_back(tensor_from_symbolic_data(item, dtype, device));
  });
  return stack(items, 0);
}

}  // namespace taeda::python
