// The node of a call of taeda.autograd.Function.
#include "python/src/autograd/python_node.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"

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

PythonNode::PythonNode(PyObject* context, std::vector<bool> is_tensor_argument)
    : CustomNode(std::move(is_tensor_argument)), context_(Py_NewRef(context)) {}

void PythonNode::record(std::vector<Tensor>& outputs, const autograd::CustomCall& call,
                        Span<Tensor> saved, bool materializes) {
  autograd::record_outputs(outputs, call, IntrusivePtr<Node>::share(this));
  save(saved, outputs);
  if (materializes) remember_outputs(outputs);
  function_of(context_)->node = this;
}

void PythonNode::apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) {
  GilHold gil;
  const std::vector<Tensor> given = materialized(grads);
  std::vector<Ref> kept;
  std::vector<PyObject*> args{context_};
  for (const Tensor& grad : given) args.push_back(kept.emplace_back(checked(wrap(grad))).get());
  static PyObject* const method = PyUnicode_InternFromString("apply");
  Ref result(checked(PyObject_VectorcallMethod(method, args.data(), args.size(), nullptr)));
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
  if (Py_REFCNT(context_) > 1 && !saved().empty())
    f.outlived = new std::vector<autograd::SavedTensor>(std::move(saved()));
  Py_DECREF(std::exchange(context_, nullptr));
}

}  // namespace taeda::python
