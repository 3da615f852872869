// Lists of numbers from Python.
#include "python/src/args/number_lists.h"

#include "python/interop/numbers.h"

namespace taeda::python {

std::vector<Scalar> read_scalars(PyObject* sequence) {
  PyObject* const* items = PySequence_Fast_ITEMS(sequence);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
  std::vector<Scalar> scalars;
  scalars.reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) scalars.push_back(to_scalar(items[i]));
  return scalars;
}

}  // namespace taeda::python
