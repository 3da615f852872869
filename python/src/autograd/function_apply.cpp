// Function.apply: runs forward without recording and records the call as one node.
#include <algorithm>
#include <string>
#include <vector>

#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/autograd/python_node.h"
#include "taeda/autograd/forward.h"
#include "taeda/dispatch/levels.h"

namespace taeda::python {

namespace {

PyObject* interned(const char* text) { return checked(PyUnicode_InternFromString(text)); }

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

Ref call_forward(PyObject* cls, PyObject* context, PyObject* const* argv, Py_ssize_t nargs,
                 PyObject* kwnames) {
  static PyObject* const name = interned("forward");
  const autograd::NoGrad unrecorded;
  Ref forward(checked(PyObject_GetAttr(cls, name)));
  if (Ref setup = setup_of(cls)) {
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

// What the context was told in a call like mark_dirty(a, b); `complain` says what is no tensor.
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

std::vector<Tensor> tensors_among(PyObject* result) {
  const bool is_tuple = PyTuple_Check(result);
  std::vector<Tensor> out(is_tuple ? PyTuple_GET_SIZE(result) : 1);
  for (size_t i = 0; i < out.size(); ++i) {
    PyObject* item = is_tuple ? PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i)) : result;
    if (is_tensor(item)) out[i] = tensor_of(item);
  }
  return out;
}

// ---- forward mode ----

// The tangents of the arguments, None where there is none; null if no argument has one.
Ref tangents_of(PyObject* const* argv, Py_ssize_t nargs, TensorList tensors) {
  if (!autograd::any_tangent(tensors)) return Ref();
  Ref tuple(checked(PyTuple_New(nargs)));
  for (Py_ssize_t i = 0; i < nargs; ++i) {
    PyObject* tangent = is_tensor(argv[i]) ? checked(wrap(autograd::tangent_of(tensor_of(argv[i]))))
                                           : Py_NewRef(Py_None);
    PyTuple_SET_ITEM(tuple.get(), i, tangent);
  }
  return tuple;
}

// Runs the class's jvp and hands its results to the outputs.
void push_forward(PyObject* cls, PyObject* context, const Ref& tangents,
                  const std::vector<Tensor>& outputs, TensorList dirty) {
  static PyObject* const name = interned("jvp");
  Ref jvp(checked(PyObject_GetAttr(cls, name)));
  Ref args(checked(PyTuple_New(PyTuple_GET_SIZE(tangents.get()) + 1)));
  PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(context));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tangents.get()); ++i)
    PyTuple_SET_ITEM(args.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(tangents.get(), i)));
  const autograd::ForwardMode off(false);
  Ref result(checked(PyObject_Call(jvp.get(), args.get(), nullptr)));
  const std::vector<Tensor> pushed = tensors_among(result.get());
  TAEDA_CHECK(pushed.size() == outputs.size(), "Function's jvp function returned ", pushed.size(),
              ", but expected ", outputs.size(), " outputs");
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !pushed[i].defined()) continue;
    TAEDA_CHECK(pushed[i].sym_sizes() == outputs[i].sym_sizes(),
                "jvp must return tangents of the shape of the outputs: expected ",
                outputs[i].sym_sizes(), ", got ", pushed[i].sym_sizes());
    const bool is_dirty = std::any_of(dirty.begin(), dirty.end(),
                                      [&](const Tensor& t) { return t.is_same(outputs[i]); });
    if (is_dirty)
      autograd::set_tangent_inplace(outputs[i], pushed[i]);
    else
      autograd::set_tangent(outputs[i], pushed[i]);
  }
}

// What apply returns: forward's result with the tensors that recording replaced.
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

PyObject* function_apply(PyObject* cls, PyObject* const* argv, Py_ssize_t nargs,
                         PyObject* kwnames) {
  if (__builtin_expect(dispatch::num_levels() == 0, 1))
    return function_apply_here(cls, argv, nargs, kwnames);
  return guarded([&] {
    Ref module(checked(PyImport_ImportModule("taeda.func.custom_functions")));
    Ref call(checked(PyObject_GetAttrString(module.get(), "custom_function_call")));
    const Py_ssize_t total = PyVectorcall_NARGS(nargs) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    std::vector<PyObject*> args{cls};
    args.insert(args.end(), argv, argv + total);
    return checked(PyObject_Vectorcall(
        call.get(), args.data(), static_cast<size_t>(PyVectorcall_NARGS(nargs)) + 1, kwnames));
  });
}

PyObject* function_apply_here(PyObject* cls, PyObject* const* argv, Py_ssize_t nargs,
                              PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    nargs = PyVectorcall_NARGS(nargs);
    Arguments arguments(argv, nargs);
    Ref context(new_context(cls));
    auto& fields = *reinterpret_cast<FunctionObject*>(context.get());
    fields.needs_input_grad = Py_NewRef(arguments.needs_input_grad.get());

    // Edges come first: forward may write to its arguments.
    const TensorList inputs(arguments.tensors);
    IntrusivePtr<PythonNode> node;
    if (autograd::should_record(inputs)) {
      node = make_intrusive<PythonNode>(context.get(), arguments.is_tensor);
      node->set_next_edges(autograd::collect_edges(inputs));
    }
    const Ref tangents = tangents_of(argv, nargs, inputs);
    Ref result = [&] {
      const autograd::ForwardMode mode(!tangents && autograd::forward_enabled());
      return call_forward(cls, context.get(), argv, nargs, kwnames);
    }();

    std::vector<Tensor> outputs = tensors_among(result.get());
    const std::vector<Tensor> dirty = dirty_tensors(fields), plain = non_differentiable(fields);
    for (const Tensor& t : dirty) t.impl()->bump_version();
    const autograd::CustomCall call{inputs, dirty, plain};
    if (node)
      node->record(outputs, call, tensors_to_save(fields), fields.materialize_grads);
    else
      autograd::record_outputs(outputs, call, nullptr);
    if (tangents) push_forward(cls, context.get(), tangents, outputs, dirty);
    Py_CLEAR(fields.to_save);
    Py_CLEAR(fields.dirty_tensors);
    Py_CLEAR(fields.non_differentiable);
    return assemble(result, outputs);
  });
}

}  // namespace taeda::python
