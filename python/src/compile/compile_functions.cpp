// taeda._C._inductor: compiling closed graphs, and the cache of what was compiled.
#include "python/src/compile/compile_functions.h"

#include <chrono>
#include <unordered_map>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/options.h"
#include "python/interop/wrap.h"
#include "python/src/compile/aot_functions.h"
#include "python/src/compile/compiled_object.h"
#include "python/src/compile/package_functions.h"
#include "python/src/fx/fx_fake.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "taeda/aot/compiled_function.h"
#include "taeda/fx/trace_run.h"
#include "taeda/inductor/fold_norms.h"
#include "taeda/inductor/freeze.h"
#include "taeda/inductor/recognize_attention.h"
#include "taeda/inductor/segments.h"
#include "taeda/kernel/native/compile_queue.h"
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

// Which inputs are frozen, by place; nothing where the program has no such option.
std::optional<inductor::FreezeOptions> read_frozen(PyObject* given) {
  PyObject* const list = option(given, "frozen");
  if (!list) return std::nullopt;
  inductor::FreezeOptions options;
  options.lays_out_filters = is_set(given, "lays_out_filters");
  const Ref items(checked(PySequence_Fast(list, "the frozen inputs are a list")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    options.is_frozen.push_back(PySequence_Fast_GET_ITEM(items.get(), i) == Py_True);
  return options;
}

// Options are `form` of results, `memory_budget`, `frozen` inputs, `fuses_into_products`,
// `batches_products`, `has_post_ops`, `lays_out_images`, `starts_native` for kernels that are
// looked for as soon as a plan is made, `on_joint`, `on_graph` and `on_inference`, which change the
// joint graph, both parts of it, and the graph of a program without gradients before it is lowered.
// Gradients of gradients are compiled later, so the plans are noted only while `made` lives.
aot::AotOptions read_options(PyObject* given, const std::shared_ptr<Compiled>& made) {
  made->form = read_form(PyDict_GetItemString(given, "form"));
  aot::AotOptions options;
  options.decompose = inductor::decompose_for_lowering;
  const bool matches_patterns = is_set(given, "matches_patterns");
  if (matches_patterns) options.make_watcher = inductor::make_attention_finder;
  const auto frozen = read_frozen(given);
  if (matches_patterns && frozen)
    options.make_watcher = [] {
      return inductor::make_norm_folder(inductor::make_attention_finder());
    };
  options.partition.memory_budget =
      read_memory_budget(PyDict_GetItemString(given, "memory_budget"));
  options.backward_scope = read_scope(option(given, "backward_scope"));
  options.on_changing_sizes = mark_changing_sizes;
  options.on_joint = read_pass(option(given, "on_joint"));
  const std::weak_ptr<Compiled> owner = made;
  const inductor::PlanOptions plan{.fuses_into_products = is_set(given, "fuses_into_products"),
                                   .batches_products = is_set(given, "batches_products"),
                                   .has_post_ops = is_set(given, "has_post_ops"),
                                   .lays_out_images = is_set(given, "lays_out_images")};
  const bool starts_native = is_set(given, "starts_native");
  if (starts_native) kernel::CompileQueue::shared().run_soon(kernel::ask_for_version);
  const auto compiler = [owner, plan, starts_native](
                            const std::optional<inductor::FreezeOptions>& frozen,
                            const std::function<void(fx::Graph&)>& on_graph) {
    return [owner, on_graph, frozen, plan, starts_native](const fx::Graph& whole,
                                                          fx::AttributeReader read) {
      const auto start = std::chrono::steady_clock::now();
      const IntrusivePtr<fx::Graph> changed = on_graph ? fx::clone(whole) : nullptr;
      if (changed) on_graph(*changed);
      const fx::Graph& graph = changed ? *changed : whole;
      inductor::Segments made = frozen ? inductor::compile_frozen(graph, read, *frozen, plan)
                                       : inductor::compile_segments(graph, read, plan);
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (starts_native)
        for (const auto& one : made.plans) one->start_native();
      if (const auto all = owner.lock()) {
        all->plan_seconds += spent.count();
        for (const auto& plan : made.plans) {
          all->is_short &= plan->num_steps() <= kShortPlan;
          all->plans.push_back(plan);
        }
      }
      return std::move(made.run);
    };
  };
  options.forward = options.backward = compiler(std::nullopt, read_pass(option(given, "on_graph")));
  options.inference = compiler(frozen, read_pass(option(given, "on_inference")));
  options.keeps_plain_writes = !frozen;
  return options;
}

PyObject* finish(const std::shared_ptr<Compiled>& made,
                 const std::shared_ptr<aot::CompiledFunction>& function, double seconds) {
  made->trace_seconds = seconds - made->plan_seconds;
  if (function->parts()) made->partition = function->parts()->report;
  made->run = [function](const std::vector<Value>& inputs) { return (*function)(inputs); };
  return wrap_compiled(made);
}

// compile(graph, inputs, attributes, options): with gradients where inputs require them
PyObject* compile(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(
        nargs == 4 && is_fx_graph(argv[0]) && PyDict_Check(argv[2]) && PyDict_Check(argv[3]),
        "compile takes a Graph, inputs, attributes and options");
    auto made = std::make_shared<Compiled>();
    aot::AotOptions options = read_options(argv[3], made);
    options.checks_inputs = is_set(argv[3], "checks_inputs");
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
    return finish(made, function, whole.count());
  });
}

