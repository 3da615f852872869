// taeda._C._fx.Graph, its walks over nodes, and passes on it.
#include <new>

#include "python/interop/errors.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/args/args.h"
#include "python/src/fx/fx_types.h"
#include "taeda/base/log.h"
#include "taeda/fx/passes/common_subexpressions.h"
#include "taeda/fx/passes/dead_code.h"
#include "taeda/fx/passes/mode_scopes.h"
#include "taeda/fx/passes/topology.h"
#include "taeda/fx/text.h"

namespace taeda::python {

PyTypeObject* fx_graph_type = nullptr;

namespace {

GraphObject* graph_object(PyObject* o) { return reinterpret_cast<GraphObject*>(o); }
fx::Graph& graph(PyObject* o) { return fx_graph_of(o); }

// ---- the object ----
PyObject* graph_create(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  new (&graph_object(self)->value) IntrusivePtr<fx::Graph>(make_intrusive<fx::Graph>());
  graph(self).peer = self;
  return self;
}

bool is_owner(PyObject* self) { return graph_object(self)->value && graph(self).peer == self; }

// Objects that a node holds may lead back to the graph. Only those that nobody shares are shown to
// the collector: it may count each reference once.
int visit_object(const IntrusivePtr<dispatch::Opaque>& held, visitproc visit, void* arg) {
  const auto* object = dynamic_cast<const PythonObject*>(held.get());
  if (object && object->use_count() == 1) Py_VISIT(object->object());
  return 0;
}

int visit_arg(const fx::Arg& value, visitproc visit, void* arg) {
  if (const fx::Compound* c = value.compound()) {
    if (c->use_count() != 1) return 0;
    for (const fx::Arg& item : c->items)
      if (const int stop = visit_arg(item, visit, arg)) return stop;
  } else if (value.is_constant() && value.constant().is<IntrusivePtr<dispatch::Opaque>>()) {
    return visit_object(value.constant().get<IntrusivePtr<dispatch::Opaque>>(), visit, arg);
  }
  return 0;
}

int visit_node(const fx::Node& n, visitproc visit, void* arg) {
  if (const auto* target = n.target().object())
    if (const int stop = visit_object(*target, visit, arg)) return stop;
  for (const fx::Arg& a : n.args())
    if (const int stop = visit_arg(a, visit, arg)) return stop;
  for (const auto& [name, a] : n.kwargs())
    if (const int stop = visit_arg(a, visit, arg)) return stop;
  return n.type() ? visit_object(n.type(), visit, arg) : 0;
}

int graph_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!is_owner(self)) return 0;
  fx::Graph& g = graph(self);
  // A graph that C++ holds too outlives this object, and so do the objects that its nodes hold.
  const bool is_only_here = g.use_count() == 1;
  for (fx::Node* n = g.first(); n != g.end_node(); n = n->next()) {
    if (n->peer) Py_VISIT(static_cast<PyObject*>(n->peer));
    if (!is_only_here) continue;
    if (const int stop = visit_node(*n, visit, arg)) return stop;
  }
  if (g.end_node()->peer) Py_VISIT(static_cast<PyObject*>(g.end_node()->peer));
  return 0;
}

int graph_clear(PyObject* self) {
  if (!is_owner(self)) return 0;
  const IntrusivePtr<fx::Graph> g = std::move(graph_object(self)->value);
  g->peer = nullptr;
  g->release_peers();
  return 0;
}

void graph_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  graph_clear(self);
  graph_object(self)->value.~IntrusivePtr();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// ---- nodes ----
// create_node(op, target, args=None, kwargs=None, name=None, type_expr=None)
PyObject* create_node(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* names) {
  return guarded([&] {
    static constexpr const char* known[] = {"op", "target", "args", "kwargs", "name", "type_expr"};
    PyObject* given[6] = {};
    TAEDA_CHECK_TYPE(nargs <= 6, "create_node() takes at most 6 arguments, got ", nargs);
    for (Py_ssize_t i = 0; i < nargs; ++i) given[i] = argv[i];
    for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
      const std::string name = text_of(PyTuple_GET_ITEM(names, k));
      size_t i = 0;
      while (i < 6 && name != known[i]) ++i;
      TAEDA_CHECK_TYPE(i < 6, "create_node() got an unexpected keyword argument '", name, "'");
      given[i] = argv[nargs + k];
    }
    TAEDA_CHECK_TYPE(given[0] && given[1], "create_node() needs an op and a target");
    const fx::OpCode op = fx::parse_opcode(text_of(given[0]));
    fx::Target target = read_target(op, given[1]);
    const bool has_name = given[4] && given[4] != Py_None;
    const std::string candidate = has_name ? text_of(given[4]) : name_for_target(target);
    fx::Node& n = graph(self).create(op, std::move(target), read_args(given[2]),
                                     read_kwargs(given[3]), candidate);
    if (given[5] && given[5] != Py_None) n.set_type(make_intrusive<PythonObject>(given[5]));
    return wrap_node(n);
  });
}

