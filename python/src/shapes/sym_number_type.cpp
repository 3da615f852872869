// The types SymInt, SymFloat and SymBool.
//
// Arithmetic gives new symbolic numbers, comparisons give SymBool; a number that Python wants plain
// (bool(), int(), an index) is guarded on.
#include <cstddef>
#include <type_traits>

#include <structmember.h>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/wrap.h"
#include "python/src/shapes/sym_types.h"
#include "taeda/dynamo/evaluator/session.h"
#include "taeda/fx/shapes/number_ops.h"

namespace taeda::python {

using fx::absolute;
using fx::apply_guarded;
using fx::as_float;
using fx::as_integer;
using fx::Expr;
using fx::ExprOp;
using fx::negated;
using fx::NumberOp;
using fx::SymExprNode;
using fx::within_words;

namespace {

void number_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (reinterpret_cast<SymObject*>(self)->weakrefs) PyObject_ClearWeakRefs(self);
  using Node = IntrusivePtr<SymNode>;
  reinterpret_cast<SymObject*>(self)->node.~Node();
  type->tp_free(self);
  Py_DECREF(type);
}

// taeda.SymInt(node), where node is the object that `.node` gives, as in PyTorch.
PyObject* number_create(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* node = nullptr;
  if (!PyArg_ParseTuple(args, "O", &node)) return nullptr;
  const IntrusivePtr<SymNode>* own = as_sym_node(node);
  if (!own) {
    PyErr_Format(PyExc_TypeError, "%s() takes the node of a symbolic number, got %s", type->tp_name,
                 Py_TYPE(node)->tp_name);
    return nullptr;
  }
  return new_sym_object(type, *own);
}

const SymExprNode& expr_node_of(PyObject* o) {
  const SymExprNode* node = SymExprNode::from(sym_node_of(o).get());
  TAEDA_CHECK_TYPE(node, "a symbolic number without a shape environment takes no arithmetic: ",
                   sym_node_of(o)->text());
  return *node;
}

// The environment of whichever operand is symbolic.
const IntrusivePtr<fx::ShapeEnv>& env_of(PyObject* a, PyObject* b) {
  return expr_node_of(is_symbolic(a) ? a : b).env_ptr();
}

PyObject* to_plain(PyObject* self);

// Where a number leaves 64 bits, the operands become the numbers that they are in this run.
template <class Symbolically, class... Operands>
PyObject* unless_too_large(Symbolically&& apply, PyObject* (*plainly)(Operands...),
                           std::type_identity_t<Operands>... operands) {
  try {
    return apply();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Overflow) throw;
  }
  const auto number = [](PyObject* o) {
    return Ref(checked(is_symbolic(o) ? to_plain(o) : Py_NewRef(o)));
  };
  return checked(plainly(number(operands).get()...));
}

// The operation on plain numbers.
template <NumberOp op>
PyObject* on_plain(PyObject* a, PyObject* b) {
  switch (op) {
    case NumberOp::Add: return PyNumber_Add(a, b);
    case NumberOp::Sub: return PyNumber_Subtract(a, b);
    case NumberOp::Mul: return PyNumber_Multiply(a, b);
    case NumberOp::TrueDiv: return PyNumber_TrueDivide(a, b);
    case NumberOp::FloorDiv: return PyNumber_FloorDivide(a, b);
    case NumberOp::Mod: return PyNumber_Remainder(a, b);
    case NumberOp::Pow: return PyNumber_Power(a, b, Py_None);
    case NumberOp::LeftShift: return PyNumber_Lshift(a, b);
    case NumberOp::RightShift: return PyNumber_Rshift(a, b);
    case NumberOp::And: return PyNumber_And(a, b);
    case NumberOp::Or: return PyNumber_Or(a, b);
    case NumberOp::Xor: return PyNumber_Xor(a, b);
    default: {
      constexpr int kRelations[] = {Py_EQ, Py_NE, Py_LT, Py_LE, Py_GT, Py_GE};
      return PyObject_RichCompare(a, b, kRelations[int(op) - int(NumberOp::Eq)]);
    }
  }
}