// Runs a graph that calls functions of Python, node by node, on values that are being traced.
class OpenGraph {
 public:
  // `module` has what the graph reads as attributes.
  OpenGraph(const fx::Graph& graph, PyObject* module) : graph_(graph), module_(module) {}

  std::vector<Value> operator()(const std::vector<Value>& inputs) {
    size_t next = 0;
    for (fx::Node& node : graph_) {
      switch (node.op()) {
        case fx::OpCode::Placeholder:
          values_[&node] = Ref(checked(wrap_any(inputs.at(next++))));
          break;
        case fx::OpCode::Output: {
          const Ref results = value_of(node.args().at(0));
          return read_values(results.get(), "the results of a captured graph are a tuple");
        }
        case fx::OpCode::GetAttr:
          values_[&node] =
              Ref(checked(PyObject_GetAttrString(module_, node.target().name()->c_str())));
          break;
        default: fx::note_origin(node); values_[&node] = call(node);
      }
    }
    return {};
  }

 private:
  Ref call(const fx::Node& node) {
    Ref args(checked(PyTuple_New(static_cast<Py_ssize_t>(node.args().size()))));
    for (size_t i = 0; i < node.args().size(); ++i)
      PyTuple_SET_ITEM(args.get(), i, value_of(node.args()[i]).release());
    Ref kwargs(node.kwargs().empty() ? nullptr : checked(PyDict_New()));
    for (const auto& [name, arg] : node.kwargs())
      if (PyDict_SetItemString(kwargs.get(), name.c_str(), value_of(arg).get()) < 0)
        throw_python_error();
    if (node.op() == fx::OpCode::CallMethod) {
      const Ref method(checked(
          PyObject_GetAttrString(PyTuple_GET_ITEM(args.get(), 0), node.target().name()->c_str())));
      const Ref rest(checked(PyTuple_GetSlice(args.get(), 1, PyTuple_GET_SIZE(args.get()))));
      return Ref(checked(PyObject_Call(method.get(), rest.get(), kwargs.get())));
    }
    TAEDA_CHECK(node.op() == fx::OpCode::CallFunction, "a captured graph calls functions and ",
                "methods; ", node.name(), " is something else");
    const Ref target(checked(wrap_target(node.target())));
    return Ref(checked(PyObject_Call(target.get(), args.get(), kwargs.get())));
  }