PyObject* erase_node(PyObject* self, PyObject* o) {
  return guarded([&] {
    fx::Node& n = expect_node(o, "erase_node's argument");
    if (n.is_erased()) {
      warn(str("erase_node(", n.name(), ") on an already erased node"));
      return Py_NewRef(Py_None);
    }
    graph(self).erase(n);
    return Py_NewRef(Py_None);
  });
}

// _set_insertion_point(node or None): the former one, None for the end.
PyObject* set_insertion_point(PyObject* self, PyObject* o) {
  return guarded([&] {
    fx::Graph& g = graph(self);
    fx::Node& former = g.insertion_point();
    const bool was_end = &former == g.end_node() || former.is_erased();
    Ref result(was_end ? Py_NewRef(Py_None) : wrap_node(former));
    if (o == Py_None) {
      g.set_insertion_point(*g.end_node());
    } else {
      fx::Node& n = expect_node(o, "the insertion point");
      TAEDA_CHECK_KIND(ErrorKind::Assertion, n.graph() == &g && !n.is_erased(),
                       "Node to insert before is not in graph.");
      g.set_insertion_point(n);
    }
    return result.release();
  });
}

// _find_nodes(op, target or None)
PyObject* find_nodes(PyObject* self, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "_find_nodes takes an op and a target");
    const fx::OpCode op = fx::parse_opcode(text_of(argv[0]));
    if (argv[1] == Py_None) return wrap_nodes(graph(self).find(op));
    const fx::Target target = read_target(op, argv[1]);
    return wrap_nodes(graph(self).find(op, &target));
  });
}

PyObject* size(PyObject* self, PyObject*) { return PyLong_FromSize_t(graph(self).size()); }

PyObject* output_node(PyObject* self, PyObject*) {
  return guarded([&] {
    fx::Node* n = graph(self).output_node();
    return n ? wrap_node(*n) : Py_NewRef(Py_None);
  });
}

// _copy_node(node, function or None): a copy here, its inputs replaced by the function's results.
PyObject* copy_node(PyObject* self, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "_copy_node takes a node and a function");
    auto map = [&](fx::Node& n) -> fx::Arg {
      if (argv[1] == Py_None) return fx::Arg(n);
      const Ref old(wrap_node(n));
      const Ref mapped(checked(PyObject_CallOneArg(argv[1], old.get())));
      return read_arg(mapped.get());
    };
    fx::Node& from = expect_node(argv[0], "the node to copy");
    return wrap_node(fx::copy_node(from, graph(self), map));
  });
}

// ---- whole graphs ----
PyObject* run_lint(PyObject* self, PyObject*) {
  return guarded([&] {
    fx::lint(graph(self));
    return Py_NewRef(Py_None);
  });
}
PyObject* open_reason(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(fx::open_reason(graph(self))); });
}
PyObject* to_text(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(fx::to_text(graph(self))); });
}
PyObject* structural_hash(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromSize_t(fx::structural_hash(graph(self))); });
}
PyObject* same_structure(PyObject* self, PyObject* other) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(is_fx_graph(other), "expected a Graph, got ", Py_TYPE(other)->tp_name);
    return wrap(fx::structurally_equal(graph(self), graph(other)));
  });
}
PyObject* sort(PyObject* self, PyObject*) {
  return guarded([&] {
    fx::sort_topologically(graph(self));
    return Py_NewRef(Py_None);
  });
}
PyObject* common_subexpressions(PyObject* self, PyObject*) {
  return guarded(
      [&] { return PyLong_FromSize_t(fx::eliminate_common_subexpressions(graph(self))); });
}

