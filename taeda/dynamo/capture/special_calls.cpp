// Calls that are more than their result: autograd Functions, functions that become graphs of their
// own, warnings, logs, function modes, hooks, classes of tensors, lazy modules, locks.
#include <algorithm>
#include <unordered_set>

#include "python/interop/tensor_object.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

// The call with all arguments by position, as apply would bind them.
PyObject* Capture::call_function_by_position(const Call& call) {
  static PyObject* const bind = imported("taeda.compiler._capture", "bind_by_position");
  PyObject* type = PyCFunction_GET_SELF(call.callable);
  check_class(reinterpret_cast<PyTypeObject*>(type));
  std::vector<PyObject*> given{type};
  given.insert(given.end(), call.values.begin(), call.values.end());
  const Owned bound([&] {
    const SessionScope natively(nullptr);
    return need(PyObject_Vectorcall(bind, given.data(), call.positional + 1, call.names));
  }());
  if (bound.get() == Py_None) throw Break{"an autograd Function with keyword arguments"};
  keep(bound.get());
  PyObject** items = PySequence_Fast_ITEMS(bound.get());
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(bound.get()));
  return call_function({call.callable, {items, items + count}, count, nullptr});
}

// A Function of the program is a node as a whole. Its forward and backward run once for the sake of
// guards on what they read; they may take tensors from their arguments alone.
PyObject* Capture::call_function(const Call& call) {
  if (call.names != nullptr) return call_function_by_position(call);
  for (PyObject* value : call.values) {
    if (holds_values(value)) throw Break{"an autograd Function that takes a function made inside"};
    open_deep(value);
  }
  PyObject* type = PyCFunction_GET_SELF(call.callable);
  check_class(reinterpret_cast<PyTypeObject*>(type));
  Owned args = tuple_of(call);
  const std::vector<const void*> writes = pending_writes();
  // Inside of transforms it is rehearsed as outside of them, and then called as it is.
  const bool is_in_transform = recorder_.is_in_transform(args.get());
  if (is_in_transform)
    args = Owned(recorder_.begin_plain_rehearsal(type, args.get()));
  else
    recorder_.begin_rehearsal(args.get());
  struct Scope {
    Recorder& recorder;
    bool is_over = false;
    bool end() {
      is_over = true;
      return recorder.end_rehearsal();
    }
    ~Scope() {
      if (!is_over) recorder.end_rehearsal();
    }
  } rehearsal{recorder_};
  Owned result(PyObject_Vectorcall(call.callable, PySequence_Fast_ITEMS(args.get()),
                                   call.positional, nullptr));
  const bool has_gradient = result && !is_broken_ && recorder_.run_backward(result.get());
  const bool is_closed = rehearsal.end();
  if (!has_gradient) throw Raised{};
  // What was written cannot be taken back.
  if (pending_writes() != writes)
    throw Abandoned{"an autograd Function that writes to the program", Abandoned::kHere};
  if (!is_closed) throw Break{"an autograd Function that reads tensors of the program"};
  static PyObject* const apply = imported("taeda.compiler._capture", "apply_function");
  Call node{apply, call.values, call.positional + 1, nullptr};
  node.values.insert(node.values.begin(), type);
  if (is_in_transform) return need(recorder_.call(apply, tuple_of(node).get(), nullptr));
  recorder_.record_call(apply, tuple_of(node).get(), result.get());
  return result.release();
}

// What the program has where the capture has this value.
Owned Capture::program_value(PyObject* value) {
  read_deep(value);
  int source = -1;
  if (recorder_.is_tensor_value(value)) {
    PyObject* real = recorder_.real_of(value, &source);
    if (real == nullptr) throw Break{"a constant of a tensor that only a run computes"};
    return Owned(Py_NewRef(real));
  }
  if (recorder_.is_value(value)) throw Break{"a constant of a number that changes"};
  if (Twin* twin = twin_of(value); twin != nullptr) {
    check_unwritten(twin->original);
    return Owned(Py_NewRef(twin->original));
  }
  if (const Outside* outside = find(value); outside != nullptr && outside->is_written)
    throw Break{"a constant of an object that the program wrote to"};
  if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value)) return Owned(Py_NewRef(value));
  Owned items(need(PyTuple_New(PySequence_Fast_GET_SIZE(value))));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
    PyTuple_SET_ITEM(items.get(), i, program_value(PySequence_Fast_GET_ITEM(value, i)).release());
  return PyTuple_CheckExact(value) ? std::move(items) : Owned(need(PySequence_List(items.get())));
}

