// taeda._C._aot.compile: a function of Python becomes graphs, which compilers of Python take.
#include "python/src/compile/aot_functions.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/options.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/fx/decomposition_table.h"
#include "python/src/fx/fx_fake.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "taeda/aot/compiled_function.h"
#include "taeda/fx/trace_run.h"

namespace taeda::python {
namespace {

using aot::CompiledFunction;
using dispatch::Value;

struct FunctionObject {
  PyObject_HEAD std::shared_ptr<CompiledFunction> value;
};

// A program that was traced and may be compiled.
struct TracedObject {
  PyObject_HEAD aot::TracedProgram value;
};

PyTypeObject *function_type = nullptr, *traced_type = nullptr;

aot::TracedProgram& traced_of(PyObject* self) {
  return reinterpret_cast<TracedObject*>(self)->value;
}
CompiledFunction& function_of(PyObject* self) {
  return *reinterpret_cast<FunctionObject*>(self)->value;
}

// What a function of Python gives for a list of values.
std::vector<Value> call_with_list(PyObject* function, const std::vector<Value>& values) {
  const Ref list(wrap_list(values));
  const Ref results(checked(PyObject_CallOneArg(function, list.get())));
  return read_values(results.get(), "a compiled function gives a list or a tuple");
}

PyObject* wrap_attributes(const fx::Graph& graph, fx::AttributeReader read) {
  Ref dict(checked(PyDict_New()));
  for (const fx::Node& node : graph) {
    if (node.op() != fx::OpCode::GetAttr) continue;
    const std::string& name = *node.target().name();
    const Ref value(checked(wrap_any(read(name))));
    if (PyDict_SetItemString(dict.get(), name.c_str(), value.get()) < 0) throw_python_error();
  }
  return dict.release();
}

// compiler(graph, attributes): a function that takes the list of inputs
fx::CompilerFn read_compiler(PyObject* o) {
  if (!o) return nullptr;
  return [kept = keep_object(o)](const fx::Graph& graph, fx::AttributeReader read) {
    const GilHold gil;
    const Ref attributes(wrap_attributes(graph, read));
    // The compiler may change the graph.
    const Ref copy(wrap_graph(fx::clone(graph)));
    const Ref made(
        checked(PyObject_CallFunctionObjArgs(kept.get(), copy.get(), attributes.get(), nullptr)));
    return [run = keep_object(made.get())](const std::vector<Value>& inputs) {
      const GilHold held;
      return call_with_list(run.get(), inputs);
    };
  };
}

// cut(joint graph, attributes, number of values): forward and backward graph
std::function<aot::Partition(const fx::Retraced&, size_t)> read_cut(PyObject* o) {
  if (!o) return nullptr;
  return [kept = keep_object(o)](const fx::Retraced& joint, size_t num_inputs) {
    const GilHold gil;
    const Ref copy(wrap_graph(fx::clone(*joint.graph)));
    const Ref constants(checked(PyDict_New()));
    for (const auto& [name, tensor] : joint.constants) {
      const Ref value(checked(wrap(tensor)));
      if (PyDict_SetItemString(constants.get(), name.c_str(), value.get()) < 0)
        throw_python_error();
    }
    const Ref parts(checked(PyObject_CallFunction(kept.get(), "OOn", copy.get(), constants.get(),
                                                  static_cast<Py_ssize_t>(joint.num_values))));
    TAEDA_CHECK_TYPE(PyTuple_Check(parts.get()) && PyTuple_GET_SIZE(parts.get()) == 2 &&
                         is_fx_graph(PyTuple_GET_ITEM(parts.get(), 0)) &&
                         is_fx_graph(PyTuple_GET_ITEM(parts.get(), 1)),
                     "a partition function gives a forward and a backward graph");
    return aot::take_parts(joint, num_inputs, fx_graph_of(PyTuple_GET_ITEM(parts.get(), 0)),
                           fx::clone(fx_graph_of(PyTuple_GET_ITEM(parts.get(), 1))));
  };
}

aot::AotOptions read_options(PyObject* o) {
  aot::AotOptions options;
  options.forward = read_compiler(option(o, "forward"));
  options.backward = read_compiler(option(o, "backward"));
  options.inference = read_compiler(option(o, "inference"));
  options.cut = read_cut(option(o, "cut"));
  options.backward_scope = read_scope(option(o, "backward_scope"));
  options.on_changing_sizes = mark_changing_sizes;
  options.keeps_writes = is_set(o, "keeps_writes");
  options.partition.recomputes = is_set(o, "recomputes");
  if (PyObject* budget = option(o, "memory_budget"))
    options.partition.memory_budget = read_memory_budget(budget);
  if (PyObject* table = option(o, "decompositions")) options.decompose = DecompositionTable(table);
  options.fake_mode = read_fake_mode(option(o, "fake_mode"));
  if (PyObject* number = option(o, "number")) options.number = PyLong_AsLongLong(number);
  if (PyObject* fakes = option(o, "fakes"))
    for (const Value& v : read_values(fakes, "fakes is a list"))
      options.fakes.push_back(v.is<Tensor>() ? v.get<Tensor>() : Tensor());
  options.checks_inputs = is_set(o, "checks_inputs");
  options.stays_on_thread = options.compiles_backward_late = options.returns_saved = true;
  return options;
}

PyObject* wrap_function(std::shared_ptr<CompiledFunction> made) {
  Ref object(checked(function_type->tp_alloc(function_type, 0)));
  new (&reinterpret_cast<FunctionObject*>(object.get())->value)
      std::shared_ptr<CompiledFunction>(std::move(made));
  return object.release();
}

aot::TracedProgram trace_program(PyObject* const* argv, aot::AotOptions options) {
  const auto inputs = read_values(argv[1], "the inputs of a program are a list");
  options.again = [kept = keep_object(argv[0])](std::vector<Value> values) {
    const GilHold gil;
    return Value(std::make_shared<Value::List>(call_with_list(kept.get(), values)));
  };
  return aot::trace(options.again, inputs, options);
}

void check_arguments(const char* name, PyObject* const* argv, Py_ssize_t nargs) {
  TAEDA_CHECK_TYPE(nargs == 3 && PyCallable_Check(argv[0]) && PyDict_Check(argv[2]), name,
                   " takes a function, a list of inputs and a dict of options");
}

std::shared_ptr<CompiledFunction> compile_program(aot::TracedProgram program,
                                                  const aot::AotOptions& options) {
  TAEDA_CHECK_TYPE(options.forward && options.backward, "forward and backward are compilers");
  return aot::compile(std::move(program), options);
}

// compile(program, inputs, options)
PyObject* compile_ahead(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    check_arguments("compile", argv, nargs);
    const aot::AotOptions options = read_options(argv[2]);
    return wrap_function(compile_program(trace_program(argv, options), options));
  });
}

