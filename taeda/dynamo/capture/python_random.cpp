// Python's random numbers: what a generator of the program gives is drawn before the graph, in the
// program's order, and is an input that changes at every run. A generator that the captured program
// makes from a constant runs at capture: its numbers are constants.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

// Null where the program did not import the module.
PyTypeObject* generator_type() {
  static Loaded generator("random", "Random");
  return generator.type();
}

// Methods that give a number; all others are a break.
enum class Given : uint8_t { Nothing, Integer, Float };
struct Method {
  std::string_view name;
  Given given;
};
constexpr Method kMethods[] = {
    {"seed", Given::Nothing},         {"randint", Given::Integer},
    {"randrange", Given::Integer},    {"getrandbits", Given::Integer},
    {"random", Given::Float},         {"uniform", Given::Float},
    {"gauss", Given::Float},          {"normalvariate", Given::Float},
    {"triangular", Given::Float},     {"betavariate", Given::Float},
    {"expovariate", Given::Float},    {"gammavariate", Given::Float},
    {"lognormvariate", Given::Float}, {"vonmisesvariate", Given::Float},
    {"paretovariate", Given::Float},  {"weibullvariate", Given::Float},
};

}  // namespace

bool is_python_generator_class(PyTypeObject* type) { return type == generator_type(); }
bool is_python_generator(PyObject* object) { return is_python_generator_class(Py_TYPE(object)); }

PyObject* Capture::call_draw(const Call& call) {
  const bool is_native = PyCFunction_Check(call.callable);
  if (!is_native && !PyMethod_Check(call.callable)) return nullptr;
  PyObject* self =
      is_native ? PyCFunction_GET_SELF(call.callable) : PyMethod_GET_SELF(call.callable);
  const Outside* generator = self != nullptr && is_python_generator(self) ? find(self) : nullptr;
  if (generator == nullptr) return nullptr;
  if (program_ != nullptr) throw Break{"a random number that a run draws"};
  Owned name(need(PyObject_GetAttrString(call.callable, "__name__")));
  const char* text = PyUnicode_AsUTF8(name.get());
  const auto method = std::find_if(std::begin(kMethods), std::end(kMethods), [&](const Method& m) {
    return text != nullptr && m.name == text;
  });
  const auto is_number = [](PyObject* o) {
    return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o);
  };
  const bool is_known = method != std::end(kMethods) && call.names == nullptr &&
                        std::all_of(call.values.begin(), call.values.end(), is_number) &&
                        (method->given != Given::Nothing || !call.values.empty());
  if (!is_known) throw Break{"call of " + name_of(call.callable)};
  Owned args = tuple_of(call);
  // Another generator tells whether the arguments fit, so that no run fails.
  static PyObject* const other = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(generator_type()));
  Owned bound(need(PyObject_GetAttr(other, name.get())));
  Owned tried(recorder_.call_natively(bound.get(), args.get(), nullptr));
  // Integers of 31 bits, whose products are exact.
  const bool is_bits = method->name == "getrandbits";
  const bool is_wide = tried && method->given == Given::Integer &&
                       std::any_of(call.values.begin(), call.values.end(), [&](PyObject* o) {
                         int overflow = 0;
                         const int64_t number =
                             PyLong_Check(o) ? PyLong_AsLongLongAndOverflow(o, &overflow) : 0;
                         const int64_t most = is_bits ? 31 : int64_t{1} << 31;
                         return overflow != 0 || number > most || number < -most;
                       });
  if (!tried || is_wide) {
    PyErr_Clear();
    throw Break{"call of " + name_of(call.callable)};
  }
  ++writes_;
  keep(name.get());
  keep(args.get());
  Draw draw{generator->source, name.get(), args.get(), -1};
  if (method->given == Given::Nothing) {
    draws_.push_back(draw);
    return Py_NewRef(Py_None);
  }
  draw.source = sources_.drawn(static_cast<int>(draws_.size()));
  PyObject* number = need(recorder_.import_drawn(method->given == Given::Float, draw.source,
                                                 sources_.text(draw.source)));
  keep(number);
  outside_[number].source = draw.source;
  draws_.push_back(draw);
  return number;
}

PyObject* Capture::make_generator(const Call& call) {
  const bool is_constant =
      call.names == nullptr && call.values.size() == 1 &&
      (PyLong_CheckExact(call.values[0]) || PyFloat_CheckExact(call.values[0]) ||
       PyUnicode_CheckExact(call.values[0]));
  if (!is_constant) throw Break{"a generator of random numbers without a constant"};
  check_class(generator_type());
  const SessionScope natively(nullptr);
  return need(PyObject_CallOneArg(call.callable, call.values[0]));
}

}  // namespace taeda::dynamo
