// Calls of taeda.autograd.Function: the node in the graph and the context Python sees.
//
// The context `ctx` is also what `grad_fn` gives for such a node. The node owns it; it points back
// without counting, so Python may keep a context, and the values saved in it, after its graph is
// gone.
#pragma once

#include "python/interop/python.h"

#include "taeda/autograd/custom_function.h"

namespace taeda::python {

class PythonNode;

// An instance of _C._FunctionBase; user attributes are in the dict of its Python subclass.
struct FunctionObject {
  PyObject_HEAD PythonNode* node;  // once the call is recorded, while the graph lives
  PyObject* needs_input_grad;      // these are null until set
  PyObject* to_save;
  PyObject* saved_for_forward;
  PyObject* dirty_tensors;
  PyObject* non_differentiable;
  // The values that the node had saved when it was freed, if Python kept the context; owned.
  std::vector<autograd::SavedTensor>* outlived;
  std::shared_ptr<autograd::NodeHooks>* kept_hooks;  // hooks and notes without a node; owned
  bool materialize_grads;
  bool materialize_non_diff_grads;
  bool is_in_jvp;   // saved_tensors is what was saved for forward
  bool is_cleared;  // saved_tensors was asked for, and may be asked for once
};

class PythonNode final : public autograd::CustomNode {
 public:
  PythonNode(PyObject* context, std::vector<bool> is_tensor_argument);
  ~PythonNode() override { drop_context(); }

  const char* name() const override { return context_ ? Py_TYPE(context_)->tp_name : "PythonNode"; }
  void* host_object() const override { return context_; }
  // Calls context.apply(*grads), which returns a gradient for each argument of forward; a class
  // with boxed_grads_call gets context.apply_boxed(list of grads), which may empty the list.
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override;
  // Ties the results of forward to this node; needs the GIL.
  void record(std::vector<Tensor>& outputs, const autograd::CustomCall& call, Span<Tensor> saved);

 private:
  void apply_boxed(std::vector<Tensor> grads, std::vector<Tensor>& grad_inputs);
  void release_resources() override;
  void drop_context();

  PyObject* context_;
};

// A flag of the Function class that a context belongs to.
bool has_class_flag(PyObject* context, const char* name);

// The node of a recorded context; null for other objects and where the graph is gone.
IntrusivePtr<autograd::Node> node_of_function(PyObject* o);

// The classmethod apply of _FunctionBase.
PyObject* function_apply(PyObject* cls, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames);
// The same without asking the active transforms.
PyObject* function_apply_here(PyObject* cls, PyObject* const* argv, Py_ssize_t nargs,
                              PyObject* kwnames);
// From now on `watcher(cls, *args, **kwargs)` is called for this thread's calls of apply outside of
// transforms; None ends it. Gives the one before.
PyObject* set_function_watcher(PyObject*, PyObject* watcher);
bool init_function_type(PyObject* module);

}  // namespace taeda::python
