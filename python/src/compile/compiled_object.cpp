// The type of compiled programs: calls and methods.
#include "python/src/compile/compiled_object.h"

#include <structmember.h>

#include <algorithm>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/fx/fx_regions.h"

namespace taeda::python {
namespace {

using dispatch::Value;

constexpr int kSignalPauseMs = 50;

struct CompiledObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::shared_ptr<Compiled> value;
};

PyTypeObject* compiled_type = nullptr;

Compiled& compiled_of(PyObject* self) { return *reinterpret_cast<CompiledObject*>(self)->value; }

PyObject* wrap_result(const Value& v) {
  return checked(v.is<Tensor>() ? wrap(v.get<Tensor>()) : wrap_any(v));
}

PyObject* wrap_results(const std::vector<Value>& results, ResultForm form) {
  if (form == ResultForm::One) return wrap_result(results.at(0));
  const auto count = static_cast<Py_ssize_t>(results.size());
  const bool is_list = form == ResultForm::List;
  Ref all(checked(is_list ? PyList_New(count) : PyTuple_New(count)));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = wrap_result(results[static_cast<size_t>(i)]);
    if (is_list)
      PyList_SET_ITEM(all.get(), i, item);
    else
      PyTuple_SET_ITEM(all.get(), i, item);
  }
  return all.release();
}

// compiled(*inputs)
PyObject* call(PyObject* self, PyObject* const* argv, size_t nargsf, PyObject* names) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(!names || PyTuple_GET_SIZE(names) == 0,
                     "a compiled graph takes no arguments by name");
    const auto count = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
    const Compiled& compiled = compiled_of(self);
    std::vector<Value> inputs;
    inputs.reserve(count);
    bool is_long = !compiled.is_short;
    for (size_t i = 0; i < count; ++i) {
      if (is_tensor(argv[i])) {
        const Tensor& t = tensor_of(argv[i]);
        is_long |= is_large(t);
        inputs.emplace_back(t);
      } else {
        inputs.push_back(read_any(argv[i]));
      }
    }
    std::vector<Value> results;
    {
      const GilRelease released(is_long);
      results = compiled.run(inputs);
    }
    return wrap_results(results, compiled.form);
  });
}

PyObject* start_native(PyObject* self, PyObject*) {
  return guarded([&] {
    for (const auto& plan : compiled_of(self).plans) plan->start_native();
    return Py_NewRef(Py_None);
  });
}

// Signals are handled while it waits.
PyObject* wait_native(PyObject* self, PyObject*) {
  return guarded([&] {
    for (const auto& plan : compiled_of(self).plans)
      for (bool is_done = false; !is_done;) {
        {
          const GilRelease released;
          is_done = plan->wait_native(kSignalPauseMs);
        }
        if (PyErr_CheckSignals() < 0) throw_python_error();
      }
    return Py_NewRef(Py_None);
  });
}

PyObject* check_native(PyObject* self, PyObject*) {
  return guarded([&] {
    for (const auto& plan : compiled_of(self).plans) plan->check_native();
    return Py_NewRef(Py_None);
  });
}

PyObject* set_native_only(PyObject* self, PyObject*) {
  return guarded([&] {
    for (const auto& plan : compiled_of(self).plans) plan->set_native_only();
    return Py_NewRef(Py_None);
  });
}

PyObject* set_checked(PyObject* self, PyObject* on) {
  return guarded([&] {
    for (const auto& plan : compiled_of(self).plans) plan->set_checked(on == Py_True);
    return Py_NewRef(Py_None);
  });
}

PyObject* set_timed(PyObject* self, PyObject* on) {
  return guarded([&] {
    for (const auto& plan : compiled_of(self).plans) plan->set_timed(on == Py_True);
    return Py_NewRef(Py_None);
  });
}

PyObject* trace_seconds(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(compiled_of(self).trace_seconds); });
}

PyObject* partition(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(compiled_of(self).partition); });
}

template <std::string (inductor::CompiledGraph::*text)() const>
PyObject* texts(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref all(checked(PyList_New(0)));
    for (const auto& plan : compiled_of(self).plans) {
      const Ref item(checked(wrap(((*plan).*text)())));
      if (PyList_Append(all.get(), item.get()) < 0) throw_python_error();
    }
    return all.release();
  });
}

PyObject* report(PyObject* self, PyObject*) {
  return guarded([&] { return plan_reports(compiled_of(self)); });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<CompiledObject*>(self)->value.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"start_native", start_native, METH_NOARGS,
     "Has kernels compiled in the background; each is used as soon as it is there."},
    {"wait_native", wait_native, METH_NOARGS, "Waits until no kernel is left to the compiler."},
    {"check_native", check_native, METH_NOARGS, "Raises where a kernel could not be compiled."},
    {"set_native_only", set_native_only, METH_NOARGS,
     "From now on a kernel that is not native is an error."},
    {"set_checked", set_checked, METH_O,
     "Whether each kernel runs interpreted and native, and the bits are compared."},
    {"set_timed", set_timed, METH_O, "Whether runs are timed step by step."},
    {"partition", partition, METH_NOARGS, "What the backward gets, and why."},
    {"trace_seconds", trace_seconds, METH_NOARGS, "The time of tracing and cutting the graph."},
    {"texts", texts<&inductor::CompiledGraph::text>, METH_NOARGS,
     "For each plan the kernels and calls, in the order in which they run."},
    {"sources", texts<&inductor::CompiledGraph::source>, METH_NOARGS,
     "For each plan the kernels as C++."},
    {"report", report, METH_NOARGS, "A dict for each plan."},
    {},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledObject, vectorcall), READONLY, nullptr},
    {},
};

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {
    "taeda._C._inductor.CompiledGraph", sizeof(CompiledObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

PyObject* wrap_compiled(std::shared_ptr<Compiled> compiled) {
  Ref object(checked(compiled_type->tp_alloc(compiled_type, 0)));
  auto* made = reinterpret_cast<CompiledObject*>(object.get());
  made->vectorcall = call;
  new (&made->value) std::shared_ptr<Compiled>(std::move(compiled));
  return object.release();
}

bool is_compiled_graph(PyObject* object) { return Py_IS_TYPE(object, compiled_type); }

bool init_compiled_type(PyObject* module) {
  compiled_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return compiled_type && PyModule_AddObjectRef(module, "CompiledGraph",
                                                reinterpret_cast<PyObject*>(compiled_type)) == 0;
}

}  // namespace taeda::python
