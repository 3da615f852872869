// Operators of Tensor: +, -, *, /, //, %, **, @, &, |, ^, <<, >>, comparisons, and conversion to
// numbers.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/tensor_values.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/overrides.h"
#include "python/src/tensor/factories.h"
#include "python/src/tensor/tensor_type.h"

#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

namespace {

bool is_large_operand(const Tensor& t) { return is_large(t); }
bool is_large_operand(const Scalar&) { return false; }

// The operator of a tensor and a tensor or number: each has an overload of its own.
template <auto op, class Other>
Tensor run(const Tensor& a, const Other& b) {
  GilRelease gil(is_large(a) || is_large_operand(b));
  return op(a, b);
}

// The methods that overrides of an operator are called with: one for `tensor + other`, one for
// `other + tensor`. For operators that PyTorch writes in Python, the classes of plain tensors and a
// dict are handed over as well.
struct OperatorName {
  const char* direct;
  const char* reflected;
  bool is_direct_in_python = false;
};

PyObject* ask_operator(const char* name, PyObject* self, PyObject* other, bool is_in_python) {
  Overloaded overloaded;
  for (PyObject* o : {self, other})
    if (overrides(o) || (is_in_python && is_tensor(o))) overloaded.add(o);
  const Ref args(PyTuple_Pack(2, self, other)), kwargs(is_in_python ? PyDict_New() : nullptr);
  if (!args) return nullptr;
  // NotImplemented goes to the interpreter, which tries the other operand's operator. So does a
  // TypeError: operands that the method refuses.
  PyObject* answer = ask_overrides(tensor_callee(name), overloaded, args.get(), kwargs.get());
  if (answer || !PyErr_ExceptionMatches(PyExc_TypeError)) return answer;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}
PyObject* ask_operator(const OperatorName& name, PyObject* a, PyObject* b) {
  if (is_tensor(a)) return ask_operator(name.direct, a, b, name.is_direct_in_python);
  const bool is_in_python = name.reflected[0] == '_';
  return ask_operator(name.reflected, b, a, is_in_python);
}

// With a number, a subclass or a mode. `reflected` computes `number op tensor`, the tensor first.
template <auto op, auto reflected, auto name>
[[gnu::noinline]] PyObject* mixed_binary(PyObject* a, PyObject* b) {
  if (is_overridden(a, b)) return ask_operator(name(), a, b);
  return guarded([&]() -> PyObject* {
    if (is_tensor(a)) {
      if (is_tensor(b)) return wrap(run<op>(tensor_of(a), tensor_of(b)));
      if (is_number(b)) return wrap(run<op>(tensor_of(a), to_scalar(b)));
    } else if (is_number(a)) {
      return wrap(run<reflected>(tensor_of(b), to_scalar(a)));
    }
    Py_RETURN_NOTIMPLEMENTED;
  });
}

template <auto op, auto reflected, auto name>
PyObject* binary(PyObject* a, PyObject* b) {
  if (num_function_modes || !is_exact_tensor(a) || !is_exact_tensor(b))
    return mixed_binary<op, reflected, name>(a, b);
  return guarded([&] { return wrap(run<op>(tensor_of(a), tensor_of(b))); });
}

template <auto op, auto name>
PyObject* inplace(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (is_overridden(a, b)) return ask_operator(name(), a, b, false);
    Tensor& self = tensor_of(a);
    if (is_tensor(b)) {
      GilRelease gil(is_large(self));
      op(self, tensor_of(b));
    } else if (is_number(b)) {
      const Scalar number = to_scalar(b);
      GilRelease gil(is_large(self));
      op(self, number);
    } else {
      Py_RETURN_NOTIMPLEMENTED;
    }
    return Py_NewRef(a);
  });
}

template <auto op, auto name>
PyObject* unary(PyObject* a) {
  if (is_overridden(a)) return call_method_override(tensor_callee(name()), a);
  return guarded([&] {
    const Tensor& self = tensor_of(a);
    Tensor result = [&] {
      GilRelease gil(is_large(self));
      return op(self);
    }();
    return wrap(result);
  });
}

