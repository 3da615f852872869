// Calls: Python functions are entered, functions of tensors become nodes, functions of C that are
// known to do nothing else run on stand-ins; everything else is a break.
#include <algorithm>
#include <string_view>

#include "python/interop/sym_numbers.h"
#include "python/interop/wrap.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/arguments.h"

namespace taeda::dynamo {

namespace {

PyObject* builtin(const char* name) {
  static PyObject* const builtins = imported_module("builtins");
  PyObject* found = PyObject_GetAttrString(builtins, name);
  Py_XDECREF(found);  // the module keeps it
  return found;
}

}  // namespace

PyObject* descriptor_of(PyObject* method) {
  PyObject* self = PyCFunction_GET_SELF(method);
  if (self == nullptr || PyModule_Check(self)) return nullptr;
  const PyMethodDef* definition = reinterpret_cast<PyCFunctionObject*>(method)->m_ml;
  Owned name(PyUnicode_FromString(definition->ml_name));
  if (!name) throw Raised{};
  PyObject* classes = Py_TYPE(self)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i) {
    Owned names(PyObject_GetAttrString(PyTuple_GET_ITEM(classes, i), "__dict__"));
    PyObject* found = names ? PyObject_GetItem(names.get(), name.get()) : nullptr;
    PyErr_Clear();
    if (found == nullptr) continue;
    Py_DECREF(found);  // the class keeps it
    if (Py_IS_TYPE(found, &PyMethodDescr_Type) &&
        reinterpret_cast<PyMethodDescrObject*>(found)->d_method == definition)
      return found;
  }
  return PyType_Check(self) ? _PyType_Lookup(reinterpret_cast<PyTypeObject*>(self), name.get())
                            : nullptr;
}

bool are_warnings_errors() {
  // Calls ask, too, where no capture takes an exception: what is not known may be an error.
  Owned filters(imported("warnings", "filters"));
  if (!filters || !PyList_Check(filters.get())) {
    PyErr_Clear();
    return true;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters.get()); ++i) {
    PyObject* filter = PyList_GET_ITEM(filters.get(), i);
    PyObject* action = PyTuple_Check(filter) ? PyTuple_GET_ITEM(filter, 0) : nullptr;
    if (action != nullptr && PyUnicode_Check(action) &&
        PyUnicode_CompareWithASCIIString(action, "error") == 0)
      return true;
  }
  return false;
}

namespace {

bool is_method_wrapper(PyObject* callable) {
  static PyTypeObject* const type = [] {
    Owned wrapper(PyObject_GetAttrString(Py_None, "__repr__"));
    return wrapper ? Py_TYPE(wrapper.get()) : nullptr;
  }();
  return Py_IS_TYPE(callable, type);
}

const PyFunctionObject* fields_of(PyObject* function) {
  return reinterpret_cast<PyFunctionObject*>(function);
}

}  // namespace

std::string name_of(PyObject* callable) {
  Owned text(PyObject_GetAttrString(callable, "__qualname__"));
  if (!text) PyErr_Clear();
  const char* bytes = text && PyUnicode_Check(text.get()) ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (bytes == nullptr) PyErr_Clear();
  return bytes == nullptr ? Py_TYPE(callable)->tp_name : bytes;
}

// Why a program marked a function with taeda.compiler.disable; empty where it does not say.
static std::string reason_of(PyObject* function) {
  PyObject* names = fields_of(function)->func_dict;
  PyObject* reason =
      names == nullptr ? nullptr : PyDict_GetItemString(names, "_torchdynamo_disable_msg");
  const char* text =
      reason != nullptr && PyUnicode_Check(reason) ? PyUnicode_AsUTF8(reason) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "" : std::string(" (reason: ") + text + ")";
}

// Gives a call of a Python function its frame. Defaults that were filled in are the program's.
bool Capture::enter(State& state, const Call& call) {
  auto* function = reinterpret_cast<PyFunctionObject*>(call.callable);
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  if (decoded(code) == nullptr) throw Raised{};
  bool raised = false;
  const Arguments arguments{call.values.data(), static_cast<Py_ssize_t>(call.positional),
                            call.names};
  TaedaFrame* frame = frame_for_call(state.thread, function, arguments, state.frame, raised);
  if (raised) throw Raised{.is_exact = true};
  if (frame == nullptr) return false;
  import_defaults(frame);
  state.callee = frame;
  return true;
}

Owned Capture::tuple_of(const Call& call) {
  Owned args(need(PyTuple_New(static_cast<Py_ssize_t>(call.positional))));
  for (size_t i = 0; i < call.positional; ++i)
    PyTuple_SET_ITEM(args.get(), i, Py_NewRef(call.values[i]));
  return args;
}

// A function of the captured program that holds stand-ins: no node may keep it.
bool Capture::holds_values(PyObject* object) const {
  if (!PyFunction_Check(object) || !is_made(object)) return false;
  const PyFunctionObject* fields = fields_of(object);
  return fields->func_closure != nullptr || fields->func_defaults != nullptr ||
         fields->func_kwdefaults != nullptr;
}

