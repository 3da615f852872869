// The node of a call of taeda.autograd.Function.
#include "python/src/autograd/python_node.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "taeda/autograd/engine.h"

namespace taeda::python {

namespace {

FunctionObject* function_of(PyObject* o) { return reinterpret_cast<FunctionObject*>(o); }

std::vector<Tensor> read_gradients(PyObject* result) {
  const bool is_tuple = PyTuple_Check(result);
  const Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(result) : 1;
  std::vector<Tensor> out(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = is_tuple ? PyTuple_GET_ITEM(result, i) : result;
    if (item == Py_None) continue;
    TAEDA_CHECK(is_tensor(item), "expected Variable or None (got ", Py_TYPE(item)->tp_name, ")");
    out[i] = tensor_of(item);
  }
  return out;
}

}  // namespace

bool has_class_flag(PyObject* context, const char* name) {
  static PyObject* const forward_class = PyUnicode_InternFromString("_forward_cls");
  Ref cls(checked(PyObject_GetAttr(context, forward_class)));
  Ref value(checked(PyObject_GetAttrString(cls.get(), name)));
  return PyObject_IsTrue(value.get()) == 1;
}

PythonNode::PythonNode(PyObject* context, std::vector<bool> is_tensor_argument)
    : CustomNode(std::move(is_tensor_argument)), context_(Py_NewRef(context)) {}

void PythonNode::record(std::vector<Tensor>& outputs, const autograd::CustomCall& call,
                        Span<Tensor> saved) {
  FunctionObject& f = *function_of(context_);
  std::vector<Tensor> materialized = outputs;
  if (!f.materialize_non_diff_grads)
    for (Tensor& output : materialized)
      for (const Tensor& plain : call.non_differentiable)
        if (output.is_same(plain)) output = Tensor();
  autograd::record_outputs(outputs, call, IntrusivePtr<Node>::share(this));
  save(saved, outputs);
  if (f.materialize_grads) remember_outputs(materialized);
  if (f.kept_hooks) share_hooks(*f.kept_hooks);
  delete std::exchange(f.kept_hooks, nullptr);
  f.node = this;
}

void PythonNode::apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) {
  GilHold gil;
  std::vector<Tensor> given = materialized(grads);
  if (has_class_flag(context_, "boxed_grads_call"))
    return apply_boxed(std::move(given), grad_inputs);
  std::vector<Ref> kept;
  std::vector<PyObject*> args{context_};
  for (const Tensor& grad : given) args.push_back(kept.emplace_back(checked(wrap(grad))).get());
  static PyObject* const method = PyUnicode_InternFromString("apply");
  Ref result(checked(PyObject_VectorcallMethod(method, args.data(), args.size(), nullptr)));
  route(read_gradients(result.get()), grad_inputs);
}

void PythonNode::apply_boxed(std::vector<Tensor> grads, std::vector<Tensor>& grad_inputs) {
  Ref list(checked(PyList_New(static_cast<Py_ssize_t>(grads.size()))));
  for (size_t i = 0; i < grads.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(wrap(grads[i])));
  // From here on the list alone keeps the gradients.
  grads.clear();
  autograd::drop_gradients_of(*this);
  static PyObject* const method = PyUnicode_InternFromString("apply_boxed");
  Ref result(checked(PyObject_CallMethodOneArg(context_, method, list.get())));
  route(read_gradients(result.get()), grad_inputs);
}

void PythonNode::release_resources() {
  drop_context();
  CustomNode::release_resources();
}

void PythonNode::drop_context() {
  if (!context_ || !Py_IsInitialized()) return;
  GilHold gil;
  FunctionObject& f = *function_of(context_);
  f.node = nullptr;
  if (Py_REFCNT(context_) > 1) {
    if (!saved().empty()) f.outlived = new std::vector<autograd::SavedTensor>(std::move(saved()));
    if (hooks()) f.kept_hooks = new std::shared_ptr<autograd::NodeHooks>(ensure_hooks());
  }
  Py_DECREF(std::exchange(context_, nullptr));
}

}  // namespace taeda::python
