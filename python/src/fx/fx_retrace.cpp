// taeda._C._fx.trace: functions of Python as graphs; taeda._C._fx.retrace: closed graphs again,
// under functionalization, decomposition and autograd.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/options.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/overloads.h"
#include "python/src/fx/decomposition_table.h"
#include "python/src/fx/fx_fake.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "taeda/fx/retrace.h"

namespace taeda::python {
namespace {

fx::RetraceOptions read_options(PyObject* o) {
  TAEDA_CHECK_TYPE(PyDict_Check(o), "the options of retrace are a dict");
  fx::RetraceOptions options;
  options.functionalizes = is_set(o, "functionalizes");
  options.differentiates = is_set(o, "differentiates");
  options.is_before_autograd = is_set(o, "is_before_autograd");
  options.writes_asserts = is_set(o, "writes_asserts");
  options.keeps_grad_scopes = is_set(o, "keeps_grad_scopes");
  if (PyObject* table = option(o, "decompositions")) options.decompose = DecompositionTable(table);
  options.fake_mode = read_fake_mode(option(o, "fake_mode"));
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

PyObject* wrap_constants(const fx::Retraced& made) {
  Ref constants(checked(PyDict_New()));
  for (const auto& [name, t] : made.constants) {
    const Ref value(checked(wrap(t)));
    if (PyDict_SetItemString(constants.get(), name.c_str(), value.get()) < 0) throw_python_error();
  }
  return constants.release();
}

PyObject* wrap_retraced(const fx::Retraced& made) {
  const Ref constants(wrap_constants(made));
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

// ---- trace ----

fx::Tracer& read_tracer(PyObject* o) {
  fx::Tracer* found = o ? find_tracer(o) : nullptr;
  TAEDA_CHECK_TYPE(found, "expected a tracer");
  return *found;
}

std::vector<std::string> read_names(PyObject* o) {
  const Ref items(checked(PySequence_Fast(o, "the names of trace are a list")));
  std::vector<std::string> names;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    names.push_back(text_of(PySequence_Fast_GET_ITEM(items.get(), i)));
  return names;
}

// trace(function, inputs, options): options are `tracer`, `names`, `fake_mode` and `outer`
PyObject* trace(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3 && PyCallable_Check(argv[0]) && PyDict_Check(argv[2]),
                     "trace takes a function, a list of inputs and a dict of options");
    fx::RetraceOptions options;
    options.functionalizes = options.fakes_inputs = false;
    options.stays_on_thread = true;
    options.tracer = IntrusivePtr<fx::Tracer>::share(&read_tracer(option(argv[2], "tracer")));
    options.fake_mode = read_fake_mode(option(argv[2], "fake_mode"));
    if (PyObject* names = option(argv[2], "names")) options.names = read_names(names);
    if (PyObject* outer = option(argv[2], "outer")) options.outer = &read_tracer(outer);
    // The function gets the objects themselves.
    const Ref args(checked(PySequence_Tuple(argv[1])));
    const auto program = [&](std::vector<fx::Value>) {
      const Ref leaves(checked(PyObject_CallObject(argv[0], args.get())));
      return fx::Value(std::make_shared<fx::Value::List>(
          read_values(leaves.get(), "a traced function gives the list of its results")));
    };
    const auto inputs = read_values(args.get(), "the inputs of trace are a list");
    return wrap_constants(fx::trace(program, inputs, options));
  });
}

// trace_program(function, inputs, options): options are those of retrace, `names` and `fakes`; the
// function takes and gives a list
PyObject* trace_program(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3 && PyCallable_Check(argv[0]),
                     "trace_program takes a function, a list of inputs and a dict of options");
    fx::RetraceOptions options = read_options(argv[2]);
    options.stays_on_thread = true;
    if (PyObject* names = option(argv[2], "names")) options.names = read_names(names);
    if (PyObject* fakes = option(argv[2], "fakes"))
      for (const fx::Value& v : read_values(fakes, "fakes is a list"))
        options.fakes.push_back(v.is<Tensor>() ? v.get<Tensor>() : Tensor());
    const auto program = [&](std::vector<fx::Value> values) {
      const Ref list(wrap_list(values));
      const Ref results(checked(PyObject_CallOneArg(argv[0], list.get())));
      return fx::Value(std::make_shared<fx::Value::List>(
          read_values(results.get(), "a traced function gives the list of its results")));
    };
    const auto inputs = read_values(argv[1], "the inputs of trace_program are a list");
    return wrap_retraced(fx::trace(program, inputs, options));
  });
}

PyMethodDef retrace_functions[] = {
    {"trace", as_function(trace), METH_FASTCALL,
     "trace(function, inputs, options): fills the graph of a tracer with what the function does on "
     "these inputs, under the modes of this thread; gives the constants by name."},
    {"trace_program", as_function(trace_program), METH_FASTCALL,
     "trace_program(function, inputs, options): what retrace gives, for a function of a list."},
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