PyObject* Capture::call_operator(const Call& given) {
  Call call = given;
  for (PyObject*& value : call.values) {
    open_deep(value);
    need_settled(value);
    value = operand_of(value);
  }
  Owned args = tuple_of(call);
  Owned kwargs(need(PyDict_New()));
  for (size_t i = call.positional; i < call.values.size(); ++i)
    need(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(call.names, i - call.positional),
                        call.values[i]));
  return need(recorder_.call(call.callable, args.get(), kwargs.get()));
}

// The least or largest of integers some of which are symbols: an expression of them, where C would
// compare, and every outcome be a guard. Of tensors of one element a value that the graph chooses.
// Null for other calls.
PyObject* Capture::call_extreme(const Call& call) {
  static PyObject* const least = builtin("min");
  static PyObject* const largest = builtin("max");
  if ((call.callable != least && call.callable != largest) || call.names != nullptr) return nullptr;
  std::vector<PyObject*> values = call.values;
  Owned made;
  if (values.size() == 1) {
    if (PyGen_CheckExact(values[0]) || is_iterator_of_c(values[0])) {
      made = Owned(need(PySequence_List(values[0])));
      if (is_broken_) return made.release();
    }
    PyObject* sequence = made ? made.get() : values[0];
    if (!PyList_CheckExact(sequence) && !PyTuple_CheckExact(sequence)) return nullptr;
    PyObject** items = PySequence_Fast_ITEMS(sequence);
    values.assign(items, items + PySequence_Fast_GET_SIZE(sequence));
  }
  const auto is_integer = [](PyObject* o) { return PyLong_CheckExact(o) || python::is_symint(o); };
  const auto is_tensor = [&](PyObject* o) { return recorder_.is_tensor_value(o); };
  const auto is_comparable = [&](PyObject* o) {
    return is_tensor(o) || is_integer(o) || PyFloat_CheckExact(o) || python::is_symfloat(o);
  };
  if (std::any_of(values.begin(), values.end(), is_tensor) &&
      std::all_of(values.begin(), values.end(), is_comparable)) {
    static PyObject* const extreme = imported("taeda.compiler._value_substitutes", "extreme");
    Owned all(need(PyTuple_New(static_cast<Py_ssize_t>(values.size()))));
    for (size_t i = 0; i < values.size(); ++i)
      PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), Py_NewRef(values[i]));
    PyObject* is_largest = call.callable == largest ? Py_True : Py_False;
    return need(PyObject_CallFunctionObjArgs(extreme, is_largest, all.get(), nullptr));
  }
  if (!std::all_of(values.begin(), values.end(), is_integer) ||
      std::none_of(values.begin(), values.end(), python::is_symint))
    return made ? need(PyObject_CallOneArg(call.callable, made.get())) : nullptr;
  SymInt result = python::to_symint(values[0]);
  for (size_t i = 1; i < values.size(); ++i) {
    const SymInt next = python::to_symint(values[i]);
    result = call.callable == least ? sym_min(result, next) : sym_max(result, next);
  }
  return need(python::wrap(result));
}