// trace(program, inputs, options)
PyObject* trace_ahead(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    check_arguments("trace", argv, nargs);
    aot::TracedProgram made = trace_program(argv, read_options(argv[2]));
    Ref object(checked(traced_type->tp_alloc(traced_type, 0)));
    new (&traced_of(object.get())) aot::TracedProgram(std::move(made));
    return object.release();
  });
}

// compile_traced(traced, graph, options): `graph` is that of the trace, or what became of it
PyObject* compile_traced(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3 && Py_IS_TYPE(argv[0], traced_type) && is_fx_graph(argv[1]) &&
                         PyDict_Check(argv[2]),
                     "compile_traced takes a traced program, its graph and a dict of options");
    aot::TracedProgram program = traced_of(argv[0]);
    program.traced.graph = fx::clone(fx_graph_of(argv[1]));
    return wrap_function(compile_program(std::move(program), read_options(argv[2])));
  });
}

// function(inputs): the list of results
PyObject* call_function(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyTuple_GET_SIZE(args) == 1, "a compiled function takes a list of inputs");
    const auto inputs = read_values(PyTuple_GET_ITEM(args, 0), "a list of inputs");
    return wrap_list(function_of(self)(inputs));
  });
}

void dealloc_function(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<FunctionObject*>(self)->value.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* graph_or_none(const IntrusivePtr<fx::Graph>& graph) {
  return graph ? wrap_graph(graph) : Py_NewRef(Py_None);
}
PyObject* get_graph(PyObject* self, void*) {
  return guarded([&] { return graph_or_none(function_of(self).traced().graph); });
}
PyObject* get_epilogue(PyObject* self, void*) {
  return guarded([&] { return graph_or_none(function_of(self).traced().epilogue); });
}
PyObject* get_gradients(PyObject* self, void*) {
  return guarded([&] {
    const std::vector<size_t>& gradients = function_of(self).traced().gradients;
    return wrap_list(std::vector<Value>(gradients.begin(), gradients.end()));
  });
}
PyObject* get_report(PyObject* self, void*) {
  return guarded([&] {
    const auto& parts = function_of(self).parts();
    return parts ? wrap(parts->report) : Py_NewRef(Py_None);
  });
}

void dealloc_traced(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  traced_of(self).~TracedProgram();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* get_traced_graph(PyObject* self, void*) {
  return guarded([&] { return wrap_graph(traced_of(self).traced.graph); });
}
PyObject* get_constants(PyObject* self, void*) {
  return guarded([&] {
    Ref dict(checked(PyDict_New()));
    for (const auto& [name, tensor] : traced_of(self).traced.constants) {
      const Ref value(checked(wrap(tensor)));
      if (PyDict_SetItemString(dict.get(), name.c_str(), value.get()) < 0) throw_python_error();
    }
    return dict.release();
  });
}
PyObject* get_written(PyObject* self, void*) {
  return guarded([&] {
    const std::vector<size_t>& written = traced_of(self).traced.written;
    return wrap_list(std::vector<Value>(written.begin(), written.end()));
  });
}
PyObject* has_gradients(PyObject* self, void*) {
  return PyBool_FromLong(traced_of(self).differentiates);
}

PyGetSetDef traced_properties[] = {
    {"graph", get_traced_graph, nullptr, "With gradients, if inputs have them.", nullptr},
    {"constants", get_constants, nullptr, "Tensors that the graph reads, by name.", nullptr},
    {"written", get_written, nullptr, "Numbers of the inputs that the program writes to.", nullptr},
    {"has_gradients", has_gradients, nullptr, "Whether the graph is a joint one.", nullptr},
    {},
};

PyType_Slot traced_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc_traced)},
                              {Py_tp_getset, traced_properties},
                              {0, nullptr}};
