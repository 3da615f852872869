// taeda._C._fx.ShapeEnv: the shape environment in Python; symbolic_shapes.py gives it PyTorch's
// interface.
#include <new>

#include <structmember.h>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/args/read_sequence.h"
#include "python/src/shapes/guard_set_type.h"
#include "python/src/shapes/sym_types.h"

namespace taeda::python {

using fx::DimConstraint;
using fx::DimDynamic;
using fx::Expr;
using fx::IntRange;
using fx::ShapeEnv;

namespace {

PyTypeObject* env_type = nullptr;        // the base written here
PyTypeObject* shown_env_type = nullptr;  // the class of environments made by C++

struct EnvObject {
  PyObject_HEAD IntrusivePtr<ShapeEnv> env;
  PyObject* dict;
  PyObject* weakrefs;
};

ShapeEnv& env_of(PyObject* o) { return *reinterpret_cast<EnvObject*>(o)->env; }
const IntrusivePtr<ShapeEnv>& ptr_of(PyObject* o) { return reinterpret_cast<EnvObject*>(o)->env; }

// ---- reading ----
const Expr* expect_expr(PyObject* self, PyObject* o) {
  const Expr* e = to_expr(env_of(self), o);
  TAEDA_CHECK_TYPE(e, "expected an expression or a number, got ", Py_TYPE(o)->tp_name);
  return e;
}
int64_t bound(PyObject* o, int64_t infinite) { return o == Py_None ? infinite : to_int64(o); }
IntRange read_range(PyObject* lo, PyObject* hi) {
  return {bound(lo, IntRange::kMin), bound(hi, IntRange::kMax)};
}
PyObject* wrap_bound(int64_t v) { return fx::is_infinite(v) ? Py_NewRef(Py_None) : wrap(v); }

std::vector<int64_t> read_ints(PyObject* o) { return read_sequence<int64_t>(o, to_int64); }
DimDynamic read_dynamic(PyObject* o) { return static_cast<DimDynamic>(to_int64(o)); }
std::string read_text(PyObject* o) {
  const char* text = PyUnicode_AsUTF8(o);
  if (!text) throw_python_error();
  return text;
}
// None, "relaxed", or a pair of bounds.
DimConstraint read_constraint(PyObject* o) {
  if (o == Py_None) return {};
  if (PyUnicode_Check(o)) return {DimConstraint::Kind::Relaxed, {}};
  TAEDA_CHECK_TYPE(PyTuple_Check(o) && PyTuple_GET_SIZE(o) == 2,
                   "a constraint is a pair of bounds");
  return {DimConstraint::Kind::Strict, read_range(PyTuple_GET_ITEM(o, 0), PyTuple_GET_ITEM(o, 1))};
}

// ---- lifetime ----
PyObject* make(PyTypeObject* type, IntrusivePtr<ShapeEnv> env) {
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) return nullptr;
  env->python_object = o;
  new (&reinterpret_cast<EnvObject*>(o)->env) IntrusivePtr<ShapeEnv>(std::move(env));
  return o;
}
PyObject* env_create(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] { return make(type, make_intrusive<ShapeEnv>()); });
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<EnvObject*>(self)->dict);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<EnvObject*>(self)->dict);
  return 0;
}
void env_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<EnvObject*>(self)->weakrefs) PyObject_ClearWeakRefs(self);
  clear(self);
  env_of(self).python_object = nullptr;
  std::destroy_at(&reinterpret_cast<EnvObject*>(self)->env);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* configure(PyObject* self, PyObject* args) {
  int zero_one = 1, duck = 1, backed_oblivious = 0;
  if (!PyArg_ParseTuple(args, "ppp", &zero_one, &duck, &backed_oblivious)) return nullptr;
  return guarded([&] {
    env_of(self).set_settings({zero_one != 0, duck != 0, backed_oblivious != 0});
    return Py_NewRef(Py_None);
  });
}