PyObject* Capture::call_native(const Call& given, CallKind kind) {
  Call call = given;
  if (program_ != nullptr && adds_unseen(call)) return Py_NewRef(Py_None);
  put_in_function(call);
  // The key that a method of a dict or set is asked for.
  const bool has_key =
      call.values.size() > 1 && (PyDict_Check(call.values[0]) || PyAnySet_Check(call.values[0]));
  const Owned key = has_key ? constant_key(call.values[1]) : Owned();
  if (has_key) call.values[1] = key.get();
  is_looked_at_ = looks_inside(call);
  if (call.callable == reinterpret_cast<PyObject*>(defaultdict_type()) && call.positional > 0 &&
      is_native_function(call.values[0]) && recorder_.kind_of(call.values[0]) != CallKind::Pure)
    throw Break{"a default dict of objects of C"};
  static PyObject* const partial = imported("functools", "partial");  // keeps what it is given
  static PyObject* const instance_check = imported("_abc", "_abc_instancecheck");
  static PyObject* const subclass_check = imported("_abc", "_abc_subclasscheck");
  if (call.callable == instance_check || call.callable == subclass_check) {
    Owned token = abc_token();
    check(Check::Kind::AbcToken, pin(call.callable), token.get());
  }
  if (PyObject* number = call_hash(call)) return number;
  const bool is_comparison = asks_for_identity(call);
  Twin* const unseen = unseen_list(call);
  if (unseen != nullptr) check_unwritten(unseen->original);
  for (PyObject* value : call.values) {
    if (unseen != nullptr && value == call.values[0]) continue;
    if (is_opaque(value) && !is_comparison && call.callable != partial)
      throw Break{name_of(call.callable) + " of an object that is not known"};
    if (twin_of(call.values[0]) != nullptr && !opens_empty(call.values[0]) &&
        !settle_addresses(value))
      throw Break{"the address of an object in a container of the program"};
    if (kind == CallKind::Adds && value == call.values[0])
      open(value);
    else
      open_deep(value);
  }
  check_text(call);
  check_hash(call);
  note_compared(call);
  check_order(call);
  check_addresses(call);
  if (PyObject* number = call_arithmetic(call)) return number;
  if (PyObject* number = call_conversion(call)) return number;
  if (PyObject* result = call_method_of_numbers(call)) return result;
  if (PyObject* extreme = call_extreme(call)) return extreme;
  if (PyObject* number = call_math(call)) return number;
  if (PyObject* answer = call_finite(call)) return answer;
  const bool loses_items = kind == CallKind::Mutates && !call.values.empty();
  const bool has_items = loses_items || (kind == CallKind::Adds && !call.values.empty());
  const Owned items = loses_items ? items_of(call.values[0]) : Owned();
  if (has_items) {
    ++writes_;
    if (loses_items) check_ends_in(call.values[0]);
    if (find(call.values[0]) != nullptr && twin_of(call.values[0]) == nullptr)
      throw Break{name_of(call.callable) + " writes to an object that is not known"};
  }
  // What was appended may hold the list, and was looked into.
  if (unseen != nullptr && !unseen->is_open) {
    unseen->added.emplace_back(Py_NewRef(call.values[1]));
    return Py_NewRef(Py_None);
  }
  Owned result(
      need(PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names)));
  note_identities(call, result.get());
  if (loses_items) check_references(call.values[0], items);
  return result.release();
}

