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

// Whether arguments of other classes are others.
bool is_typed(PyObject* cached) {
  Owned parameters(need(PyObject_CallMethod(cached, "cache_parameters", nullptr)));
  return PyDict_GetItemString(parameters.get(), "typed") == Py_True;
}
// Whether it remembers anything: maxsize=0 counts calls, and that is all.
bool has_memory(PyObject* cached) {
  Owned parameters(need(PyObject_CallMethod(cached, "cache_parameters", nullptr)));
  PyObject* most = PyDict_GetItemString(parameters.get(), "maxsize");
  return most == Py_None || (most != nullptr && PyObject_IsTrue(most) == 1);
}

// The dict of results: C keeps it where only the garbage collector sees it, behind the results.
Owned memory_of(PyObject* cached) {
  static PyObject* const get_referents = imported("gc", "get_referents");
  Owned known(need(PyObject_CallOneArg(get_referents, cached)));
  Owned attributes(PyObject_GenericGetDict(cached, nullptr));
  if (!attributes) PyErr_Clear();
  for (Py_ssize_t i = PyList_GET_SIZE(known.get()) - 1; i >= 0; --i) {
    PyObject* one = PyList_GET_ITEM(known.get(), i);
    if (PyDict_CheckExact(one) && one != attributes.get()) return Owned(Py_NewRef(one));
  }
  return Owned();
}

// What stands between arguments and keywords in a key: seen in one.
PyObject* mark_of_keywords() {
  static PyObject* const mark = [] {
    const SessionScope natively(nullptr);
    Owned decorate(imported("functools", "cache")), any(imported("builtins", "dict"));
    Owned made(decorate && any ? PyObject_CallOneArg(decorate.get(), any.get()) : nullptr);
    Owned keywords(Py_BuildValue("{s:i}", "a", 1)), nothing(PyTuple_New(0));
    Owned called(made ? PyObject_Call(made.get(), nothing.get(), keywords.get()) : nullptr);
    Owned memory(called ? memory_of(made.get()) : Owned());
    Owned key(memory ? PySequence_Tuple(memory.get()) : nullptr);
    return Py_NewRef(need(PySequence_GetItem(PyTuple_GET_ITEM(key.get(), 0), 0)));
  }();
  return mark;
}

// The key of a call in that dict, as functools makes it.
Owned key_of(PyObject* const* values, size_t positional, PyObject* names, bool is_typed) {
  const auto count = positional + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
  if (count == 1 && names == nullptr && !is_typed &&
      (PyLong_CheckExact(values[0]) || PyUnicode_CheckExact(values[0])))
    return Owned(Py_NewRef(values[0]));
  Owned parts(need(PyList_New(0)));
  const auto add = [&](PyObject* part) { need(PyList_Append(parts.get(), part)); };
  for (size_t i = 0; i < positional; ++i) add(values[i]);
  if (count > positional) add(mark_of_keywords());
  for (size_t i = positional; i < count; ++i) {
    add(PyTuple_GET_ITEM(names, i - positional));
    add(values[i]);
  }
  for (size_t i = 0; is_typed && i < count; ++i)
    add(reinterpret_cast<PyObject*>(Py_TYPE(values[i])));
  return Owned(need(PyList_AsTuple(parts.get())));
}