// ---- symbols ----
PyObject* create_symbol(PyObject* self, PyObject* args) {
  PyObject *hint, *dynamic, *constraint, *lo, *hi;
  const char* source = nullptr;
  if (!PyArg_ParseTuple(args, "OsOOOO", &hint, &source, &dynamic, &constraint, &lo, &hi))
    return nullptr;
  return guarded([&] {
    const Expr* e = PyFloat_Check(hint) ? env_of(self).create_float_symbol(to_double(hint), source)
                                        : env_of(self).create_symbol(
                                              to_int64(hint), source, read_dynamic(dynamic),
                                              read_constraint(constraint), read_range(lo, hi));
    return wrap_expr(ptr_of(self), e);
  });
}
PyObject* create_unbacked(PyObject* self, PyObject* kind) {
  return guarded([&] {
    const std::string name = read_text(kind);
    return wrap_number(ptr_of(self), env_of(self).create_unbacked(name == "float"  ? SymKind::Float
                                                                  : name == "bool" ? SymKind::Bool
                                                                                   : SymKind::Int));
  });
}
PyObject* wrap_symints(const SymIntVec& values) {
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(values.size()))));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap(values[i])));
  return tuple.release();
}
PyObject* create_geometry(PyObject* self, PyObject* args) {
  PyObject *sizes, *strides, *offset, *dynamic, *constraints;
  const char* source = nullptr;
  if (!PyArg_ParseTuple(args, "OOOsOO", &sizes, &strides, &offset, &source, &dynamic, &constraints))
    return nullptr;
  return guarded([&] {
    const auto n = read_ints(sizes), s = read_ints(strides);
    const auto how = read_sequence<DimDynamic>(dynamic, read_dynamic);
    const auto limits = read_sequence<DimConstraint>(constraints, read_constraint);
    TAEDA_CHECK_VALUE(s.size() == n.size() && (how.empty() || how.size() == n.size()) &&
                          (limits.empty() || limits.size() == n.size()),
                      "sizes, strides and what is said of them must have one entry per dimension");
    const auto g = env_of(self).create_geometry(n, s, to_int64(offset), source, how, limits);
    const Ref wrapped_sizes(wrap_symints(g.sizes)), wrapped_strides(wrap_symints(g.strides)),
        wrapped_offset(checked(wrap(g.offset)));
    return PyTuple_Pack(3, wrapped_sizes.get(), wrapped_strides.get(), wrapped_offset.get());
  });
}
PyObject* number(PyObject* self, PyObject* expr) {
  return guarded([&] { return wrap_number(ptr_of(self), expect_expr(self, expr)); });
}

// Each symbol with its hint (or None) and sources.
PyObject* symbols(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref list(checked(PyList_New(0)));
    for (const auto& [name, symbol] : env_of(self).symbols()) {
      Ref sources(checked(PyList_New(0)));
      for (const std::string& source : env_of(self).sources(symbol)) {
        const Ref text(checked(wrap(source)));
        PyList_Append(sources.get(), text.get());
      }
      const Ref expr(checked(wrap_expr(ptr_of(self), symbol)));
      const Ref hint(!symbol->has_hint
                         ? Py_NewRef(Py_None)
                         : wrap_number(ptr_of(self), env_of(self).pool().constant(symbol->value)));
      const Ref row(checked(PyTuple_Pack(3, expr.get(), hint.get(), sources.get())));
      PyList_Append(list.get(), row.get());
    }
    return list.release();
  });
}
PyObject* replacements(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref dict(checked(PyDict_New()));
    for (const auto& [from, to] : env_of(self).facts().replaced_symbols()) {
      const Ref key(checked(wrap_expr(ptr_of(self), from))),
          value(checked(wrap_expr(ptr_of(self), to)));
      PyDict_SetItem(dict.get(), key.get(), value.get());
    }
    return dict.release();
  });
}

