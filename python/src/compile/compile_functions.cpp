// taeda._C._inductor: compiling closed graphs, and the cache of what was compiled.
#include "python/src/compile/compile_functions.h"

#include <chrono>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/options.h"
#include "python/interop/wrap.h"
#include "python/src/compile/aot_functions.h"
#include "python/src/compile/compiled_object.h"
#include "python/src/compile/package_functions.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "taeda/aot/compiled_function.h"
#include "taeda/inductor/segments.h"
#include "taeda/kernel/native/disk_cache.h"

namespace taeda::python {
namespace {

using dispatch::Value;

// Steps of a plan that take less than the GIL's handover costs other threads.
constexpr size_t kShortPlan = 4;

ResultForm read_form(PyObject* o) {
  const char* text = PyUnicode_AsUTF8(o);
  if (!text) throw_python_error();
  const std::string_view form = text;
  return form == "one" ? ResultForm::One : form == "tuple" ? ResultForm::Tuple : ResultForm::List;
}

// What a function of Python does to a graph; null for null.
std::function<void(fx::Graph&)> read_pass(PyObject* o) {
  if (!o) return nullptr;
  return [kept = keep_object(o)](fx::Graph& graph) {
    const GilHold gil;
    const Ref object(wrap_graph(IntrusivePtr<fx::Graph>::share(&graph)));
    const Ref done(checked(PyObject_CallOneArg(kept.get(), object.get())));
  };
}

// compile(graph, inputs, attributes, options): with gradients where inputs require them. Options
// are `form` of results, `memory_budget`, `on_joint` and `on_graph`, which change the joint graph
// and each graph that is lowered.
PyObject* compile(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(
        nargs == 4 && is_fx_graph(argv[0]) && PyDict_Check(argv[2]) && PyDict_Check(argv[3]),
        "compile takes a Graph, inputs, attributes and options");
    auto made = std::make_shared<Compiled>();
    made->form = read_form(PyDict_GetItemString(argv[3], "form"));
    aot::AotOptions options;
    options.decompose = inductor::decompose_for_lowering;
    options.partition.memory_budget =
        read_memory_budget(PyDict_GetItemString(argv[3], "memory_budget"));
    // Gradients of gradients are compiled later.
    const std::weak_ptr<Compiled> owner = made;
    options.on_joint = read_pass(option(argv[3], "on_joint"));
    const auto on_graph = read_pass(option(argv[3], "on_graph"));
    options.forward =
        options.backward = [owner, on_graph](const fx::Graph& given, fx::AttributeReader read) {
          const auto start = std::chrono::steady_clock::now();
          const IntrusivePtr<fx::Graph> changed = on_graph ? fx::clone(given) : nullptr;
          if (changed) on_graph(*changed);
          const fx::Graph& graph = changed ? *changed : given;
          inductor::Segments made = inductor::compile_segments(graph, read);
          const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
          if (const auto all = owner.lock()) {
            all->plan_seconds += spent.count();
            for (const auto& plan : made.plans) {
              all->is_short &= plan->num_steps() <= kShortPlan;
              all->plans.push_back(plan);
            }
          }
          return std::move(made.run);
        };
    const auto attribute = [&](const std::string& name) {
      PyObject* found = PyDict_GetItemString(argv[2], name.c_str());
      TAEDA_CHECK_KIND(ErrorKind::Attribute, found, "the graph's attribute ", name,
                       " is not given");
      return read_any(found);
    };
    const auto start = std::chrono::steady_clock::now();
    const auto function = aot::compile(
        fx_graph_of(argv[0]), read_values(argv[1], "the inputs of a compiled graph are a list"),
        options, attribute);
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
    made->trace_seconds = whole.count() - made->plan_seconds;
    if (function->parts()) made->partition = function->parts()->report;
    made->run = [function](const std::vector<Value>& inputs) { return (*function)(inputs); };
    return wrap_compiled(std::move(made));
  });
}

// cache_entries(): folder, limit in bytes, and a list of (name, bytes, time of last use)
PyObject* cache_entries(PyObject*, PyObject*) {
  return guarded([&] {
    const auto cache = kernel::DiskCache::from_environment();
    Ref entries(checked(PyList_New(0)));
    for (const kernel::DiskCache::Entry& entry : cache->entries()) {
      const Ref one(checked(Py_BuildValue("(sLd)", entry.name.c_str(),
                                          static_cast<long long>(entry.bytes), entry.used)));
      if (PyList_Append(entries.get(), one.get()) < 0) throw_python_error();
    }
    return checked(Py_BuildValue("(sLO)", cache->folder().c_str(),
                                 static_cast<long long>(cache->limit()), entries.get()));
  });
}

PyObject* cache_clear(PyObject*, PyObject*) {
  return guarded([&] { return wrap(kernel::DiskCache::from_environment()->clear()); });
}

PyMethodDef functions[] = {
    {"compile", as_function(compile), METH_FASTCALL,
     "compile(graph, inputs, attributes, options): a callable that takes the inputs."},
    {"cache_entries", cache_entries, METH_NOARGS,
     "The folder of compiled kernels, its limit, and its entries."},
    {"cache_clear", cache_clear, METH_NOARGS, "Removes all compiled kernels; returns how many."},
    {},
};

}  // namespace

bool init_compiled_graph_type(PyObject* module) {
  return init_compiled_type(module) && PyModule_AddFunctions(module, functions) == 0 &&
         PyModule_AddFunctions(module, package_functions) == 0;
}

}  // namespace taeda::python
