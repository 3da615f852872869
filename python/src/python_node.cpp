// Records calls of taeda.autograd.Function in the backward graph.
#include "python/src/python_node.h"

#include <memory>
#include <string>
#include <vector>

#include "python/src/args.h"
#include "python/src/tensor_type.h"
#include "python/src/wrap.h"
#include "taeda/autograd/saved.h"
#include "taeda/autograd/variable.h"

namespace taeda::python {

namespace {

using autograd::Node;
using autograd::SavedTensor;

class PythonNode final : public Node {
 public:
  PythonNode(PyObject* context, std::string name)
      : context_(Py_NewRef(context)), name_(std::move(name)) {}
  ~PythonNode() override { drop_context(); }

  const char* name() const override { return name_.c_str(); }
  bool wants_undefined() const override { return true; }

  // Calls context._run_backward(saved_tensors, grads), which returns one gradient an edge.
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override {
    GilHold gil;
    std::vector<Tensor> saved;
    for (const SavedTensor& s : saved_) saved.push_back(s.unpack(this));
    Ref saved_tuple(checked(wrap(saved))), grad_tuple(checked(wrap(grads.vec())));
    Ref method(checked(PyObject_GetAttrString(context_, "_run_backward")));
    Ref result(checked(
        PyObject_CallFunctionObjArgs(method.get(), saved_tuple.get(), grad_tuple.get(), nullptr)));
    TAEDA_INTERNAL_CHECK(PyTuple_Check(result.get()) &&
                         PyTuple_GET_SIZE(result.get()) ==
                             static_cast<Py_ssize_t>(grad_inputs.size()));
    for (size_t i = 0; i < grad_inputs.size(); ++i) {
      PyObject* item = PyTuple_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i));
      if (item != Py_None) grad_inputs[i] = expect_tensor(item, "what backward returns");
    }
  }
  void release_saved() override {
    for (SavedTensor& s : saved_) s.release();
  }
  void save(std::vector<SavedTensor> saved) { saved_ = std::move(saved); }

 private:
  void release_resources() override {
    saved_.clear();
    drop_context();
    Node::release_resources();
  }
  void drop_context() {
    PyObject* context = std::exchange(context_, nullptr);
    if (!context || !Py_IsInitialized()) return;
    GilHold gil;
    Py_DECREF(context);
  }

  PyObject* context_;
  std::string name_;
  std::vector<SavedTensor> saved_;
};

std::vector<Tensor> tensors_of(PyObject* tuple) {
  std::vector<Tensor> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    out.push_back(o == Py_None ? Tensor() : expect_tensor(o, "an element"));
  }
  return out;
}

// _record_function(context, name, inputs, outputs, is_differentiable, dirty, saved): makes a node
// for the call and the history of its outputs. `inputs` and `outputs` hold tensors only;
// `is_differentiable` one bool an output; `dirty` the inputs written in place; `saved` what
// backward gets, None entries allowed.
PyObject* record_function(PyObject*, PyObject* args) {
  PyObject *context = nullptr, *inputs_object = nullptr, *outputs_object = nullptr,
           *differentiable = nullptr, *dirty_object = nullptr, *saved_object = nullptr;
  const char* name = nullptr;
  if (!PyArg_ParseTuple(args, "OsO!O!O!O!O!:_record_function", &context, &name, &PyTuple_Type,
                        &inputs_object, &PyTuple_Type, &outputs_object, &PyTuple_Type,
                        &differentiable, &PyTuple_Type, &dirty_object, &PyTuple_Type,
                        &saved_object))
    return nullptr;
  return guarded([&] {
    const std::vector<Tensor> inputs = tensors_of(inputs_object),
                              outputs = tensors_of(outputs_object),
                              dirty = tensors_of(dirty_object), saved = tensors_of(saved_object);
    const auto is_in = [](const Tensor& t, const std::vector<Tensor>& list) {
      for (const Tensor& other : list)
        if (t.is_same(other)) return true;
      return false;
    };
    auto node = make_intrusive<PythonNode>(context, name);
    node->set_next_edges(autograd::collect_edges(TensorList(inputs)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (PyTuple_GET_ITEM(differentiable, static_cast<Py_ssize_t>(i)) != Py_True) continue;
      if (is_in(outputs[i], dirty)) {
        outputs[i].impl()->bump_version();
        autograd::rebase_history(outputs[i], node);
      } else {
        autograd::set_history(outputs[i], node, static_cast<uint32_t>(i));
      }
    }
    std::vector<SavedTensor> kept;
    for (const Tensor& t : saved) {
      size_t nr = 0;
      while (nr < outputs.size() && !outputs[nr].is_same(t)) ++nr;
      kept.emplace_back(t, t.defined() && nr < outputs.size());
    }
    node->save(std::move(kept));
    return Py_NewRef(Py_None);
  });
}

}  // namespace

PyMethodDef python_node_table[] = {
    {"_record_function", record_function, METH_VARARGS, nullptr},
    {},
};

}  // namespace taeda::python