// ---- questions ----
PyObject* simplify(PyObject* self, PyObject* expr) {
  return guarded(
      [&] { return wrap_expr(ptr_of(self), env_of(self).simplify(expect_expr(self, expr))); });
}
PyObject* decide(PyObject* self, PyObject* args) {
  PyObject* condition = nullptr;
  int is_size_oblivious = 0;
  if (!PyArg_ParseTuple(args, "O|p", &condition, &is_size_oblivious)) return nullptr;
  return guarded([&] {
    const auto answer =
        env_of(self).facts().decide(expect_expr(self, condition), is_size_oblivious != 0);
    return answer ? wrap(*answer) : Py_NewRef(Py_None);
  });
}
PyObject* evaluate(PyObject* self, PyObject* args) {
  PyObject* expr = nullptr;
  int is_size_oblivious = 0;
  if (!PyArg_ParseTuple(args, "O|p", &expr, &is_size_oblivious)) return nullptr;
  return guarded([&] {
    const Expr* e = expect_expr(self, expr);
    if (e->kind == SymKind::Bool) return wrap(env_of(self).evaluate(e, is_size_oblivious != 0));
    return wrap_number(ptr_of(self), env_of(self).pool().constant(env_of(self).specialize(e)));
  });
}
PyObject* expect_true(PyObject* self, PyObject* args) {
  PyObject* condition = nullptr;
  const char* message = "";
  if (!PyArg_ParseTuple(args, "O|s", &condition, &message)) return nullptr;
  return guarded(
      [&] { return wrap(env_of(self).expect_true(expect_expr(self, condition), message)); });
}
PyObject* constrain_range(PyObject* self, PyObject* args) {
  PyObject *expr, *lo, *hi;
  if (!PyArg_ParseTuple(args, "OOO", &expr, &lo, &hi)) return nullptr;
  return guarded([&] {
    env_of(self).constrain_range(expect_expr(self, expr), read_range(lo, hi));
    return Py_NewRef(Py_None);
  });
}
PyObject* check_is_size(PyObject* self, PyObject* expr) {
  return guarded([&] {
    env_of(self).check_is_size(expect_expr(self, expr));
    return Py_NewRef(Py_None);
  });
}
PyObject* range(PyObject* self, PyObject* expr) {
  return guarded([&] {
    const IntRange r = env_of(self).facts().range(expect_expr(self, expr));
    const Ref lo(checked(wrap_bound(r.lo))), hi(checked(wrap_bound(r.hi)));
    return PyTuple_Pack(2, lo.get(), hi.get());
  });
}
PyObject* env_hint(PyObject* self, PyObject* expr) {
  return guarded([&] {
    const Expr* e = env_of(self).simplify(expect_expr(self, expr));
    if (!e->has_hint) return Py_NewRef(Py_None);
    return wrap_number(ptr_of(self), env_of(self).pool().constant(e->value));
  });
}
// _set_likely_value(symbol, value): what optimizations take an unbacked symbol for.
PyObject* set_likely_value(PyObject* self, PyObject* args) {
  PyObject *symbol, *value;
  if (!PyArg_ParseTuple(args, "OO", &symbol, &value)) return nullptr;
  return guarded([&] {
    env_of(self).set_likely_value(expect_expr(self, symbol), to_int64(value));
    return Py_NewRef(Py_None);
  });
}
PyObject* likely_values(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref dict(checked(PyDict_New()));
    for (const auto& [symbol, value] : env_of(self).likely_values()) {
      const Ref key(checked(wrap_expr(ptr_of(self), symbol))), number(checked(wrap(value.integer)));
      if (PyDict_SetItem(dict.get(), key.get(), number.get()) < 0) throw_python_error();
    }
    return dict.release();
  });
}
// _likely_value(expr, fallback or None): None where the expression has no value
PyObject* likely_value(PyObject* self, PyObject* args) {
  PyObject *expr, *fallback;
  if (!PyArg_ParseTuple(args, "OO", &expr, &fallback)) return nullptr;
  return guarded([&] {
    const auto guess = env_of(self).likely_value(
        expect_expr(self, expr), fallback == Py_None ? ShapeEnv::kLikelySize : to_int64(fallback));
    return guess ? wrap_number(ptr_of(self), env_of(self).pool().constant(*guess))
                 : Py_NewRef(Py_None);
  });
}

