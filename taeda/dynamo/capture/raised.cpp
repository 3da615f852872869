// Errors of instructions: which of them are the program's.
//
// Note [Doubtful errors]: stand-ins refuse what the objects that they stand for do well, and
// others' texts name their classes. A handler of the program must see none of that. So an error to
// which a tensor or a symbolic number of the capture led is a break: the program runs the
// instruction, and what it raises is its own. A capture that must not end there goes on, because
// the error leaves most programs, which then run as they are; if the program handled it, the
// capture is made again and fails at that instruction. Errors that are known to be the program's
// are thrown as exact.
//
// Errors of operators on tensors whose sizes are symbols may name these sizes: they are breaks,
// too, and in a program that is captured as a whole a handler of the error is the break.
#include <algorithm>
#include <cstring>

#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/handlers.h"

namespace taeda::dynamo {

// Containers may hold themselves.
bool has_symbols(PyObject* object, bool looks_into_dicts) {
  std::vector<PyObject*> open{object};
  std::unordered_set<PyObject*> seen;
  while (!open.empty()) {
    PyObject* one = open.back();
    open.pop_back();
    if (one == nullptr) continue;
    if (python::is_symbolic(one)) return true;
    const bool is_dict = looks_into_dicts && PyDict_CheckExact(one);
    const bool is_container = is_dict || PyTuple_CheckExact(one) || PyList_CheckExact(one);
    if (!is_container || !seen.insert(one).second) continue;
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (is_dict && PyDict_Next(one, &position, &key, &value))
      open.insert(open.end(), {key, value});
    if (is_dict) continue;
    PyObject** items = PySequence_Fast_ITEMS(one);
    open.insert(open.end(), items, items + PySequence_Fast_GET_SIZE(one));
  }
  return false;
}

namespace {

// Texts of Python's own functions name the classes of what they refuse, wherever it lay.
bool names_stand_ins(PyObject* exception) {
  PyObject* args = reinterpret_cast<PyBaseExceptionObject*>(exception)->args;
  for (Py_ssize_t i = 0; args != nullptr && i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* arg = PyTuple_GET_ITEM(args, i);
    const char* text = PyUnicode_Check(arg) ? PyUnicode_AsUTF8(arg) : nullptr;
    if (text == nullptr) PyErr_Clear();
    const auto names = [&](const char* type) { return std::strstr(text, type) != nullptr; };
    if (text != nullptr && (names("FakeTensor") || names("taeda.SymInt") ||
                            names("taeda.SymFloat") || names("taeda.SymBool")))
      return true;
  }
  return false;
}

// How many words of the stack lead to an instruction's errors. Values that are stored do not.
size_t num_operands(const State& state, int looked_at) {
  struct Known {
    int opcode;
    int operands;
  };
  static const Known known[] = {
      {opcode_number("LOAD_ATTR"), 1},        {opcode_number("LOAD_METHOD"), 1},
      {opcode_number("STORE_ATTR"), 1},       {opcode_number("DELETE_ATTR"), 1},
      {opcode_number("BINARY_SUBSCR"), 2},    {opcode_number("STORE_SUBSCR"), 2},
      {opcode_number("DELETE_SUBSCR"), 2},    {opcode_number("CONTAINS_OP"), 2},
      {opcode_number("COMPARE_OP"), 2},       {opcode_number("STORE_SLICE"), 3},
      {opcode_number("BEFORE_WITH"), 1},      {opcode_number("MATCH_CLASS"), 3},
      {opcode_number("FORMAT_VALUE"), 2},     {opcode_number("FORMAT_SIMPLE"), 1},
      {opcode_number("FORMAT_WITH_SPEC"), 2}, {opcode_number("CONVERT_VALUE"), 1},
      {opcode_number("CALL_FUNCTION_EX"), 4}, {opcode_number("FOR_ITER"), 1},
  };
  static const int call = opcode_number("CALL"), call_kw = opcode_number("CALL_KW");
  const int opcode = state.now->opcode;
  if (opcode == call) return state.now->argument + 2;
  if (opcode == call_kw) return state.now->argument + 3;
  for (const Known& one : known)
    if (one.opcode == opcode) return one.operands;
  return looked_at;
}

}  // namespace

// Whether C, which stopped inside of this instruction, may have changed something before: written
// to a container, or taken items from an iterator (list(map(float, x))) that is in reach of an
// operand.
bool Capture::may_change(const State& state, const std::vector<Owned>& operands) const {
  const auto is_fixed = [&](const auto& self, PyObject* object) -> bool {
    if (object == nullptr || is_immutable(object) || recorder_.is_value(object)) return true;
    if (PyTuple_CheckExact(object)) {
      PyObject** items = PySequence_Fast_ITEMS(object);
      return std::all_of(items, items + PyTuple_GET_SIZE(object),
                         [&](PyObject* item) { return self(self, item); });
    }
    if (PyCFunction_Check(object)) return self(self, PyCFunction_GET_SELF(object));
    if (PyType_Check(object))
      return !(reinterpret_cast<PyTypeObject*>(object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
    return PyModule_Check(object) || is_native_function(object);
  };
  const size_t count =
      std::min(operands.size(), num_operands(state, ways()[state.now->opcode].operands));
  return !std::all_of(operands.end() - static_cast<ptrdiff_t>(count), operands.end(),
                      [&](const Owned& operand) { return is_fixed(is_fixed, operand.get()); });
}

bool Capture::shows_tensor(PyObject* operand) const {
  if (operand == nullptr) return false;
  if (recorder_.is_tensor_value(operand)) return true;
  if (PyMethod_Check(operand)) return recorder_.is_tensor_value(PyMethod_GET_SELF(operand));
  if (!PyCFunction_Check(operand)) return false;
  PyObject* self = PyCFunction_GET_SELF(operand);
  return self != nullptr && recorder_.is_tensor_value(self);
}

bool Capture::is_doubtful(const State& state, const std::vector<Owned>& operands,
                          PyObject* raised) {
  static const int raises = opcode_number("RAISE_VARARGS");
  static const int spreads = opcode_number("CALL_FUNCTION_EX");
  if (state.now->opcode == raises || raised_at_.contains(raised)) return false;
  if (recorder_.is_error_of_call(raised) || names_stand_ins(raised)) return true;
  const size_t count =
      std::min(operands.size(), num_operands(state, ways()[state.now->opcode].operands));
  for (auto operand = operands.end() - static_cast<ptrdiff_t>(count); operand != operands.end();
       ++operand) {
    if (shows_tensor(operand->get())) return true;
    if (state.now->opcode != spreads || !*operand) continue;
    PyObject* given = operand->get();
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_CheckExact(given) && PyDict_Next(given, &position, &key, &value))
      if (shows_tensor(value)) return true;
    if (PyTuple_CheckExact(given) || PyList_CheckExact(given))
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given); ++i)
        if (shows_tensor(PySequence_Fast_GET_ITEM(given, i))) return true;
  }
  return false;
}

