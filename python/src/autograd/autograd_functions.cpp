// The functions behind taeda.autograd: runs of the engine, modes, hooks on saved tensors.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/autograd/grad_fn_type.h"
#include "python/src/autograd/hooks.h"
#include "python/src/autograd/python_node.h"
#include "python/src/autograd/saved_access.h"
#include "python/src/tensor/factories.h"
#include "taeda/autograd/anomaly.h"
#include "taeda/autograd/custom_function.h"
#include "taeda/autograd/engine.h"
#include "taeda/autograd/variable.h"
#include "taeda/autograd/write_watch.h"
#include "taeda/base/log.h"

namespace taeda::python {

namespace {

using autograd::Edge;

// ---- runs ----

// A GradientEdge is a tuple (node, output_nr, ownership_token).
bool read_edge(PyObject* o, Edge& edge) {
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) < 2) return false;
  edge.function = node_behind(PyTuple_GET_ITEM(o, 0));
  if (!edge.function) return false;
  edge.input_nr = static_cast<uint32_t>(to_int64(PyTuple_GET_ITEM(o, 1)));
  return true;
}

Tensor read_seed(PyObject* o) {
  if (o == Py_None) return Tensor();
  TAEDA_CHECK_TYPE(is_tensor(o), "gradients can be either Tensors or None, but got ",
                   Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

Edge read_root_edge(PyObject* o, size_t index) {
  Edge edge;
  TAEDA_CHECK_TYPE(read_edge(o, edge), "element ", index,
                   " of tensors tuple is not a Tensor or a GradientEdge but ", Py_TYPE(o)->tp_name);
  return edge;
}

Tensor seed_of(PyObject* o, Tensor grad, size_t index) {
  if (is_tensor(o)) return autograd::make_seed(tensor_of(o), std::move(grad), index);
  return autograd::make_seed(read_root_edge(o, index), std::move(grad), index);
}

autograd::Root root_of(PyObject* o, Tensor seed, size_t index) {
  if (is_tensor(o)) return autograd::make_root(tensor_of(o), std::move(seed), index);
  return autograd::make_root(read_root_edge(o, index), std::move(seed), index);
}

Edge read_input(PyObject* o, bool accumulate) {
  if (is_tensor(o)) return autograd::input_edge(tensor_of(o), accumulate);
  Edge edge;
  TAEDA_CHECK(read_edge(o, edge), "all inputs have to be Tensors or GradientEdges, but got ",
              Py_TYPE(o)->tp_name);
  return edge;
}

// A gradient with a history refers to its leaf, which holds the gradient.
void warn_of_cycle() {
  static bool is_told = false;
  if (std::exchange(is_told, true) && !is_warn_always_enabled()) return;
  warn(
      "Using backward() with create_graph=True will create a reference cycle between the parameter "
      "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
      "creating the graph to avoid this. If you have to use this function, make sure to reset the "
      ".grad fields of your parameters to None after use to break the cycle and avoid the leak.");
}

// _run_backward(roots, grads, retain_graph, create_graph, inputs, allow_unused, accumulate): tuples
// of tensors and edges; grads may hold None.
PyObject* run_backward(PyObject*, PyObject* args) {
  PyObject *roots = nullptr, *grads = nullptr, *inputs = nullptr;
  int keep_graph = 0, create_graph = 0, allow_unused = 0, accumulate = 0;
  if (!PyArg_ParseTuple(args, "O!O!ppO!pp:_run_backward", &PyTuple_Type, &roots, &PyTuple_Type,
                        &grads, &keep_graph, &create_graph, &PyTuple_Type, &inputs, &allow_unused,
                        &accumulate))
    return nullptr;
  return guarded([&] {
    SmallVector<autograd::Root, 2> from;
    const Py_ssize_t count = PyTuple_GET_SIZE(roots);
    TAEDA_CHECK(PyTuple_GET_SIZE(grads) == count, "got ", static_cast<int64_t>(count),
                " tensors and ", static_cast<int64_t>(PyTuple_GET_SIZE(grads)), " gradients");
    std::vector<Tensor> seeds(count);
    for (Py_ssize_t i = 0; i < count; ++i)
      seeds[i] = seed_of(PyTuple_GET_ITEM(roots, i), read_seed(PyTuple_GET_ITEM(grads, i)), i);
    for (Py_ssize_t i = 0; i < count; ++i)
      from.push_back(root_of(PyTuple_GET_ITEM(roots, i), std::move(seeds[i]), i));
    std::vector<Edge> to;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i)
      to.push_back(read_input(PyTuple_GET_ITEM(inputs, i), accumulate));
    if (create_graph && accumulate) warn_of_cycle();
    const autograd::RunOptions options{keep_graph != 0, create_graph != 0, allow_unused != 0,
                                       accumulate != 0};
    std::vector<Tensor> results;
    {
      GilRelease gil;
      results = autograd::run_backward(std::move(from), to, options);
    }
    return wrap(results);
  });
}

PyObject* queue_callback(PyObject*, PyObject* callable) {
  return guarded([&] {
    autograd::queue_callback([kept = keep_object(callable)] {
      GilHold gil;
      Ref result(checked(PyObject_CallNoArgs(kept.get())));
    });
    return Py_NewRef(Py_None);
  });
}

PyObject* current_node(PyObject*, PyObject*) {
  return guarded(
      [] { return wrap_node(IntrusivePtr<autograd::Node>::share(autograd::current_node())); });
}
PyObject* current_run_id(PyObject*, PyObject*) { return wrap(autograd::current_run_id()); }
PyObject* current_keep_graph(PyObject*, PyObject*) {
  return wrap(autograd::does_current_run_keep_graph());
}
PyObject* is_checkpoint_valid(PyObject*, PyObject*) {
  return wrap(autograd::is_current_run_complete());
}
PyObject* will_run(PyObject*, PyObject* o) {
  return guarded([&] {
    const auto node = node_behind(o);
    TAEDA_CHECK(node, "_will_engine_execute_node expects an grad_fn, but got ",
                Py_TYPE(o)->tp_name);
    return wrap(autograd::will_run(*node));
  });
}

// Runs stay on the caller's thread whatever is set; what asks for their order wants to see it off.
thread_local bool is_multithreading_enabled = true;

PyObject* get_multithreading(PyObject*, PyObject*) { return wrap(is_multithreading_enabled); }
PyObject* set_multithreading(PyObject*, PyObject* on) {
  const int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  is_multithreading_enabled = value == 1;
  Py_RETURN_NONE;
}

PyObject* execution_order(PyObject*, PyObject*) {
  return guarded([] {
    const auto nodes = autograd::remaining_order();
    TAEDA_CHECK(!is_multithreading_enabled,
                "_current_graph_task_execution_order expects the current backward to be executed "
                "with multithreading disabled, e.g. by running: with "
                "torch.autograd.grad_mode.set_multithreading_enabled(False)");
    Ref list(checked(PyList_New(static_cast<Py_ssize_t>(nodes.size()))));
    for (size_t i = 0; i < nodes.size(); ++i)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(wrap_node(nodes[i])));
    return list.release();
  });
}

