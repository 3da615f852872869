// taeda._C._fx.retrace: closed graphs again, under functionalization, decomposition and autograd.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/native_mode.h"
#include "python/src/dispatch/overloads.h"
#include "python/src/fx/decomposition_table.h"
#include "python/src/fx/fx_fake.h"
#include "python/src/fx/fx_types.h"
#include "taeda/fx/retrace.h"

namespace taeda::python {
namespace {

// Null where there is none.
PyObject* option(PyObject* options, const char* name) {
  PyObject* value = PyDict_GetItemString(options, name);
  return value == Py_None ? nullptr : value;
}

bool is_set(PyObject* options, const char* name) {
  PyObject* value = option(options, name);
  const int yes = value ? PyObject_IsTrue(value) : 0;
  if (yes < 0) throw_python_error();
  return yes == 1;
}

fx::RetraceOptions read_options(PyObject* o) {
  TAEDA_CHECK_TYPE(PyDict_Check(o), "the options of retrace are a dict");
  fx::RetraceOptions options;
  options.functionalizes = is_set(o, "functionalizes");
  options.differentiates = is_set(o, "differentiates");
  options.is_before_autograd = is_set(o, "is_before_autograd");
  options.writes_asserts = is_set(o, "writes_asserts");
  options.keeps_grad_scopes = is_set(o, "keeps_grad_scopes");
  if (PyObject* table = option(o, "decompositions")) options.decompose = DecompositionTable(table);
  if (PyObject* mode = option(o, "fake_mode")) {
    auto* found =
        is_native_mode(mode) ? dynamic_cast<fx::FakeMode*>(native_mode_of(mode).get()) : nullptr;
    TAEDA_CHECK_TYPE(found, "fake_mode is a FakeTensorMode");
    options.fake_mode = IntrusivePtr<fx::FakeMode>::share(found);
  }
  if (PyObject* opened = option(o, "opened")) {
    const Ref items(checked(PySequence_Fast(opened, "opened is a list of operators")));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      options.opened.insert(operator_of_overload(PySequence_Fast_GET_ITEM(items.get(), i)));
  }
  if (PyObject* function = option(o, "on_node")) {
    options.on_node = [kept = keep_object(function)](fx::Node& made, const fx::Node* from) {
      const GilHold gil;
      const Ref node(wrap_node(made));
      const Ref origin(from ? wrap_node(const_cast<fx::Node&>(*from)) : Py_NewRef(Py_None));
      const Ref done(
          checked(PyObject_CallFunctionObjArgs(kept.get(), node.get(), origin.get(), nullptr)));
    };
  }
  return options;
}

PyObject* wrap_indices(const std::vector<size_t>& indices) {
  Ref list(checked(PyList_New(0)));
  for (const size_t i : indices) {
    const Ref item(checked(PyLong_FromSize_t(i)));
    if (PyList_Append(list.get(), item.get()) < 0) throw_python_error();
  }
  return list.release();
}

PyObject* wrap_retraced(const fx::Retraced& made) {
  const Ref constants(checked(PyDict_New()));
  for (const auto& [name, t] : made.constants) {
    const Ref value(checked(wrap(t)));
    if (PyDict_SetItemString(constants.get(), name.c_str(), value.get()) < 0) throw_python_error();
  }
  const Ref graph(wrap_graph(made.graph)), written(wrap_indices(made.written));
  const Ref tangents(wrap_indices(made.tangents)), gradients(wrap_indices(made.gradients));
  return checked(Py_BuildValue("(OOOOO)", graph.get(), constants.get(), written.get(),
                               tangents.get(), gradients.get()));
}

// retrace(graph, inputs, options)
PyObject* retrace(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3 && is_fx_graph(argv[0]),
                     "retrace takes a Graph, a list of inputs and a dict of options");
    const Ref items(checked(PySequence_Fast(argv[1], "the inputs of retrace are a list")));
    std::vector<fx::Value> inputs;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      const fx::Arg arg = read_arg(PySequence_Fast_GET_ITEM(items.get(), i));
      TAEDA_CHECK_TYPE(arg.is_constant(), "an input of retrace is a tensor or a number");
      inputs.push_back(arg.constant());
    }
    return wrap_retraced(fx::retrace(fx_graph_of(argv[0]), inputs, read_options(argv[2])));
  });
}

PyMethodDef retrace_functions[] = {
    {"retrace", as_function(retrace), METH_FASTCALL,
     "retrace(graph, inputs, options): (graph, constants, written inputs, results with tangents, "
     "inputs with gradients); see taeda/fx/retrace.h."},
    {},
};

}  // namespace

bool init_retrace(PyObject* module) {
  return PyModule_AddFunctions(module, retrace_functions) == 0;
}

}  // namespace taeda::python