template <NumberOp op>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    const auto apply = [&]() -> PyObject* {
      const auto& env = env_of(a, b);
      const Expr *x = to_expr(*env, a), *y = to_expr(*env, b);
      const Expr* r = x && y ? apply_guarded(*env, op, x, y) : nullptr;
      if (!r) Py_RETURN_NOTIMPLEMENTED;
      return wrap_number(env, r);
    };
    return unless_too_large(apply, on_plain<op>, a, b);
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<NumberOp::Pow>(a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_EQ: return binary<NumberOp::Eq>(a, b);
    case Py_NE: return binary<NumberOp::Ne>(a, b);
    case Py_LT: return binary<NumberOp::Lt>(a, b);
    case Py_LE: return binary<NumberOp::Le>(a, b);
    case Py_GT: return binary<NumberOp::Gt>(a, b);
    default: return binary<NumberOp::Ge>(a, b);
  }
}

template <auto f>
PyObject* unary(PyObject* self) {
  return guarded([&] {
    const SymExprNode& node = expr_node_of(self);
    return wrap_number(node.env_ptr(), f(node.env().pool(), node.expr()));
  });
}
PyObject* positive(PyObject* self) { return Py_NewRef(self); }

template <ExprOp rounding>
PyObject* round_plain(PyObject* number) {
  const char* const name = rounding == ExprOp::FloorToInt   ? "__floor__"
                           : rounding == ExprOp::CeilToInt  ? "__ceil__"
                           : rounding == ExprOp::RoundToInt ? "__round__"
                                                            : "__trunc__";
  return PyObject_CallMethod(number, name, nullptr);
}
template <ExprOp rounding>
PyObject* round_to_int(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto apply = [&] {
      const SymExprNode& node = expr_node_of(self);
      const Expr* e = as_integer(node.env().pool(), rounding, node.expr());
      return wrap_number(node.env_ptr(), within_words(node.env(), e));
    };
    return unless_too_large(apply, round_plain<rounding>, self);
  });
}
PyObject* round_method(PyObject* self, PyObject* args) {
  PyObject* digits = Py_None;
  if (!PyArg_ParseTuple(args, "|O:__round__", &digits)) return nullptr;
  if (digits == Py_None || is_symint(self)) return round_to_int<ExprOp::RoundToInt>(self, nullptr);
  return guarded([&] {
    const SymExprNode& node = expr_node_of(self);
    const Expr* count = to_expr(node.env(), digits);
    TAEDA_CHECK_TYPE(count && count->kind == SymKind::Int, "round() takes a number of digits, got ",
                     Py_TYPE(digits)->tp_name);
    return wrap_number(node.env_ptr(),
                       node.env().pool().make(ExprOp::RoundDecimal, node.expr(), count));
  });
}
PyObject* to_float_method(PyObject* self, PyObject*) { return unary<as_float>(self); }

PyObject* to_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const SymExprNode& node = expr_node_of(self);
    const auto apply = [&] {
      const Expr* e = as_integer(node.env().pool(), ExprOp::TruncToInt, node.expr());
      return wrap(node.env().specialize(e).integer);
    };
    return unless_too_large(apply, PyNumber_Long, self);
  });
}
PyObject* to_plain_float(PyObject* self) {
  return guarded([&] {
    return wrap(expr_node_of(self).env().specialize(expr_node_of(self).expr()).as_double());
  });
}
int to_truth(PyObject* self) {
  return guarded_int([&]() -> int {
    const SymExprNode& node = expr_node_of(self);
    fx::ExprPool& pool = node.env().pool();
    const Expr* e = node.expr();
    if (e->kind == SymKind::Bool) return node.env().evaluate(e);
    const Expr* zero =
        e->kind == SymKind::Int ? pool.integer(0) : pool.constant(fx::ExprValue::of(0.0));
    return node.env().evaluate(pool.make(ExprOp::Ne, e, zero));
  });
}