// ---- hooks on saved tensors ----

PyObject* push_saved_hooks(PyObject*, PyObject* args) {
  PyObject *pack = nullptr, *unpack = nullptr;
  if (!PyArg_ParseTuple(args, "OO:_push_saved_tensors_default_hooks", &pack, &unpack))
    return nullptr;
  return guarded([&] {
    autograd::push_saved_tensor_hooks(saved_tensor_hooks(pack, unpack));
    return Py_NewRef(Py_None);
  });
}
PyObject* pop_saved_hooks(PyObject*, PyObject*) {
  return guarded([] {
    autograd::pop_saved_tensor_hooks();
    return Py_NewRef(Py_None);
  });
}
PyObject* disable_saved_hooks(PyObject*, PyObject* message) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(message);
    if (!text) throw_python_error();
    autograd::disable_saved_tensor_hooks(text);
    return Py_NewRef(Py_None);
  });
}
PyObject* enable_saved_hooks(PyObject*, PyObject*) {
  autograd::enable_saved_tensor_hooks();
  Py_RETURN_NONE;
}
PyObject* num_saved_hooks(PyObject*, PyObject*) {
  return PyLong_FromSize_t(autograd::num_saved_tensor_hooks());
}
PyObject* saved_hooks_enabled(PyObject*, PyObject*) {
  return wrap(autograd::saved_tensor_hooks_disabled().empty());
}
PyObject* saved_hooks_disabled(PyObject*, PyObject*) {
  const std::string& message = autograd::saved_tensor_hooks_disabled();
  return message.empty() ? Py_NewRef(Py_None) : wrap(message);
}

