// What Python may ask of any backward node: edges, metadata and hooks.
#include <string>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/wrap.h"
#include "python/src/autograd/grad_fn_type.h"
#include "python/src/autograd/hooks.h"

namespace taeda::python {

namespace {

using autograd::Node;

PyTypeObject* metadata_type = nullptr;

PyStructSequence_Field metadata_fields[] = {
    {"dtype", nullptr},
    {"device", nullptr},
    {"shape", nullptr},
    {"is_nested_tensor", nullptr},
    {"is_cpp_nested_tensor", nullptr},
    {nullptr, nullptr},
};
PyStructSequence_Desc metadata_desc = {"taeda._C._autograd._InputMetadata", nullptr,
                                       metadata_fields, 5};

PyObject* wrap_input(const autograd::InputMetadata& input) {
  if (!input.is_defined()) return Py_NewRef(Py_None);
  Ref out(checked(PyStructSequence_New(metadata_type)));
  PyStructSequence_SetItem(out.get(), 0, checked(wrap(input.dtype)));
  PyStructSequence_SetItem(out.get(), 1, checked(wrap(input.device)));
  PyStructSequence_SetItem(out.get(), 2, checked(wrap_size(SymIntList(input.sizes))));
  PyStructSequence_SetItem(out.get(), 3, Py_NewRef(Py_False));
  PyStructSequence_SetItem(out.get(), 4, Py_NewRef(Py_False));
  return out.release();
}

}  // namespace

PyObject* node_next_functions(const Node& node) {
  const auto edges = node.next_edges();
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(edges.size()))));
  for (size_t i = 0; i < edges.size(); ++i) {
    Ref next(checked(wrap_node(edges[i].function)));
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     checked(Py_BuildValue("(OI)", next.get(), edges[i].input_nr)));
  }
  return tuple.release();
}

PyObject* node_input_metadata(const Node& node) {
  Ref list(checked(PyList_New(0)));
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    Ref item(wrap_input(node.input_metadata(i)));
    if (PyList_Append(list.get(), item.get()) < 0) throw_python_error();
  }
  return list.release();
}

PyObject* hooks_metadata(autograd::NodeHooks& hooks) {
  if (!hooks.metadata) {
    Ref dict(checked(PyDict_New()));
    hooks.metadata = keep_object(dict.get());
  }
  return Py_NewRef(static_cast<PyObject*>(hooks.metadata.get()));
}
PyObject* node_metadata(Node& node) { return hooks_metadata(*node.ensure_hooks()); }

PyObject* hooks_register(const std::shared_ptr<autograd::NodeHooks>& hooks, PyObject* callable) {
  return hook_handle(hooks, hooks->add_post(post_hook(callable)));
}
PyObject* hooks_register_pre(const std::shared_ptr<autograd::NodeHooks>& hooks,
                             PyObject* callable) {
  return hook_handle(hooks, hooks->add_pre(pre_hook(callable)));
}

bool init_node_methods(PyObject*) {
  metadata_type = PyStructSequence_NewType(&metadata_desc);
  return metadata_type != nullptr;
}

}  // namespace taeda::python
