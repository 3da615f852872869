// Makes Python's objects, and refuses in PyTorch's words.
#include "python/src/serialization/python_model.h"

#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "taeda/serialization/pickle/byte_reader.h"

namespace taeda::python {
namespace {

using serialization::PickleError;

Ref attribute(PyObject* o, const char* name) {
  return Ref(checked(PyObject_GetAttrString(o, name)));
}
std::string type_text(PyObject* o) {
  return shown(reinterpret_cast<PyObject*>(Py_TYPE(o)), PyObject_Repr);
}
bool is_exactly(PyObject* o, const Ref& type) {
  return reinterpret_cast<PyObject*>(Py_TYPE(o)) == type.get();
}
// A borrowed reference, null where there is none.
PyObject* find(const Ref& dict, const std::string& key) {
  const Ref text(checked(wrap(key)));
  PyObject* found = PyDict_GetItemWithError(dict.get(), text.get());
  if (!found && PyErr_Occurred()) throw_python_error();
  return found;
}

// The name that Python 3 has for a global of Python 2, which picklers of protocol 2 write.
void translate(const PickleRules& rules, std::string& module, std::string& name) {
  const Ref key(checked(Py_BuildValue("(ss)", module.c_str(), name.c_str())));
  PyObject* both = PyDict_GetItemWithError(rules.global_names.get(), key.get());
  if (both) {
    module = text_of(PyTuple_GetItem(both, 0));
    name = text_of(PyTuple_GetItem(both, 1));
  } else if (PyErr_Occurred()) {
    throw_python_error();
  } else if (PyObject* renamed = find(rules.module_names, module)) {
    module = text_of(renamed);
  }
}

bool is_in(const Ref& set, PyObject* o) {
  const int found = PySet_Contains(set.get(), o);
  if (found >= 0) return found > 0;
  // What has no hash is no function or class.
  PyErr_Clear();
  return false;
}

// Whether a container of Python would go through the elements of a tensor, of which a small file
// may claim any number.
bool goes_through_tensor(PyObject* function, PyObject* arguments) {
  if (!PyType_Check(function)) return false;
  const std::string module = text_of(attribute(function, "__module__").get());
  if (module != "builtins" && module != "collections") return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i)
    if (is_tensor(PyTuple_GET_ITEM(arguments, i))) return true;
  return false;
}

// Arguments of allowed functions that no pickler writes: sizes to allocate, encodings that compute,
// other functions to call.
void check_arguments(const PickleRules& rules, PyObject* function, PyObject* arguments) {
  const Py_ssize_t n = PyTuple_GET_SIZE(arguments);
  if (n > 0 && is_in(rules.without_arguments, function))
    throw PickleError(str(shown(function, PyObject_Str), " with arguments is not loaded"));
  if (n > 0 && function == rules.rebuild_from_type.get() &&
      !is_in(rules.rebuilders, PyTuple_GET_ITEM(arguments, 0)))
    throw PickleError(str("a tensor rebuilt by ",
                          shown(PyTuple_GET_ITEM(arguments, 0), PyObject_Str), " is not loaded"));
  if (goes_through_tensor(function, arguments))
    throw PickleError(
        str(shown(function, PyObject_Str), " of the elements of a tensor is not loaded"));
  if (function == reinterpret_cast<PyObject*>(&PyByteArray_Type) && n > 0 &&
      PyIndex_Check(PyTuple_GET_ITEM(arguments, 0)))
    throw PickleError("bytearray of a number is not loaded: expected bytes or a str");
  if (function != rules.encode.get() || n < 2) return;
  PyObject* codec = PyTuple_GET_ITEM(arguments, 1);
  const std::string name = PyUnicode_Check(codec) ? text_of(codec) : "";
  if (name != "latin1" && name != "latin-1" && name != "utf-8" && name != "ascii")
    throw PickleError(str("the encoding '", name,
                          "' is not loaded: expected latin1, utf-8 or "
                          "ascii"));
}

PyObject* expect_tuple(const Ref& arguments) {
  if (!PyTuple_Check(arguments.get()))
    throw PickleError(str("arguments must be a tuple, but got ", type_text(arguments.get())));
  return arguments.get();
}

void update_attributes(PyObject* object, PyObject* state) {
  const Ref attributes = attribute(object, "__dict__");
  if (!PyDict_Check(state))
    throw PickleError(str("the state of an object must be a dict, but got ", type_text(state)));
  Ref(checked(PyObject_CallMethod(attributes.get(), "update", "O", state)));
}

// What pickle does with the state of an object that has no __setstate__.
void set_state(PyObject* object, PyObject* state) {
  PyObject* slots = nullptr;
  if (PyTuple_Check(state) && PyTuple_GET_SIZE(state) == 2) {
    slots = PyTuple_GET_ITEM(state, 1);
    state = PyTuple_GET_ITEM(state, 0);
  }
  if (PyObject_IsTrue(state)) update_attributes(object, state);
  if (!slots || !PyObject_IsTrue(slots)) return;
  if (!PyDict_Check(slots))
    throw PickleError(str("the slots of an object must be a dict, but got ", type_text(slots)));
  const Ref items(checked(PyDict_Items(slots)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyList_GET_ITEM(items.get(), i);
    if (PyObject_SetAttr(object, PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1)) < 0)
      throw_python_error();
  }
}

[[noreturn]] void fail_global(std::string path) {
  constexpr std::string_view kBuiltins = "builtins.";
  if (path.starts_with(kBuiltins)) path.erase(0, kBuiltins.size());
  throw PickleError(str("Unsupported global: GLOBAL ", path,
                        " was not an allowed global by default. Please use "
                        "`torch.serialization.add_safe_globals([",
                        path,
                        "])` or the "
                        "`torch.serialization.safe_globals([",
                        path,
                        "])` context manager to allowlist this global "
                        "if you trust this class/function."));
}

}  // namespace