// ---- guards ----
PyObject* row(PyObject* self, const Expr* e, const std::string& a, const std::string& b) {
  const Ref expr(checked(wrap_expr(ptr_of(self), e))), x(checked(wrap(a))), y(checked(wrap(b)));
  return checked(PyTuple_Pack(3, expr.get(), x.get(), y.get()));
}
PyObject* guards(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref list(checked(PyList_New(0)));
    for (const fx::Guard& g : env_of(self).guards()) {
      const Ref item(row(self, g.condition, g.where, ""));
      PyList_Append(list.get(), item.get());
    }
    return list.release();
  });
}
PyObject* runtime_asserts(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref list(checked(PyList_New(0)));
    for (const fx::RuntimeAssert& r : env_of(self).runtime_asserts()) {
      const Ref item(row(self, r.condition, r.where, r.message));
      PyList_Append(list.get(), item.get());
    }
    return list.release();
  });
}
// A source and a number or a tensor, as they were made; facts learned since then are in the guards.
void read_input(PyObject* self, PyObject* o, std::vector<fx::GuardInput>& inputs) {
  TAEDA_CHECK_TYPE(PyTuple_Check(o) && PyTuple_GET_SIZE(o) == 2,
                   "an input is a source and a number or tensor");
  const std::string source = read_text(PyTuple_GET_ITEM(o, 0));
  PyObject* value = PyTuple_GET_ITEM(o, 1);
  if (is_tensor(value)) {
    for (fx::GuardInput& input : fx::inputs_of(env_of(self), source, tensor_of(value)))
      inputs.push_back(std::move(input));
  } else if (is_symbolic(value)) {
    const auto& node = fx::SymExprNode::of(sym_node_of(value).get(), env_of(self));
    inputs.push_back({source, node.raw_expr()});
  } else {
    inputs.push_back({source, expect_expr(self, value)});
  }
}
PyObject* guard_set(PyObject* self, PyObject* inputs) {
  return guarded([&]() -> PyObject* {
    std::vector<fx::GuardInput> read;
    const Ref list(checked(PySequence_Fast(inputs, "expected a sequence of inputs")));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
      read_input(self, PySequence_Fast_GET_ITEM(list.get(), i), read);
    return wrap_guard_set(env_of(self).guard_set(std::move(read)), ptr_of(self));
  });
}
PyObject* format_guards(PyObject* self, PyObject* args) {
  int is_verbose = 0;
  if (!PyArg_ParseTuple(args, "|p", &is_verbose)) return nullptr;
  return guarded([&] { return wrap(env_of(self).format_guards(is_verbose != 0)); });
}
PyObject* freeze(PyObject* self, PyObject*) {
  env_of(self).freeze();
  Py_RETURN_NONE;
}
PyObject* suppress(PyObject* self, PyObject* on) {
  env_of(self).suppress_guards(on == Py_True);
  Py_RETURN_NONE;
}
PyObject* frozen(PyObject* self, void*) { return wrap(env_of(self).is_frozen()); }
PyObject* specialize_zero_one(PyObject* self, void*) {
  return wrap(env_of(self).settings().specialize_zero_one);
}
PyObject* duck_shape(PyObject* self, void*) { return wrap(env_of(self).settings().duck_shape); }
PyObject* is_backed_oblivious(PyObject* self, void*) {
  return wrap(env_of(self).settings().is_backed_oblivious);
}

