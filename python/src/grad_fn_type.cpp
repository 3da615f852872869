// The Python classes of backward nodes: one a node name, made when first seen.
#include "python/src/grad_fn_type.h"

#include <map>
#include <new>
#include <unordered_map>

#include "python/src/hooks.h"
#include "python/src/tensor_type.h"
#include "python/src/wrap.h"
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

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  handles().erase(node_of(self).get());
  autograd::release_node(std::move(node_of(self)));
  node_of(self).~IntrusivePtr<Node>();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", node_of(self)->name(), self);
}
PyObject* name(PyObject* self, PyObject*) { return PyUnicode_FromString(node_of(self)->name()); }
PyObject* sequence_nr(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(node_of(self)->sequence_nr());
}

PyObject* get_next_functions(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const auto edges = node_of(self)->next_edges();
    Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(edges.size()))));
    for (size_t i = 0; i < edges.size(); ++i) {
      Ref next(checked(wrap_node(edges[i].node)));
      PyTuple_SET_ITEM(
          tuple.get(), static_cast<Py_ssize_t>(i),
          checked(Py_BuildValue("(Oi)", next.get(), static_cast<int>(edges[i].input))));
    }
    return tuple.release();
  });
}

PyObject* get_variable(PyObject* self, void*) {
  auto* leaf = dynamic_cast<autograd::AccumulateGrad*>(node_of(self).get());
  if (!leaf) {
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'",
                 node_of(self)->name());
    return nullptr;
  }
  return wrap(leaf->variable());
}

PyObject* register_hook(PyObject* self, PyObject* callable) {
  return guarded([&] {
    const auto& hooks = node_of(self)->ensure_hooks();
    const uint64_t id = hooks->add_post(post_hook(callable));
    return hook_handle(hooks, id);
  });
}
PyObject* register_prehook(PyObject* self, PyObject* callable) {
  return guarded([&] {
    const auto& hooks = node_of(self)->ensure_hooks();
    const uint64_t id = hooks->add_pre(pre_hook(callable));
    return hook_handle(hooks, id);
  });
}

PyGetSetDef getters[] = {
    {"next_functions", get_next_functions, nullptr, nullptr, nullptr},
    {"variable", get_variable, nullptr, nullptr, nullptr},
    {},
};
PyMethodDef methods[] = {
    {"name", name, METH_NOARGS, nullptr},
    {"_sequence_nr", sequence_nr, METH_NOARGS, nullptr},
    {"register_hook", register_hook, METH_O, nullptr},
    {"register_prehook", register_prehook, METH_O, nullptr},
    {},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_getset, getters},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec spec = {"taeda.autograd.graph.Node", sizeof(NodeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

PyTypeObject* type_of(const Node& node) {
  static auto* types = new std::map<std::string, PyTypeObject*>();
  PyTypeObject*& type = (*types)[node.name()];
  if (!type) {
    auto* type_name = new std::string(std::string("taeda.autograd.graph.") + node.name());
    PyType_Slot no_slots[] = {{0, nullptr}};
    PyType_Spec own = {type_name->c_str(), sizeof(NodeObject), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, no_slots};
    type = reinterpret_cast<PyTypeObject*>(
        checked(PyType_FromSpecWithBases(&own, reinterpret_cast<PyObject*>(base_type))));
  }
  return type;
}

}  // namespace

PyObject* wrap_node(const IntrusivePtr<Node>& node) {
  if (!node) return Py_NewRef(Py_None);
  const auto found = handles().find(node.get());
  if (found != handles().end()) return Py_NewRef(found->second);
  PyTypeObject* type = type_of(*node);
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  new (&node_of(self)) IntrusivePtr<Node>(node);
  handles()[node.get()] = self;
  return self;
}

bool init_grad_fn_type(PyObject* module) {
  base_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return base_type &&
         PyModule_AddObjectRef(module, "_Node", reinterpret_cast<PyObject*>(base_type)) == 0;
}

}  // namespace taeda::python
