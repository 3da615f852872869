// Function.apply: runs forward without recording and records the call as one node.
#include <algorithm>
#include <string>
#include <vector>

#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/autograd/function_jvp.h"
#include "python/src/autograd/python_node.h"
#include "taeda/autograd/forward.h"
#include "taeda/dispatch/levels.h"

namespace taeda::python {

namespace {

PyObject* interned(const char* text) { return checked(PyUnicode_InternFromString(text)); }

// What forward told its context is of no use after the call, and may refer to the context.
struct ForgetMarks {
  FunctionObject& context;
  ~ForgetMarks() {
    Py_CLEAR(context.to_save);
    Py_CLEAR(context.dirty_tensors);
    Py_CLEAR(context.non_differentiable);
  }
};

// The positional arguments of forward.
struct Arguments {
  std::vector<Tensor> tensors;
  std::vector<bool> is_tensor;
  Ref needs_input_grad;

  Arguments(PyObject* const* argv, Py_ssize_t count)
      : is_tensor(count), needs_input_grad(checked(PyTuple_New(count))) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      is_tensor[i] = taeda::python::is_tensor(argv[i]);
      if (is_tensor[i]) tensors.push_back(tensor_of(argv[i]));
      const bool needs = is_tensor[i] && autograd::requires_grad(tensors.back());
      PyTuple_SET_ITEM(needs_input_grad.get(), i, wrap(needs));
    }
  }
};

Ref new_context(PyObject* cls) {
  static PyObject* const name = interned("_backward_cls");
  Ref type(checked(PyObject_GetAttr(cls, name)));
  return Ref(checked(PyObject_CallNoArgs(type.get())));
}

// The class's own setup_context, or nothing; with one, forward takes no context.
Ref setup_of(PyObject* cls) {
  static PyObject* const name = interned("setup_context");
  static PyObject* const default_setup = [] {
    Ref module(checked(PyImport_ImportModule("taeda.autograd.function")));
    Ref function(checked(PyObject_GetAttrString(module.get(), "Function")));
    return checked(PyObject_GetAttr(function.get(), name));
  }();
  Ref setup(checked(PyObject_GetAttr(cls, name)));
  return setup.get() == default_setup ? Ref() : std::move(setup);
}

// ---- arguments by name and by default ----

// Whether a call with that many arguments leaves some to the defaults of `forward`.
bool leaves_defaults(PyObject* forward, Py_ssize_t nargs) {
  if (!PyFunction_Check(forward)) return true;
  const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(forward));
  // Behind *args may stand the function that this one wraps.
  return (code->co_flags & CO_VARARGS) || nargs < code->co_argcount;
}

// (args, kwargs) of a call of apply, where as much as possible is positional: only positions have
// gradients, and setup_context gets all of them. Null where the arguments are fine as they are.
Ref bound_arguments(PyObject* cls, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  static PyObject* const name = interned("forward");
  const bool has_setup = static_cast<bool>(setup_of(cls));
  Ref forward(checked(PyObject_GetAttr(cls, name)));
  const bool has_names = kwnames && PyTuple_GET_SIZE(kwnames) > 0;
  if (!has_names && !(has_setup && leaves_defaults(forward.get(), nargs))) return Ref();
  static PyObject* const bind = [] {
    Ref module(checked(PyImport_ImportModule("taeda.autograd.function")));
    return checked(PyObject_GetAttrString(module.get(), "_bind_arguments"));
  }();
  Ref args(checked(PyTuple_New(nargs))), kwargs(checked(PyDict_New()));
  for (Py_ssize_t i = 0; i < nargs; ++i) PyTuple_SET_ITEM(args.get(), i, Py_NewRef(argv[i]));
  for (Py_ssize_t i = 0; has_names && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, i), argv[nargs + i]) < 0)
      throw_python_error();
  return Ref(checked(PyObject_CallFunctionObjArgs(
      bind, forward.get(), has_setup ? Py_True : Py_False, args.get(), kwargs.get(), nullptr)));
}

