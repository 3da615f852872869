// broadcast_shapes: the common shape of shapes, without tensors.
#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/factories.h"

namespace taeda::python {

namespace {

bool is_length(PyObject* o) { return is_integer(o) || is_symint(o); }

// A shape given as a number, a tuple or a list.
SymIntVec read_shape(PyObject* o) {
  SymIntVec out;
  const bool is_list = PyTuple_Check(o) || PyList_Check(o);
  PyObject* const* items = is_list ? PySequence_Fast_ITEMS(o) : &o;
  const Py_ssize_t count = is_list ? PySequence_Fast_GET_SIZE(o) : 1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    TAEDA_CHECK(is_length(items[i]),
                "Input shapes should be of type ints, a tuple of ints, or a list of ints, got ",
                shown(o, PyObject_Repr));
    out.push_back(to_symint(items[i]));
    TAEDA_CHECK_VALUE(out.back() >= SymInt(0),
                      "Attempting to broadcast a dimension with negative length!");
  }
  return out;
}

// Widens `shape` to what `given`, the argument at `position`, can be broadcast with.
void widen(SymIntVec& shape, const SymIntVec& given, Py_ssize_t position, PyObject* argument) {
  while (shape.size() < given.size()) shape.insert(0, SymInt(1));
  for (size_t i = 1; i <= given.size(); ++i) {
    SymInt& have = shape[shape.size() - i];
    const SymInt& length = given[given.size() - i];
    if (length == SymInt(1) || length == have) continue;
    TAEDA_CHECK(have == SymInt(1), "Attempting to broadcast a dimension of length ", length, " at ",
                -static_cast<int64_t>(i), "! Mismatching argument at index ", position, " had ",
                shown(argument, PyObject_Repr), "; but expected shape should be broadcastable to ",
                shape);
    have = length;
  }
}

PyObject* broadcast_shapes_function(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    SymIntVec shape;
    for (Py_ssize_t i = 0; i < nargs; ++i) widen(shape, read_shape(argv[i]), i, argv[i]);
    return wrap_size(shape);
  });
}

}  // namespace

PyMethodDef shape_table[] = {
    {"broadcast_shapes", as_function(broadcast_shapes_function), METH_FASTCALL,
     "broadcast_shapes(*shapes) -> Size\n\n"
     "The shape that tensors of the given shapes are broadcast to together."},
    {},
};

}  // namespace taeda::python