  Ref value_of(const fx::Arg& arg) {
    if (arg.is_node()) return Ref::share(values_.at(arg.node()).get());
    if (!arg.has_nodes()) return Ref(checked(wrap_arg(arg)));
    const fx::Compound& parts = *arg.compound();
    std::vector<Ref> items;
    for (const fx::Arg& item : parts.items) items.push_back(value_of(item));
    using Kind = fx::Compound::Kind;
    if (parts.kind == Kind::Slice)
      return Ref(checked(PySlice_New(items[0].get(), items[1].get(), items[2].get())));
    if (parts.kind == Kind::Dict) {
      Ref dict(checked(PyDict_New()));
      for (size_t i = 0; i < items.size(); ++i) {
        const Ref key(checked(wrap_any(parts.keys[i])));
        if (PyDict_SetItem(dict.get(), key.get(), items[i].get()) < 0) throw_python_error();
      }
      return dict;
    }
    const auto count = static_cast<Py_ssize_t>(items.size());
    const bool is_list = parts.kind == Kind::List;
    Ref all(checked(is_list ? PyList_New(count) : PyTuple_New(count)));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item = items[static_cast<size_t>(i)].release();
      if (is_list)
        PyList_SET_ITEM(all.get(), i, item);
      else
        PyTuple_SET_ITEM(all.get(), i, item);
    }
    return all;
  }

  const fx::Graph& graph_;
  PyObject* module_;
  std::unordered_map<const fx::Node*, Ref> values_;
};

// compile_open(graph, inputs, fake mode, options, module): a graph that calls functions of Python;
// the inputs are fake tensors of the mode, or numbers
PyObject* compile_open(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 5 && is_fx_graph(argv[0]) && PyDict_Check(argv[3]),
                     "compile_open takes a Graph, inputs, a fake mode, options and a module");
    auto made = std::make_shared<Compiled>();
    aot::AotOptions options = read_options(argv[3], made);
    options.fake_mode = read_fake_mode(argv[2]);
    options.stays_on_thread = true;
    // Operators of the backward may call functions that the module's graph holds.
    options.kept = keep_object(argv[4]);
    options.again = [graph = keep_object(argv[0]),
                     module = keep_object(argv[4])](std::vector<Value> values) {
      const GilHold gil;
      return Value(
          std::make_shared<Value::List>(OpenGraph(fx_graph_of(graph.get()), module.get())(values)));
    };
    const auto start = std::chrono::steady_clock::now();
    const auto function = aot::compile(
        options.again, read_values(argv[1], "the inputs of a compiled graph are a list"), options);
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
    return finish(made, function, whole.count());
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

// cache_content(name): (key, blob), or None
PyObject* cache_content(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw_python_error();
    const auto found = kernel::DiskCache::from_environment()->content(text);
    if (!found) Py_RETURN_NONE;
    return checked(Py_BuildValue("(y#y#)", found->key.data(),
                                 static_cast<Py_ssize_t>(found->key.size()), found->blob.data(),
                                 static_cast<Py_ssize_t>(found->blob.size())));
  });
}

// cache_store(key, blob)
PyObject* cache_store(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_buffer key, blob;
    if (!PyArg_ParseTuple(args, "y*y*", &key, &blob)) throw_python_error();
    const std::string_view texts[] = {
        {static_cast<char*>(key.buf), static_cast<size_t>(key.len)},
        {static_cast<char*>(blob.buf), static_cast<size_t>(blob.len)}};
    kernel::DiskCache::shared().store(texts[0], texts[1]);
    PyBuffer_Release(&key);
    PyBuffer_Release(&blob);
    Py_RETURN_NONE;
  });
}

// cache_uses(): (hits, misses) of this process
PyObject* cache_uses(PyObject*, PyObject*) {
  return guarded([&] {
    const kernel::DiskCache& cache = kernel::DiskCache::shared();
    return checked(Py_BuildValue("(LL)", static_cast<long long>(cache.hits()),
                                 static_cast<long long>(cache.misses())));
  });
}

PyMethodDef functions[] = {
    {"cache_content", cache_content, METH_O,
     "cache_content(name): the key and the blob of an entry; None where there is none."},
    {"cache_store", cache_store, METH_VARARGS, "cache_store(key, blob): adds an entry."},
    {"cache_uses", cache_uses, METH_NOARGS, "How often this process found an entry, and how not."},
    {"compile", as_function(compile), METH_FASTCALL,
     "compile(graph, inputs, attributes, options): a callable that takes the inputs."},
    {"compile_open", as_function(compile_open), METH_FASTCALL,
     "compile_open(graph, inputs, fake_mode, options, module): the same for a graph of Python "
     "functions, which reads attributes of the module."},
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