// A function whose result is a constant of the region: it is called with what the program has now.
PyObject* Capture::call_constant(const Call& call) {
  Owned args(need(PyTuple_New(static_cast<Py_ssize_t>(call.positional))));
  Owned kwargs(call.names == nullptr ? nullptr : need(PyDict_New()));
  for (size_t i = 0; i < call.values.size(); ++i) {
    Owned value = program_value(call.values[i]);
    if (i < call.positional)
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), value.release());
    else
      need(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(call.names, i - call.positional),
                          value.get()));
  }
  Owned result(need(recorder_.call_natively(call.callable, args.get(), kwargs.get())));
  // An input that comes back is a constant, too.
  if (python::is_tensor(result.get()) && stand_ins_.contains(result.get())) {
    static PyObject* const detach =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(recorder_.plain_class()), "detach");
    const Owned given(need(PyTuple_Pack(1, result.get())));
    result = Owned(need(recorder_.call_natively(detach, given.get(), nullptr)));
  }
  if (is_immutable(result.get())) return result.release();
  const auto known = stand_ins_.find(result.get());
  return known != stand_ins_.end() ? Py_NewRef(known->second)
                                   : import(result.get(), pin(result.get()));
}

// capture_body(function, args, kwargs, takes_hooks=True)
PyObject* Capture::call_body(const Call& call) {
  if (program_ != nullptr) throw Break{"a graph of a handler of operators"};
  const size_t count = call.values.size();
  if (count != 3 && count != 4) throw Break{"capture_body takes three or four arguments"};
  struct HookScope {
    bool& is_without;
    bool before = is_without;
    ~HookScope() { is_without = before; }
  } const hooks{is_body_without_hooks_};
  if (count == 4 && call.values[3] == Py_False) is_body_without_hooks_ = true;
  const size_t mark = recorder_.mark();
  const Modes modes = Modes::now();
  const std::vector<const void*> writes = pending_writes();
  open_deep(call.values[1]);
  open(call.values[2]);
  struct BodyScope {
    explicit BodyScope(Recorder& recorder) : recorder(recorder) { recorder.begin_body(); }
    ~BodyScope() { recorder.end_body(); }
    Recorder& recorder;
  } const body_of_rehearsal(recorder_);
  Owned result(need(PyObject_Call(call.values[0], call.values[1], call.values[2])));
  if (is_broken_) return result.release();
  if (pending_writes() != writes)
    throw Abandoned{"a function that writes to the program", Abandoned::kHere};
  if (modes != Modes::now()) throw Break{"a function that sets modes"};
  open_deep(result.get());
  PyObject* body = need(recorder_.cut(mark, result.get()));
  keep(body);
  return body;
}

namespace {

bool is_frozen_data(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__dataclass_params__");
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  PyObject* params = _PyType_Lookup(type, name);
  Owned is_frozen(params == nullptr ? nullptr : PyObject_GetAttrString(params, "frozen"));
  if (!is_frozen) PyErr_Clear();
  return is_frozen.get() == Py_True;
}

}  // namespace

// What the recorder writes into a node for an argument: a frozen data class is made by the graph of
// its fields, which are those of the capture. Borrowed.
PyObject* Capture::operand_of(PyObject* value) {
  if (!is_frozen_data(Py_TYPE(value)) || recorder_.is_value(value)) {
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value))
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
        if (PyObject* item = PySequence_Fast_GET_ITEM(value, i); operand_of(item) != item)
          throw Break{std::string("an object of class ") + Py_TYPE(item)->tp_name +
                      " in a list of arguments"};
    return value;
  }
  Owned fields(need(PyObject_CallOneArg(imported("dataclasses", "fields"), value)));
  Owned made(need(PyType_GenericAlloc(Py_TYPE(value), 0)));
  bool is_same = find(value) == nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields.get()); ++i) {
    Owned name(need(PyObject_GetAttrString(PyTuple_GET_ITEM(fields.get(), i), "name")));
    Owned field(attribute(value, name.get()));
    open_deep(field.get());
    PyObject* own = operand_of(field.get());
    is_same &= own == field.get();
    keep(field.get());
    need(PyObject_GenericSetAttr(made.get(), name.get(), own));
  }
  if (is_same) return value;
  keep(made.get());
  return made.get();
}

