// Special methods of the program that give numbers to C, which may be symbols while it is captured.
//
// Note [Numbers for C]: C takes int, float and bool objects from __int__, __len__ and the like, and
// refuses symbols. So a symbol becomes the number that it stands for, with a guard, when it leaves
// the frame of such a method for C. Where the program asks for nothing but that number, it gets the
// symbol. An error of C that got symbols from other frames is a break. Functions of C that go by
// the classes of what they find have numbers in place of all symbols, in their arguments and in
// what functions of the program give to them.
#include <algorithm>
#include <utility>

#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

PyObject* as_object(PyTypeObject* type) { return reinterpret_cast<PyObject*>(type); }

// The special methods whose results C takes as numbers.
bool gives_number_to_c(PyTypeObject* owner, PyFunctionObject* function) {
  static PyObject* const names[] = {
      interned("__int__"),         interned("__float__"), interned("__index__"),
      interned("__hash__"),        interned("__bool__"),  interned("__len__"),
      interned("__length_hint__"),
  };
  return std::any_of(std::begin(names), std::end(names), [&](PyObject* name) {
    return _PyType_Lookup(owner, name) == reinterpret_cast<PyObject*>(function);
  });
}

// The function of Python that int, float or operator.index of an object calls; null for others.
PyObject* conversion_of(PyObject* callable, PyTypeObject* type) {
  static PyObject* const to_int = interned("__int__");
  static PyObject* const to_float = interned("__float__");
  static PyObject* const to_index = interned("__index__");
  static PyObject* const index = imported("operator", "index");
  PyObject* found = nullptr;
  if (callable == as_object(&PyLong_Type)) found = _PyType_Lookup(type, to_int);
  if (callable == as_object(&PyFloat_Type)) found = _PyType_Lookup(type, to_float);
  const bool has_index = callable == index || callable == as_object(&PyLong_Type);
  if (found == nullptr && has_index) found = _PyType_Lookup(type, to_index);
  return found != nullptr && PyFunction_Check(found) ? found : nullptr;
}

}  // namespace

PyObject* Capture::give_to_c(TaedaFrame* frame, PyObject* result) {
  const Frame& known = frames_.at(frame);
  auto* owner = reinterpret_cast<PyTypeObject*>(known.owner.get());
  const bool is_number = known.taker == Taker::C && owner != nullptr &&
                         python::is_symbolic(result) &&
                         gives_number_to_c(owner, taeda_frame_function(frame));
  if (!is_number && known.taker != Taker::Reader) {
    num_symbols_given_ += known.taker == Taker::C && has_symbols(result);
    return result;
  }
  const Owned given(result);
  try {
    Seen seen;
    return with_numbers(result, seen);
  } catch (const Break& reason) {
    reason_ = reason.reason;
    PyErr_SetString(PyExc_SystemError, "a captured call broke");
  } catch (const Raised&) {
    reason_ = recorder_.break_reason();
    if (reason_.empty()) reason_ = "a value that only data tells";
  }
  is_broken_ = true;
  return nullptr;
}

// The same with the numbers that symbols in it stand for; a new reference.
PyObject* Capture::with_numbers(PyObject* value, Seen& seen) {
  if (python::is_symbolic(value)) return number_of(value);
  if (!has_symbols(value)) return Py_NewRef(value);
  if (!seen.insert(value).second) throw Break{"a container of numbers that holds itself"};
  Owned made(need(PyDict_CheckExact(value) ? PyDict_New() : PyList_New(0)));
  if (PyDict_CheckExact(value)) {
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(value, &position, &key, &item)) {
      const Owned own_key(with_numbers(key, seen)), own(with_numbers(item, seen));
      need(PyDict_SetItem(made.get(), own_key.get(), own.get()));
    }
  } else {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      const Owned own(with_numbers(PySequence_Fast_GET_ITEM(value, i), seen));
      need(PyList_Append(made.get(), own.get()));
    }
  }
  seen.erase(value);
  return PyTuple_CheckExact(value) ? need(PyList_AsTuple(made.get())) : made.release();
}