// Errors of other classes speak of names and classes.
bool Capture::names_sizes(const State& state, PyObject* exception,
                          const std::vector<Owned>& operands) const {
  const bool is_known = PyErr_GivenExceptionMatches(exception, PyExc_RuntimeError) ||
                        PyErr_GivenExceptionMatches(exception, PyExc_ValueError) ||
                        PyErr_GivenExceptionMatches(exception, PyExc_IndexError);
  const size_t count =
      std::min(operands.size(), num_operands(state, ways()[state.now->opcode].operands));
  const auto first = operands.end() - static_cast<ptrdiff_t>(count);
  return is_known && std::any_of(first, operands.end(), [&](const Owned& o) {
           return o && recorder_.is_tensor_value(o.get()) && recorder_.has_symbolic_sizes(o.get());
         });
}

bool Capture::breaks_at_error(const State& state, const std::vector<Owned>& operands, bool is_exact,
                              bool is_own, bool saw_symbols, int64_t number) {
  Owned raised(taeda_take_raised());
  const auto any_operand = [&](const auto& is_one) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Owned& o) { return o && is_one(o.get()); });
  };
  if (recorder_.is_data_dependent(raised.get())) {
    reason_ = recorder_.break_reason();
    if (reason_.empty()) reason_ = "a value that only data tells";
    return true;
  }
  // Symbols are refused where the numbers that they stand for are not: the program tries itself.
  // Calls that nest too deeply do so with numbers, too.
  const auto is_a = [&](PyObject* type) { return PyErr_GivenExceptionMatches(raised.get(), type); };
  const bool is_depth = is_a(PyExc_RecursionError);
  const bool is_of_symbols = any_operand([](PyObject* o) { return has_symbols(o, false); });
  // Ends and searches without a result refuse nothing; errors of frames are known.
  const bool may_refuse =
      !is_a(PyExc_StopIteration) && !is_a(PyExc_LookupError) && !raised_at_.contains(raised.get());
  if (!is_exact && !is_depth && ((is_own && is_of_symbols) || (saw_symbols && may_refuse))) {
    reason_ = "an operation that symbols do not have";
    return true;
  }
  // The text may name sizes, which are symbols here: the program gets its own.
  if (is_own && names_sizes(state, raised.get(), operands)) {
    if (!is_whole_) {
      reason_ = kNamesSizes;
      return true;
    }
    errors_with_sizes_.insert(raised.get());
  }
  if (!is_exact && is_doubtful(state, operands, raised.get())) {
    if (!is_whole_) {
      reason_ = kDoubt;
      return true;
    }
    if (doubts_at_ == 0) doubts_at_ = number;
  }
  if (raised_at_.try_emplace(raised.get(), number).second) keep(raised.get());
  taeda_set_raised(raised.release());
  return false;
}