// Takes results out of memories, by function and key.
void forget(PyObject* results) {
  Py_ssize_t position = 0;
  PyObject *place, *result;
  while (PyDict_Next(results, &position, &place, &result)) {
    Owned memory = memory_of(PyTuple_GET_ITEM(place, 0));
    PyObject* key = PyTuple_GET_ITEM(place, 1);
    const int is_there = memory ? PyDict_Contains(memory.get(), key) : 0;
    need(is_there);
    if (is_there) need(PyDict_DelItem(memory.get(), key));
  }
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
// that the memory still holds it, and a run calls the function, which counts it and gives that
// result again. A function that was not called yet runs on stand-ins first: where it does nothing
// but compute it is called at once, and not by the first run; else the call is a break. With other
// arguments (tensors, numbers that change) a call is a break, too; where there must be none, the
// graph computes anew what is equal, if not identical.
PyObject* Capture::call_cached(const Call& call, PyObject* function) {
  const auto is_kept = [&](PyObject* value) {
    int path = -1;
    return !is_address(value) && !recorder_.is_value(value) &&
           (is_known_key(value) || (!is_opaque(value) && real_key_of(value, &path) != nullptr));
  };
  if (find(function) == nullptr) Py_DECREF(note_outside(function, pin(function)));
  // Another one has a memory of its own.
  const Outside* outside = find(call.callable);
  if (outside != nullptr && outside->source >= 0)
    check(Check::Kind::Is, outside->source, call.callable);
  const bool is_known = std::all_of(call.values.begin(), call.values.end(), is_kept);
  Owned memory = is_known && has_memory(call.callable) ? memory_of(call.callable) : Owned();
  if (memory) return call_remembered(call, function, memory.get());
  if (is_whole_ || num_rehearsals_ > 0 || program_ != nullptr)
    return rehearse(call, function).release();
  throw Break{is_known ? "a function that counts its calls"
                       : "a function that remembers its results, of values that change"};
}

// Runs a function on stand-ins.
Owned Capture::rehearse(const Call& call, PyObject* function) {
  const std::vector<const void*> writes = pending_writes();
  const Modes modes = Modes::now();
  Owned result(
      need(PyObject_Vectorcall(function, call.values.data(), call.positional, call.names)));
  if (!is_broken_ && (pending_writes() != writes || modes != Modes::now()))
    throw Break{"a function that remembers its results and writes"};
  return result;
}

// Whether an earlier capture made the call, or this one, for the first run. It stays on the list
// for another attempt, should this one come to nothing.
bool Capture::take_early_call(PyObject* callable, PyObject* key) {
  if (early_calls_ == nullptr) return false;
  for (auto it = early_calls_->begin(); it != early_calls_->end(); ++it) {
    if (it->first.get() != callable || is_taken(*it)) continue;
    const int is_equal = PyObject_RichCompareBool(it->second.get(), key, Py_EQ);
    need(is_equal);
    if (!is_equal) continue;
    for (const Owned* part : {&it->first, &it->second}) keep(part->get());
    taken_calls_.emplace(it->first.get(), it->second.get());
    return true;
  }
  return false;
}

void Capture::settle_early_calls() {
  std::erase_if(*early_calls_, [&](const auto& made) { return is_taken(made); });
}

// While a function runs on stand-ins for the sake of what it does.
class Capture::Rehearsal {
 public:
  explicit Rehearsal(Capture& capture) : capture_(capture) {
    capture.rehearsed_ = Owned(need(PyDict_New()));
    ++capture.num_rehearsals_;
  }
  ~Rehearsal() { --capture_.num_rehearsals_; }

 private:
  Capture& capture_;
};

PyObject* Capture::call_remembered(const Call& call, PyObject* function, PyObject* memory) {
  Owned key = key_of(call.values.data(), call.positional, call.names, is_typed(call.callable));
  keep(key.get());
  const int is_remembered = PyDict_Contains(memory, key.get());
  need(is_remembered);
  if (!is_remembered && program_ != nullptr) return rehearse(call, function).release();
  // Inside of a rehearsal nothing is called and nothing is counted: the call to come does both.
  if (!is_remembered && num_rehearsals_ > 0) {
    Owned place(need(PyTuple_Pack(2, call.callable, key.get())));
    if (PyObject* known = PyDict_GetItemWithError(rehearsed_.get(), place.get()))
      return Py_NewRef(known);
    Owned result = rehearse(call, function);
    if (!is_broken_) need(PyDict_SetItem(rehearsed_.get(), place.get(), result.get()));
    return result.release();
  }
  Owned args = tuple_of(call);
  Owned kwargs(call.names == nullptr ? nullptr : need(PyDict_New()));
  for (size_t i = call.positional; i < call.values.size(); ++i)
    need(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(call.names, i - call.positional),
                        call.values[i]));
  if (!is_remembered) {
    // It is called at once, and does not see what the program wrote; the rehearsal does.
    const bool is_behind_write = !pending_writes().empty() || recorder_.writes_inputs();
    const size_t mark = recorder_.mark();
    Owned tried;
    {
      const Rehearsal rehearsal(*this);
      tried = rehearse(call, function);
      if (is_broken_) return tried.release();
    }
    const char* const behind_write = "a function that remembers its results, behind a write";
    if (is_behind_write && !is_immutable(tried.get())) {
      if (is_whole_) return tried.release();
      throw Break{behind_write};
    }
    recorder_.rewind(mark);
    if (is_behind_write) {
      // It may also miss what was written: a cell that has no contents so far.
      Owned unseen(recorder_.call_natively(function, args.get(), kwargs.get()));
      if (!unseen) PyErr_Clear();
      if (!unseen || !same_constant(unseen.get(), tried.get())) {
        forget(rehearsed_.get());
        if (is_whole_) return tried.release();
        throw Break{behind_write};
      }
    }
    bool draws = false;
    Owned called(need(recorder_.call_natively(call.callable, args.get(), kwargs.get(), draws)));
    if (draws) {
      // The program comes to it later.
      Owned place(need(PyTuple_Pack(2, call.callable, key.get())));
      need(PyDict_SetItem(rehearsed_.get(), place.get(), Py_None));
      forget(rehearsed_.get());
      throw Break{"a function that remembers its results and draws random numbers"};
    }
    if (early_calls_ != nullptr)
      early_calls_->emplace_back(Py_NewRef(call.callable), Py_NewRef(key.get()));
  }
  PyObject* place = PyDict_GetItemWithError(memory, key.get());
  Owned result(place == nullptr ? nullptr : Py_XNewRef(remembered_result(place)));
  if (!result) throw Break{"a function that forgets its results"};
  keep(result.get());
  if (num_rehearsals_ == 0) {
    for (PyObject* part : {call.callable, args.get(), kwargs.get()})
      if (part != nullptr) keep(part);
    remembered_.push_back({call.callable, args.get(), kwargs.get(), false});
    remembered_.back().is_made = take_early_call(call.callable, key.get());
  }
  const int source = sources_.of(
      Step::Remembered, sources_.pinned(memory, name_of(function) + ".cache"), 0, key.get());
  check(Check::Kind::Is, source, result.get());
  return is_immutable(result.get()) ? result.release() : import(result.get(), source);
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
