// The object that `.node` of a symbolic number gives, and the expressions inside it.
#include <new>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/wrap.h"
#include "python/src/shapes/sym_types.h"
#include "taeda/fx/shapes/number_ops.h"

namespace taeda::python {

using fx::Expr;
using fx::ExprOp;
using fx::ShapeEnv;
using fx::SymExprNode;

namespace {

PyTypeObject* node_type = nullptr;
PyTypeObject* expr_type = nullptr;

// ---- expressions ----
struct ExprObject {
  PyObject_HEAD IntrusivePtr<ShapeEnv> env;
  const Expr* expr;
};
const Expr* expr_of(PyObject* o) { return reinterpret_cast<ExprObject*>(o)->expr; }
const IntrusivePtr<ShapeEnv>& expr_env(PyObject* o) {
  return reinterpret_cast<ExprObject*>(o)->env;
}
bool is_expr(PyObject* o) { return Py_IS_TYPE(o, expr_type); }

template <class Object, auto member>
void sym_node_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  std::destroy_at(&(reinterpret_cast<Object*>(self)->*member));
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* expr_repr(PyObject* self) {
  return guarded([&] { return wrap(fx::text_of(expr_of(self))); });
}
Py_hash_t expr_hash(PyObject* self) {
  const Expr* e = expr_of(self);
  if (e->is_constant() && e->kind == SymKind::Int) return static_cast<Py_hash_t>(e->value.integer);
  return _Py_HashPointer(e);
}
// Structural, as sympy's: equal expressions of one environment are one object.
PyObject* expr_compare(PyObject* a, PyObject* b, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] {
    const Expr* other = is_expr(b) && expr_env(a) == expr_env(b) ? expr_of(b)
                        : is_expr(b)                             ? nullptr
                                                                 : to_expr(*expr_env(a), b);
    return wrap((expr_of(a) == other) == (op == Py_EQ));
  });
}
PyObject* free_symbols(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Ref set(checked(PySet_New(nullptr)));
    for (const Expr* s : fx::symbols_of(expr_of(self))) {
      const Ref item(checked(wrap_expr(expr_env(self), s)));
      if (PySet_Add(set.get(), item.get()) < 0) throw_python_error();
    }
    return set.release();
  });
}
PyObject* is_number_getter(PyObject* self, void*) { return wrap(expr_of(self)->is_constant()); }
PyObject* is_symbol_getter(PyObject* self, void*) { return wrap(expr_of(self)->is_symbol()); }
PyObject* name_getter(PyObject* self, void*) {
  if (expr_of(self)->is_symbol()) return wrap(expr_of(self)->name);
  PyErr_SetString(PyExc_AttributeError, "only a symbol has a name");
  return nullptr;
}
PyObject* args_getter(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const fx::ExprArgs& args = expr_of(self)->args;
    Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(args.size()))));
    for (size_t i = 0; i < args.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                       checked(wrap_expr(expr_env(self), args[i])));
    return tuple.release();
  });
}
PyObject* xreplace(PyObject* self, PyObject* map) {
  return guarded([&]() -> PyObject* {
    TAEDA_CHECK_TYPE(PyDict_Check(map), "xreplace() takes a dict of expressions");
    ShapeEnv& env = *expr_env(self);
    fx::Replacements replacements;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(map, &at, &key, &value);) {
      const Expr *from = to_expr(env, key), *to = to_expr(env, value);
      TAEDA_CHECK_TYPE(from && to, "xreplace() takes a dict of expressions");
      replacements[from] = to;
    }
    return wrap_expr(expr_env(self), fx::substitute(env.pool(), expr_of(self), replacements));
  });
}
PyObject* expr_int(PyObject* self) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(expr_of(self)->is_constant(),
                     "Cannot convert symbols to int: ", fx::text_of(expr_of(self)));
    return wrap(expr_of(self)->value.integer);
  });
}

PyGetSetDef expr_getters[] = {{"free_symbols", free_symbols, nullptr, nullptr, nullptr},
                              {"is_number", is_number_getter, nullptr, nullptr, nullptr},
                              {"is_symbol", is_symbol_getter, nullptr, nullptr, nullptr},
                              {"name", name_getter, nullptr, nullptr, nullptr},
                              {"args", args_getter, nullptr, nullptr, nullptr},
                              {}};
