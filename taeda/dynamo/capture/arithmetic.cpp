// Arithmetic of numbers that change: where its result may be no number of the same kind, guards.
#include <cmath>
#include <limits>

#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

// Whether a power of which an operand is a symbolic float is a float: not complex, not too large
// and no power of zero. The answers are guards.
static bool is_float_power(PyObject* base, PyObject* exponent) {
  static PyObject* const zero = PyFloat_FromDouble(0);
  static PyObject* const most = PyFloat_FromDouble(std::numeric_limits<double>::max());
  static PyObject* const least = PyFloat_FromDouble(std::numeric_limits<double>::lowest());
  const auto holds = [](PyObject* a, int relation, PyObject* b) {
    const Owned answer(need(PyObject_RichCompare(a, b, relation)));
    const int truth = PyObject_IsTrue(answer.get());
    need(truth);
    return truth == 1;
  };
  const double value = PyFloat_CheckExact(exponent) ? PyFloat_AS_DOUBLE(exponent) : 0.5;
  const bool is_whole =
      PyLong_Check(exponent) || python::is_symint(exponent) || value == std::floor(value);
  if (!holds(base, is_whole ? Py_NE : Py_GT, zero)) return false;
  const Owned power(need(PyNumber_Power(base, exponent, Py_None)));
  return python::is_symfloat(power.get()) && holds(power.get(), Py_LE, most) &&
         holds(power.get(), Py_GE, least);
}

// Powers of floats may be complex or too large, and divisors zero: that is guarded.
void Capture::check_arithmetic(State& state, int operation) {
  // The operations of BINARY_OP, the same in 3.11 to 3.13; in-place ones come behind the others.
  constexpr int kFloorDivide = 2, kRemainder = 6, kPower = 8, kTrueDivide = 11, kCount = 13;
  const int plain = operation % kCount;
  PyObject*& right = state.peek(1);
  PyObject*& left = state.peek(2);
  const bool is_of_tensor = recorder_.is_tensor_value(left) || recorder_.is_tensor_value(right);
  const bool is_power = plain == kPower && !is_of_tensor;
  if (is_power && (python::is_symfloat(left) || python::is_symfloat(right)) &&
      !is_float_power(left, right)) {
    for (PyObject** operand : {&left, &right}) {
      if (python::is_symfloat(*operand)) Py_SETREF(*operand, need(PyNumber_Float(*operand)));
      if (python::is_symint(*operand)) Py_SETREF(*operand, need(PyNumber_Index(*operand)));
    }
  }
  const bool divides = plain == kTrueDivide || plain == kFloorDivide || plain == kRemainder;
  if (divides && python::is_symbolic(right) && !recorder_.is_tensor_value(left))
    need(PyObject_IsTrue(right));
}

}  // namespace taeda::dynamo