// ---- the rest ----

PyObject* set_write_watcher(PyObject*, PyObject* callable) {
  return guarded([&] {
    if (callable == Py_None) {
      autograd::set_write_watcher(nullptr);
    } else {
      autograd::set_write_watcher([kept = keep_object(callable)](const Tensor& tensor) {
        GilHold gil;
        Ref argument(checked(wrap(tensor)));
        Ref result(checked(PyObject_CallOneArg(kept.get(), argument.get())));
      });
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* increment_version(PyObject*, PyObject* tensors) {
  return guarded([&] {
    Ref items(checked(PySequence_Tuple(tensors)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      const Tensor& t =
          expect_tensor(PyTuple_GET_ITEM(items.get(), i), "increment_version's argument");
      if (!t.is_inference()) t.impl()->bump_version();
    }
    return Py_NewRef(Py_None);
  });
}

// _unsafe_set_version_counter(tensors, versions)
PyObject* set_versions(PyObject*, PyObject* args) {
  PyObject *tensors = nullptr, *versions = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!:_unsafe_set_version_counter", &PyTuple_Type, &tensors,
                        &PyTuple_Type, &versions))
    return nullptr;
  return guarded([&] {
    TAEDA_CHECK(PyTuple_GET_SIZE(tensors) == PyTuple_GET_SIZE(versions),
                "tensors and versions must have the same length, got ",
                static_cast<int64_t>(PyTuple_GET_SIZE(tensors)), " and ",
                static_cast<int64_t>(PyTuple_GET_SIZE(versions)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      const Tensor& t = expect_tensor(PyTuple_GET_ITEM(tensors, i), "an element of tensors");
      const int64_t version = to_int64(PyTuple_GET_ITEM(versions, i));
      TAEDA_CHECK(version >= 0, "Cannot set a version_counter to a value below 0: ", version);
      t.impl()->version_counter().store(static_cast<uint32_t>(version));
    }
    return Py_NewRef(Py_None);
  });
}

// _delay_error(message, tensors): the same values; going backward through them raises. None stays.
PyObject* delay_error(PyObject*, PyObject* args) {
  const char* message = nullptr;
  PyObject* tensors = nullptr;
  if (!PyArg_ParseTuple(args, "sO!:_delay_error", &message, &PyTuple_Type, &tensors))
    return nullptr;
  return guarded([&] {
    std::vector<Tensor> list;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      PyObject* item = PyTuple_GET_ITEM(tensors, i);
      list.push_back(item == Py_None ? Tensor() : expect_tensor(item, "an element of tensors"));
    }
    return wrap(autograd::delay_error(message, list));
  });
}

PyObject* grad_accumulator(PyObject*, PyObject* o) {
  return guarded([&] {
    const Tensor& t = expect_tensor(o, "the argument");
    return wrap_node(autograd::gradient_edge(t).function);
  });
}

PyObject* warns_always(PyObject*, PyObject*) { return wrap(is_warn_always_enabled()); }
PyObject* set_warns_always(PyObject*, PyObject* on) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyBool_Check(on), "setWarnOnlyOnce expects a bool, but got ",
                     Py_TYPE(on)->tp_name);
    set_warn_always(on == Py_True);
    return Py_NewRef(Py_None);
  });
}

// ---- anomaly mode ----

