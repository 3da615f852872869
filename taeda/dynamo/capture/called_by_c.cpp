// Functions that C calls for the program: map(function, items), sorted(items, key=function).
//
// C calls a function of Python through the hook, and everything else by itself: what print does
// would be done while the program is captured, and what dict.get finds be asked of a twin that
// nobody filled. So C is given a function of Python that makes the call. It looks into what such a
// function, and a generator, gives: any(rows), filter(None, rows). So twins are filled then.
#include <initializer_list>
#include <string_view>
#include <unordered_map>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

// The place of the argument that a function of C calls, where it has no name; null: it calls none.
const size_t* place_of_called(PyObject* callable) {
  constexpr size_t kNamed = 100;
  using Names = std::initializer_list<const char*>;
  static const std::unordered_map<PyObject*, size_t> places = [] {
    std::unordered_map<PyObject*, size_t> all;
    const auto note = [&](size_t place, const char* module, Names names) {
      for (const char* name : names) all[need(imported(module, name))] = place;
    };
    const auto note_method = [&](size_t place, PyTypeObject* type, const char* name) {
      all[need(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name))] = place;
    };
    note(0, "builtins", {"map", "filter", "iter"});
    note(0, "functools", {"reduce"});
    note(0, "itertools", {"starmap", "takewhile", "dropwhile", "filterfalse"});
    note(1, "itertools", {"groupby", "accumulate"});
    note(kNamed, "builtins", {"sorted", "min", "max"});
    note(kNamed, "bisect", {"bisect_left", "bisect_right", "insort_left", "insort_right"});
    note_method(kNamed, &PyList_Type, "sort");
    Owned pattern(need(imported("re", "Pattern")));
    for (const char* name : {"sub", "subn"})
      note_method(1, reinterpret_cast<PyTypeObject*>(pattern.get()), name);
    return all;
  }();
  const auto found = places.find(callable);
  return found == places.end() ? nullptr : &found->second;
}

// Numbers and texts of C, which ask their argument what any function may.
bool is_conversion(PyObject* callable) {
  for (PyTypeObject* type : {&PyLong_Type, &PyFloat_Type, &PyBool_Type, &PyUnicode_Type})
    if (callable == reinterpret_cast<PyObject*>(type)) return true;
  return false;
}

}  // namespace

// Whether the hook sees C call it, and nothing but its frame is captured.
bool Capture::is_entered_by_c(PyObject* callable) {
  if (PyMethod_Check(callable)) return is_entered_by_c(PyMethod_GET_FUNCTION(callable));
  return PyFunction_Check(callable) && recorder_.substitute_of(callable) == nullptr &&
         recorder_.kind_of(callable) == CallKind::Entered;
}

bool Capture::is_iterator_of_c(PyObject* object) {
  return object != nullptr && PyIter_Check(object) && !PyGen_CheckExact(object) &&
         !is_plain_instance(Py_TYPE(object));
}

// Whether C may look into what generators and functions give to it, where it calls this.
bool Capture::looks_inside(const Call& call) {
  static PyObject* const next = imported("builtins", "next");
  const bool passes_on = call.callable == next ||
                         call.callable == reinterpret_cast<PyObject*>(&PyList_Type) ||
                         call.callable == reinterpret_cast<PyObject*>(&PyTuple_Type);
  return !passes_on || call.values.empty() || !PyGen_CheckExact(call.values[0]);
}

void Capture::put_in_function(Call& call) {
  const size_t* place = place_of_called(call.callable);
  if (place == nullptr) return;
  size_t at = *place;
  for (size_t i = call.positional; i < call.values.size(); ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.names, i - call.positional));
    if (name == nullptr) throw Raised{};
    if (std::string_view(name) == "key" || std::string_view(name) == "func") at = i;
  }
  // iter(items) calls nothing, whatever its argument is.
  static PyObject* const iter = imported("builtins", "iter");
  if (at >= call.values.size() || (call.callable == iter && call.values.size() < 2)) return;
  PyObject* called = call.values[at];
  if (!PyCallable_Check(called) || is_conversion(called) || recorder_.is_value(called) ||
      is_entered_by_c(called))
    return;
  call.values[at] = in_function(called);
}

// A function of Python that calls another callable. Borrowed.
PyObject* Capture::in_function(PyObject* called) {
  static PyObject* const caller_of = imported("taeda.compiler._capture", "caller_of");
  Owned args(need(PyTuple_Pack(1, called)));
  Owned made(need(recorder_.call_natively(caller_of, args.get(), nullptr)));
  keep(made.get());
  made_functions_.insert(made.get());
  callers_[made.get()] = called;
  keep(called);
  return made.get();
}

}  // namespace taeda::dynamo
