// Arithmetic of numbers that change, by instructions and functions: where its result may be no
// number of the same kind, guards.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_map>

#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

// Whether a power that gives no integer is a float: not complex, not too large and no power of
// zero. The answers are guards.
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
  // Powers of integers of 64 bits that are small enough are floats.
  constexpr double kSmall = 16;
  const bool is_of_int = PyLong_Check(base) || python::is_symint(base);
  if (is_of_int && PyFloat_CheckExact(exponent) && std::abs(value) <= kSmall) return true;
  return python::is_symfloat(power.get()) && holds(power.get(), Py_LE, most) &&
         holds(power.get(), Py_GE, least);
}

// Whether a power is none of two integers that gives one.
static bool gives_float(PyObject* base, PyObject* exponent) {
  for (PyObject* operand : {base, exponent})
    if (python::is_symfloat(operand) || PyFloat_CheckExact(operand)) return true;
  static PyObject* const zero = PyLong_FromLong(0);
  const bool are_ints = (PyLong_CheckExact(base) || python::is_symint(base)) &&
                        (PyLong_CheckExact(exponent) || python::is_symint(exponent));
  if (!are_ints) return false;
  const int is_negative = PyObject_RichCompareBool(exponent, zero, Py_LT);
  need(is_negative);
  return is_negative == 1;
}

// The number that a symbol stands for, which is guarded; others are themselves. A new reference.
PyObject* Capture::number_of(PyObject* number) {
  if (python::is_symfloat(number)) return need(PyNumber_Float(number));
  if (python::is_symbool(number)) {
    const int truth = PyObject_IsTrue(number);
    need(truth);
    return PyBool_FromLong(truth);
  }
  return python::is_symint(number) ? need(PyNumber_Index(number)) : Py_NewRef(number);
}

// A divisor that is a symbol: whether it is zero is a guard.
void Capture::check_divisor(PyObject* dividend, PyObject* divisor) {
  if (python::is_symbolic(divisor) && !recorder_.is_tensor_value(dividend))
    need(PyObject_IsTrue(divisor));
}

// Integers that only data tells have no guards.
bool Capture::is_known_power(PyObject* base, PyObject* exponent) {
  bool is_float = false, is_int = false;
  for (PyObject* operand : {base, exponent}) {
    is_float |= python::is_symfloat(operand);
    is_int |= python::is_symint(operand) && !recorder_.is_unbacked(operand);
  }
  if (!is_float && !is_int) return true;
  return !gives_float(base, exponent) || is_float_power(base, exponent);
}

// Powers of floats may be complex or too large, and divisors zero: that is guarded.
void Capture::check_arithmetic(State& state, int operation) {
  // The operations of BINARY_OP, the same in 3.11 to 3.13; in-place ones come behind the others.
  constexpr int kFloorDivide = 2, kRemainder = 6, kPower = 8, kTrueDivide = 11, kCount = 13;
  const int plain = operation % kCount;
  PyObject*& right = state.peek(1);
  PyObject*& left = state.peek(2);
  if (plain == kRemainder && PyUnicode_Check(left)) {
    open_deep(right);
    check_text_of(right);
  }
  if (PyUnicode_Check(left) || PyBytes_Check(left))
    need_settled(right);
  else
    settle_met(left, right);
  const bool is_of_tensor = recorder_.is_tensor_value(left) || recorder_.is_tensor_value(right);
  if (plain == kPower && !is_of_tensor && !is_known_power(left, right))
    for (PyObject** operand : {&left, &right}) Py_SETREF(*operand, number_of(*operand));
  const bool divides = plain == kTrueDivide || plain == kFloorDivide || plain == kRemainder;
  if (divides) check_divisor(left, right);
}

namespace {

// Functions that divide their first argument by their second.
bool is_division(PyObject* callable) {
  static PyObject* const known[] = {imported("builtins", "divmod"), imported("operator", "truediv"),
                                    imported("operator", "floordiv"), imported("operator", "mod")};
  return std::find(std::begin(known), std::end(known), callable) != std::end(known);
}

bool is_power(PyObject* callable) {
  static PyObject* const known[] = {imported("builtins", "pow"), imported("operator", "pow")};
  return callable == known[0] || callable == known[1];
}

}  // namespace

// Whether a symbol is a finite number, which is guarded.
bool Capture::is_within_finite(PyObject* number) {
  for (const auto& [limit, relation] : {std::pair(DBL_MAX, Py_LE), std::pair(-DBL_MAX, Py_GE)}) {
    Owned bound(need(PyFloat_FromDouble(limit)));
    const int is_within = PyObject_RichCompareBool(number, bound.get(), relation);
    need(is_within);
    if (!is_within) return false;
  }
  return true;
}

// math.isfinite and the like of a symbol: C would ask for its value. Null for other calls.
PyObject* Capture::call_finite(const Call& call) {
  static PyObject* const is_finite = imported("math", "isfinite");
  static PyObject* const others[] = {imported("math", "isnan"), imported("math", "isinf")};
  const bool is_known =
      call.callable == is_finite || call.callable == others[0] || call.callable == others[1];
  if (!is_known || call.values.size() != 1) return nullptr;
  PyObject* number = call.values[0];
  const bool is_float = python::is_symfloat(number) && !recorder_.is_unbacked(number);
  if (!python::is_symint(number) && !(is_float && is_within_finite(number))) return nullptr;
  return PyBool_FromLong(call.callable == is_finite);
}

