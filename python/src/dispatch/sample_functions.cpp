// Sample calls of operators from Python.
#include "python/src/dispatch/sample_functions.h"

#include "python/interop/errors.h"
#include "python/interop/text.h"
#include "python/interop/types.h"
#include "python/src/dispatch/boxed_values.h"
#include "taeda/ops/samples.h"

namespace taeda::python {
namespace {

// samples(): {"add.Tensor": (dtype classes, (text, ...)), ...} in record order.
PyObject* samples(PyObject*, PyObject*) {
  return guarded([] {
    Ref all(checked(PyDict_New()));
    for (const OperatorSamples& s : operator_samples()) {
      Ref texts(checked(PyTuple_New(static_cast<Py_ssize_t>(s.texts.size()))));
      for (size_t i = 0; i < s.texts.size(); ++i)
        PyTuple_SET_ITEM(texts.get(), static_cast<Py_ssize_t>(i),
                         checked(PyUnicode_FromString(s.texts[i])));
      const Ref entry(checked(Py_BuildValue("(sO)", s.accept, texts.get())));
      if (PyDict_SetItemString(all.get(), s.op, entry.get()) < 0) throw_python_error();
    }
    return all.release();
  });
}

// read_sample(name, text, dtype): (args, kwargs) of one call, defaults left out; None where the
// dtype cannot hold its numbers.
PyObject* read_sample(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3 && is_dtype(argv[2]), "expected a name, a text and a dtype");
    const dispatch::Operator& op = dispatch::get_operator(text_of(argv[0]));
    const auto stack = taeda::read_sample(op, text_of(argv[1]), to_dtype(argv[2]));
    if (!stack) return Py_NewRef(Py_None);
    const auto [args, kwargs] = wrap_arguments(call_schema(op), *stack);
    return checked(Py_BuildValue("(OO)", args.get(), kwargs.get()));
  });
}

}  // namespace

PyMethodDef sample_table[] = {
    {"samples", samples, METH_NOARGS,
     "samples(): dtype classes and texts of the records' sample calls, by operator."},
    {"read_sample", as_function(read_sample), METH_FASTCALL,
     "read_sample(name, text, dtype): the arguments of one sample call, as (args, kwargs)."},
    {},
};

}  // namespace taeda::python