PyType_Spec traced_spec = {"taeda._C._aot.TracedProgram", sizeof(TracedObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, traced_slots};

PyGetSetDef function_properties[] = {
    {"graph", get_graph, nullptr, "The traced graph: with gradients, if inputs have them.",
     nullptr},
    {"epilogue", get_epilogue, nullptr, "What makes results of the values, or None.", nullptr},
    {"gradients", get_gradients, nullptr,
     "Numbers of the inputs whose gradients a joint graph gives.", nullptr},
    {"partition_report", get_report, nullptr, "What is saved for the backward, or None.", nullptr},
    {},
};

PyType_Slot function_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc_function)},
                                {Py_tp_call, reinterpret_cast<void*>(call_function)},
                                {Py_tp_getset, function_properties},
                                {0, nullptr}};
PyType_Spec function_spec = {"taeda._C._aot.CompiledFunction", sizeof(FunctionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             function_slots};

std::unordered_set<std::string> read_names(PyObject* list) {
  TAEDA_CHECK_TYPE(PyList_Check(list), "names of nodes are a list");
  std::unordered_set<std::string> names;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const char* name = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
    if (!name) throw_python_error();
    names.emplace(name);
  }
  return names;
}

// partition(joint graph, number of inputs, number of values, recomputes, memory budget, names that
// are computed again, names that are computed once): (forward, backward), where the forward returns
// everything that is saved
PyObject* partition(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 7 && is_fx_graph(argv[0]),
                     "partition takes a graph, two numbers, a truth value, a budget and two lists");
    fx::Retraced joint;
    joint.graph = IntrusivePtr<fx::Graph>::share(&fx_graph_of(argv[0]));
    const size_t num_inputs = PyLong_AsSize_t(argv[1]);
    joint.num_values = PyLong_AsSize_t(argv[2]);
    if (PyErr_Occurred()) throw_python_error();
    const aot::Partition parts = aot::partition(joint, num_inputs,
                                                {argv[3] == Py_True,
                                                 read_memory_budget(argv[4]),
                                                 read_names(argv[5]),
                                                 read_names(argv[6]),
                                                 {}});
    const auto forward = aot::with_all_saved(parts);
    const Ref first(wrap_graph(forward)), second(wrap_graph(parts.backward));
    return checked(PyTuple_Pack(2, first.get(), second.get()));
  });
}