PyObject* logical_not(PyObject* self) {
  return unary<[](fx::ExprPool& pool, const Expr* e) { return pool.logical_not(e); }>(self);
}

// The number that a symbolic one is in this run, which is guarded on. A program that is captured
// sees no symbols where numbers are shown or are keys.
PyObject* to_plain(PyObject* self) {
  if (is_symint(self)) return PyNumber_Index(self);
  if (is_symfloat(self)) return to_plain_float(self);
  const int truth = PyObject_IsTrue(self);
  return truth < 0 ? nullptr : PyBool_FromLong(truth);
}

Py_hash_t no_hash(PyObject* self) {
  if (dynamo::is_capturing()) {
    const Ref plain(to_plain(self));
    return plain ? PyObject_Hash(plain.get()) : -1;
  }
  PyErr_SetString(PyExc_TypeError, "unhashable type: non-nested SymInt");
  return -1;
}
// Equal to the plain number's, which is guarded on.
Py_hash_t number_hash(PyObject* self) {
  const Ref plain(is_symbool(self) ? nullptr : to_plain_float(self));
  if (is_symbool(self)) return to_truth(self);
  return plain ? PyObject_Hash(plain.get()) : -1;
}

PyObject* repr(PyObject* self) {
  if (dynamo::is_capturing()) {
    const Ref plain(to_plain(self));
    return plain ? PyObject_Repr(plain.get()) : nullptr;
  }
  return guarded([&] { return wrap(sym_node_of(self)->text()); });
}
PyObject* format_method(PyObject* self, PyObject* spec) {
  if (dynamo::is_capturing()) {
    const Ref plain(to_plain(self));
    return plain ? PyObject_Format(plain.get(), spec) : nullptr;
  }
  const Ref plainly(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__format__"));
  return plainly ? PyObject_CallFunctionObjArgs(plainly.get(), self, spec, nullptr) : nullptr;
}
PyObject* get_node(PyObject* self, void*) { return wrap_sym_node(sym_node_of(self)); }

PyObject* is_integer_method(PyObject* self, PyObject*) {
  if (is_symint(self)) Py_RETURN_TRUE;
  return guarded([&] {
    const auto apply = [&] {
      const SymExprNode& node = expr_node_of(self);
      fx::ExprPool& pool = node.env().pool();
      const Expr* whole = within_words(node.env(), pool.make(ExprOp::FloorToInt, {node.expr()}));
      return wrap_number(node.env_ptr(), pool.make(ExprOp::Eq, pool.to_float(whole), node.expr()));
    };
    const auto plainly = [](PyObject* number) {
      return PyObject_CallMethod(number, "is_integer", nullptr);
    };
    return unless_too_large(apply, +plainly, self);
  });
}

PyObject* divmod(PyObject* a, PyObject* b) {
  const Ref quotient(binary<NumberOp::FloorDiv>(a, b)), rest(binary<NumberOp::Mod>(a, b));
  if (!quotient || !rest) return nullptr;
  if (quotient.get() == Py_NotImplemented) Py_RETURN_NOTIMPLEMENTED;
  return PyTuple_Pack(2, quotient.get(), rest.get());
}
// Methods of int and float that need the number itself, which is guarded on.
template <auto plain>
PyObject* as_plain(PyObject* self, PyObject*) {
  const Ref number(is_symint(self) ? to_int(self) : to_plain_float(self));
  return number ? PyObject_CallMethod(number.get(), plain(), nullptr) : nullptr;
}
constexpr const char* integer_ratio_name() { return "as_integer_ratio"; }
constexpr const char* bit_length_name() { return "bit_length"; }
constexpr const char* hex_name() { return "hex"; }

// Numbers do not change, so a copy is the number.
PyObject* copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* get_itself(PyObject* self, void*) { return Py_NewRef(self); }
PyObject* get_imaginary(PyObject* self, void*) {
  return is_symint(self) ? PyLong_FromLong(0) : PyFloat_FromDouble(0);
}
PyObject* get_one(PyObject*, void*) { return PyLong_FromLong(1); }

// ~n
PyObject* inverted(PyObject* self) {
  const Ref negative(unary<negated>(self)), one(PyLong_FromLong(1));
  // What is known by now is a plain number.
  return negative && one ? PyNumber_Subtract(negative.get(), one.get()) : nullptr;
}

PyGetSetDef truth_getters[] = {{"node", get_node, nullptr, nullptr, nullptr}, {}};
PyGetSetDef int_getters[] = {{"node", get_node, nullptr, nullptr, nullptr},
                             {"real", get_itself, nullptr, nullptr, nullptr},
                             {"imag", get_imaginary, nullptr, nullptr, nullptr},
                             {"numerator", get_itself, nullptr, nullptr, nullptr},
                             {"denominator", get_one, nullptr, nullptr, nullptr},
                             {}};
PyGetSetDef float_getters[] = {{"node", get_node, nullptr, nullptr, nullptr},
                               {"real", get_itself, nullptr, nullptr, nullptr},
                               {"imag", get_imaginary, nullptr, nullptr, nullptr},
                               {}};
PyMemberDef number_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(SymObject, weakrefs), READONLY, nullptr}, {}};
#define TAEDA_NUMBER_METHODS                                                                 \
  {"__round__", round_method, METH_VARARGS, nullptr},                                        \
      {"__format__", format_method, METH_O, nullptr},                                        \
      {"__trunc__", round_to_int<ExprOp::TruncToInt>, METH_NOARGS, nullptr},                 \
      {"__floor__", round_to_int<ExprOp::FloorToInt>, METH_NOARGS, nullptr},                 \
      {"__ceil__", round_to_int<ExprOp::CeilToInt>, METH_NOARGS, nullptr},                   \
      {"__sym_float__", to_float_method, METH_NOARGS, nullptr},                              \
      {"__sym_int__", round_to_int<ExprOp::TruncToInt>, METH_NOARGS, nullptr},               \
      {"is_integer", is_integer_method, METH_NOARGS, nullptr},                               \
      {"as_integer_ratio", as_plain<integer_ratio_name>, METH_NOARGS, nullptr},              \
      {"conjugate", copy, METH_NOARGS, nullptr}, {"__copy__", copy, METH_NOARGS, nullptr}, { \
    "__deepcopy__", copy, METH_O, nullptr                                                    \
  }