// Numbers keep their own overload: an integer exponent needs no tensor, and no log in the
// derivative.
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  if (is_overridden(a, b)) return ask_operator({"pow", "__rpow__", true}, a, b);
  return guarded([&]() -> PyObject* {
    if (is_tensor(a) && is_number(b)) {
      GilRelease gil(false);
      return wrap(taeda::pow(tensor_of(a), to_scalar(b)));
    }
    if (is_number(a) && is_tensor(b)) return wrap(taeda::pow(to_scalar(a), tensor_of(b)));
    if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
    return wrap(taeda::pow(tensor_of(a), tensor_of(b)));
  });
}
PyObject* inplace_power(PyObject* a, PyObject* b, PyObject*) {
  if (is_overridden(a, b)) return ask_operator("pow_", a, b, true);
  return guarded([&]() -> PyObject* {
    if (is_number(b))
      taeda::pow_(tensor_of(a), to_scalar(b));
    else if (is_tensor(b))
      taeda::pow_(tensor_of(a), tensor_of(b));
    else
      Py_RETURN_NOTIMPLEMENTED;
    return Py_NewRef(a);
  });
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  if (is_overridden(a, b)) return ask_operator({"matmul", "__rmatmul__"}, a, b);
  return guarded([&]() -> PyObject* {
    if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
    return wrap(run<[](const Tensor& x, const Tensor& y) { return taeda::matmul(x, y); }>(
        tensor_of(a), tensor_of(b)));
  });
}

PyObject* positive(PyObject* a) {
  if (is_overridden(a)) return call_method_override(tensor_callee("__pos__"), a);
  return guarded([&] {
    TAEDA_CHECK(tensor_of(a).dtype() != DType::Bool,
                "The `+` operator, on a bool tensor is not supported.");
    return Py_NewRef(a);
  });
}