PyMethodDef env_methods[] = {{"_configure", configure, METH_VARARGS, nullptr},
                             {"_create_symbol", create_symbol, METH_VARARGS, nullptr},
                             {"_create_unbacked", create_unbacked, METH_O, nullptr},
                             {"_create_geometry", create_geometry, METH_VARARGS, nullptr},
                             {"_number", number, METH_O, nullptr},
                             {"_symbols", symbols, METH_NOARGS, nullptr},
                             {"_replacements", replacements, METH_NOARGS, nullptr},
                             {"simplify", simplify, METH_O, nullptr},
                             {"_decide", decide, METH_VARARGS, nullptr},
                             {"_evaluate", evaluate, METH_VARARGS, nullptr},
                             {"_expect_true", expect_true, METH_VARARGS, nullptr},
                             {"_constrain_range", constrain_range, METH_VARARGS, nullptr},
                             {"_check_is_size", check_is_size, METH_O, nullptr},
                             {"_range", range, METH_O, nullptr},
                             {"_hint", env_hint, METH_O, nullptr},
                             {"_set_likely_value", set_likely_value, METH_VARARGS, nullptr},
                             {"_likely_values", likely_values, METH_NOARGS, nullptr},
                             {"_likely_value", likely_value, METH_VARARGS, nullptr},
                             {"_guards", guards, METH_NOARGS, nullptr},
                             {"_runtime_asserts", runtime_asserts, METH_NOARGS, nullptr},
                             {"_guard_set", guard_set, METH_O, nullptr},
                             {"format_guards", format_guards, METH_VARARGS, nullptr},
                             {"freeze", freeze, METH_NOARGS, nullptr},
                             {"_suppress", suppress, METH_O, nullptr},
                             {}};
PyGetSetDef env_getters[] = {
    {"frozen", frozen, nullptr, nullptr, nullptr},
    {"specialize_zero_one", specialize_zero_one, nullptr, nullptr, nullptr},
    {"duck_shape", duck_shape, nullptr, nullptr, nullptr},
    {"_is_backed_oblivious", is_backed_oblivious, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};
PyMemberDef env_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(EnvObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(EnvObject, weakrefs), READONLY, nullptr},
    {}};
PyType_Slot env_slots[] = {{Py_tp_new, reinterpret_cast<void*>(env_create)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(env_dealloc)},
                           {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                           {Py_tp_clear, reinterpret_cast<void*>(clear)},
                           {Py_tp_methods, env_methods},
                           {Py_tp_getset, env_getters},
                           {Py_tp_members, env_members},
                           {0, nullptr}};
PyType_Spec env_spec = {"taeda._C._fx.ShapeEnv", sizeof(EnvObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, env_slots};

PyObject* set_env_class(PyObject*, PyObject* type) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(
        PyType_Check(type) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), env_type),
        "expected a subclass of _C._fx.ShapeEnv");
    Py_INCREF(type);
    shown_env_type = reinterpret_cast<PyTypeObject*>(type);
    return Py_NewRef(Py_None);
  });
}
PyMethodDef env_functions[] = {{"_set_shape_env_class", set_env_class, METH_O, nullptr}, {}};

}  // namespace

const IntrusivePtr<ShapeEnv>& to_env(PyObject* o) {
  TAEDA_CHECK_TYPE(PyObject_TypeCheck(o, env_type), "expected a ShapeEnv, got ",
                   Py_TYPE(o)->tp_name);
  return ptr_of(o);
}

PyObject* wrap_env(const IntrusivePtr<ShapeEnv>& env) {
  if (env->python_object) return Py_NewRef(static_cast<PyObject*>(env->python_object));
  return make(shown_env_type, env);
}

bool init_shape_env_type(PyObject* module) {
  env_type = shown_env_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&env_spec));
  return env_type && init_guard_set_type() &&
         PyModule_AddObjectRef(module, "ShapeEnv", reinterpret_cast<PyObject*>(env_type)) == 0 &&
         PyModule_AddFunctions(module, env_functions) == 0;
}

}  // namespace taeda::python
