// taeda._C._inductor.compile: a closed graph becomes a callable plan.
#include "python/src/compile/compile_functions.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "taeda/aot/compiled_function.h"
#include "taeda/inductor/compile.h"

namespace taeda::python {
namespace {

using dispatch::Value;
using inductor::CompiledGraph;

// A compiled program and the plans it is made of.
struct Compiled {
  fx::CompiledFn run;
  std::vector<std::shared_ptr<CompiledGraph>> plans;
  std::string partition;  // what is saved for the backward, for people
};

struct CompiledObject {
  PyObject_HEAD std::shared_ptr<Compiled> value;
};

PyTypeObject* compiled_type = nullptr;

Compiled& compiled_of(PyObject* self) { return *reinterpret_cast<CompiledObject*>(self)->value; }

std::vector<Value> read_inputs(PyObject* o) {
  const Ref items(checked(PySequence_Fast(o, "the inputs of a compiled graph are a list")));
  std::vector<Value> inputs;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    inputs.push_back(read_any(PySequence_Fast_GET_ITEM(items.get(), i)));
  return inputs;
}

// compiled(inputs): the list of results
PyObject* call(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyTuple_GET_SIZE(args) == 1, "a compiled graph takes the list of its inputs");
    const std::vector<Value> inputs = read_inputs(PyTuple_GET_ITEM(args, 0));
    std::vector<Value> results;
    {
      const GilRelease released;
      results = compiled_of(self).run(inputs);
    }
    Ref list(checked(PyList_New(0)));
    for (const Value& v : results) {
      const Ref item(checked(wrap_any(v)));
      if (PyList_Append(list.get(), item.get()) < 0) throw_python_error();
    }
    return list.release();
  });
}

PyObject* compile_native(PyObject* self, PyObject*) {
  return guarded([&] {
    {
      const GilRelease released;
      for (const auto& plan : compiled_of(self).plans) plan->compile_native();
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* start_native(PyObject* self, PyObject*) {
  return guarded([&] {
    for (const auto& plan : compiled_of(self).plans) plan->start_native();
    return Py_NewRef(Py_None);
  });
}

PyObject* text(PyObject* self, PyObject*) {
  return guarded([&] {
    std::string text = compiled_of(self).partition;
    for (const auto& plan : compiled_of(self).plans) text += plan->text();
    return wrap(text);
  });
}

// A dict per plan.
PyObject* report(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref all(checked(PyList_New(0)));
    for (const auto& plan : compiled_of(self).plans) {
      const inductor::PlanReport r = plan->report();
      Ref called(checked(PyList_New(0)));
      for (const std::string& name : r.called) {
        const Ref item(checked(wrap(name)));
        if (PyList_Append(called.get(), item.get()) < 0) throw_python_error();
      }
      const Ref one(checked(Py_BuildValue(
          "{s:i,s:i,s:i,s:L,s:O}", "kernels", r.kernels, "native", r.native, "calls", r.calls,
          "arena_bytes", static_cast<long long>(r.arena_bytes), "called", called.get())));
      if (PyList_Append(all.get(), one.get()) < 0) throw_python_error();
    }
    return all.release();
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<CompiledObject*>(self)->value.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"compile_native", compile_native, METH_NOARGS,
     "Compiles every kernel with the system's compiler and waits for it."},
    {"start_native", start_native, METH_NOARGS,
     "Has kernels compiled in the background; each is used as soon as it is there."},
    {"text", text, METH_NOARGS, "The kernels and calls, in the order in which they run."},
    {"report", report, METH_NOARGS, "Numbers of kernels and calls, and the size of the arena."},
    {},
};

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_call, reinterpret_cast<void*>(call)},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"taeda._C._inductor.CompiledGraph", sizeof(CompiledObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// compile(graph, inputs, attributes): with gradients where inputs require them
PyObject* compile(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3 && is_fx_graph(argv[0]) && PyDict_Check(argv[2]),
                     "compile takes a Graph, inputs and attributes");
    auto made = std::make_shared<Compiled>();
    aot::AotOptions options;
    options.decompose = inductor::decompose_for_lowering;
    // Gradients of gradients are compiled later.
    const std::weak_ptr<Compiled> plans = made;
    options.forward = options.backward = [plans](const fx::Graph& graph, fx::AttributeReader read) {
      auto plan = inductor::compile(graph, read);
      if (const auto all = plans.lock()) all->plans.push_back(plan);
      return [plan](const std::vector<Value>& inputs) { return plan->run(inputs); };
    };
    const auto attribute = [&](const std::string& name) {
      PyObject* found = PyDict_GetItemString(argv[2], name.c_str());
      TAEDA_CHECK_KIND(ErrorKind::Attribute, found, "the graph's attribute ", name,
                       " is not given");
      return read_any(found);
    };
    const auto function =
        aot::compile(fx_graph_of(argv[0]), read_inputs(argv[1]), options, attribute);
    if (function->parts()) made->partition = function->parts()->report;
    made->run = [function](const std::vector<Value>& inputs) { return (*function)(inputs); };
    Ref object(checked(compiled_type->tp_alloc(compiled_type, 0)));
    new (&reinterpret_cast<CompiledObject*>(object.get())->value)
        std::shared_ptr<Compiled>(std::move(made));
    return object.release();
  });
}

PyMethodDef functions[] = {
    {"compile", as_function(compile), METH_FASTCALL,
     "compile(graph, inputs, attributes): a callable that takes the list of inputs."},
    {},
};

}  // namespace

bool init_compiled_graph_type(PyObject* module) {
  compiled_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return compiled_type && PyModule_AddFunctions(module, functions) == 0 &&
         PyModule_AddObjectRef(module, "CompiledGraph",
                               reinterpret_cast<PyObject*>(compiled_type)) == 0;
}

}  // namespace taeda::python