PyMethodDef int_methods[] = {
    TAEDA_NUMBER_METHODS, {"bit_length", as_plain<bit_length_name>, METH_NOARGS, nullptr}, {}};
PyMethodDef float_methods[] = {
    TAEDA_NUMBER_METHODS, {"hex", as_plain<hex_name>, METH_NOARGS, nullptr}, {}};
#undef TAEDA_NUMBER_METHODS
PyMethodDef bool_methods[] = {
    {"__copy__", copy, METH_NOARGS, nullptr},
    {"__deepcopy__", copy, METH_O, nullptr},
    {},
};

#define TAEDA_SLOT(id, f) {id, reinterpret_cast<void*>(f)}
#define TAEDA_SHARED_SLOTS                                                                      \
  TAEDA_SLOT(Py_tp_new, number_create), TAEDA_SLOT(Py_tp_dealloc, number_dealloc),              \
      TAEDA_SLOT(Py_tp_repr, repr), TAEDA_SLOT(Py_tp_richcompare, compare),                     \
      {Py_tp_members, number_members}, TAEDA_SLOT(Py_nb_bool, to_truth),                        \
      TAEDA_SLOT(Py_nb_add, binary<NumberOp::Add>),                                             \
      TAEDA_SLOT(Py_nb_subtract, binary<NumberOp::Sub>),                                        \
      TAEDA_SLOT(Py_nb_multiply, binary<NumberOp::Mul>),                                        \
      TAEDA_SLOT(Py_nb_true_divide, binary<NumberOp::TrueDiv>),                                 \
      TAEDA_SLOT(Py_nb_floor_divide, binary<NumberOp::FloorDiv>),                               \
      TAEDA_SLOT(Py_nb_remainder, binary<NumberOp::Mod>), TAEDA_SLOT(Py_nb_power, power),       \
      TAEDA_SLOT(Py_nb_divmod, divmod), TAEDA_SLOT(Py_nb_negative, unary<negated>),             \
      TAEDA_SLOT(Py_nb_positive, positive), TAEDA_SLOT(Py_nb_absolute, unary<absolute>),        \
      TAEDA_SLOT(Py_nb_and, binary<NumberOp::And>), TAEDA_SLOT(Py_nb_or, binary<NumberOp::Or>), \
      TAEDA_SLOT(Py_nb_xor, binary<NumberOp::Xor>), TAEDA_SLOT(Py_nb_int, to_int),              \
      TAEDA_SLOT(Py_nb_float, to_plain_float)