// Expressions do not change, so a copy is the expression.
PyObject* expr_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMethodDef expr_methods[] = {{"xreplace", xreplace, METH_O, nullptr},
                              {"__copy__", expr_copy, METH_NOARGS, nullptr},
                              {"__deepcopy__", expr_copy, METH_O, nullptr},
                              {}};
PyType_Slot expr_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(sym_node_dealloc<ExprObject, &ExprObject::env>)},
    {Py_tp_repr, reinterpret_cast<void*>(expr_repr)},
    {Py_tp_hash, reinterpret_cast<void*>(expr_hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(expr_compare)},
    {Py_tp_getset, expr_getters},
    {Py_tp_methods, expr_methods},
    {Py_nb_int, reinterpret_cast<void*>(expr_int)},
    {0, nullptr}};
PyType_Spec expr_spec = {"taeda._C._fx.Expr", sizeof(ExprObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, expr_slots};

// ---- nodes ----
struct NodeObject {
  PyObject_HEAD IntrusivePtr<SymNode> node;
};
const SymExprNode& node_of(PyObject* o) {
  const SymExprNode* node = SymExprNode::from(reinterpret_cast<NodeObject*>(o)->node.get());
  TAEDA_CHECK_TYPE(node, "this symbolic number has no shape environment");
  return *node;
}

template <auto read>
PyObject* get(PyObject* self, void*) {
  return guarded([&] { return read(node_of(self)); });
}
template <auto read>
PyObject* tell(PyObject* self, PyObject*) {
  return guarded([&] { return read(node_of(self)); });
}
template <auto read>
PyObject* tell_at(PyObject* self, PyObject*, PyObject*) {
  return guarded([&] { return read(node_of(self)); });
}

PyObject* wrap_exact(const fx::ExprValue& v) {
  switch (v.kind) {
    case SymKind::Int: return wrap(v.integer);
    case SymKind::Float: return wrap(v.number);
    default: return wrap(v.integer != 0);
  }
}
PyObject* maybe(const Expr* e, SymKind kind) {
  return e->is_constant() && e->kind == kind ? wrap_exact(e->value) : Py_NewRef(Py_None);
}
PyObject* sym_node_hint(const SymExprNode& n) {
  return n.expr()->has_hint ? wrap_exact(n.expr()->value) : Py_NewRef(Py_None);
}
PyObject* required_hint(const SymExprNode& n) {
  return wrap_exact(n.expr()->has_hint ? n.expr()->value : n.env().specialize(n.expr()));
}
PyObject* python_type(const SymExprNode& n) {
  PyTypeObject* type = n.kind() == SymKind::Int     ? &PyLong_Type
                       : n.kind() == SymKind::Float ? &PyFloat_Type
                                                    : &PyBool_Type;
  return Py_NewRef(reinterpret_cast<PyObject*>(type));
}
PyObject* specialized(const SymExprNode& n) { return wrap_exact(n.env().specialize(n.expr())); }
PyObject* specialized_float(const SymExprNode& n) {
  return wrap(n.env().specialize(n.expr()).as_double());
}
PyObject* guarded_oblivious(const SymExprNode& n) { return wrap(n.env().evaluate(n.expr(), true)); }
PyObject* expected(const SymExprNode& n) { return wrap(n.env().expect_true(n.expr())); }

PyGetSetDef node_getters[] = {
    {"expr", get<[](const SymExprNode& n) { return wrap_expr(n.env_ptr(), n.expr()); }>, nullptr,
     nullptr, nullptr},
    {"_expr", get<[](const SymExprNode& n) { return wrap_expr(n.env_ptr(), n.raw_expr()); }>,
     nullptr, nullptr, nullptr},
    {"shape_env", get<[](const SymExprNode& n) { return wrap_env(n.env_ptr()); }>, nullptr, nullptr,
     nullptr},
    {"hint", get<sym_node_hint>, nullptr, nullptr, nullptr},
    {"pytype", get<python_type>, nullptr, nullptr, nullptr},
    {}};

#define TAEDA_TELL(name, expression) \
  {name, tell<[](const SymExprNode& n) { return expression; }>, METH_NOARGS, nullptr}
#define TAEDA_AT(name, f) {name, as_function(tell_at<f>), METH_VARARGS | METH_KEYWORDS, nullptr}
PyMethodDef node_methods[] = {TAEDA_TELL("maybe_as_int", maybe(n.expr(), SymKind::Int)),
                              TAEDA_TELL("maybe_as_float", maybe(n.expr(), SymKind::Float)),
                              TAEDA_TELL("maybe_as_bool", maybe(n.expr(), SymKind::Bool)),
                              TAEDA_TELL("is_constant", wrap(n.expr()->is_constant())),
                              TAEDA_TELL("is_symbolic", wrap(!n.expr()->is_constant())),
                              TAEDA_TELL("is_int", wrap(n.kind() == SymKind::Int)),
                              TAEDA_TELL("is_float", wrap(n.kind() == SymKind::Float)),
                              TAEDA_TELL("is_bool", wrap(n.kind() == SymKind::Bool)),
                              TAEDA_TELL("has_hint", wrap(n.expr()->has_hint)),
                              TAEDA_TELL("require_hint", required_hint(n)),
                              TAEDA_TELL("str", wrap(n.text())),
                              TAEDA_AT("guard_int", specialized),
                              TAEDA_AT("guard_float", specialized_float),
                              TAEDA_AT("guard_bool", specialized),
                              TAEDA_AT("evaluate", specialized),
                              TAEDA_AT("guard_size_oblivious", guarded_oblivious),
                              TAEDA_AT("expect_true", expected),
                              {}};
#undef TAEDA_TELL
#undef TAEDA_AT
PyObject* node_repr(PyObject* self) {
  return guarded([&] { return wrap(reinterpret_cast<NodeObject*>(self)->node->text()); });
}
PyType_Slot node_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(sym_node_dealloc<NodeObject, &NodeObject::node>)},
    {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
    {Py_tp_getset, node_getters},
    {Py_tp_methods, node_methods},
    {0, nullptr}};