// as_operator(function, args, kwargs)
PyObject* Capture::call_as_operator(const Call& call) {
  if (call.values.size() != 3 || !PyTuple_Check(call.values[1]) || !PyDict_Check(call.values[2]))
    throw Break{"as_operator takes a function, a tuple and a dict"};
  open_deep(call.values[1]);
  open_deep(call.values[2]);
  operand_of(call.values[1]);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call.values[1]); ++i)
    if (holds_values(PyTuple_GET_ITEM(call.values[1], i)))
      throw Break{"a function made inside that holds values, in a graph"};
  return need(recorder_.call(call.values[0], call.values[1], call.values[2]));
}

// The object of the program that a value stands for, which the region is good for alone; of what
// the captured program collected, a tuple of such objects.
Owned Capture::bound_object(PyObject* value) {
  read_deep(value);
  if (is_immutable(value)) return Owned(Py_NewRef(value));
  const Outside* outside = find(value);
  if (outside == nullptr && (PyTuple_CheckExact(value) || PyList_CheckExact(value))) {
    Owned all(need(PyTuple_New(PySequence_Fast_GET_SIZE(value))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i)
      PyTuple_SET_ITEM(all.get(), i, bound_object(PySequence_Fast_GET_ITEM(value, i)).release());
    return all;
  }
  if (outside == nullptr || outside->source < 0 || recorder_.is_value(value))
    throw Break{std::string("an object of class ") + Py_TYPE(value)->tp_name +
                " that the captured program made, in a hook"};
  PyObject* real = nullptr;
  for (const auto& [object, stand_in] : stand_ins_)
    if (stand_in == value) real = object;
  if (real == nullptr) throw Break{"an object that is not known, in a hook"};
  // Methods are made anew whenever they are asked for.
  if (PyMethod_Check(real)) {
    bound_object(PyMethod_GET_FUNCTION(value));
    bound_object(PyMethod_GET_SELF(value));
  } else {
    check(Check::Kind::Is, outside->source, real);
  }
  return Owned(Py_NewRef(real));
}

// bound_to(function, args): what the function makes of the program's own objects is a constant of
// the region.
PyObject* Capture::call_bound(const Call& call) {
  if (call.values.size() != 2) throw Break{"bound_to takes a function and a tuple"};
  Owned args = bound_object(call.values[1]);
  Owned made(need(recorder_.call_natively(call.values[0], args.get(), nullptr)));
  const auto known = stand_ins_.find(made.get());
  return known != stand_ins_.end() ? Py_NewRef(known->second) : import(made.get(), pin(made.get()));
}

// Whether the captured program wrote to warnings.filters.
bool Capture::are_filters_changed() {
  static PyObject* const name = PyUnicode_InternFromString("filters");
  static PyObject* const module = imported_module("warnings");
  PyObject* names = PyModule_GetDict(module);
  const auto own = stand_ins_.find(names);
  Twin* twin = own == stand_ins_.end() ? nullptr : twin_of(own->second);
  if (twin == nullptr) return false;
  if (PyDict_GetItem(own->second, name) != PyDict_GetItem(twin->seen.get(), name)) return true;
  PyObject* filters = PyDict_GetItem(names, name);
  return filters != nullptr && is_changed(filters);
}

// Whether warnings that are told go to this list, as catch_warnings(record=True) has it.
bool Capture::is_record_of_warnings(PyObject* object) {
  static PyObject* const module = imported_module("warnings");
  PyObject* show = PyDict_GetItemString(PyModule_GetDict(module), "_showwarnmsg_impl");
  return show != nullptr && PyCFunction_Check(show) && PyCFunction_GET_SELF(show) == object;
}

// warnings.warn(message, category=None, stacklevel=1): behind the graph, as warn_explicit of the
// line that the stack of frames tells now.
PyObject* Capture::call_warn(const Call& call) {
  static PyObject* const warn_explicit = imported("warnings", "warn_explicit");
  PyObject* given[3] = {nullptr, nullptr, nullptr};
  static const char* const names[] = {"message", "category", "stacklevel"};
  if (call.positional > 3) throw Break{"call of warn"};
  for (size_t i = 0; i < call.positional; ++i) given[i] = call.values[i];
  for (size_t i = call.positional; i < call.values.size(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(call.names, i - call.positional);
    const auto known = std::find_if(std::begin(names), std::end(names), [&](const char* text) {
      return PyUnicode_CompareWithASCIIString(name, text) == 0;
    });
    if (known == std::end(names)) throw Break{"call of warn"};
    given[known - std::begin(names)] = call.values[i];
  }
  const bool is_plain = given[0] != nullptr && PyUnicode_CheckExact(given[0]) &&
                        (given[1] == nullptr || given[1] == Py_None || PyType_Check(given[1])) &&
                        (given[2] == nullptr || PyLong_CheckExact(given[2]));
  if (!is_plain) throw Break{"call of warn"};
  if (are_warnings_errors()) throw Break{"a warning that may be an error"};
  if (are_filters_changed()) throw Break{"a warning under filters that the program set"};
  for (const auto& twin : twins_)
    if (is_record_of_warnings(twin->original)) throw Break{kRecordsWarnings};
  PyObject* category = given[1] == nullptr || given[1] == Py_None ? PyExc_UserWarning : given[1];
  const long level = given[2] == nullptr ? 1 : PyLong_AsLong(given[2]);
  Owned frame(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  for (long i = 1; i < level && frame; ++i)
    frame = Owned(reinterpret_cast<PyObject*>(
        PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.get()))));
  if (!frame) throw Break{"call of warn"};
  auto* place = reinterpret_cast<PyFrameObject*>(frame.get());
  Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(place)));
  Owned globals(need(PyObject_GetAttrString(frame.get(), "f_globals")));
  Owned line(need(PyLong_FromLong(PyFrame_GetLineNumber(place))));
  Owned registry_name(need(PyUnicode_InternFromString("__warningregistry__")));
  Owned empty(need(PyDict_New()));
  PyObject* registry = need(PyDict_SetDefault(globals.get(), registry_name.get(), empty.get()));
  PyObject* module = PyDict_GetItemString(globals.get(), "__name__");
  ++writes_;
  Deferred& told = deferred_.emplace_back();
  told.callable = warn_explicit;
  PyObject* file = reinterpret_cast<PyCodeObject*>(code.get())->co_filename;
  for (PyObject* part :
       {given[0], category, file, line.get(), module == nullptr ? Py_None : module, registry})
    told.constants.emplace_back(Py_NewRef(part));
  return Py_NewRef(Py_None);
}

