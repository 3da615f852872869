// Texts and hashes of objects: what they tell of an object that no guard knows.
#include <algorithm>
#include <string_view>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

// Whether a field of a text for str.format asks for an attribute: "{one.name}".
bool asks_for_attribute(std::string_view text) {
  for (size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1))
    if (text.substr(at + 1, text.find_first_of("{}:!", at + 1) - at - 1).find('.') != text.npos)
      return true;
  return false;
}

PyObject* method_of(PyTypeObject* type, const char* name) {
  return PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name);
}

// Whether repr of an object names an address.
bool names_address(PyObject* object, int depth = 0) {
  constexpr int kDeepest = 20;
  if (depth > kDeepest) return false;
  if (PyFunction_Check(object) || PyMethod_Check(object)) return true;
  if (PyDict_CheckExact(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value))
      if (names_address(key, depth + 1) || names_address(value, depth + 1)) return true;
    return false;
  }
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    PyObject** items = PySequence_Fast_ITEMS(object);
    return std::any_of(items, items + PySequence_Fast_GET_SIZE(object),
                       [&](PyObject* item) { return names_address(item, depth + 1); });
  }
  return Py_TYPE(object)->tp_repr == PyBaseObject_Type.tp_repr;
}

// The same of str and format.
bool shows_address(PyObject* object) {
  static PyObject* const name = PyUnicode_InternFromString("__format__");
  PyTypeObject* type = Py_TYPE(object);
  const bool is_plain = type->tp_str == PyBaseObject_Type.tp_str &&
                        _PyType_Lookup(type, name) == _PyType_Lookup(&PyBaseObject_Type, name);
  return is_plain && names_address(object);
}

}  // namespace

void Capture::check_text(const Call& call) {
  static PyObject* const shows[] = {imported("builtins", "repr"), imported("builtins", "ascii"),
                                    method_of(&PyBaseObject_Type, "__repr__")};
  static PyObject* const makes[] = {
      reinterpret_cast<PyObject*>(&PyUnicode_Type), imported("builtins", "format"),
      method_of(&PyUnicode_Type, "format"), method_of(&PyUnicode_Type, "format_map")};
  const auto is_one = [&](const auto& known) {
    return std::find(std::begin(known), std::end(known), call.callable) != std::end(known);
  };
  const bool is_shown = is_one(shows), is_made = !is_shown && is_one(makes);
  if (!is_shown && !is_made) return;
  for (PyObject* value : call.values)
    if (is_shown ? names_address(value) : shows_address(value)) throw Break{"an object as a text"};
  if (call.callable != makes[2] && call.callable != makes[3]) return;
  // C reads attributes of the program's objects behind the capture's back.
  PyObject* text = call.values.empty() ? nullptr : call.values[0];
  if (text == nullptr || !PyUnicode_Check(text)) return;
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes == nullptr) throw Raised{};
  if (asks_for_attribute({bytes, static_cast<size_t>(size)}) &&
      !std::all_of(call.values.begin(), call.values.end(), is_immutable))
    throw Break{"a text with attributes in its fields"};
}

// "%s" % objects
void Capture::check_text_of(PyObject* objects) {
  if (names_address(objects)) throw Break{"an object as a text"};
}

void Capture::check_hash(const Call& call) {
  static PyObject* const known[] = {imported("builtins", "hash"),
                                    method_of(&PyBaseObject_Type, "__hash__")};
  if (call.values.size() == 1 && (call.callable == known[0] || call.callable == known[1]))
    check_hash(call.values[0]);
}

// The hash of most objects is made of their address.
void Capture::check_hash(PyObject* object) {
  if (PyTuple_CheckExact(object))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      check_hash(PyTuple_GET_ITEM(object, i));
  const bool is_by_address = Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash ||
                             PyFunction_Check(object) || recorder_.is_tensor_value(object);
  if (!is_by_address || is_immutable(object)) return;
  const Outside* outside = find(object);
  if (outside == nullptr || outside->source < 0 || recorder_.is_value(object))
    throw Break{"the hash of an object of the capture"};
  if (outside->original != nullptr && outside->original != object)
    throw Break{"the hash of an object that has a stand-in"};
  check(Check::Kind::Is, outside->source, object);
}

// hash of an object of C that is the same at every call. Null for other calls.
PyObject* Capture::call_hash(const Call& call) {
  static PyObject* const hash = imported("builtins", "hash");
  if (call.callable != hash || call.values.size() != 1) return nullptr;
  PyObject* object = call.values[0];
  const Outside* outside = find(object);
  if (outside == nullptr || outside->source < 0 || outside->original == nullptr ||
      recorder_.is_value(object))
    return nullptr;
  static PyObject* const name = PyUnicode_InternFromString("__hash__");
  PyObject* found = _PyType_Lookup(Py_TYPE(object), name);
  // Views of values have stand-ins, whose addresses are others.
  const bool is_by_address = Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash;
  const bool is_known = found != nullptr && Py_IS_TYPE(found, &PyWrapperDescr_Type) &&
                        (outside->is_opaque ? is_by_address || is_value_of_c(object)
                                            : is_by_address && outside->original != object);
  if (!is_known) return nullptr;
  check(Check::Kind::Is, outside->source, outside->original);
  return need(PyObject_CallOneArg(hash, outside->original));
}

}  // namespace taeda::dynamo
