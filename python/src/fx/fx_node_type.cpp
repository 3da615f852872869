// taeda._C._fx.Node: one step of a graph.
#include <new>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/boxed_values.h"
#include "python/src/fx/fx_types.h"

namespace taeda::python {

PyTypeObject* fx_node_type = nullptr;
FxClasses fx_classes;

namespace {

NodeObject* node_object(PyObject* o) { return reinterpret_cast<NodeObject*>(o); }

PyObject* wrap_known(const fx::Value& v);

// Metadata that Python has asked for: the dict is the truth from then on.
class PythonMeta final : public fx::MetaStore {
 public:
  explicit PythonMeta(PyObject* dict) : dict_(Py_NewRef(dict)) {}
  ~PythonMeta() override {
    if (!Py_IsInitialized()) return;
    const GilHold gil;
    Py_DECREF(dict_);
  }
  PyObject* dict() const { return dict_; }

  fx::Value get(std::string_view key) const override {
    const GilHold gil;
    const Ref name(checked(wrap(key)));
    PyObject* o = PyDict_GetItemWithError(dict_, name.get());
    if (!o) return {};
    if (PyDict_Check(o))
      return fx::Value(IntrusivePtr<dispatch::Opaque>(make_intrusive<PythonObject>(o)));
    const fx::Arg arg = read_arg(o);
    if (arg.is_constant()) return arg.constant();
    return list_value(arg);
  }
  void set(std::string_view key, fx::Value value) override {
    const GilHold gil;
    const Ref name(checked(wrap(key))), object(wrap_known(value));
    if (PyDict_SetItem(dict_, name.get(), object.get()) < 0) throw_python_error();
  }
  IntrusivePtr<fx::MetaStore> copy() const override {
    const GilHold gil;
    return make_intrusive<PythonMeta>(Ref(checked(PyDict_Copy(dict_))).get());
  }

 private:
  static fx::Value list_value(const fx::Arg& arg) {
    if (arg.is_constant()) return arg.constant();
    if (!arg.compound()) return {};
    auto list = std::make_shared<fx::Value::List>();
    for (const fx::Arg& item : arg.compound()->items) list->push_back(list_value(item));
    return list;
  }
  PyObject* dict_;
};

const PythonMeta* python_meta(const fx::Node& node) {
  return dynamic_cast<const PythonMeta*>(node.meta_store().get());
}

// Several results are a tuple in metadata.
PyObject* wrap_known(const fx::Value& v) {
  if (!v.is<std::shared_ptr<fx::Value::List>>()) return wrap_arg(fx::Arg(v));
  const auto& items = *v.get<std::shared_ptr<fx::Value::List>>();
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(items.size()))));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_known(items[i]));
  return tuple.release();
}

void put(PyObject* dict, const std::string& key, const fx::Value& value) {
  const Ref object(wrap_known(value));
  if (PyDict_SetItemString(dict, key.c_str(), object.get()) < 0) throw_python_error();
}

void hand_over(fx::Node& node) {
  auto* object = static_cast<PyObject*>(std::exchange(node.peer, nullptr));
  node.retain();
  node_object(object)->owns_node = true;
  // The last collection runs while the interpreter ends; objects are then left as they are.
  if (!Py_IsInitialized()) return;
  const GilHold gil;
  Py_DECREF(object);
}

int node_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(node_object(self)->graph);
  fx::Node* node = node_object(self)->node;
  if (!node) return 0;
  // The metadata of a graph that C++ holds too outlives this object. The graph of a node that was
  // erased may be gone.
  const auto holder_count = node->is_erased() ? node->use_count()
                            : node->graph()   ? node->graph()->use_count()
                                              : 0;
  if (holder_count > 1) return 0;
  return visit_meta(*node, visit, arg);
}

int node_clear(PyObject* self) {
  Py_CLEAR(node_object(self)->graph);
  return 0;
}

void node_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  NodeObject* o = node_object(self);
  if (fx::Node* node = std::exchange(o->node, nullptr)) {
    if (node->peer == self) node->peer = nullptr;
    if (o->owns_node) node->release();
  }
  Py_CLEAR(o->graph);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) {
  return guarded([&] { return wrap(fx_node_of(self).name()); });
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (!is_fx_node(b)) Py_RETURN_NOTIMPLEMENTED;
  if (op == Py_EQ || op == Py_NE) return wrap((a == b) == (op == Py_EQ));
  return guarded([&] {
    const fx::Node &x = fx_node_of(a), &y = fx_node_of(b);
    TAEDA_CHECK(x.graph() && x.graph() == y.graph(), "only nodes of one graph have an order");
    const bool before = x.graph()->is_before(x, y), after = x.graph()->is_before(y, x);
    const bool result = op == Py_LT ? before : op == Py_GT ? after : op == Py_LE ? !after : !before;
    return wrap(result);
  });
}