// Calls go to the program's mode from here on, and what it calls comes back: the graph holds that.
PyObject* Capture::call_function_mode(const Call& call) {
  for (PyObject* mode : call.values) {
    if (is_opaque(mode)) throw Break{"a function mode of C"};
    keep(mode);
  }
  if (call.values.empty() && recorder_.overrides().modes.empty())
    throw Break{"a function mode that others began"};
  return need(PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names));
}

// Stands for what only a run knows; whatever asks something of it is a break.
PyObject* Capture::make_unknown() {
  static char unknown;
  Owned made(need(PyCapsule_New(&unknown, nullptr, nullptr)));
  keep(made.get());
  outside_[made.get()].is_opaque = true;
  return made.release();
}

// A call that is made behind the graph.
PyObject* Capture::add_effect(const Call& call) {
  if (program_ != nullptr) throw Break{"call of " + name_of(call.callable)};
  ++writes_;
  Effect& added = effects_.emplace_back();
  added.callable = call.callable;
  for (PyObject* value : call.values) added.parts.emplace_back(Py_NewRef(value));
  added.result = Owned(make_unknown());
  return Py_NewRef(added.result.get());
}

// Functions that settings name: none of their calls is a break. A method may be named for one
// object alone. Null for other calls.
PyObject* Capture::call_named_log(const Call& call) {
  if (!PyFunction_Check(call.callable) && !PyCFunction_Check(call.callable)) return nullptr;
  CallKind kind = recorder_.named_log_kind_of(call.callable);
  if (kind == CallKind::Unknown && PyFunction_Check(call.callable) && call.positional > 0) {
    Owned method(need(PyMethod_New(call.callable, call.values[0])));
    kind = recorder_.named_log_kind_of(method.get());
  }
  if (kind == CallKind::Ignored) return Py_NewRef(Py_None);
  return kind == CallKind::Reordered ? add_log(call) : nullptr;
}