PickleRules::PickleRules(PyObject* rules)
    : allowed(attribute(rules, "allowed")),
      user_allowed(attribute(rules, "user_allowed")),
      module_names(attribute(rules, "module_names")),
      global_names(attribute(rules, "global_names")),
      blocked_modules(attribute(rules, "blocked_modules")),
      callables(attribute(rules, "callables")),
      tensor_class(attribute(rules, "tensor_class")),
      parameter_class(attribute(rules, "parameter_class")),
      ordered_dict_class(attribute(rules, "ordered_dict_class")),
      counter_class(attribute(rules, "counter_class")),
      absent(attribute(rules, "absent")),
      without_arguments(attribute(rules, "without_arguments")),
      rebuild_from_type(attribute(rules, "rebuild_from_type")),
      rebuilders(attribute(rules, "rebuilders")),
      set_tensor(attribute(rules, "set_tensor")),
      persistent_load(attribute(rules, "persistent_load")),
      lacks(attribute(rules, "lacks")),
      encode(attribute(rules, "encode")),
      add_place(attribute(rules, "add_place")),
      encoding(text_of(attribute(rules, "encoding").get())) {
  for (const Ref* dict : {&allowed, &user_allowed, &module_names, &global_names, &absent})
    TAEDA_CHECK_TYPE(PyDict_Check(dict->get()), "the rules of a pickle: expected a dict");
  for (const Ref* set : {&callables, &blocked_modules, &without_arguments, &rebuilders})
    TAEDA_CHECK_TYPE(PyAnySet_Check(set->get()), "the rules of a pickle: expected a set");
}

Ref PythonModel::integer(int64_t v) const { return Ref(checked(wrap(v))); }
Ref PythonModel::real(double v) const { return Ref(checked(wrap(v))); }
Ref PythonModel::list() const { return Ref(checked(PyList_New(0))); }
Ref PythonModel::dict() const { return Ref(checked(PyDict_New())); }
Ref PythonModel::set() const { return Ref(checked(PySet_New(nullptr))); }

Ref wrap_long(std::string_view bytes) {
  if (bytes.size() <= 8) {
    uint64_t value = !bytes.empty() && bytes.back() < 0 ? ~uint64_t{0} : 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return Ref(checked(wrap(static_cast<int64_t>(value))));
  }
  const Ref from_bytes = attribute(reinterpret_cast<PyObject*>(&PyLong_Type), "from_bytes");
  const Ref arguments(checked(
      Py_BuildValue("(y#s)", bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "little")));
  const Ref options(checked(Py_BuildValue("{sO}", "signed", Py_True)));
  return Ref(checked(PyObject_Call(from_bytes.get(), arguments.get(), options.get())));
}

Ref PythonModel::text(std::string_view utf8) const {
  return Ref(checked(
      PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "surrogatepass")));
}

Ref PythonModel::byte_string(std::string_view bytes) const {
  const auto size = static_cast<Py_ssize_t>(bytes.size());
  return Ref(
      checked(rules_.encoding == "bytes"
                  ? PyBytes_FromStringAndSize(bytes.data(), size)
                  : PyUnicode_Decode(bytes.data(), size, rules_.encoding.c_str(), "strict")));
}

Ref PythonModel::tuple(std::vector<Ref> items) const {
  Ref out(checked(PyTuple_New(static_cast<Py_ssize_t>(items.size()))));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), items[i].release());
  return out;
}

void PythonModel::extend(const Ref& list, std::vector<Ref> items, const char* what) const {
  if (!PyList_CheckExact(list.get()))
    throw PickleError(str("Can only ", what, " lists, but got ", type_text(list.get())));
  for (const Ref& item : items)
    if (PyList_Append(list.get(), item.get()) < 0) throw_python_error();
}

void PythonModel::set_items(const Ref& dict, std::vector<Ref> items, const char* op) const {
  if (!PyDict_CheckExact(dict.get()) && !is_exactly(dict.get(), rules_.ordered_dict_class) &&
      !is_exactly(dict.get(), rules_.counter_class))
    throw PickleError(str("Can only ", op,
                          " for dict, collections.OrderedDict, "
                          "collections.Counter, but got ",
                          type_text(dict.get())));
  for (size_t i = 0; i < items.size(); i += 2)
    if (PyObject_SetItem(dict.get(), items[i].get(), items[i + 1].get()) < 0) throw_python_error();
}

