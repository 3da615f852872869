// Looks into the library from Python: operators and their kernels, memory statistics, call traces.
#include <string>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/factories.h"
#include "taeda/base/trace.h"
#include "taeda/dispatch/dispatcher.h"

namespace taeda::python {

namespace {

PyObject* dump(PyObject*, PyObject* name) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw_python_error();
    return wrap(dispatch::dump(text));
  });
}

PyObject* list_operators(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref list(checked(PyList_New(0)));
    for (const dispatch::Operator* op : dispatch::all_operators()) {
      const std::string name = op->full_name();
      // What takes regions is found in taeda.ops.higher_order, and has no overloads.
      if (name.starts_with("higher_order::")) continue;
      Ref text(checked(wrap(name)));
      if (PyList_Append(list.get(), text.get()) < 0) throw_python_error();
    }
    return list.release();
  });
}

PyObject* schema(PyObject*, PyObject* name) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw_python_error();
    return wrap(std::string_view(dispatch::get_operator(text).schema));
  });
}

PyObject* allocator_stats(PyObject*, PyObject*) {
  const AllocatorStats s = cpu_allocator().stats();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "allocated_bytes",
                       static_cast<long long>(s.allocated_bytes), "allocated_peak",
                       static_cast<long long>(s.allocated_peak), "reserved_bytes",
                       static_cast<long long>(s.reserved_bytes), "reserved_peak",
                       static_cast<long long>(s.reserved_peak), "cached_bytes",
                       static_cast<long long>(s.cached_bytes), "num_allocs",
                       static_cast<long long>(s.num_allocs), "num_frees",
                       static_cast<long long>(s.num_frees), "num_os_allocs",
                       static_cast<long long>(s.num_os_allocs));
}
PyObject* reset_peak_stats(PyObject*, PyObject*) {
  cpu_allocator().reset_peak_stats();
  return Py_NewRef(Py_None);
}
PyObject* empty_cache(PyObject*, PyObject*) {
  cpu_allocator().empty_cache();
  return Py_NewRef(Py_None);
}

PyObject* trace_list = nullptr;

void record_event(const TraceEvent& event, void*) {
  if (event.phase != TraceEvent::Phase::Begin) return;
  GilHold gil;
  if (!trace_list) return;
  std::string name = event.name;
  if (event.detail && event.detail[0]) name += std::string(".") + event.detail;
  Ref entry(Py_BuildValue("(ss)", event.category, name.c_str()));
  // A trace is best effort: it must not fail the call it watches.
  if (!entry || PyList_Append(trace_list, entry.get()) < 0) PyErr_Clear();
}

// _trace(list): every call from now on appends (category, name); None ends it.
PyObject* trace(PyObject*, PyObject* list) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(list == Py_None || PyList_Check(list),
                     "_trace(): expected a list or None, got ", Py_TYPE(list)->tp_name);
    set_trace_handler(nullptr, nullptr);
    Py_XSETREF(trace_list, list == Py_None ? nullptr : Py_NewRef(list));
    if (trace_list) set_trace_handler(record_event, nullptr);
    return Py_NewRef(Py_None);
  });
}

}  // namespace

PyMethodDef dispatch_table[] = {
    {"dump", dump, METH_O, "dump(name): one line per dispatch key, with the kernel it runs."},
    {"list_operators", list_operators, METH_NOARGS, "The full names of all operators."},
    {"schema", schema, METH_O, "schema(full_name): the operator's signature."},
    {"_allocator_stats", allocator_stats, METH_NOARGS, nullptr},
    {"_reset_peak_stats", reset_peak_stats, METH_NOARGS, nullptr},
    {"_empty_cache", empty_cache, METH_NOARGS, nullptr},
    {"_trace", trace, METH_O,
     "_trace(list): appends (category, name) for every call until _trace(None)."},
    {},
};

}  // namespace taeda::python