// Whether a call behind the graph may have this argument: later writes change nothing of it.
bool Capture::can_tell(PyObject* value) {
  if (recorder_.is_value(value) || is_immutable(value)) return true;
  if (!PyTuple_CheckExact(value)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
    if (!can_tell(PyTuple_GET_ITEM(value, i))) return false;
  return true;
}

PyObject* Capture::add_log(const Call& call) {
  if (program_ != nullptr) return Py_NewRef(Py_None);  // the run's handler calls it
  static PyObject* const partial = imported("functools", "partial");
  Call told{call.callable, {}, call.positional, nullptr};
  for (size_t i = 0; i < call.positional; ++i) {
    // A method's object comes first.
    const bool is_self = i == 0 && find(call.values[0]) != nullptr;
    if (!is_self && !can_tell(call.values[i]))
      throw Break{"call of " + name_of(call.callable) + " with values that may change behind it"};
    told.values.push_back(call.values[i]);
  }
  Owned keywords(need(PyDict_New())), args(need(PyTuple_Pack(1, call.callable)));
  for (size_t i = call.positional; i < call.values.size(); ++i) {
    if (!is_immutable(call.values[i]))
      throw Break{"call of " + name_of(call.callable) + " with keywords that are no constants"};
    need(PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(call.names, i - call.positional),
                        call.values[i]));
  }
  if (PyDict_GET_SIZE(keywords.get()) > 0) {
    Owned made(need(PyObject_Call(partial, args.get(), keywords.get())));
    keep(made.get());
    told.callable = made.get();
  }
  Py_DECREF(add_effect(told));
  return Py_NewRef(Py_None);
}

// Whether a callable is an object of the program, or a function or method that holds no others.
bool Capture::is_of_program(PyObject* callable) {
  if (PyFunction_Check(callable)) return !holds_values(callable);
  if (PyMethod_Check(callable) && find(callable) == nullptr)
    return is_of_program(PyMethod_GET_FUNCTION(callable)) &&
           is_of_program(PyMethod_GET_SELF(callable));
  const Outside* outside = find(callable);
  return outside != nullptr && outside->source >= 0 && outside->original != nullptr;
}

// Tensor.register_hook(tensor, function): of a result of the graph, a node. The function runs once
// for the sake of guards on what it reads. Of a tensor of the program, a call behind the graph.
PyObject* Capture::call_hook(const Call& call) {
  const auto& values = call.values;
  if (program_ != nullptr) throw Break{"call of " + name_of(call.callable)};
  if (is_body_without_hooks_) throw Break{"a hook inside of a function of control flow"};
  const bool is_known = values.size() == 2 && call.names == nullptr &&
                        recorder_.is_tensor_value(values[0]) && !is_opaque(values[1]);
  if (!is_known) throw Break{"call of " + name_of(call.callable)};
  // An error, which is the program's.
  if (!recorder_.requires_grad(values[0]))
    return need(PyObject_Vectorcall(call.callable, values.data(), 2, nullptr));
  int source = -1;
  const bool is_input = recorder_.real_of(values[0], &source) != nullptr;
  static PyObject* const after_grad = PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(recorder_.plain_class()), "register_post_accumulate_grad_hook");
  if (call.callable == after_grad && (!is_input || !recorder_.is_leaf(values[0])))
    throw Break{"call of " + name_of(call.callable)};
  if (is_input) {
    if (!is_of_program(values[1]))
      throw Break{"a hook of the program's tensor that holds values of the captured program"};
    PyObject* handle = add_effect(call);
    hooks_[handle] = false;
    return handle;
  }
  if (!PyFunction_Check(values[1]) || holds_values(values[1])) return add_hook_body(call);
  static PyObject* const ones_like = imported("taeda", "ones_like");
  const std::vector<const void*> writes = pending_writes();
  Owned tensor(need(PyTuple_Pack(1, values[0])));
  recorder_.begin_rehearsal(tensor.get());
  Owned gradient(recorder_.call(ones_like, tensor.get(), nullptr));
  Owned result(gradient ? PyObject_CallOneArg(values[1], gradient.get()) : nullptr);
  const bool is_closed = recorder_.end_rehearsal();
  if (!result) throw Raised{};
  if (is_broken_) return result.release();
  if (pending_writes() != writes)
    throw Abandoned{"a hook that writes to the program", Abandoned::kHere};
  if (!is_closed) return add_hook_body(call);
  Owned handle(make_unknown());  // the graph's own
  hooks_[handle.get()] = true;
  recorder_.record_call(call.callable, tuple_of(call).get(), handle.get());
  return handle.release();
}