// `except:` takes what it gets; `finally` and `with` let it go on.
Flow Capture::push_exc_info(State& state, int argument) {
  static const int drop = opcode_number("POP_TOP");
  if (state.next->opcode == drop && errors_with_sizes_.contains(state.peek(1)))
    throw Break{kNamesSizes};
  return run::PUSH_EXC_INFO_(state, argument);
}

Flow Capture::check_exc_match(State& state, int argument) {
  PyObject* raised = state.peek(2);
  if (errors_with_sizes_.contains(raised) && PyErr_GivenExceptionMatches(raised, state.peek(1)))
    throw Break{kNamesSizes};
  return run::CHECK_EXC_MATCH_(state, argument);
}

// An exception from before is told of each line that raises it.
Flow Capture::raise_varargs(State& state, int argument) {
  if (argument > 0 && PyExceptionInstance_Check(state.peek(argument)) &&
      find(state.peek(argument)) != nullptr)
    throw Break{"a raise of an exception from before"};
  return run::RAISE_VARARGS_(state, argument);
}

// The end of `finally`. Leaving a function writes the caller's line into the exception: one of the
// program's own gets it once, when the program runs.
Flow Capture::reraise(State& state, int argument) {
  const bool leaves =
      frame_of(state).number > 0 && state.code->handler_of(state.now->unit) == nullptr;
  if (leaves && find(state.peek(1)) != nullptr)
    throw Break{"an exception from before that leaves its function"};
  return run::RERAISE_(state, argument);
}

// frame.clear(), of what an error of the capture passed: unittest clears the frames of errors that
// it expects. Frames that run refuse it. Null for other calls.
PyObject* Capture::clear_frame(const Call& call) {
  static PyObject* const clear =
      need(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyFrame_Type), "clear"));
  if (call.callable != clear || call.values.size() != 1 || !PyFrame_Check(call.values[0]))
    return nullptr;
  // Of generators that wait it ends them.
  const Owned generator(PyFrame_GetGenerator(reinterpret_cast<PyFrameObject*>(call.values[0])));
  if (find(call.values[0]) != nullptr || generator) return nullptr;
  return need(PyObject_CallOneArg(clear, call.values[0]));
}

}  // namespace taeda::dynamo