Tensor inverted(const Tensor& t) {
  TAEDA_CHECK_TYPE(is_integral(t.dtype(), true),
                   "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
  return taeda::bitwise_not(t);
}

Scalar item_of(PyObject* self) { return read_item(tensor_of(self)); }

int is_true(PyObject* self) {
  if (is_overridden(self)) {
    Ref answer(call_method_override(tensor_callee("__bool__"), self));
    return answer ? PyObject_IsTrue(answer.get()) : -1;
  }
  return guarded_int([&] {
    const Tensor& t = tensor_of(self);
    TAEDA_CHECK(
        !dispatch::is_batched(t),
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
        "flow. We don't support that yet: examples of a batch may disagree. Use taeda.where.");
    TAEDA_CHECK(t.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
    TAEDA_CHECK(t.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
    return static_cast<int>(item_of(self).to_bool());
  });
}
// int(), float() and complex(): one element, with the error type Python's conversions have.
Scalar number_of(PyObject* self) {
  TAEDA_CHECK_VALUE(tensor_of(self).numel() == 1,
                    "only one element tensors can be converted to Python scalars");
  return item_of(self);
}

PyObject* to_int(PyObject* self) {
  if (is_overridden(self)) return call_method_override(tensor_callee("__int__"), self);
  return guarded([&]() -> PyObject* {
    const Scalar s = number_of(self);
    if (s.is_floating()) return PyLong_FromDouble(s.to_double());
    TAEDA_CHECK(!s.is_complex() || s.to_complex().im == 0,
                "value cannot be converted to type int64_t without overflow");
    if (s.is_complex()) return PyLong_FromLongLong(s.to_int());
    Ref plain(checked(wrap(s)));
    return PyNumber_Long(plain.get());
  });
}
PyObject* to_float(PyObject* self) {
  if (is_overridden(self)) return call_method_override(tensor_callee("__float__"), self);
  return guarded([&] { return PyFloat_FromDouble(number_of(self).to_double()); });
}
PyObject* to_index(PyObject* self) {
  if (is_overridden(self)) return call_method_override(tensor_callee("__index__"), self);
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    TAEDA_CHECK_TYPE(t.numel() == 1 && is_integral(t.dtype(), true),
                     "only integer tensors of a single element can be converted to an index");
    return PyLong_FromLongLong(item_of(self).to_int());
  });
}

#define TAEDA_BINARY_FUNCTION(op, reflected, ...)                        \
  binary<[](const Tensor& a, const auto& b) { return taeda::op(a, b); }, \
         [](const Tensor& t, const Scalar& n) { return reflected; },     \
         [] { return OperatorName{__VA_ARGS__}; }>
// Operands in either order: a number stands second, as in PyTorch.
#define TAEDA_COMMUTATIVE(op, ...) \
  reinterpret_cast<void*>(TAEDA_BINARY_FUNCTION(op, taeda::op(t, n), __VA_ARGS__))
#define TAEDA_ORDERED(op, ...) \
  reinterpret_cast<void*>(TAEDA_BINARY_FUNCTION(op, taeda::op(n, t), __VA_ARGS__))
#define TAEDA_REFLECTED(op, reflected, ...) \
  reinterpret_cast<void*>(TAEDA_BINARY_FUNCTION(op, taeda::reflected(t, n), __VA_ARGS__))
// The interpreter turns `1 < x` into `x > 1` itself.
#define TAEDA_COMPARISON(op, ...) TAEDA_BINARY_FUNCTION(op, taeda::op(t, n), __VA_ARGS__)
#define TAEDA_INPLACE(op, name) \
  reinterpret_cast<void*>(      \
      inplace<[](Tensor& a, const auto& b) { taeda::op(a, b); }, [] { return name; }>)
#define TAEDA_UNARY(op) \
  reinterpret_cast<void*>(unary<[](const Tensor& a) { return taeda::op(a); }, [] { return #op; }>)

}  // namespace

PyType_Slot tensor_number_slots[] = {
    {Py_nb_add, TAEDA_COMMUTATIVE(add, "add", "add")},
    {Py_nb_subtract, TAEDA_REFLECTED(sub, rsub, "sub", "__rsub__")},
    {Py_nb_multiply, TAEDA_COMMUTATIVE(mul, "mul", "mul")},
    {Py_nb_true_divide, TAEDA_ORDERED(div, "div", "__rdiv__")},
    {Py_nb_floor_divide, TAEDA_ORDERED(floor_divide, "__floordiv__", "__rfloordiv__", true)},
    {Py_nb_remainder, TAEDA_ORDERED(remainder, "remainder", "__rmod__")},
    {Py_nb_power, reinterpret_cast<void*>(power)},
    {Py_nb_matrix_multiply, reinterpret_cast<void*>(matrix_multiply)},
    {Py_nb_and, TAEDA_COMMUTATIVE(bitwise_and, "__and__", "bitwise_and")},
    {Py_nb_or, TAEDA_COMMUTATIVE(bitwise_or, "__or__", "bitwise_or")},
    {Py_nb_xor, TAEDA_COMMUTATIVE(bitwise_xor, "__xor__", "bitwise_xor")},
    {Py_nb_lshift, TAEDA_ORDERED(bitwise_left_shift, "__lshift__", "__rlshift__")},
    {Py_nb_rshift, TAEDA_ORDERED(bitwise_right_shift, "__rshift__", "__rrshift__")},
    {Py_nb_inplace_add, TAEDA_INPLACE(add_, "add_")},
    {Py_nb_inplace_subtract, TAEDA_INPLACE(sub_, "sub_")},
    {Py_nb_inplace_multiply, TAEDA_INPLACE(mul_, "mul_")},
    {Py_nb_inplace_true_divide, TAEDA_INPLACE(div_, "div_")},
    {Py_nb_inplace_floor_divide, TAEDA_INPLACE(floor_divide_, "floor_divide_")},
    {Py_nb_inplace_remainder, TAEDA_INPLACE(remainder_, "remainder_")},
    {Py_nb_inplace_power, reinterpret_cast<void*>(inplace_power)},
    {Py_nb_inplace_and, TAEDA_INPLACE(bitwise_and_, "__iand__")},
    {Py_nb_inplace_or, TAEDA_INPLACE(bitwise_or_, "__ior__")},
    {Py_nb_inplace_xor, TAEDA_INPLACE(bitwise_xor_, "__ixor__")},
    {Py_nb_inplace_lshift, TAEDA_INPLACE(bitwise_left_shift_, "__ilshift__")},
    {Py_nb_inplace_rshift, TAEDA_INPLACE(bitwise_right_shift_, "__irshift__")},
    {Py_nb_negative, TAEDA_UNARY(neg)},
    {Py_nb_positive, reinterpret_cast<void*>(positive)},
    {Py_nb_absolute, TAEDA_UNARY(abs)},
    {Py_nb_invert, reinterpret_cast<void*>(unary<&inverted, [] { return "__invert__"; }>)},
    {Py_nb_bool, reinterpret_cast<void*>(is_true)},
    {Py_nb_int, reinterpret_cast<void*>(to_int)},
    {Py_nb_float, reinterpret_cast<void*>(to_float)},
    {Py_nb_index, reinterpret_cast<void*>(to_index)},
    {0, nullptr},
};

PyObject* tensor_richcompare(PyObject* self, PyObject* other, int op) {
  using Compare = PyObject* (*)(PyObject*, PyObject*);
  static constexpr Compare kCompare[] = {
      TAEDA_COMPARISON(lt, "lt", "lt"),     TAEDA_COMPARISON(le, "le", "le"),
      TAEDA_COMPARISON(eq, "__eq__", "eq"), TAEDA_COMPARISON(ne, "ne", "ne"),
      TAEDA_COMPARISON(gt, "gt", "gt"),     TAEDA_COMPARISON(ge, "ge", "ge"),
  };
  // Arrays leave a comparison to the tensor, which would then be one of identity.
  if (op == Py_EQ && !is_tensor(other) && !is_number(other) &&
      PyObject_HasAttrString(other, "__array_interface__"))
    return guarded([&] {
      return wrap(
          taeda::eq(tensor_of(self), tensor_sharing_data(other, DType::Undefined, Device())));
    });
  return kCompare[op](self, other);
}

}  // namespace taeda::python
