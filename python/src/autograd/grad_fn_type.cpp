// The Python classes of backward nodes: one per node name, made when first seen.
#include "python/src/autograd/grad_fn_type.h"

#include <algorithm>
#include <map>
#include <new>
#include <unordered_map>

#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/autograd/hooks.h"
#include "python/src/autograd/python_node.h"
#include "python/src/autograd/saved_access.h"
#include "taeda/autograd/accumulate_grad.h"

namespace taeda::python {

namespace {

using autograd::Node;

struct NodeObject {
  PyObject_HEAD IntrusivePtr<Node> node;
};

PyTypeObject* base_type = nullptr;

// Handles that are alive, so that grad_fn is the same object each time.
std::unordered_map<Node*, PyObject*>& handles() {
  static auto* map = new std::unordered_map<Node*, PyObject*>();
  return *map;
}

IntrusivePtr<Node>& node_of(PyObject* o) { return reinterpret_cast<NodeObject*>(o)->node; }

// A node that only its handle keeps alive: its hooks and metadata may lead back to the handle.
int node_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Node* node = node_of(self).get();
  return node && node->use_count() == 1 ? visit_hooks_of(*node, visit, arg) : 0;
}

void node_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  handles().erase(node_of(self).get());
  autograd::release_node(std::move(node_of(self)));
  node_of(self).~IntrusivePtr<Node>();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", Py_TYPE(self)->tp_name, self);
}
PyObject* node_name(PyObject* self, PyObject*) {
  return PyUnicode_FromString(node_of(self)->name());
}
PyObject* node_sequence_nr(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(node_of(self)->sequence_nr());
}

PyObject* set_sequence_nr(PyObject* self, PyObject* nr) {
  const uint64_t value = PyLong_AsUnsignedLongLong(nr);
  if (PyErr_Occurred()) return nullptr;
  node_of(self)->set_sequence_nr(value);
  Py_RETURN_NONE;
}

PyObject* get_node_next_functions(PyObject* self, void*) {
  return guarded([&] { return node_next_functions(*node_of(self)); });
}
PyObject* get_node_input_metadata(PyObject* self, void*) {
  return guarded([&] { return node_input_metadata(*node_of(self)); });
}
PyObject* get_node_metadata(PyObject* self, void*) {
  return guarded([&] { return node_metadata(*node_of(self)); });
}

PyObject* node_register_hook(PyObject* self, PyObject* callable) {
  return guarded([&] { return hooks_register(node_of(self)->ensure_hooks(), callable); });
}
PyObject* node_register_prehook(PyObject* self, PyObject* callable) {
  return guarded([&] { return hooks_register_pre(node_of(self)->ensure_hooks(), callable); });
}

// grad_fn(*grads): runs the node by hand.
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Node& node = *node_of(self);
    TAEDA_CHECK_TYPE(!kwargs || PyDict_GET_SIZE(kwargs) == 0,
                     "keyword arguments are not supported");
    const auto wanted = static_cast<Py_ssize_t>(node.num_inputs());
    TAEDA_CHECK_TYPE(PyTuple_GET_SIZE(args) == wanted, "expected ", static_cast<int64_t>(wanted),
                     " arguments, got ", static_cast<int64_t>(PyTuple_GET_SIZE(args)), " instead");
    std::vector<Tensor> grads(static_cast<size_t>(wanted));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
      PyObject* item = PyTuple_GET_ITEM(args, i);
      if (item != Py_None) grads[i] = expect_tensor(item, "a gradient");
    }
    std::vector<Tensor> results(node.num_edges());
    node.apply(grads, results);
    return results.size() == 1 ? wrap(results[0]) : wrap(results);
  });
}

PyObject* get_variable(PyObject* self, void*) {
  return wrap(static_cast<autograd::AccumulateGrad&>(*node_of(self)).variable());
}
PyGetSetDef leaf_getters[] = {{"variable", get_variable, nullptr, nullptr, nullptr}, {}};

PyGetSetDef node_getters[] = {
    {"next_functions", get_node_next_functions, nullptr, nullptr, nullptr},
    {"metadata", get_node_metadata, nullptr, nullptr, nullptr},
    {"_input_metadata", get_node_input_metadata, nullptr, nullptr, nullptr},
    {},
};
PyMethodDef node_type_methods[] = {
    {"name", node_name, METH_NOARGS, nullptr},
    {"_sequence_nr", node_sequence_nr, METH_NOARGS, nullptr},
    {"_set_sequence_nr", set_sequence_nr, METH_O, nullptr},
    {"register_hook", node_register_hook, METH_O, nullptr},
    {"register_prehook", node_register_prehook, METH_O, nullptr},
    {},
};
PyType_Slot node_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_getset, node_getters},
    {Py_tp_methods, node_type_methods},
    {0, nullptr},
};
PyType_Spec node_spec = {"taeda.autograd.graph.Node", sizeof(NodeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                             Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         node_slots};

// The name of a node's type: its own without namespaces.
std::string short_name(const Node& node) {
  const std::string full = node.name();
  const size_t at = full.rfind("::");
  return at == std::string::npos ? full : full.substr(at + 2);
}

PyTypeObject* make_type(const std::string& name, PyGetSetDef* own_getters) {
  auto* type_name = new std::string("taeda.autograd.graph." + name);
  PyType_Slot own_slots[] = {{Py_tp_getset, own_getters}, {0, nullptr}};
  PyType_Spec own = {type_name->c_str(), sizeof(NodeObject), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, own_slots};
  auto* made = reinterpret_cast<PyTypeObject*>(
      checked(PyType_FromSpecWithBases(&own, reinterpret_cast<PyObject*>(base_type))));
  made->tp_name = type_name->c_str() + type_name->rfind('.') + 1;  // as messages print it
  return made;
}

PyTypeObject* leaf_node_type = nullptr;

// Nodes of one class have one name, so a name's first node tells what all of them save.
PyTypeObject* type_of(Node& node) {
  if (dynamic_cast<autograd::AccumulateGrad*>(&node)) return leaf_node_type;
  static auto* types = new std::map<std::string, PyTypeObject*>();
  PyTypeObject*& type = (*types)[node.name()];
  if (!type) type = make_type(short_name(node), saved_getters(node));
  return type;
}

}  // namespace

PyObject* wrap_node(const IntrusivePtr<Node>& node) {
  if (!node) return Py_NewRef(Py_None);
  if (void* own = node->host_object()) return Py_NewRef(static_cast<PyObject*>(own));
  const auto found = handles().find(node.get());
  if (found != handles().end()) return Py_NewRef(found->second);
  PyTypeObject* type = type_of(*node);
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  new (&node_of(self)) IntrusivePtr<Node>(node);
  handles()[node.get()] = self;
  return self;
}

IntrusivePtr<Node> node_behind(PyObject* o) {
  if (PyObject_TypeCheck(o, base_type)) return node_of(o);
  return node_of_function(o);
}

bool init_grad_fn_type(PyObject* module) {
  base_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&node_spec));
  return base_type && init_node_methods(module) &&
         PyModule_AddObjectRef(module, "_Node", reinterpret_cast<PyObject*>(base_type)) == 0;
}

bool init_leaf_node_type(PyObject* module) {
  leaf_node_type = make_type("AccumulateGrad", leaf_getters);
  return PyModule_AddObjectRef(module, "AccumulateGrad",
                               reinterpret_cast<PyObject*>(leaf_node_type)) == 0;
}

}  // namespace taeda::python
