// Decompositions of operators from Python.
#include "python/src/dispatch/decomposition_functions.h"

#include <algorithm>
#include <string>

#include "python/interop/errors.h"
#include "python/src/dispatch/boxed_values.h"
#include "python/src/dispatch/overloads.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/control_flow/operators.h"
#include "taeda/ops/decompositions.h"

namespace taeda::python {
namespace {

// decompositions(): [(OpOverload, is core), ...] by name.
PyObject* decompositions(PyObject*, PyObject*) {
  return guarded([] {
    std::vector<const Decomposition*> all = all_decompositions();
    std::sort(all.begin(), all.end(), [](const Decomposition* a, const Decomposition* b) {
      return a->op().full_name() < b->op().full_name();
    });
    Ref list(checked(PyList_New(0)));
    for (const Decomposition* d : all) {
      PyObject* is_core = d->op().has(dispatch::Tag::Core) ? Py_True : Py_False;
      const Ref entry(checked(Py_BuildValue("(OO)", overload_of(d->op()), is_core)));
      if (PyList_Append(list.get(), entry.get()) < 0) throw_python_error();
    }
    return list.release();
  });
}

// composites(): operators that modes see the parts of, by name.
PyObject* composites(PyObject*, PyObject*) {
  return guarded([] {
    Ref list(checked(PyList_New(0)));
    for (dispatch::Operator* op : dispatch::all_operators()) {
      if (!op->is_composite && !dispatch::has_kernel(*op, slot_base(Key::Python))) continue;
      if (fx::find_control_flow(*op)) continue;  // programs have no calls of those
      if (PyList_Append(list.get(), overload_of(*op)) < 0) throw_python_error();
    }
    return list.release();
  });
}

// decompose(overload, args, kwargs): the operator's results, made of other operators.
PyObject* decompose(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3 && PyTuple_Check(argv[1]) && PyDict_Check(argv[2]),
                     "expected an operator, a tuple and a dict");
    const dispatch::Operator* op = operator_of_overload(argv[0]);
    TAEDA_CHECK_TYPE(op, "expected an OpOverload, got ", Py_TYPE(argv[0])->tp_name);
    const Decomposition* d = find_decomposition(*op);
    TAEDA_CHECK(d, op->full_name(), " has no decomposition");
    dispatch::Stack stack = bind_arguments(call_schema(*op), argv[1], argv[2]);
    (*d)(stack);
    return wrap_results(stack);
  });
}

}  // namespace

PyMethodDef decomposition_table[] = {
    {"decompositions", decompositions, METH_NOARGS,
     "decompositions(): (overload, is core) of every operator that has one."},
    {"composites", composites, METH_NOARGS,
     "composites(): the operators that modes see the parts of."},
    {"decompose", as_function(decompose), METH_FASTCALL,
     "decompose(overload, args, kwargs): the operator's results, made of other operators."},
    {},
};

}  // namespace taeda::python