// int.__repr__(symbol) and other methods of the classes of numbers; null for other calls.
PyObject* Capture::call_method_of_numbers(const Call& call) {
  PyTypeObject* kind = Py_TYPE(call.callable);
  if (kind != &PyMethodDescr_Type && kind != &PyWrapperDescr_Type) return nullptr;
  const PyTypeObject* owner = PyDescr_TYPE(call.callable);
  const bool is_of_numbers = owner == &PyLong_Type || owner == &PyFloat_Type;
  const bool is_known =
      is_of_numbers && !call.values.empty() && python::is_symbolic(call.values[0]);
  return is_known ? call_on_numbers(call) : nullptr;
}

// A function of C that goes by the classes of what it finds.
PyObject* Capture::call_reader(const Call& call) {
  Call read = call;
  std::vector<Owned> numbers;
  for (PyObject*& value : read.values) {
    open_deep(value);
    Seen seen;
    value = numbers.emplace_back(with_numbers(value, seen)).get();
  }
  struct Reading {
    explicit Reading(Taker& place) : taker(place), outer(std::exchange(place, Taker::Reader)) {}
    ~Reading() { taker = outer; }
    Taker& taker;
    const Taker outer;
  } reading(taker_);
  return call_native(read, CallKind::Pure);
}

// An index of a tensor, with the numbers that methods of its objects give.
Owned Capture::index_of(PyObject* key) {
  static PyObject* const name = interned("__index__");
  static PyObject* const index = imported("operator", "index");
  if (PySlice_Check(key)) {
    auto* slice = reinterpret_cast<PySliceObject*>(key);
    const Owned start(index_of(slice->start)), stop(index_of(slice->stop)),
        step(index_of(slice->step));
    const bool is_same =
        start.get() == slice->start && stop.get() == slice->stop && step.get() == slice->step;
    return Owned(is_same ? Py_NewRef(key) : need(PySlice_New(start.get(), stop.get(), step.get())));
  }
  if (PyTuple_CheckExact(key)) {
    Owned made(need(PyTuple_New(PyTuple_GET_SIZE(key))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
      PyTuple_SET_ITEM(made.get(), i, index_of(PyTuple_GET_ITEM(key, i)).release());
    return made;
  }
  const bool is_number = !PyLong_Check(key) && _PyType_Lookup(Py_TYPE(key), name) != nullptr;
  PyObject* number = is_number ? call_conversion({index, {key}, 1, nullptr}) : nullptr;
  return Owned(number != nullptr ? number : Py_NewRef(key));
}

// Of a slice of a tensor: both lie on the stack.
void Capture::read_bounds(State& state) {
  if (!recorder_.is_tensor_value(state.peek(3))) return;
  for (int i = 1; i <= 2; ++i) Py_SETREF(state.peek(i), index_of(state.peek(i)).release());
}

// int(object) and the like: the symbol that the object's method gives. Null for other calls.
PyObject* Capture::call_conversion(const Call& call) {
  if (call.names != nullptr || call.values.size() != 1) return nullptr;
  PyObject* object = call.values[0];
  PyTypeObject* type = Py_TYPE(object);
  const bool is_instance =
      (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !recorder_.is_value(object) && !is_opaque(object);
  PyObject* method = is_instance ? conversion_of(call.callable, type) : nullptr;
  if (method == nullptr) return nullptr;
  check_class(type);
  Owned number(call_nested(method, {object}));
  const bool is_float = call.callable == as_object(&PyFloat_Type);
  const bool is_known = is_float
                            ? PyFloat_CheckExact(number.get()) || python::is_symfloat(number.get())
                            : PyLong_CheckExact(number.get()) || python::is_symint(number.get());
  if (is_known || is_broken_) return number.release();
  const char* given = Py_TYPE(number.get())->tp_name;
  // CPython warns of classes that derive from those of numbers, and takes them.
  if (is_float ? PyFloat_Check(number.get()) : PyLong_Check(number.get()))
    throw Break{name_of(method) + " gives a " + given};
  if (recorder_.is_value(number.get()))
    throw Break{name_of(method) + " gives a value of the graph"};
  const bool is_index = method != _PyType_Lookup(type, interned("__int__"));
  if (is_float)
    PyErr_Format(PyExc_TypeError, "%.50s.__float__ returned non-float (type %.50s)", type->tp_name,
                 given);
  else
    PyErr_Format(PyExc_TypeError, "%s returned non-int (type %.200s)",
                 is_index ? "__index__" : "__int__", given);
  throw Raised{};
}

// int, float and operator.index of a tensor, or its methods of these names, are those of its
// number. Null for other calls.
PyObject* Capture::number_of_tensor(const Call& call) {
  const auto method = [&](const char* name) {
    return need(PyObject_GetAttrString(as_object(recorder_.plain_class()), name));
  };
  static PyObject* const index = imported("operator", "index");
  static PyObject* const item = method("item");
  static PyObject* const known[][2] = {{as_object(&PyLong_Type), method("__int__")},
                                       {as_object(&PyFloat_Type), method("__float__")},
                                       {index, method("__index__")}};
  const auto* found = std::find_if(std::begin(known), std::end(known), [&](const auto& one) {
    return call.callable == one[0] || call.callable == one[1];
  });
  const bool is_known = found != std::end(known) && call.values.size() == 1 &&
                        recorder_.takes_numbers() && recorder_.is_tensor_value(call.values[0]);
  if (!is_known) return nullptr;
  PyObject* convert = (*found)[0];
  const Owned args = tuple_of(call);
  const Owned number(need(recorder_.call(item, args.get(), nullptr)));
  keep(number.get());
  if (convert == index && (python::is_symint(number.get()) || PyLong_Check(number.get())))
    return Py_NewRef(number.get());
  if (convert == index) throw Break{"an index that is no integer tensor"};
  bool is_converted = false;
  PyObject* result = call_builtin({convert, {number.get()}, 1, nullptr}, is_converted);
  return is_converted ? result : need(PyObject_CallOneArg(convert, number.get()));
}

// len() of what may have a symbol as its length, where C would ask for a number and every length be
// a guard: a tensor, and an instance of a class with a __len__ of its own. Null for others.
PyObject* Capture::length_of(PyObject* object) {
  static PyObject* const name = PyUnicode_InternFromString("__len__");
  if (recorder_.is_tensor_value(object)) {
    const bool has_own =
        _PyType_Lookup(Py_TYPE(object), name) != _PyType_Lookup(recorder_.plain_class(), name);
    if (recorder_.is_subclass(object) || has_own || !recorder_.overrides().modes.empty())
      return nullptr;
    static PyObject* const shape = PyUnicode_InternFromString("shape");
    Owned sizes(attribute(object, shape));
    return PyTuple_GET_SIZE(sizes.get()) == 0 ? nullptr
                                              : Py_NewRef(PyTuple_GET_ITEM(sizes.get(), 0));
  }
  PyTypeObject* type = Py_TYPE(object);
  PyObject* method = _PyType_Lookup(type, name);
  if (method == nullptr || !PyFunction_Check(method) || is_opaque(object) ||
      recorder_.kind_of(method) != CallKind::Entered)
    return nullptr;
  check_class(type);
  const int source = sources_.of(Step::TypeLookup, pin(reinterpret_cast<PyObject*>(type)), 0, name);
  Owned function(import(method, source));
  keep(function.get());
  Owned length(call_nested(function.get(), {object}));
  if (is_broken_) return length.release();
  const bool is_symbol = python::is_symint(length.get());
  if (is_symbol && python::to_symint(length.get()) >= SymInt(0)) return length.release();
  const Py_ssize_t number = is_symbol ? -1 : PyNumber_AsSsize_t(length.get(), PyExc_OverflowError);
  if (number >= 0) return PyLong_FromSsize_t(number);
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
  throw Raised{};
}

}  // namespace taeda::dynamo