namespace {

struct NamedFunction {
  PyObject* name;
  size_t num_args;
};

// The functions of `math` that expressions have, by object.
const std::unordered_map<PyObject*, NamedFunction>& math_functions() {
  static const auto* const known = [] {
    auto* all = new std::unordered_map<PyObject*, NamedFunction>;
    const auto add = [&](const char* name, size_t num_args) {
      all->emplace(need(imported("math", name)),
                   NamedFunction{need(PyUnicode_InternFromString(name)), num_args});
    };
    for (const symbolic::MathFunction& f : symbolic::math_functions()) add(f.name, f.num_args);
    add("sqrt", 1);
    add("pow", 2);
    return all;
  }();
  return *known;
}

// What math.degrees and math.radians multiply by; 0 for other functions.
double angle_factor(PyObject* callable) {
  static PyObject* const degrees = imported("math", "degrees");
  static PyObject* const radians = imported("math", "radians");
  if (callable == degrees) return 180.0 / std::numbers::pi;
  return callable == radians ? std::numbers::pi / 180.0 : 0;
}

bool is_number(PyObject* object) {
  if (PyLong_CheckExact(object)) return _PyLong_NumBits(object) < 64;
  return PyFloat_CheckExact(object) || python::is_symint(object) || python::is_symfloat(object);
}

}  // namespace

// What C gives for the numbers that symbols stand for, or raises.
PyObject* Capture::call_on_numbers(const Call& call) {
  std::vector<Owned> numbers;
  std::vector<PyObject*> given;
  for (PyObject* value : call.values) given.push_back(numbers.emplace_back(number_of(value)).get());
  PyObject* result = PyObject_Vectorcall(call.callable, given.data(), call.positional, call.names);
  if (result == nullptr) throw Raised{.is_exact = true};
  return result;
}

// math.log(number, base)
PyObject* Capture::call_logarithm(const Call& call) {
  std::vector<Owned> parts;
  for (PyObject* number : call.values) {
    const Call part{call.callable, {number}, 1, nullptr};
    parts.emplace_back(python::is_symbolic(number) ? call_math(part) : call_on_numbers(part));
  }
  const int has_quotient = PyObject_IsTrue(parts[1].get());
  need(has_quotient);
  if (!has_quotient) return call_on_numbers(call);
  return need(PyNumber_TrueDivide(parts[0].get(), parts[1].get()));
}

// Functions that are spelled in others; null for others. Borrowed.
static PyObject* spelling_of(PyObject* callable) {
  static PyObject* const functions = [] {
    const SessionScope natively(nullptr);
    return imported("taeda.compiler._number_functions", "FUNCTIONS");
  }();
  return PyDict_GetItemWithError(functions, callable);
}

// Such a function of finite numbers; null for other calls.
PyObject* Capture::call_number_function(const Call& call) {
  PyObject* own = spelling_of(call.callable);
  if (own == nullptr) return nullptr;
  for (PyObject* value : call.values)
    if (python::is_symfloat(value) && !is_within_finite(value)) return nullptr;
  Owned result(need(PyObject_Vectorcall(own, call.values.data(), call.positional, call.names)));
  return result.get() == Py_NotImplemented ? nullptr : result.release();
}

// Functions of `math` of symbols are expressions, where C would ask for values. A result that is no
// finite number, which is guarded, is C's to give or to refuse. Null for other calls.
PyObject* Capture::call_math(const Call& call) {
  const auto& values = call.values;
  if (std::none_of(values.begin(), values.end(), python::is_symbolic) ||
      !std::all_of(values.begin(), values.end(), is_number))
    return nullptr;
  if (PyObject* result = call_number_function(call)) return result;
  const bool is_spelled = spelling_of(call.callable) != nullptr;
  if (call.names != nullptr) return is_spelled ? call_on_numbers(call) : nullptr;
  if (const double factor = angle_factor(call.callable); factor != 0 && values.size() == 1) {
    const Owned by(need(PyFloat_FromDouble(factor)));
    return need(PyNumber_Multiply(values[0], by.get()));
  }
  const auto found = math_functions().find(call.callable);
  if (found == math_functions().end()) return is_spelled ? call_on_numbers(call) : nullptr;
  static PyObject* const log = imported("math", "log");
  if (call.callable == log && values.size() == 2) return call_logarithm(call);
  if (values.size() != found->second.num_args) return nullptr;
  static PyObject* const operation = imported("taeda._C._fx", "_sym_operation");
  std::vector<PyObject*> parts{found->second.name};
  parts.insert(parts.end(), values.begin(), values.end());
  Owned made;
  {
    const SessionScope natively(nullptr);
    made = Owned(need(PyObject_Vectorcall(operation, parts.data(), parts.size(), nullptr)));
  }
  return is_within_finite(made.get()) ? made.release() : call_on_numbers(call);
}

// Powers and divisions as functions: what the instructions do. Null for other calls, and where the
// function does well.
PyObject* Capture::call_arithmetic(const Call& call) {
  const bool is_modular = is_power(call.callable) && call.values.size() == 3;
  if (is_modular && call.names == nullptr &&
      std::any_of(call.values.begin(), call.values.end(), python::is_symbolic))
    return call_on_numbers(call);
  if (call.values.size() != 2 || call.names != nullptr) return nullptr;
  PyObject* left = call.values[0];
  PyObject* right = call.values[1];
  if (recorder_.is_tensor_value(left) || recorder_.is_tensor_value(right)) return nullptr;
  if (is_division(call.callable)) check_divisor(left, right);
  if (!is_power(call.callable) || is_known_power(left, right)) return nullptr;
  const Owned a(number_of(left)), b(number_of(right));
  return need(PyObject_CallFunctionObjArgs(call.callable, a.get(), b.get(), nullptr));
}

}  // namespace taeda::dynamo