Ref PythonModel::global(std::string module, std::string name) const {
  translate(rules_, module, name);
  const std::string path = module + "." + name;
  const Ref module_text(checked(wrap(module)));
  const int is_blocked = PySet_Contains(rules_.blocked_modules.get(), module_text.get());
  if (is_blocked < 0) throw_python_error();
  if (is_blocked)
    throw PickleError(
        str("Trying to load unsupported GLOBAL ", path, " whose module ", module, " is blocked."));
  for (const Ref* known : {&rules_.allowed, &rules_.user_allowed})
    if (PyObject* found = find(*known, path)) return Ref::share(found);
  if (PyObject* message = find(rules_.absent, path)) throw PickleError(text_of(message));
  const Ref is_lacking(
      checked(PyObject_CallFunction(rules_.lacks.get(), "ss", module.c_str(), name.c_str())));
  TAEDA_CHECK_NOT_IMPLEMENTED(!PyObject_IsTrue(is_lacking.get()), "the file needs ", path,
                              ", which Taeda does not have");
  fail_global(path);
}

bool PythonModel::is_callable(PyObject* o) const { return is_in(rules_.callables, o); }

Ref PythonModel::reduce(const Ref& function, const Ref& arguments) const {
  if (!is_callable(function.get())) {
    std::string message = str("Trying to call reduce for unrecognized function ",
                              shown(function.get(), PyObject_Str));
    if (PyObject_HasAttrString(function.get(), "__self__"))
      message +=
          " which belongs to " + shown(attribute(function.get(), "__self__").get(), PyObject_Str);
    throw PickleError(message);
  }
  PyObject* values = expect_tuple(arguments);
  check_arguments(rules_, function.get(), values);
  return Ref(checked(PyObject_CallObject(function.get(), values)));
}

Ref PythonModel::make(const Ref& type, const Ref& arguments) const {
  PyObject* values = expect_tuple(arguments);
  if (type.get() == rules_.parameter_class.get())
    return Ref(checked(PyObject_CallObject(type.get(), values)));
  if (!PyType_Check(type.get()) || !is_callable(type.get()))
    throw PickleError(
        str("Can only create new object for nn.Parameter or classes allowlisted via "
            "`add_safe_globals` but got ",
            shown(type.get(), PyObject_Str)));
  check_arguments(rules_, type.get(), values);
  const Py_ssize_t n = PyTuple_GET_SIZE(values);
  Ref all(checked(PyTuple_New(n + 1)));
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(type.get()));
  for (Py_ssize_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(values, i)));
  const Ref constructor = attribute(type.get(), "__new__");
  return Ref(checked(PyObject_CallObject(constructor.get(), all.get())));
}

void PythonModel::build(const Ref& object, const Ref& state) const {
  PyObject* o = object.get();
  if (is_exactly(o, rules_.tensor_class)) {
    Ref(checked(PyObject_CallFunctionObjArgs(rules_.set_tensor.get(), o, state.get(), nullptr)));
  } else if (is_exactly(o, rules_.ordered_dict_class)) {
    update_attributes(o, state.get());
  } else if (is_callable(reinterpret_cast<PyObject*>(Py_TYPE(o)))) {
    if (PyObject_HasAttrString(o, "__setstate__"))
      Ref(checked(
          PyObject_CallMethodOneArg(o, Ref(wrap(std::string("__setstate__"))).get(), state.get())));
    else
      set_state(o, state.get());
  } else {
    throw PickleError(
        str("Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
            "`add_safe_globals`, but got ",
            type_text(o)));
  }
}

Ref PythonModel::persistent(const Ref& id) const {
  PyObject* o = id.get();
  const bool is_tuple = PyTuple_CheckExact(o);
  if (!is_tuple && !PyLong_CheckExact(o))
    throw PickleError(str("persistent_load id must be tuple or int, but got ", type_text(o)));
  if (is_tuple && PyTuple_GET_SIZE(o) > 0) {
    PyObject* kind = PyTuple_GET_ITEM(o, 0);
    const bool is_storage =
        (PyUnicode_Check(kind) && text_of(kind) == "storage") ||
        (PyBytes_Check(kind) && std::string_view(PyBytes_AS_STRING(kind)) == "storage");
    if (!is_storage)
      throw PickleError(
          str("Only persistent_load of storage is allowed, but got ", type_text(kind)));
  }
  return Ref(checked(PyObject_CallOneArg(rules_.persistent_load.get(), o)));
}

void PythonModel::warn_of_protocol(int protocol) const {
  if (PyErr_WarnFormat(PyExc_UserWarning, 2,
                       "Detected pickle protocol %d in the checkpoint, which was not the default "
                       "pickle protocol used by `torch.load` (2). The weights_only Unpickler might "
                       "not support all instructions implemented by this protocol, please file an "
                       "issue for adding support if you encounter this.",
                       protocol) < 0)
    throw_python_error();
}

}  // namespace taeda::python