// What is written to objects of the program at the end, as it stands.
std::vector<const void*> Capture::pending_writes() {
  std::vector<const void*> writes;
  for (const auto& twin : twins_) {
    PyObject* own = stand_ins_.at(twin->original);
    if (PyDict_Check(own)) {
      Py_ssize_t position = 0;
      PyObject *key, *value;
      while (PyDict_Next(own, &position, &key, &value)) {
        PyObject* seen = PyDict_GetItemWithError(twin->seen.get(), key);
        if (seen != value) writes.insert(writes.end(), {own, key, value});
      }
      PyErr_Clear();
      if (const Py_ssize_t count = PySet_GET_SIZE(twin->deleted.get()))
        writes.push_back(reinterpret_cast<const void*>(count));
      continue;
    }
    for (const Owned& item : twin->added) writes.insert(writes.end(), {own, item.get()});
    Owned items(need(items_in_order(own)));
    for (Py_ssize_t i = 0; twin->is_open && i < PyTuple_GET_SIZE(items.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(items.get(), i);
      const bool is_known = static_cast<size_t>(i) < twin->snapshot.size() &&
                            twin->snapshot[static_cast<size_t>(i)] == item;
      if (!is_known) writes.insert(writes.end(), {own, item});
    }
    if (twin->is_open &&
        PyTuple_GET_SIZE(items.get()) < static_cast<Py_ssize_t>(twin->snapshot.size()))
      writes.push_back(own);
  }
  for (const auto& [object, outside] : outside_)
    if (outside.is_written) writes.insert(writes.end(), {object, outside.contents.get()});
  std::sort(writes.begin(), writes.end());
  for (const auto& [place, written] : members_)
    writes.insert(writes.end(), {place.first, place.second, written.get()});
  for (const ClassWrite& write : class_writes_)
    writes.insert(writes.end(), {write.type, write.name, write.value.get()});
  for (const Taken& taken : taken_)
    writes.insert(
        writes.end(),
        {taken.iterator, reinterpret_cast<const void*>(static_cast<intptr_t>(taken.count))});
  for (const Effect& effect : effects_) writes.push_back(effect.result.get());
  for (const auto& [tensor, data] : data_) writes.insert(writes.end(), {tensor, data.get()});
  for (const auto& [tensor, grad] : grads_) writes.insert(writes.end(), {tensor, grad.get()});
  for (const auto& [tensor, wanted] : requires_grad_)
    writes.insert(writes.end(), {tensor, wanted ? Py_True : Py_False});
  if (!deferred_.empty()) writes.push_back(reinterpret_cast<const void*>(deferred_.size()));
  if (!draws_.empty()) writes.push_back(reinterpret_cast<const void*>(draws_.size()));
  return writes;
}

// What a thread's modes become holds for the calls that follow, and in the graph from there on.
PyObject* Capture::call_mode(const Call& call) {
  if (call.names != nullptr) throw Break{"a mode that is set by keywords"};
  Owned args = tuple_of(call);
  Owned result(
      need(PyObject_Vectorcall(call.callable, call.values.data(), call.positional, nullptr)));
  ++writes_;
  if (recorder_.kind_of(call.callable) == CallKind::SetsMode)
    recorder_.note(call.callable, args.get(), result.get());
  return result.release();
}

// Functions of C that ask the world of stand-ins something.
PyObject* Capture::call_builtin(const Call& call, bool& is_known) {
  static PyObject* const getattr_ = builtin("getattr");
  static PyObject* const hasattr_ = builtin("hasattr");
  static PyObject* const setattr_ = builtin("setattr");
  static PyObject* const delattr_ = builtin("delattr");
  static PyObject* const isinstance_ = builtin("isinstance");
  static PyObject* const len_ = builtin("len");
  static PyObject* const vars_ = builtin("vars");
  static PyObject* const callable_ = builtin("callable");
  static PyObject* const id_ = builtin("id");
  static PyObject* const round_ = builtin("round");
  static PyObject* const eval_ = builtin("eval");
  static PyObject* const next_ = builtin("next");
  static PyObject* const iter_ = builtin("iter");
  static PyObject* const object_setattr =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__setattr__");
  static PyObject* const object_delattr =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__delattr__");
  auto* const tensors = reinterpret_cast<PyObject*>(recorder_.plain_class());
  static PyObject* const tensor_setattr = PyObject_GetAttrString(tensors, "__setattr__");
  static PyObject* const tensor_delattr = PyObject_GetAttrString(tensors, "__delattr__");
  static PyObject* const object_getattribute =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__getattribute__");
  static PyObject* const dict_get_ =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "get");
  PyObject* callable = call.callable;
  const auto& values = call.values;
  const size_t count = values.size();
  static PyObject* const get_ident = imported("_thread", "get_ident");
  is_known = true;
  if (callable == get_ident && count == 0) {
    const Owned number(need(PyObject_CallNoArgs(get_ident)));
    return import(number.get(), sources_.of(Step::Thread, sources_.pinned(Py_None, "thread")));
  }
  if (call.names == nullptr) {
    if (callable == getattr_ && (count == 2 || count == 3) && PyUnicode_Check(values[1])) {
      try {
        return attribute(values[0], values[1]);
      } catch (Raised&) {
        if (count == 2 || !PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
        PyErr_Clear();
        return Py_NewRef(values[2]);
      }
    }
    if (callable == object_getattribute && count == 2 && PyUnicode_Check(values[1]) &&
        (Py_TYPE(values[0])->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(values[0]) &&
        !recorder_.is_value(values[0]) && !is_opaque(values[0]))
      return instance_attribute(values[0], values[1], /*is_plain=*/true);
    if (callable == hasattr_ && count == 2 && PyUnicode_Check(values[1])) {
      try {
        Owned found(attribute(values[0], values[1]));
        return Py_NewRef(Py_True);
      } catch (Raised&) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
        PyErr_Clear();
        return Py_NewRef(Py_False);
      }
    }
    // As super() of a class of tensors calls them.
    const bool is_of_tensors = count > 0 && recorder_.is_tensor_value(values[0]);
    const bool sets = callable == object_setattr || (is_of_tensors && callable == tensor_setattr);
    const bool deletes =
        callable == object_delattr || (is_of_tensors && callable == tensor_delattr);
    if ((callable == setattr_ || sets) && count == 3 && PyUnicode_Check(values[1])) {
      set_attribute(values[0], values[1], values[2], sets);
      return Py_NewRef(Py_None);
    }
    if ((callable == delattr_ || deletes) && count == 2 && PyUnicode_Check(values[1])) {
      set_attribute(values[0], values[1], nullptr, deletes);
      return Py_NewRef(Py_None);
    }
    if (callable == reinterpret_cast<PyObject*>(&PyType_Type) && count == 1) {
      PyTypeObject* type =
          recorder_.is_value(values[0]) ? recorder_.class_of(values[0]) : Py_TYPE(values[0]);
      return Py_NewRef(type);
    }
    if (callable == next_ && (count == 1 || count == 2) && is_opaque(values[0]) &&
        PyIter_Check(values[0]))
      return call_next(call);
    if (callable == iter_ && count == 1 && Py_TYPE(values[0])->tp_iter == PyObject_SelfIter)
      return Py_NewRef(values[0]);
    if (callable == round_ && count == 2 && python::is_symbolic(values[0])) {
      // An expression of the symbol, as exact as Python's where digits behind the point are asked.
      const bool has_digits = PyLong_CheckExact(values[1]) && PyLong_AsLong(values[1]) >= 0;
      if (!has_digits) PyErr_Clear();
      if (!has_digits && values[1] != Py_None) throw Break{"round of a symbol"};
    }
    if (callable == isinstance_ && count == 2) {
      if (PyObject* answer = call_isinstance(values[0], values[1])) return answer;
    }
    // The truth of a number that only data tells is another such value.
    if (callable == reinterpret_cast<PyObject*>(&PyBool_Type) && count == 1 &&
        python::is_symbolic(values[0]) && recorder_.is_unbacked(values[0])) {
      if (python::is_symbool(values[0])) return Py_NewRef(values[0]);
      Owned zero(need(PyLong_FromLong(0)));
      return PyObject_RichCompare(values[0], zero.get(), Py_NE);
    }
    // Of a text that is a constant of Python, or an error in it.
    if (callable == eval_ && count == 1 && PyUnicode_CheckExact(values[0])) {
      const SessionScope natively(nullptr);
      const char* text = PyUnicode_AsUTF8(values[0]);
      while (text != nullptr && (*text == ' ' || *text == '\t')) ++text;  // as eval does
      Owned code(
          need(text == nullptr ? nullptr : Py_CompileString(text, "<string>", Py_eval_input)));
      Owned literal_eval(need(imported("ast", "literal_eval")));
      PyObject* value = PyObject_CallOneArg(literal_eval.get(), values[0]);
      if (value == nullptr) {
        PyErr_Clear();
        throw Break{"Failed to trace builtin operator eval: its text is no constant"};
      }
      return value;
    }
    if (callable == id_ && count == 1) return address_of(values[0]);
    if (callable == callable_ && count == 1) return PyBool_FromLong(PyCallable_Check(values[0]));
    if (callable == vars_ && count == 1 && PyType_Check(values[0])) {
      static PyObject* const dict_name = PyUnicode_InternFromString("__dict__");
      return attribute(values[0], dict_name);
    }
    if (callable == vars_ && count == 1) {
      if (PyObject* names = attributes_of(values[0])) return Py_NewRef(names);
      if (is_immutable(values[0])) return need(PyObject_CallOneArg(vars_, values[0]));
    }
    if (callable == len_ && count == 1) {
      if (PyTuple_CheckExact(values[0]) && unread_items_.contains(values[0]))
        return PyLong_FromSsize_t(PyTuple_GET_SIZE(values[0]));
      if (PyObject* length = length_of(values[0])) return length;
      Twin* twin = twin_of(values[0]);
      if (twin != nullptr) check_unwritten(twin->original);
      if (twin != nullptr && !twin->is_open && PyDict_Check(values[0]) &&
          PyDict_GET_SIZE(values[0]) == PyDict_GET_SIZE(twin->seen.get())) {
        check(Check::Kind::Length, twin->source, nullptr, PyDict_GET_SIZE(twin->original));
        if (PySet_GET_SIZE(twin->missing.get()) == 0)
          return PyLong_FromSsize_t(PyDict_GET_SIZE(twin->original));
      }
    }
    if (callable == dict_get_ && (count == 2 || count == 3) && PyDict_CheckExact(values[0])) {
      PyObject* found = dict_get(values[0], values[1]);
      return Py_NewRef(found != nullptr ? found : count == 3 ? values[2] : Py_None);
    }
    if (PyObject* number = number_of_tensor(call)) return number;
    // A symbolic number is the number it stands for, and one of the other kind an expression of it.
    if (count == 1 && (python::is_symint(values[0]) || python::is_symfloat(values[0]))) {
      const bool is_integer = python::is_symint(values[0]);
      if (callable == reinterpret_cast<PyObject*>(&PyLong_Type))
        return is_integer ? Py_NewRef(values[0])
                          : PyObject_CallMethod(values[0], "__sym_int__", nullptr);
      if (callable == reinterpret_cast<PyObject*>(&PyFloat_Type))
        return is_integer ? PyObject_CallMethod(values[0], "__sym_float__", nullptr)
                          : Py_NewRef(values[0]);
    }
  }
  is_known = false;
  return nullptr;
}

// A module's call is that of its forward, where nothing else is part of it.
PyObject* Capture::call_module(State& state, const Call& module_call) {
  PyObject* module = module_call.callable;
  const Outside* outside = find(module);
  bool is_plain = is_plain_module_call(module);
  // Hooks that the captured program added.
  std::vector<PyObject*> tables;
  if (is_plain) tables_of_plain_call(module, tables);
  for (PyObject* table : tables) {
    const auto own = stand_ins_.find(table);
    is_plain &= own == stand_ins_.end() || PyDict_GET_SIZE(own->second) == 0;
  }
  if (outside != nullptr) {
    if (!is_plain)
      check(Check::Kind::TypeIs, outside->source, reinterpret_cast<PyObject*>(Py_TYPE(module)));
    else
      check(Check::Kind::PlainCall, outside->source);
  }
  static PyObject* const forward = PyUnicode_InternFromString("forward");
  static PyObject* const general = PyUnicode_InternFromString("_wrapped_call_impl");
  Owned method(attribute(module, is_plain ? forward : general));
  keep(method.get());
  Call inner = module_call;
  inner.callable = method.get();
  return call(state, std::move(inner));
}

PyObject* Capture::call_partial(State& state, const Call& given) {
  Owned func(need(PyObject_GetAttrString(given.callable, "func")));
  Owned args(need(PyObject_GetAttrString(given.callable, "args")));
  Owned keywords(need(PyObject_GetAttrString(given.callable, "keywords")));
  Call inner{func.get(), {}, 0, nullptr};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
    inner.values.push_back(PyTuple_GET_ITEM(args.get(), i));
  inner.values.insert(inner.values.end(), given.values.begin(),
                      given.values.begin() + static_cast<std::ptrdiff_t>(given.positional));
  inner.positional = inner.values.size();
  // Keywords of the call replace those of the partial.
  Owned merged(need(PyDict_Copy(keywords.get())));
  for (size_t i = given.positional; i < given.values.size(); ++i)
    need(PyDict_SetItem(merged.get(), PyTuple_GET_ITEM(given.names, i - given.positional),
                        given.values[i]));
  Owned names(need(PySequence_Tuple(merged.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
    inner.values.push_back(PyDict_GetItemWithError(merged.get(), PyTuple_GET_ITEM(names.get(), i)));
  if (PyTuple_GET_SIZE(names.get()) > 0) inner.names = names.get();
  for (Owned* object : {&func, &args, &keywords, &merged, &names}) keep(object->get());
  return call(state, std::move(inner));
}

// What is entered for a method of C, where its object is one that Python code can read.
PyObject* Capture::method_substitute_of(const Call& call) {
  if (!Py_IS_TYPE(call.callable, &PyMethodDescr_Type) || call.values.empty()) return nullptr;
  PyObject* substitute = recorder_.substitute_of(call.callable);
  if (substitute == nullptr) return nullptr;
  PyTypeObject* type = Py_TYPE(call.values[0]);
  const bool is_read = is_plain_instance(type) || container_of(type) != nullptr ||
                       is_derived(type, &PyFrozenSet_Type);
  return is_read && !is_opaque(call.values[0]) ? substitute : nullptr;
}

// The value of a local variable, a new reference; null where it has none.
PyObject* Capture::local_value(State& state, int slot) {
  // CO_FAST_CELL and CO_FAST_FREE, the same in 3.11 to 3.13: variables that functions share.
  constexpr char kIsShared = static_cast<char>(0xC0);
  const char* kinds = PyBytes_AS_STRING(state.code->object->co_localspluskinds);
  Owned value(read_slot(state, slot));
  const bool is_shared = value && PyCell_Check(value.get()) && (kinds[slot] & kIsShared);
  return is_shared ? cell_contents(value.get()) : value.release();
}

// locals(): variables that have values. Before 3.13 a frame has one dict for all calls.
PyObject* Capture::locals_of(State& state) {
  if (taeda_frame_namespace(state.frame) != nullptr) throw Break{"names of a class or a module"};
  Owned& kept = frame_of(state).locals;
  if (!kept || PY_MINOR_VERSION >= 13) kept = Owned(need(PyDict_New()));
  const PyCodeObject* code = state.code->object;
  Owned names(Py_NewRef(kept.get()));
  for (int i = 0; i < code->co_nlocalsplus; ++i) {
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
    Owned value(local_value(state, i));
    if (value)
      need(PyDict_SetItem(names.get(), name, value.get()));
    else if (PyDict_Contains(names.get(), name) == 1)
      need(PyDict_DelItem(names.get(), name));
  }
  return names.release();
}

// super() names neither the class nor the object: they are a free variable of the frame and its
// first local, which no instruction may have read before.
PyObject* Capture::make_super(State& state) {
  auto* super = reinterpret_cast<PyObject*>(&PySuper_Type);
  PyCodeObject* code = state.code->object;
  Owned type, object;
  for (int slot = 0; slot < code->co_nlocalsplus; ++slot) {
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, slot);
    const bool is_class = PyUnicode_CompareWithASCIIString(name, "__class__") == 0;
    if (is_class)
      type = Owned(local_value(state, slot));
    else if (slot == 0)
      object = Owned(local_value(state, slot));
  }
  // It says what is missing.
  if (code->co_argcount == 0 || !type || !object) return need(PyObject_CallNoArgs(super));
  return need(PyObject_CallFunctionObjArgs(super, type.get(), object.get(), nullptr));
}

PyObject* Capture::call(State& state, Call call) {
  read_arguments(call);
  if (PyObject* drawn = call_draw(call)) return drawn;
  if (recorder_.has_named_logs())
    if (PyObject* none = call_named_log(call)) return none;
  if (PyMethod_Check(call.callable)) {
    PyObject* method = call.callable;
    call.values.insert(call.values.begin(), PyMethod_GET_SELF(method));
    ++call.positional;
    call.callable = PyMethod_GET_FUNCTION(method);
    return this->call(state, std::move(call));
  }
  if (program_ != nullptr && recorder_.kind_of(call.callable) == CallKind::OfHandlers)
    return call_of_handlers(call, CallKind::OfHandlers);
  // Their breaks are breaks of the call.
  PyObject* substitute = recorder_.substitute_of(call.callable);
  if (substitute != nullptr && !Py_IS_TYPE(call.callable, &PyMethodDescr_Type))
    return need(PyObject_Vectorcall(substitute, call.values.data(), call.positional, call.names));
  if (PyObject* cached = cached_function_of(call.callable)) return call_cached(call, cached);
  if (PyObject* function = recorder_.function_of(call.callable)) {
    if (find(function) == nullptr) Py_DECREF(note_outside(function, pin(function)));
    if (recorder_.is_compiled_as_whole(call.callable) && !is_whole_) {
      static PyObject* const call_whole = imported("taeda.compiler._marks", "call_whole");
      call.values.insert(call.values.begin(), function);
      ++call.positional;
      function = call_whole;
    }
    call.callable = function;
    return this->call(state, std::move(call));
  }
  if (PyObject* referent = referent_of(call.callable)) {
    call.callable = referent;
    return this->call(state, std::move(call));
  }
  if (is_weak_reference(call.callable) && call.values.empty()) {
    const Outside* outside = find(call.callable);
    PyObject* referent = PyWeakref_GET_OBJECT(call.callable);
    if (outside == nullptr) return Py_NewRef(referent);
    return import(referent, sources_.of(Step::Referent, outside->source));
  }
  bool is_known = false;
  // Methods of C that are bound to their object.
  if (is_method_wrapper(call.callable)) {
    Owned self(need(PyObject_GetAttrString(call.callable, "__self__")));
    Owned name(need(PyObject_GetAttrString(call.callable, "__name__")));
    // Tensor.shape.__get__, which handlers of the program are given.
    if (Py_IS_TYPE(self.get(), &PyGetSetDescr_Type) && !call.values.empty() &&
        recorder_.is_tensor_value(call.values[0]) &&
        PyUnicode_CompareWithASCIIString(name.get(), "__get__") == 0)
      return attribute(call.values[0], PyDescr_NAME(self.get()));
    if (PyObject* value = call_class_getter(self.get(), name.get(), call)) return value;
    PyObject* descriptor = _PyType_Lookup(Py_TYPE(self.get()), name.get());
    Owned owner(need(PyObject_GetAttrString(call.callable, "__objclass__")));
    PyObject* own = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(owner.get()), name.get());
    if (own != nullptr) descriptor = own;
    if (descriptor == nullptr) throw Break{"call of " + name_of(call.callable)};
    keep(self.get());
    call.values.insert(call.values.begin(), self.get());
    ++call.positional;
    call.callable = descriptor;
    return this->call(state, std::move(call));
  }
  PyObject* descriptor = PyCFunction_Check(call.callable) ? descriptor_of(call.callable) : nullptr;
  if (descriptor != nullptr) {
    if (Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) {
      call.values.insert(call.values.begin(), PyCFunction_GET_SELF(call.callable));
      ++call.positional;
      call.callable = descriptor;
    }
  }
  if (PyObject* function = function_of_slot(call)) call.callable = function;
  if (PyObject* classes = call_subclasses(call)) return classes;
  if (PyObject* none = clear_frame(call)) return none;
  if (call.callable == reinterpret_cast<PyObject*>(&PySuper_Type) && call.values.empty())
    return make_super(state);
  static PyObject* const locals_ = builtin("locals");
  static PyObject* const globals_ = builtin("globals");
  if (call.callable == locals_ && call.values.empty()) return locals_of(state);
  if (call.callable == globals_ && call.values.empty())
    return Py_NewRef(pinned_dict(taeda_frame_globals(state.frame), "G"));
  if (PyObject* own = method_substitute_of(call))
    return need(PyObject_Vectorcall(own, call.values.data(), call.positional, call.names));
  if (PyObject* result = call_builtin(call, is_known); is_known) return need(result);
  if (PyObject* chosen = call_single_dispatch(call)) return chosen;
  if (PyObject* made = call_of_class_statement(call)) return made;
  if (PyFunction_Check(call.callable)) {
    switch (recorder_.kind_of(call.callable)) {
      case CallKind::Operator:
      case CallKind::Number: return call_operator(call);
      case CallKind::Entered:
        if (!is_plain_function(call.callable)) break;
        // Methods of objects of C read what C keeps.
        if (!call.values.empty() && is_opaque(call.values[0]) &&
            !shows_attributes(Py_TYPE(call.values[0])) &&
            _PyType_Lookup(Py_TYPE(call.values[0]), fields_of(call.callable)->func_name) ==
                call.callable)
          break;
        if (enter(state, call)) return nullptr;
        // Arguments that do not fit: CPython says why.
        return call_native(call, CallKind::Pure);
      case CallKind::Initializes: return initialize_module(call);
      case CallKind::RemovesHook: return remove_hook(call);
      case CallKind::Told:
        if (program_ != nullptr) return call_of_handlers(call, CallKind::Told);
        break;
      case CallKind::Constant: return call_constant(call);
      default: break;
    }
    throw Break{"call of " + name_of(call.callable) + ", which is left alone" +
                reason_of(call.callable)};
  }
  if (PyType_Check(call.callable)) return call_class(state, call);
  if (is_making_of_class(call) || is_new_of_tensors(call)) {
    const bool is_new = is_new_of_tensors(call);
    call.callable = call.values[0];
    call.values.erase(call.values.begin());
    --call.positional;
    return is_new ? new_tensor(reinterpret_cast<PyTypeObject*>(call.callable), call)
                  : make_instance(call);
  }
  if (is_partial(call.callable)) return call_partial(state, call);
  CallKind kind = recorder_.kind_of(call.callable);
  if (kind == CallKind::Unknown && descriptor != nullptr) kind = recorder_.kind_of(descriptor);
  switch (kind) {
    case CallKind::Operator: return call_operator(call);
    case CallKind::Entered:
      // Module.__call__(module, ...)
      if (call.values.empty() || is_opaque(call.values[0])) break;
      call.callable = call.values[0];
      call.values.erase(call.values.begin());
      --call.positional;
      return call_module(state, call);
    case CallKind::Pure:
    case CallKind::Mutates:
    case CallKind::Adds: return call_native(call, kind);
    case CallKind::Reads: return call_reader(call);
    case CallKind::SetsMode:
    case CallKind::SetsOwnMode: return call_mode(call);
    case CallKind::InTransform: {
      Owned args = tuple_of(call);
      // In a rehearsal it is a part of an autograd Function.
      if (recorder_.records() && !recorder_.is_in_transform(args.get())) break;
      return call_operator(call);
    }
    case CallKind::Function: return call_function(call);
    case CallKind::Body: return call_body(call);
    case CallKind::AsOperator: return call_as_operator(call);
    case CallKind::BoundTo: return call_bound(call);
    case CallKind::Undivided:
      num_undivided_ += call.values.at(0) == Py_True ? 1 : -1;
      return Py_NewRef(Py_None);
    case CallKind::Lock: return call_lock(call);
    case CallKind::MakesWrapper:
    case CallKind::OfHandlers:
    case CallKind::Told: return call_of_handlers(call, kind);
    case CallKind::Warns: return call_warn(call);
    case CallKind::Reordered: return add_log(call);
    case CallKind::FunctionMode: return call_function_mode(call);
    case CallKind::Subclass: return call_subclass(call);
    case CallKind::Hook: return call_hook(call);
    case CallKind::Afterwards:
      if (call.values.size() != 1 || call.names != nullptr ||
          !recorder_.is_tensor_value(call.values[0]))
        break;
      return add_effect(call);
    case CallKind::RequiresGrad: {
      // Leaves of the graph's own are a break.
      const bool is_known = call.values.size() <= 2 && !call.values.empty() &&
                            recorder_.is_tensor_value(call.values[0]) &&
                            (call.values.size() == 1 || is_truth_value(call.values[1]));
      if (!is_known) break;
      const bool wanted = call.values.size() < 2 || need_truth(call.values[1]);
      if (!set_requires_grad(call.values[0], wanted)) break;
      return Py_NewRef(call.values[0]);
    }
    default: break;
  }
  PyTypeObject* type = Py_TYPE(call.callable);
  if (is_operator(call.callable)) return call_operator(call);
  // What a pure class makes is pure: operator.itemgetter(1).
  const CallKind maker = find(call.callable) == nullptr
                             ? recorder_.kind_of(reinterpret_cast<PyObject*>(type))
                             : CallKind::Unknown;
  if (maker == CallKind::Pure) {
    static PyObject* const name = PyUnicode_InternFromString("__call__");
    PyObject* found = _PyType_Lookup(type, name);
    PyObject* own = found == nullptr ? nullptr : recorder_.substitute_of(found);
    if (own == nullptr) return call_native(call, maker);
    call.values.insert(call.values.begin(), call.callable);
    return need(PyObject_Vectorcall(own, call.values.data(), call.positional + 1, call.names));
  }
  if (maker == CallKind::Reads) return call_reader(call);
  if (!is_opaque(call.callable) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    static PyObject* const name = PyUnicode_InternFromString("__call__");
    PyObject* found = _PyType_Lookup(type, name);
    check_class(type);
    if (found != nullptr && PyFunction_Check(found)) {
      Owned function(import(
          found, sources_.of(Step::TypeLookup, pin(reinterpret_cast<PyObject*>(type)), 0, name)));
      keep(function.get());
      call.values.insert(call.values.begin(), call.callable);
      ++call.positional;
      call.callable = function.get();
      return this->call(state, std::move(call));
    }
    if (found != nullptr && recorder_.kind_of(found) == CallKind::Entered)
      return call_module(state, call);
  }
  throw Break{"call of " + name_of(call.callable)};
}

}  // namespace taeda::dynamo