// `has_setup` says whether the class has a setup_context of its own.
Ref call_forward(PyObject* cls, PyObject* context, PyObject* const* argv, Py_ssize_t nargs,
                 PyObject* kwnames, bool& has_setup) {
  static PyObject* const name = interned("forward");
  const autograd::NoGrad unrecorded;
  Ref forward(checked(PyObject_GetAttr(cls, name)));
  const Ref setup = setup_of(cls);
  has_setup = static_cast<bool>(setup);
  if (setup) {
    Ref output(checked(PyObject_Vectorcall(forward.get(), argv, nargs, kwnames)));
    Ref inputs(checked(PyTuple_New(nargs)));
    for (Py_ssize_t i = 0; i < nargs; ++i) PyTuple_SET_ITEM(inputs.get(), i, Py_NewRef(argv[i]));
    Ref done(checked(
        PyObject_CallFunctionObjArgs(setup.get(), context, inputs.get(), output.get(), nullptr)));
    return output;
  }
  const Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  std::vector<PyObject*> args{context};
  args.insert(args.end(), argv, argv + total);
  return Ref(checked(PyObject_Vectorcall(forward.get(), args.data(), nargs + 1, kwnames)));
}

// The tensors that a call such as mark_dirty(a, b) named; `complain` raises for other objects.
template <class Complain>
std::vector<Tensor> marked(PyObject* tuple, bool allows_none, Complain&& complain) {
  std::vector<Tensor> out;
  if (!tuple || tuple == Py_None) return out;
  Ref items(checked(PySequence_Tuple(tuple)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (is_tensor(item))
      out.push_back(tensor_of(item));
    else if (allows_none && item == Py_None)
      out.emplace_back();
    else
      complain(i, item);
  }
  return out;
}

std::vector<Tensor> dirty_tensors(const FunctionObject& context) {
  return marked(context.dirty_tensors, false, [](Py_ssize_t i, PyObject* item) {
    fail(ErrorKind::Runtime, "mark_dirty can only accept variables, but argument ",
         static_cast<int64_t>(i), " is of type ", Py_TYPE(item)->tp_name);
  });
}
std::vector<Tensor> non_differentiable(const FunctionObject& context) {
  return marked(context.non_differentiable, false, [](Py_ssize_t, PyObject* item) {
    fail(ErrorKind::Runtime, "mark_non_differentiable only accepts variable arguments, but got ",
         Py_TYPE(item)->tp_name);
  });
}
std::vector<Tensor> tensors_to_save(const FunctionObject& context) {
  return marked(context.to_save, true, [](Py_ssize_t i, PyObject* item) {
    fail(ErrorKind::Type, "save_for_backward can only save variables, but argument ",
         static_cast<int64_t>(i), " is of type ", Py_TYPE(item)->tp_name);
  });
}

// Tensors that setup_context saved, for backward and for forward mode.
std::vector<Tensor> saved_by_setup(const FunctionObject& context) {
  std::vector<Tensor> out;
  for (PyObject* saved : {context.to_save, context.saved_for_forward}) {
    if (!saved || !PyTuple_Check(saved)) continue;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); ++i)
      if (PyObject* item = PyTuple_GET_ITEM(saved, i); is_tensor(item))
        out.push_back(tensor_of(item));
  }
  return out;
}

std::vector<Tensor> tensors_among(PyObject* result) {
  const bool is_tuple = PyTuple_Check(result);
  std::vector<Tensor> out(is_tuple ? PyTuple_GET_SIZE(result) : 1);
  for (size_t i = 0; i < out.size(); ++i) {
    PyObject* item = is_tuple ? PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i)) : result;
    if (is_tensor(item)) out[i] = tensor_of(item);
  }
  return out;
}

// A view of an input that forward returned as it is; a class of the user's makes it itself.
Tensor view_of_input(const Tensor& input) {
  static PyObject* const name = interned("view_as");
  Ref object(checked(wrap(input)));
  if (is_exact_tensor(object.get())) return autograd::view_without_grad(input);
  const autograd::NoGrad unrecorded;
  Ref view(checked(PyObject_CallMethodOneArg(object.get(), name, object.get())));
  return expect_tensor(view.get(), "the result of view_as");
}

// The result of apply: that of forward, with the tensors that recording has replaced.
PyObject* assemble(const Ref& result, const std::vector<Tensor>& outputs) {
  const auto item = [](const Tensor& output, PyObject* original) -> PyObject* {
    if (!output.defined()) return Py_NewRef(original);
    PyObject* object = checked(wrap(output));
    track_tensor(object);  // it may lie in a cycle through the context
    return object;
  };
  if (!PyTuple_Check(result.get())) return item(outputs[0], result.get());
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size()))));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    PyTuple_SET_ITEM(tuple.get(), at, item(outputs[i], PyTuple_GET_ITEM(result.get(), at)));
  }
  return tuple.release();
}

}  // namespace