// _wrap_mode_scopes(grad enabled, target of marks or None): [(call, number)]
PyObject* mode_scopes(PyObject* self, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2 && PyBool_Check(argv[0]),
                     "_wrap_mode_scopes takes a bool and a function");
    const fx::Target mark =
        argv[1] == Py_None ? fx::Target() : read_target(fx::OpCode::CallFunction, argv[1]);
    const auto is_mark = [&](const fx::Node& n) { return n.target() == mark; };
    Ref list(checked(PyList_New(0)));
    for (const fx::ModeScope& scope :
         fx::wrap_mode_scopes(graph(self), argv[0] == Py_True, is_mark)) {
      const Ref call(wrap_node(*scope.call));
      const Ref entry(
          checked(Py_BuildValue("(On)", call.get(), static_cast<Py_ssize_t>(scope.number))));
      if (PyList_Append(list.get(), entry.get()) < 0) throw_python_error();
    }
    return list.release();
  });
}

// _eliminate_dead_code(function): nodes without users for which the function is false.
PyObject* dead_code(PyObject* self, PyObject* is_impure) {
  return guarded([&] {
    auto keep = [&](fx::Node& n) {
      if (is_impure == Py_None &&
          (n.target().op() || n.target().builtin() || n.op() == fx::OpCode::Placeholder ||
           n.op() == fx::OpCode::Output || n.op() == fx::OpCode::GetAttr))
        return n.is_impure();
      const Ref object(wrap_node(n));
      const Ref answer(is_impure == Py_None
                           ? PyObject_CallMethod(object.get(), "is_impure", nullptr)
                           : PyObject_CallOneArg(is_impure, object.get()));
      if (!answer) throw_python_error();
      const int yes = PyObject_IsTrue(answer.get());
      if (yes < 0) throw_python_error();
      return yes == 1;
    };
    return PyLong_FromSize_t(fx::eliminate_dead_code(graph(self), keep));
  });
}

PyObject* parse(PyObject*, PyObject* text) {
  return guarded([&] { return wrap_graph(fx::parse_graph(text_of(text))); });
}

PyObject* get_root(PyObject* self, void*) {
  return guarded([&] { return wrap_node(*graph(self).end_node()); });
}
PyObject* get_iterator(PyObject* self, PyObject* reversed);

// Gives a candidate a name that no node has.
PyObject* make_name(PyObject* self, PyObject* candidate) {
  return guarded([&] { return wrap(graph(self).names().make(text_of(candidate))); });
}

PyObject* set_graph_classes(PyObject*, PyObject* args) {
  FxClasses c;
  if (!PyArg_ParseTuple(args, "OOOO", &c.node, &c.graph, &c.list, &c.dict)) return nullptr;
  for (PyObject* o : {c.node, c.graph, c.list, c.dict}) Py_INCREF(o);
  fx_classes = c;
  Py_RETURN_NONE;
}

// ---- iteration ----
struct IteratorObject {
  PyObject_HEAD PyObject* graph;
  IntrusivePtr<fx::Node> at;
  bool is_reversed;
};
PyTypeObject* iterator_type = nullptr;
IteratorObject* cast_iterator(PyObject* o) { return reinterpret_cast<IteratorObject*>(o); }

void iterator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  cast_iterator(self)->at.~IntrusivePtr();
  Py_XDECREF(cast_iterator(self)->graph);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* iterator_next(PyObject* self) {
  return guarded([&]() -> PyObject* {
    IteratorObject* it = cast_iterator(self);
    const fx::Node* end = graph(it->graph).end_node();
    do {
      if (!it->at) return nullptr;
      it->at = IntrusivePtr<fx::Node>::share(it->is_reversed ? it->at->prev() : it->at->next());
    } while (it->at->is_erased());
    if (it->at.get() == end) {
      it->at.reset();
      return nullptr;
    }
    return wrap_node(*it->at);
  });
}

PyObject* get_iterator(PyObject* self, PyObject* reversed) {
  PyObject* o = iterator_type->tp_alloc(iterator_type, 0);
  if (!o) return nullptr;
  cast_iterator(o)->graph = Py_NewRef(self);
  new (&cast_iterator(o)->at)
      IntrusivePtr<fx::Node>(IntrusivePtr<fx::Node>::share(graph(self).end_node()));
  cast_iterator(o)->is_reversed = reversed == Py_True;
  return o;
}

