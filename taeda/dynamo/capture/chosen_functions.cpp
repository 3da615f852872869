// Functions that others stand in front of: functools.lru_cache remembers their results,
// functools.singledispatch chooses one by class.
#include <algorithm>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

PyObject* cached_function_of(PyObject* callable) {
  static PyObject* const type = imported("functools", "_lru_cache_wrapper");
  if (reinterpret_cast<PyObject*>(Py_TYPE(callable)) != type) return nullptr;
  Owned function(PyObject_GetAttrString(callable, "__wrapped__"));
  if (!function) PyErr_Clear();
  return function && PyFunction_Check(function.get()) ? function.get() : nullptr;
}

namespace {

// Arguments of other classes are others, or nothing is remembered.
bool has_other_keys(PyObject* cached) {
  Owned parameters(need(PyObject_CallMethod(cached, "cache_parameters", nullptr)));
  PyObject* typed = PyDict_GetItemString(parameters.get(), "typed");
  PyObject* most = PyDict_GetItemString(parameters.get(), "maxsize");
  const bool remembers = most == Py_None || (most != nullptr && PyObject_IsTrue(most) == 1);
  return typed != Py_False || !remembers;
}

// The dict of results: C keeps it where only the garbage collector sees it.
Owned memory_of(PyObject* cached) {
  static PyObject* const get_referents = imported("gc", "get_referents");
  Owned known(need(PyObject_CallOneArg(get_referents, cached)));
  Owned attributes(PyObject_GenericGetDict(cached, nullptr));
  if (!attributes) PyErr_Clear();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(known.get()); ++i) {
    PyObject* one = PyList_GET_ITEM(known.get(), i);
    if (PyDict_CheckExact(one) && one != attributes.get()) return Owned(Py_NewRef(one));
  }
  return Owned();
}

// The code of `dispatch`, a closure that every such function has one of.
PyObject* single_dispatch_code() {
  static PyObject* const code = [] {
    const SessionScope natively(nullptr);
    Owned decorate(imported("functools", "singledispatch")), any(imported("functools", "wraps"));
    Owned made(decorate && any ? PyObject_CallOneArg(decorate.get(), any.get()) : nullptr);
    Owned choose(made ? PyObject_GetAttrString(made.get(), "dispatch") : nullptr);
    if (!choose) PyErr_Clear();
    return choose && PyFunction_Check(choose.get()) ? Py_NewRef(PyFunction_GET_CODE(choose.get()))
                                                    : nullptr;
  }();
  return code;
}

}  // namespace

// Note [Remembered results]: a function that remembers its results is called once per arguments. Of
// constants and objects of the program the result at hand is what the program gets, with a guard
// that the memory still holds it. A function that was not called yet runs on stand-ins first: where
// it does nothing but compute it is called at once, else the call is a break. With other arguments
// (tensors, numbers that change) the graph computes anew what is equal, if not identical.
PyObject* Capture::call_cached(const Call& call, PyObject* function) {
  const auto is_kept = [&](PyObject* value) {
    int path = -1;
    return !is_address(value) && !recorder_.is_value(value) &&
           (is_known_key(value) || (!is_opaque(value) && real_key_of(value, &path) != nullptr));
  };
  if (find(function) == nullptr) Py_DECREF(note_outside(function, pin(function)));
  const auto rehearsed = [&] {
    const int64_t writes = writes_;
    Owned result(
        need(PyObject_Vectorcall(function, call.values.data(), call.positional, call.names)));
    if (!is_broken_ && writes_ != writes)
      throw Break{"a function that remembers its results and writes"};
    return result;
  };
  const bool is_known = call.names == nullptr && !has_other_keys(call.callable) &&
                        std::all_of(call.values.begin(), call.values.end(), is_kept);
  Owned memory = is_known ? memory_of(call.callable) : Owned();
  if (!memory) return rehearsed().release();
  Owned args = tuple_of(call);
  PyObject* first = call.values.empty() ? nullptr : call.values[0];
  const bool is_bare =
      call.values.size() == 1 && (PyLong_CheckExact(first) || PyUnicode_CheckExact(first));
  Owned key(Py_NewRef(is_bare ? first : args.get()));
  keep(key.get());
  const int is_remembered = PyDict_Contains(memory.get(), key.get());
  need(is_remembered);
  if (!is_remembered) {
    // It is called at once, and would not see what the program wrote.
    if (writes_ > 0) throw Break{"a function that remembers its results, behind a write"};
    const size_t mark = recorder_.mark();
    Owned tried = rehearsed();
    if (is_broken_) return tried.release();
    recorder_.rewind(mark);
    if (recorder_.draws(function, args.get()))
      throw Break{"a function that remembers its results and draws random numbers"};
  }
  Owned result(need(recorder_.call_natively(call.callable, args.get(), nullptr)));
  keep(result.get());
  PyObject* place = PyDict_GetItemWithError(memory.get(), key.get());
  if (place == nullptr) throw Break{"a function that forgets its results"};
  check(Check::Kind::Is,
        sources_.of(Step::Item, sources_.pinned(memory.get(), name_of(function) + ".cache"), 0,
                    key.get()),
        place);
  return is_immutable(result.get()) ? result.release() : import(result.get(), pin(result.get()));
}

// dispatch(class): what the registry, which is guarded, says. Null for other calls.
PyObject* Capture::call_single_dispatch(const Call& call) {
  if (!PyFunction_Check(call.callable) ||
      PyFunction_GET_CODE(call.callable) != single_dispatch_code())
    return nullptr;
  if (call.values.size() != 1 || call.names != nullptr || !PyType_Check(call.values[0]))
    return nullptr;
  static PyObject* const find_function = imported("functools", "_find_impl");
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(call.callable));
  PyObject* closure = PyFunction_GET_CLOSURE(call.callable);
  const int first = code->co_nlocalsplus - code->co_nfreevars;
  Owned registry;
  for (int i = 0; i < code->co_nfreevars; ++i) {
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, first + i);
    if (PyUnicode_CompareWithASCIIString(name, "registry") != 0) continue;
    const Outside* outside = find(call.callable);
    const int source = outside != nullptr ? outside->source : pin(call.callable);
    Owned cell(import(PyTuple_GET_ITEM(closure, i), sources_.of(Step::Closure, source, i)));
    registry = Owned(cell_contents(cell.get()));
  }
  if (!registry || !PyDict_CheckExact(registry.get())) return nullptr;
  open(registry.get());
  check_class(reinterpret_cast<PyTypeObject*>(call.values[0]));
  Owned token = abc_token();
  check(Check::Kind::AbcToken, pin(find_function), token.get());
  PyObject* own = PyDict_GetItemWithError(registry.get(), call.values[0]);
  if (own != nullptr) return Py_NewRef(own);
  Owned both(need(PyTuple_Pack(2, call.values[0], registry.get())));
  return need(recorder_.call_natively(find_function, both.get(), nullptr));
}

}  // namespace taeda::dynamo