PyType_Slot int_slots[] = {
    TAEDA_SHARED_SLOTS,
    {Py_tp_doc,
     const_cast<char*>(
         "An integer that is known as an expression, such as a size while a program is traced.")},
    {Py_tp_methods, int_methods},
    {Py_tp_getset, int_getters},
    TAEDA_SLOT(Py_nb_invert, inverted),
    TAEDA_SLOT(Py_tp_hash, no_hash),
    TAEDA_SLOT(Py_nb_index, to_int),
    TAEDA_SLOT(Py_nb_lshift, binary<NumberOp::LeftShift>),
    TAEDA_SLOT(Py_nb_rshift, binary<NumberOp::RightShift>),
    {0, nullptr}};
PyType_Slot float_slots[] = {
    TAEDA_SHARED_SLOTS,
    {Py_tp_doc, const_cast<char*>("A float that is known as an expression of symbolic numbers.")},
    {Py_tp_methods, float_methods},
    {Py_tp_getset, float_getters},
    TAEDA_SLOT(Py_tp_hash, number_hash),
    {0, nullptr}};
PyType_Slot bool_slots[] = {
    TAEDA_SHARED_SLOTS,
    {Py_tp_doc,
     const_cast<char*>(
         "A truth about symbolic numbers; `if` asks for its value, which becomes a guard.")},
    {Py_tp_methods, bool_methods},
    {Py_tp_getset, truth_getters},
    TAEDA_SLOT(Py_tp_hash, number_hash),
    TAEDA_SLOT(Py_nb_invert, logical_not),
    {0, nullptr}};
#undef TAEDA_SHARED_SLOTS
#undef TAEDA_SLOT
PyType_Spec int_spec = {"taeda.SymInt", sizeof(SymObject), 0, Py_TPFLAGS_DEFAULT, int_slots};
PyType_Spec float_spec = {"taeda.SymFloat", sizeof(SymObject), 0, Py_TPFLAGS_DEFAULT, float_slots};
PyType_Spec bool_spec = {"taeda.SymBool", sizeof(SymObject), 0, Py_TPFLAGS_DEFAULT, bool_slots};

bool add_type(PyObject* module, const char* name, PyType_Spec& spec, PyTypeObject*& type) {
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type && PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type)) == 0;
}

}  // namespace

bool init_sym_number_types(PyObject* module) {
  return add_type(module, "SymInt", int_spec, symint_type) &&
         add_type(module, "SymFloat", float_spec, symfloat_type) &&
         add_type(module, "SymBool", bool_spec, symbool_type);
}

}  // namespace taeda::python