// A hook that is taken away again, where it was registered: in the graph, or behind it.
PyObject* Capture::remove_hook(const Call& call) {
  if (hooks_.at(call.values.at(0)))
    recorder_.record_call(call.callable, tuple_of(call).get(), Py_None);
  else
    Py_DECREF(add_effect(call));
  return Py_NewRef(Py_None);
}

namespace {

// What objects that the captured program made hold, from a function of it on: two notes differ
// where something was written between them.
template <class IsOutside>
void note_contents(PyObject* object, const IsOutside& is_outside,
                   std::unordered_set<PyObject*>& seen, std::vector<const void*>& found) {
  found.push_back(object);
  if (object == nullptr || is_outside(object) || !seen.insert(object).second) return;
  const auto go_on = [&](PyObject* part) { note_contents(part, is_outside, seen, found); };
  if (PyFunction_Check(object)) {
    go_on(PyFunction_GET_CLOSURE(object));
    go_on(PyFunction_GET_DEFAULTS(object));
    go_on(PyFunction_GET_KW_DEFAULTS(object));
  } else if (PyMethod_Check(object)) {
    go_on(PyMethod_GET_FUNCTION(object));
    go_on(PyMethod_GET_SELF(object));
  } else if (PyCFunction_Check(object)) {
    go_on(PyCFunction_GET_SELF(object));
  } else if (PyCell_Check(object)) {
    go_on(PyCell_GET(object));
  } else if (PyTuple_Check(object) || PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      go_on(PySequence_Fast_GET_ITEM(object, i));
  } else if (PyDict_Check(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value)) {
      go_on(key);
      go_on(value);
    }
  } else if (PyAnySet_Check(object)) {
    Owned items(need(items_in_order(object)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      go_on(PyTuple_GET_ITEM(items.get(), i));
  } else if (PyObject** const fields = _PyObject_GetDictPtr(object);
             fields && !PyType_Check(object) && !PyModule_Check(object)) {
    go_on(*fields);
  }
}

}  // namespace

// A hook that takes more than the gradient: a graph of its own, with what it takes beside it. What
// it writes to objects of the captured program it writes in the backward: it is no such body.
PyObject* Capture::add_hook_body(const Call& call) {
  static PyObject* const ones_like = imported("taeda", "ones_like");
  static PyObject* const add_hook = imported("taeda.compiler._capture", "add_hook");
  const size_t before = recorder_.mark();
  Owned tensor(need(PyTuple_Pack(1, call.values[0])));
  Owned gradient(need(recorder_.call(ones_like, tensor.get(), nullptr)));
  Owned args(need(PyTuple_Pack(1, gradient.get())));
  Owned none(need(PyDict_New()));
  for (const Owned* part : {&tensor, &gradient, &args, &none}) keep(part->get());
  const Call body_call{call.callable, {call.values[1], args.get(), none.get()}, 3, nullptr};
  const auto contents = [&] {
    const auto is_outside = [&](PyObject* o) {
      return find(o) != nullptr || recorder_.is_value(o);
    };
    std::unordered_set<PyObject*> seen;
    std::vector<const void*> found;
    note_contents(call.values[1], is_outside, seen, found);
    return found;
  };
  const std::vector<const void*> held = contents();
  Owned body(call_body(body_call));
  if (is_broken_) return body.release();
  if (contents() != held)
    throw Abandoned{"a hook that writes to objects that the captured program made",
                    Abandoned::kHere};
  PyObject* taken = PyTuple_GET_ITEM(body.get(), 1);
  Py_ssize_t place = -1;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(taken); ++i)
    if (PyList_GET_ITEM(taken, i) == gradient.get()) place = i;
  // The gradient is the hook's argument, and none of the graph's values.
  if (place >= 0) need(PyList_SetItem(taken, place, Py_NewRef(Py_None)));
  recorder_.rewind(before);
  Owned others(need(PyList_AsTuple(taken)));
  Owned at(need(PyLong_FromSsize_t(place)));
  Owned given(need(
      PyTuple_Pack(4, call.values[0], PyTuple_GET_ITEM(body.get(), 0), others.get(), at.get())));
  for (const Owned* part : {&others, &at, &given}) keep(part->get());
  Owned handle(make_unknown());  // the graph's own
  hooks_[handle.get()] = true;
  recorder_.record_call(add_hook, given.get(), handle.get());
  return handle.release();
}