PyType_Spec node_spec = {"taeda._C._fx.SymNode", sizeof(NodeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

}  // namespace

PyObject* wrap_expr(const IntrusivePtr<ShapeEnv>& env, const Expr* e) {
  PyObject* o = expr_type->tp_alloc(expr_type, 0);
  if (!o) return nullptr;
  new (&reinterpret_cast<ExprObject*>(o)->env) IntrusivePtr<ShapeEnv>(env);
  reinterpret_cast<ExprObject*>(o)->expr = e;
  return o;
}

PyObject* wrap_sym_node(const IntrusivePtr<SymNode>& node) {
  PyObject* o = node_type->tp_alloc(node_type, 0);
  if (o) new (&reinterpret_cast<NodeObject*>(o)->node) IntrusivePtr<SymNode>(node);
  return o;
}

const IntrusivePtr<SymNode>* as_sym_node(PyObject* o) {
  return Py_IS_TYPE(o, node_type) ? &reinterpret_cast<NodeObject*>(o)->node : nullptr;
}

const Expr* to_expr(ShapeEnv& env, PyObject* o) {
  if (is_symbolic(o)) return SymExprNode::of(sym_node_of(o).get(), env).expr();
  if (PyBool_Check(o)) return env.pool().truth(o == Py_True);
  if (PyLong_Check(o)) {
    const long long v = PyLong_AsLongLong(o);
    if (v == -1 && PyErr_Occurred()) throw_python_error();
    return env.pool().integer(v);
  }
  if (PyFloat_Check(o)) return env.pool().constant(fx::ExprValue::of(PyFloat_AS_DOUBLE(o)));
  if (!is_expr(o)) return nullptr;
  TAEDA_CHECK(expr_env(o).get() == &env,
              "the expression belongs to another shape environment: ", fx::text_of(expr_of(o)));
  return expr_of(o);
}

bool init_sym_node_types(PyObject* module) {
  node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&node_spec));
  expr_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&expr_spec));
  return node_type && expr_type &&
         PyModule_AddObjectRef(module, "SymNode", reinterpret_cast<PyObject*>(node_type)) == 0 &&
         PyModule_AddObjectRef(module, "Expr", reinterpret_cast<PyObject*>(expr_type)) == 0;
}

}  // namespace taeda::python