PyObject* set_anomaly(PyObject*, PyObject* args) {
  int enabled = 0, check_nan = 1;
  if (!PyArg_ParseTuple(args, "p|p:set_anomaly_enabled", &enabled, &check_nan)) return nullptr;
  autograd::set_anomaly_enabled(enabled != 0, check_nan != 0);
  Py_RETURN_NONE;
}
PyObject* is_anomaly(PyObject*, PyObject*) { return wrap(autograd::is_anomaly_enabled()); }
PyObject* checks_nan(PyObject*, PyObject*) { return wrap(autograd::does_anomaly_check_nan()); }

}  // namespace

PyMethodDef autograd_table[] = {
    {"_run_backward", run_backward, METH_VARARGS, nullptr},
    {"_queue_callback", queue_callback, METH_O, nullptr},
    {"_current_autograd_node", current_node, METH_NOARGS, nullptr},
    {"_current_graph_task_id", current_run_id, METH_NOARGS, nullptr},
    {"_get_current_graph_task_keep_graph", current_keep_graph, METH_NOARGS, nullptr},
    {"_is_checkpoint_valid", is_checkpoint_valid, METH_NOARGS, nullptr},
    {"_will_engine_execute_node", will_run, METH_O, nullptr},
    {"_current_graph_task_execution_order", execution_order, METH_NOARGS, nullptr},
    {"_is_multithreading_enabled", get_multithreading, METH_NOARGS, nullptr},
    {"_set_multithreading_enabled", set_multithreading, METH_O, nullptr},
    {"_push_saved_tensors_default_hooks", push_saved_hooks, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_default_hooks", pop_saved_hooks, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_disable", disable_saved_hooks, METH_O, nullptr},
    {"_saved_tensors_hooks_enable", enable_saved_hooks, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_get_disabled_error_message", saved_hooks_disabled, METH_NOARGS, nullptr},
    {"_set_write_watcher", set_write_watcher, METH_O, nullptr},
    {"_increment_version", increment_version, METH_O, nullptr},
    {"_delay_error", delay_error, METH_VARARGS, nullptr},
    {"_gradient_node", grad_accumulator, METH_O, nullptr},
    {"is_warn_always_enabled", warns_always, METH_NOARGS,
     "is_warn_always_enabled() -> bool\n\n"
     "Whether warnings that are told once are told each time."},
    {"set_warn_always", set_warns_always, METH_O,
     "set_warn_always(b) -> None\n\n"
     "Tells warnings that are told once each time, or once again."},
    {"set_anomaly_enabled", set_anomaly, METH_VARARGS,
     "set_anomaly_enabled(enabled, check_nan=True) -> None\n\n"
     "Switches anomaly detection on or off; `torch.autograd.detect_anomaly` does so for a block."},
    {"is_anomaly_enabled", is_anomaly, METH_NOARGS,
     "is_anomaly_enabled() -> bool\n\n"
     "Whether anomaly detection is on."},
    {"is_anomaly_check_nan_enabled", checks_nan, METH_NOARGS,
     "is_anomaly_check_nan_enabled() -> bool\n\n"
     "Whether anomaly detection looks for NaN in gradients."},
    {},
};

PyMethodDef autograd_private_table[] = {
    {"_push_saved_tensors_default_hooks", push_saved_hooks, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_default_hooks", pop_saved_hooks, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_is_enabled", saved_hooks_enabled, METH_NOARGS, nullptr},
    {"_num_saved_tensors_hooks", num_saved_hooks, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_disable", disable_saved_hooks, METH_O, nullptr},
    {"_saved_tensors_hooks_enable", enable_saved_hooks, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_get_disabled_error_message", saved_hooks_disabled, METH_NOARGS, nullptr},
    {"_unsafe_set_version_counter", set_versions, METH_VARARGS, nullptr},
    {"_set_function_watcher", set_function_watcher, METH_O, nullptr},
    {"_set_hook_watcher", set_hook_watcher, METH_O, nullptr},
    {"_make_saved_tensor", as_function(make_saved_tensor), METH_VARARGS | METH_KEYWORDS, nullptr},
    {},
};

}  // namespace taeda::python