// A node belongs to a graph from its construction on, so none can be made alone.
PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "nodes are made by their graph: graph.create_node(op, target, args, kwargs, "
                  "name) puts one at the insertion point");
  return nullptr;
}

PyType_Slot node_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(PyBaseObject_Type.tp_hash)},
    {Py_tp_methods, fx_node_methods},
    {Py_tp_getset, fx_node_properties},
    {},
};
PyType_Spec node_spec = {"taeda._C._fx.Node", sizeof(NodeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, node_slots};

bool init_node_type(PyObject* module) {
  fx_node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&node_spec));
  fx::set_peer_hooks({&hand_over});
  return fx_node_type &&
         PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(fx_node_type)) == 0;
}

}  // namespace

fx::Node& fx_node_of(PyObject* o) { return *node_object(o)->node; }

fx::Node& expect_node(PyObject* o, const char* what) {
  TAEDA_CHECK_TYPE(is_fx_node(o), what, " must be a Node, got ", Py_TYPE(o)->tp_name);
  return fx_node_of(o);
}

PyObject* wrap_node(fx::Node& node) {
  if (node.peer) return Py_NewRef(static_cast<PyObject*>(node.peer));
  TAEDA_CHECK(node.graph(), "the graph of node ", node.name(), " is gone");
  const Ref graph(wrap_graph(IntrusivePtr<fx::Graph>::share(node.graph())));
  auto* type = fx_classes.node ? reinterpret_cast<PyTypeObject*>(fx_classes.node) : fx_node_type;
  PyObject* o = checked(type->tp_alloc(type, 0));
  node_object(o)->node = &node;
  node_object(o)->owns_node = node.is_erased();
  if (node.is_erased()) node.retain();
  node_object(o)->graph = Py_NewRef(graph.get());
  node.peer = o;
  return node.is_erased() ? o : Py_NewRef(o);
}

PyObject* wrap_nodes(const std::vector<fx::Node*>& nodes) {
  Ref list(checked(PyList_New(static_cast<Py_ssize_t>(nodes.size()))));
  for (size_t i = 0; i < nodes.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap_node(*nodes[i]));
  return list.release();
}

// The tensor's shape, dtype and layout, of the `val` in the dict; tracers leave a truth value.
static void put_tensor_meta(PyObject* dict, bool requires_grad) {
  PyObject* val = PyDict_GetItemString(dict, "val");
  if (!val) return;
  const Ref module(checked(PyImport_ImportModule("taeda.fx.passes.shape_prop")));
  const Ref meta(checked(PyObject_CallMethod(module.get(), "_traced_metadata", "OO", val,
                                             requires_grad ? Py_True : Py_False)));
  if (PyDict_SetItemString(dict, "tensor_meta", meta.get()) < 0) throw_python_error();
}

// A capture keeps the place in a file; who looks at it wants the line of code.
static void put_stack_trace(PyObject* dict, const std::string& trace) {
  const Ref module(checked(PyImport_ImportModule("taeda.fx._user_frames")));
  const Ref text(checked(PyObject_CallMethod(module.get(), "with_code", "s", trace.c_str())));
  if (PyDict_SetItemString(dict, "stack_trace", text.get()) < 0) throw_python_error();
}

PyObject* meta_dict(fx::Node& node) {
  if (const PythonMeta* meta = python_meta(node)) return meta->dict();
  const Ref dict(checked(PyDict_New()));
  const fx::NodeMeta& known = node.meta();
  if (!known.val.is_none()) put(dict.get(), "val", known.val);
  if (!known.stack_trace.empty()) put_stack_trace(dict.get(), known.stack_trace);
  for (const auto& [key, value] : known.others) {
    if (key == "tensor_meta" && value.is<bool>())
      put_tensor_meta(dict.get(), value.get<bool>());
    else
      put(dict.get(), key, value);
  }
  set_meta_dict(node, dict.get());
  return python_meta(node)->dict();
}

void set_meta_dict(fx::Node& node, PyObject* dict) {
  node.move_meta(make_intrusive<PythonMeta>(dict));
}

int visit_meta(fx::Node& node, visitproc visit, void* arg) {
  const PythonMeta* meta = python_meta(node);
  if (meta && meta->use_count() == 1) Py_VISIT(meta->dict());
  return 0;
}

bool init_fx_graph_type(PyObject* module);

bool init_fx_types(PyObject* module) {
  return init_node_type(module) && init_fx_graph_type(module);
}

}  // namespace taeda::python
