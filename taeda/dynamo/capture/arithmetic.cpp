// Arithmetic of numbers that change: where its result may be no number of the same kind, guards.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/fx/shapes/sym_expr_node.h"

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

namespace {

// Symbolic integers have 64 bits, those of Python any number.
constexpr int kMostBits = 62;

// Of an operation on integers: what an operand is now, and by how many bits it is known to be
// bounded: its magnitude is at most two to the power of that.
struct Operand {
  PyObject* object;
  int64_t value;
  bool is_symbol;
  int bound;

  static int bits_of(int64_t value) {
    const uint64_t size = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    return size <= 1 ? 0 : std::bit_width(size - 1);
  }
  int bits() const { return bits_of(value); }
  bool is_at_most(int64_t limit) const { return compared(Py_LE, limit); }
  bool is_at_least(int64_t limit) const { return compared(Py_GE, limit); }
  // Bounds a symbol that may be larger; false where it is.
  bool keep_within(int wanted) const {
    if (!is_symbol || bound <= wanted) return bits() <= wanted;
    const int64_t limit = int64_t{1} << wanted;
    return is_at_most(limit) && is_at_least(-limit);
  }

 private:
  bool compared(int relation, int64_t limit) const {
    const Owned number(need(PyLong_FromLongLong(limit)));
    const Owned answer(need(PyObject_RichCompare(object, number.get(), relation)));
    const int truth = PyObject_IsTrue(answer.get());
    need(truth);
    return truth == 1;
  }
};

// Nothing for other objects, and for numbers that only data tells.
std::optional<Operand> operand_of(PyObject* object) {
  if (PyLong_Check(object)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    const int bound = overflow != 0 ? kMostBits + 1 : Operand::bits_of(value);
    return Operand{object, overflow != 0 ? std::numeric_limits<int64_t>::max() : value, false,
                   bound};
  }
  if (!python::is_symint(object)) return std::nullopt;
  const auto* node = fx::SymExprNode::from(python::sym_node_of(object).get());
  if (node == nullptr || !node->expr()->has_hint) return std::nullopt;
  const auto range = node->env().facts().range(node->expr());
  // Sizes have no bound but memory.
  constexpr int kSizeBits = 31;
  const auto bits = [](int64_t limit) {
    return symbolic::is_infinite(limit) ? kSizeBits : Operand::bits_of(limit);
  };
  return Operand{object, node->expr()->value.integer, true,
                 std::max(bits(range.lo), bits(range.hi))};
}

bool is_product_in_range(const Operand& a, const Operand& b) {
  if (a.bound + b.bound <= kMostBits) return true;
  const int spare = kMostBits - a.bits() - b.bits();
  if (spare < 0) return false;
  const int of_a = !a.is_symbol ? 0 : b.is_symbol ? spare / 2 : spare;
  return a.keep_within(a.bits() + of_a) && b.keep_within(kMostBits - a.bits() - of_a);
}

// A power, or a product with a power of two.
bool is_power_in_range(const Operand& a, const Operand& b, bool is_shift) {
  const auto most = [&](int64_t bits) {
    return is_shift ? kMostBits - bits : bits == 0 ? kMostBits : kMostBits / bits;
  };
  // A negative power is a float, a negative shift an error.
  if (!b.is_symbol) {
    if (b.value < 0) return !is_shift;
    if (b.value == 0) return true;
    return b.value <= kMostBits && a.keep_within(static_cast<int>(most(b.value)));
  }
  int bits = std::max(a.bits(), 1);
  if (b.value < 0 || b.value > most(bits)) return false;
  // Both may grow.
  const int now = static_cast<int>(b.value);
  if (a.is_symbol)
    bits = is_shift ? (kMostBits + bits - now) / 2 : std::max(bits, kMostBits / (2 * now + 1));
  return a.keep_within(bits) && b.is_at_least(0) && b.is_at_most(most(bits));
}

}  // namespace

// Powers of floats may be complex or too large, integers too large for symbols, and divisors zero:
// that is guarded.
void Capture::check_arithmetic(State& state, int operation) {
  // The operations of BINARY_OP, the same in 3.11 to 3.13; in-place ones come behind the others.
  constexpr int kFloorDivide = 2, kShift = 3, kMultiply = 5, kRemainder = 6, kPower = 8,
                kTrueDivide = 11, kCount = 13;
  const int plain = operation % kCount;
  PyObject*& right = state.peek(1);
  PyObject*& left = state.peek(2);
  const bool is_of_tensor = recorder_.is_tensor_value(left) || recorder_.is_tensor_value(right);
  const auto make_constants = [&] {
    for (PyObject** operand : {&left, &right}) {
      if (python::is_symfloat(*operand)) Py_SETREF(*operand, need(PyNumber_Float(*operand)));
      if (python::is_symint(*operand)) Py_SETREF(*operand, need(PyNumber_Index(*operand)));
    }
  };
  const bool is_power = plain == kPower && !is_of_tensor;
  if (is_power && (python::is_symfloat(left) || python::is_symfloat(right)) &&
      !is_float_power(left, right))
    make_constants();
  if ((plain == kPower || plain == kShift || plain == kMultiply) &&
      (python::is_symint(left) || python::is_symint(right))) {
    const std::optional<Operand> a = operand_of(left), b = operand_of(right);
    const bool is_in_range = !a || !b             ? true
                             : plain == kMultiply ? is_product_in_range(*a, *b)
                                                  : is_power_in_range(*a, *b, plain == kShift);
    if (!is_in_range) make_constants();
  }
  const bool divides = plain == kTrueDivide || plain == kFloorDivide || plain == kRemainder;
  if (divides && python::is_symbolic(right) && !recorder_.is_tensor_value(left))
    need(PyObject_IsTrue(right));
}

}  // namespace taeda::dynamo