// The object of the graph that a bare one has.
PyObject* full_graph(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(is_fx_graph(o), "full_graph takes a graph");
    return wrap_graph(graph_object(o)->value);
  });
}
PyObject* count_calls(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(is_fx_graph(o), "count_calls takes a graph");
    int64_t count = 0;
    for (const fx::Node& node : graph(o))
      count += node.op() == fx::OpCode::CallFunction || node.op() == fx::OpCode::CallMethod ||
               node.op() == fx::OpCode::CallModule;
    return wrap(count);
  });
}

PyMethodDef graph_functions[] = {
    {"set_classes", set_graph_classes, METH_VARARGS, nullptr},
    {"parse_graph", parse, METH_O, nullptr},
    {"full_graph", full_graph, METH_O, nullptr},
    {"count_calls", count_calls, METH_O, nullptr},
    {},
};

PyType_Slot iterator_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(iterator_dealloc)},
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(iterator_next)},
    {},
};
PyType_Spec iterator_spec = {"taeda._C._fx.NodeIterator", sizeof(IteratorObject), 0,
                             Py_TPFLAGS_DEFAULT, iterator_slots};

PyType_Slot graph_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(graph_create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(graph_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(graph_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(graph_clear)},
    {Py_tp_methods, fx_graph_methods},
    {Py_tp_getset, fx_graph_properties},
    {},
};
PyType_Spec graph_spec = {"taeda._C._fx.Graph", sizeof(GraphObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                          graph_slots};

}  // namespace

PyGetSetDef fx_graph_properties[] = {
    {"_root", get_root, nullptr, nullptr, nullptr},
    {},
};

PyMethodDef fx_graph_methods[] = {
    {"create_node", as_function(create_node), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"erase_node", erase_node, METH_O, nullptr},
    {"_set_insertion_point", set_insertion_point, METH_O, nullptr},
    {"_find_nodes", as_function(find_nodes), METH_FASTCALL, nullptr},
    {"_size", size, METH_NOARGS, nullptr},
    {"_iterator", get_iterator, METH_O, nullptr},
    {"_output_node", output_node, METH_NOARGS, nullptr},
    {"_copy_node", as_function(copy_node), METH_FASTCALL, nullptr},
    {"_lint", run_lint, METH_NOARGS, nullptr},
    {"_open_reason", open_reason, METH_NOARGS, nullptr},
    {"_eliminate_dead_code", dead_code, METH_O, nullptr},
    {"_eliminate_common_subexpressions", common_subexpressions, METH_NOARGS, nullptr},
    {"_sort_topologically", sort, METH_NOARGS, nullptr},
    {"_wrap_mode_scopes", as_function(mode_scopes), METH_FASTCALL, nullptr},
    {"_make_name", make_name, METH_O, nullptr},
    {"_structural_hash", structural_hash, METH_NOARGS, nullptr},
    {"_same_structure", same_structure, METH_O, nullptr},
    {"to_text", to_text, METH_NOARGS, nullptr},
    {},
};

PyObject* wrap_graph(IntrusivePtr<fx::Graph> value) {
  if (value->peer) return Py_NewRef(static_cast<PyObject*>(value->peer));
  // The class's own constructor runs, so that attributes added in Python are there.
  if (!fx_classes.graph) {
    const Ref package(checked(PyImport_ImportModule("taeda.fx.graph")));
  }
  PyObject* type = fx_classes.graph ? fx_classes.graph : reinterpret_cast<PyObject*>(fx_graph_type);
  PyObject* o = checked(PyObject_CallNoArgs(type));
  graph(o).peer = nullptr;
  graph_object(o)->value = std::move(value);
  graph(o).peer = o;
  return o;
}

PyObject* wrap_graph_bare(IntrusivePtr<fx::Graph> value) {
  PyObject* o = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(fx_graph_type)));
  graph(o).peer = nullptr;
  graph_object(o)->value = std::move(value);
  return o;
}

bool init_fx_graph_type(PyObject* module) {
  iterator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&iterator_spec));
  fx_graph_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&graph_spec));
  return iterator_type && fx_graph_type &&
         PyModule_AddObjectRef(module, "Graph", reinterpret_cast<PyObject*>(fx_graph_type)) == 0 &&
         PyModule_AddFunctions(module, graph_functions) == 0;
}

}  // namespace taeda::python