// Parameter(tensor) of a tensor of the program: a run makes it before the graph, which takes it as
// it takes others of the program. Null for tensors of the graph.
PyObject* Capture::make_leaf(PyObject* type, PyObject* tensor) {
  int source = -1;
  PyObject* real = recorder_.real_of(tensor, &source);
  const bool is_there = real != nullptr && program_ == nullptr && recorder_.records() &&
                        recorder_.num_levels() == 0 && recorder_.is_unchanged(tensor) &&
                        Modes::now().is_inference == modes_.is_inference;
  if (!is_there) return nullptr;
  // Each call makes another.
  const int path = sources_.of(Step::Leaf, source, num_leaves_++, type);
  std::vector<Owned> held;
  PyObject* made = follow(sources_[path], real, held);
  return made == nullptr ? nullptr : import(made, path);
}

// Tensor.as_subclass(tensor, class), or Tensor._make_subclass(class, tensor, requires_grad=False).
PyObject* Capture::call_subclass(const Call& call) {
  const auto& values = call.values;
  const bool is_leaf = call.names == nullptr && values.size() == 3 && values[2] == Py_True &&
                       PyType_Check(values[0]) && recorder_.is_tensor_value(values[1]);
  if (is_leaf) {
    check_class(reinterpret_cast<PyTypeObject*>(values[0]));
    if (PyObject* made = make_leaf(values[0], values[1])) return made;
  }
  if (call.names == nullptr &&
      (values.size() == 2 || (values.size() == 3 && values[2] == Py_False)) &&
      PyType_Check(values[0]) && recorder_.is_tensor_value(values[1])) {
    check_class(reinterpret_cast<PyTypeObject*>(values[0]));
    return need(recorder_.make_subclass(detached(values[1]).get(), values[0]));
  }
  const bool is_known = values.size() == 2 && call.names == nullptr && PyType_Check(values[1]) &&
                        recorder_.is_tensor_value(values[0]);
  if (!is_known) throw Break{"call of " + name_of(call.callable)};
  check_class(reinterpret_cast<PyTypeObject*>(values[1]));
  return need(recorder_.make_subclass(values[0], values[1]));
}

// LazyModuleMixin._infer_parameters(self, module, args, kwargs): parameters get their shapes from
// the stand-ins, once, and the region begins again with a plain module.
PyObject* Capture::initialize_module(const Call& call) {
  const bool is_known = call.values.size() == 4 && call.names == nullptr &&
                        find(call.values[1]) != nullptr && recorder_.num_levels() == 0;
  if (!is_known) throw Break{"call of " + name_of(call.callable)};
  static PyObject* const initialize = imported("taeda.compiler._capture", "initialize_module");
  open_deep(call.values[2]);
  open_deep(call.values[3]);
  Owned args(need(PyTuple_Pack(3, call.values[1], call.values[2], call.values[3])));
  const Owned done(need(recorder_.call_natively(initialize, args.get(), nullptr)));
  throw Abandoned{"a lazy module", Abandoned::kAsAWhole};
}

// A lock is held while the capture runs what it guards; a region does not end inside.
PyObject* Capture::call_lock(const Call& call) {
  const bool is_left = call.values.size() > 1;
  if (is_left && (locks_.empty() || locks_.back().get() != call.values[0]))
    throw Break{"a lock that the program took before"};
  PyObject* result =
      need(PyObject_Vectorcall(call.callable, call.values.data(), call.positional, call.names));
  if (is_left) {
    locks_.pop_back();
  } else {
    locks_.emplace_back(Py_NewRef(call.values[0]));
  }
  return result;
}

}  // namespace taeda::dynamo