// note_origin(node): what the program that is being traced does from now on has its place there
PyObject* note_origin(PyObject*, PyObject* node) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(is_fx_node(node), "note_origin takes a node");
    fx::note_origin(fx_node_of(node));
    return Py_NewRef(Py_None);
  });
}

// call_untraced(function): its result, on this thread as it is outside of every trace
PyObject* call_untraced(PyObject*, PyObject* function) {
  return guarded([&] {
    const fx::FreshThread fresh;
    return checked(PyObject_CallNoArgs(function));
  });
}

PyMethodDef aot_functions[] = {
    {"compile", as_function(compile_ahead), METH_FASTCALL,
     "compile(program, inputs, options): a callable that takes the list of inputs."},
    {"trace", as_function(trace_ahead), METH_FASTCALL,
     "trace(program, inputs, options): the program as a graph that can be compiled."},
    {"compile_traced", as_function(compile_traced), METH_FASTCALL,
     "compile_traced(traced, graph, options): a callable that takes the list of inputs."},
    {"note_origin", note_origin, METH_O,
     "note_origin(node): what is traced from now on comes from this node."},
    {"call_untraced", call_untraced, METH_O,
     "call_untraced(function): calls it as outside of traces and modes."},
    {"partition", as_function(partition), METH_FASTCALL,
     "partition(joint, inputs, values, recomputes, budget, computed_again, computed_once): the "
     "forward and the backward graph."},
    {},
};

}  // namespace

void mark_changing_sizes(const Tensor& t, const std::vector<int64_t>& dims) {
  const GilHold gil;
  static PyObject* const name =
      checked(PyUnicode_InternFromString("_dynamo_propagated_dynamic_indices"));
  const Ref marks(checked(PySet_New(nullptr)));
  for (const int64_t d : dims) {
    const Ref index(checked(PyLong_FromLongLong(d)));
    if (PySet_Add(marks.get(), index.get()) < 0) throw_python_error();
  }
  const Ref object(checked(wrap(t)));
  if (PyObject_SetAttr(object.get(), name, marks.get()) < 0) throw_python_error();
}

std::function<std::shared_ptr<void>()> read_scope(PyObject* o) {
  if (!o) return nullptr;
  return [kept = keep_object(o)] {
    const GilHold gil;
    const Ref leave(checked(PyObject_CallNoArgs(kept.get())));
    return std::shared_ptr<void>(nullptr, [left = keep_object(leave.get())](void*) {
      const GilHold held;
      const Ref done(PyObject_CallNoArgs(left.get()));
      if (!done) PyErr_WriteUnraisable(left.get());
    });
  };
}

double read_memory_budget(PyObject* o) {
  const double budget = PyFloat_AsDouble(o);
  if (PyErr_Occurred()) throw_python_error();
  TAEDA_CHECK_VALUE(budget >= 0 && budget <= 1,
                    "activation_memory_budget is a number from 0 to 1, not ", budget);
  return budget;
}

bool init_aot(PyObject* module) {
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&function_spec));
  traced_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&traced_spec));
  return function_type && traced_type && PyModule_AddFunctions(module, aot_functions) == 0 &&
         PyModule_AddObjectRef(module, "CompiledFunction",
                               reinterpret_cast<PyObject*>(function_type)) == 0;
}

}  // namespace taeda::python