namespace {

// Called in place of a Function while this thread traces a program; owned.
thread_local PyObject* function_watcher = nullptr;

PyObject* apply_bound(PyObject* cls, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  const bool has_levels = dispatch::num_levels() != 0;
  if (__builtin_expect(!has_levels && !function_watcher, 1))
    return function_apply_here(cls, argv, nargs, kwnames);
  Ref call = Ref::share(function_watcher);
  if (has_levels) {
    Ref module(checked(PyImport_ImportModule("taeda.func.custom_functions")));
    call = Ref(checked(PyObject_GetAttrString(module.get(), "custom_function_call")));
  }
  const Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  std::vector<PyObject*> args{cls};
  args.insert(args.end(), argv, argv + total);
  return checked(
      PyObject_Vectorcall(call.get(), args.data(), static_cast<size_t>(nargs) + 1, kwnames));
}

}  // namespace

PyObject* function_apply(PyObject* cls, PyObject* const* argv, Py_ssize_t nargs,
                         PyObject* kwnames) {
  return guarded([&] {
    nargs = PyVectorcall_NARGS(nargs);
    const Ref bound = bound_arguments(cls, argv, nargs, kwnames);
    if (!bound) return apply_bound(cls, argv, nargs, kwnames);
    PyObject *args = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTuple(bound.get(), "O!O!", &PyTuple_Type, &args, &PyDict_Type, &kwargs))
      throw_python_error();
    std::vector<PyObject*> all(PySequence_Fast_ITEMS(args),
                               PySequence_Fast_ITEMS(args) + PyTuple_GET_SIZE(args));
    Ref names(checked(PyDict_Keys(kwargs)));
    Ref name_tuple(checked(PyList_AsTuple(names.get())));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(name_tuple.get()); ++i)
      all.push_back(PyDict_GetItem(kwargs, PyTuple_GET_ITEM(name_tuple.get(), i)));
    return apply_bound(cls, all.data(), PyTuple_GET_SIZE(args), name_tuple.get());
  });
}

PyObject* set_function_watcher(PyObject*, PyObject* watcher) {
  PyObject* before = function_watcher ? function_watcher : Py_NewRef(Py_None);
  function_watcher = watcher == Py_None ? nullptr : Py_NewRef(watcher);
  return before;
}

PyObject* function_apply_here(PyObject* cls, PyObject* const* argv, Py_ssize_t nargs,
                              PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    nargs = PyVectorcall_NARGS(nargs);
    Arguments arguments(argv, nargs);
    Ref context(new_context(cls));
    auto& fields = *reinterpret_cast<FunctionObject*>(context.get());
    fields.needs_input_grad = Py_NewRef(arguments.needs_input_grad.get());
    const ForgetMarks forget{fields};

    // Edges come first: forward may write to its arguments.
    const TensorList inputs(arguments.tensors);
    IntrusivePtr<PythonNode> node;
    if (autograd::should_record(inputs)) {
      node = make_intrusive<PythonNode>(context.get(), arguments.is_tensor);
      node->set_next_edges(autograd::collect_edges(inputs));
    }
    const bool has_tangents = autograd::any_tangent(inputs);
    bool has_setup = false;
    Ref result = [&] {
      const autograd::ForwardMode mode(!has_tangents && autograd::forward_enabled());
      return call_forward(cls, context.get(), argv, nargs, kwnames, has_setup);
    }();

    std::vector<Tensor> outputs = tensors_among(result.get());
    const std::vector<Tensor> dirty = dirty_tensors(fields), plain = non_differentiable(fields);
    for (const Tensor& t : dirty) t.impl()->bump_version();
    std::vector<Tensor> behind;
    if (has_setup) behind = saved_by_setup(fields);
    const autograd::CustomCall call{inputs, dirty, plain, behind, &view_of_input};
    const std::vector<Tensor> returned = outputs;
    if (node)
      node->record(outputs, call, tensors_to_save(fields));
    else
      autograd::record_outputs(outputs, call, nullptr);
    if (has_tangents)
      push_forward(cls, fields, {argv, static_cast<size_t>(nargs)}, {call, returned, outputs});
    return assemble(result, outputs);
  });
}

}  // namespace taeda::python
