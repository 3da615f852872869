// Keys of dicts and members of sets.
//
// Note [Keys that are objects]: a key that is a constant is known by its value. Tensors, modules
// and other objects are found by identity, and may be others at another call: one that the program
// looks up is known by its path, and the dict or set need not be opened. What opens it imports all
// keys, each by its place in the order, so that the region is good for every dict with such keys in
// such an order. Stand-ins are keys of twins, and of containers that the captured program makes.
// Which of them are one object decides what is found: those of different objects stay different
// (identities_). Keys of classes with a hash of their own are compared by functions of the program,
// which come back through the hook, among stand-ins alone.
#include <algorithm>
#include <cmath>

#include "python/interop/sym_numbers.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

bool is_found_by_identity(PyObject* object) {
  return Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash;
}

}  // namespace

Owned constant_key(PyObject* key) {
  if (python::is_symint(key)) return Owned(need(PyNumber_Long(key)));
  if (python::is_symfloat(key)) return Owned(need(PyNumber_Float(key)));
  if (!PyTuple_Check(key)) return Owned(Py_NewRef(key));
  const Py_ssize_t count = num_fields(key);
  Owned items(need(PyTuple_New(count)));
  bool is_same = true;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Owned item = constant_key(PyTuple_GET_ITEM(key, i));
    is_same &= item.get() == PyTuple_GET_ITEM(key, i);
    PyTuple_SET_ITEM(items.get(), i, item.release());
  }
  if (is_same) return Owned(Py_NewRef(key));
  // A Size or a named tuple of constants is as good as the one that the program made.
  if (_PyObject_GetDictPtr(key) != nullptr)
    throw Break{std::string("a key of class ") + Py_TYPE(key)->tp_name + " that holds sizes"};
  return Owned(need(make_tuple(Py_TYPE(key), items.get())));
}

// A function that was read from the program is known by its code alone; one that a path gives may
// be another one of that code.
bool Capture::is_constant_key(PyObject* key) {
  if (PyTuple_Check(key)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
      if (!is_constant_key(PyTuple_GET_ITEM(key, i))) return false;
    return true;
  }
  if (PyFunction_Check(key)) return find(key) == nullptr && !is_made(key);
  return is_known_key(key);
}

// The object of the program that a key stands for, and its path; null where it is none, or found by
// more than its identity.
PyObject* Capture::real_key_of(PyObject* key, int* path) {
  if (recorder_.is_value(key)) return recorder_.real_of(key, path);
  const Outside* outside = find(key);
  if (outside == nullptr || outside->source < 0 || outside->twin != nullptr ||
      !is_found_by_identity(key))
    return nullptr;
  *path = outside->source;
  return key;
}

// One that the captured program made: no container of the program has it.
bool Capture::is_made_key(PyObject* key) {
  int path = -1;
  if (recorder_.is_tensor_value(key)) return recorder_.real_of(key, &path) == nullptr;
  if (PyFunction_Check(key)) return is_made(key);
  return find(key) == nullptr && is_plain_instance(Py_TYPE(key)) && !is_immutable(key) &&
         is_found_by_identity(key);
}

static bool is_compared_by_value(PyObject* object) {
  return PyUnicode_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyBytes_CheckExact(object) || object == Py_None ||
         (PyFloat_CheckExact(object) && !std::isnan(PyFloat_AS_DOUBLE(object)));
}

std::optional<bool> list_contains(PyObject* list, PyObject* constant) {
  if (!is_compared_by_value(constant)) return std::nullopt;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (!is_compared_by_value(item)) return std::nullopt;
    const int is_equal = PyObject_RichCompareBool(item, constant, Py_EQ);
    need(is_equal);
    if (is_equal) return true;
  }
  return false;
}

// `key in list` of a list that nobody looked into, with one guard for all items; null where it has
// to be opened. A number that changes is known by its path.
PyObject* Capture::find_in_list(const Twin& twin, PyObject* key) {
  const Outside* outside = python::is_symbolic(key) ? find(key) : nullptr;
  const int path = outside == nullptr ? -1 : outside->source;
  PyObject* real = python::is_symbolic(key) && path >= 0 ? recorder_.real_at(path) : key;
  const auto is_there = real == nullptr ? std::nullopt : list_contains(twin.original, real);
  if (!is_there) return nullptr;
  check_key(*is_there, twin, key, path);
  return *is_there ? Py_True : Py_False;
}

// The stand-ins of all keys of a dict or set of the program, in its order.
std::vector<Owned> Capture::import_keys(PyObject* keys, int source) {
  const int path = sources_.of(Step::Keys, source);
  check(Check::Kind::Length, path, nullptr, PyTuple_GET_SIZE(keys));
  std::vector<Owned> all;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    Owned own(
        import(PyTuple_GET_ITEM(keys, i), sources_.of(Step::Index, path, static_cast<int>(i))));
    own = constant_key(own.get());
    if (twin_of(own.get()) != nullptr || (is_opaque(own.get()) && !is_found_by_identity(own.get())))
      throw Break{std::string("a key of class ") + Py_TYPE(own.get())->tp_name};
    note_identity(own.get());
    all.push_back(std::move(own));
  }
  return all;
}

// Whether a container of the program has a key, which is a constant or known by its path.
void Capture::check_key(bool is_there, const Twin& twin, PyObject* key, int path) {
  using Kind = Check::Kind;
  if (path < 0) return check(is_there ? Kind::Present : Kind::Absent, twin.source, key);
  check(is_there ? Kind::PresentKey : Kind::AbsentKey, std::max(twin.source, path), nullptr,
        (static_cast<int64_t>(twin.source) << 32) | path);
}

// `key in set` of a set that nobody looked into, borrowed; null where it has to be opened.
PyObject* Capture::find_in_set(Twin& twin, PyObject* key) {
  if (is_made_key(key)) return Py_False;
  int path = -1;
  PyObject* real = real_key_of(key, &path);
  if (real == nullptr) return nullptr;
  note_identity(key);
  const int is_there = PySet_Contains(twin.original, real);
  need(is_there);
  check_key(is_there, twin, key, path);
  return is_there ? Py_True : Py_False;
}

// Whether a dict of the program had a key that was looked up, or all of whose keys are known. The
// program's own functions compare keys of their classes.
bool Capture::contains_at_first(const Twin& twin, PyObject* key) {
  const SessionScope natively(nullptr);
  int path = -1;
  PyObject* real = key;
  PyObject* dict = twin.keys ? twin.keys.get() : twin.original;
  if (!twin.keys && !is_constant_key(key)) real = real_key_of(key, &path);
  if (real == nullptr) return false;
  const int contains = PyDict_Contains(dict, real);
  need(contains);
  return contains;
}

// The stand-ins of the keys of an open dict, in its order.
Owned Capture::keys_at_first(const Twin& twin) {
  return twin.keys ? Owned(need(keys_in_order(twin.keys.get()))) : keys_of(twin.original);
}

// Objects that are equal are two keys still.
static bool is_same_key(PyObject* a, PyObject* b) {
  return a == b || (is_known_key(a) && same_constant(a, b));
}

// Whether what is left of the original comes first and in its order. Of a dict that was not
// opened only single keys were touched, which `deleted` tells.
bool Capture::keeps_order(const Twin& twin, PyObject* own, PyObject* keys) {
  if (!twin.is_open) return true;
  Owned originals = keys_at_first(twin);
  Py_ssize_t next = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(originals.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(originals.get(), i);
    if (PyDict_Contains(own, key) == 0 || PySet_Contains(twin.deleted.get(), key) != 0) continue;
    // Keys that were deleted and written again are behind all others.
    while (next < PyTuple_GET_SIZE(keys) &&
           PySet_Contains(twin.deleted.get(), PyTuple_GET_ITEM(keys, next)) != 0)
      ++next;
    if (next >= PyTuple_GET_SIZE(keys) || !is_same_key(PyTuple_GET_ITEM(keys, next++), key))
      return false;
  }
  return true;
}

// Of a key, or what a tuple as a key holds: it stays another object than the others.
void Capture::note_identity(PyObject* key) {
  if (PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyType_Check(key) ||
      is_native_function(key))
    return;
  if (PyTuple_Check(key)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) note_identity(PyTuple_GET_ITEM(key, i));
    return;
  }
  if (PyMethod_Check(key)) {
    note_identity(PyMethod_GET_FUNCTION(key));
    return note_identity(PyMethod_GET_SELF(key));
  }
  const Outside* outside = find(key);
  if (outside != nullptr && outside->source < 0)
    throw Break{"the identity of what only a run knows"};
  int path = -1;
  if (real_key_of(key, &path) != nullptr && path >= 0) identities_.insert(path);
}

void Capture::note_identities_in(PyObject* container) {
  const bool is_hashed = PyAnySet_Check(container) || PyDict_Check(container);
  if (!is_hashed && !PyList_Check(container) && !PyTuple_Check(container)) return;
  const Owned items(is_hashed ? need(keys_in_order(container)) : Py_NewRef(container));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    note_identity(PySequence_Fast_GET_ITEM(items.get(), i));
}

// Of a call of a function of C: what it looked up, and the keys of what it made or filled. Keys
// that were in its container before are known.
void Capture::note_identities(const Call& call, PyObject* result) {
  const auto is_hashed = [](PyObject* o) { return PyAnySet_Check(o) || PyDict_Check(o); };
  if (result != nullptr && is_hashed(result)) note_identities_in(result);
  if (std::none_of(call.values.begin(), call.values.end(), is_hashed)) return;
  for (PyObject* value : call.values) {
    note_identity(value);
    if (value != call.values[0] || !is_hashed(value)) note_identities_in(value);
    if (PyIter_Check(value) && is_hashed(call.values[0])) note_identities_in(call.values[0]);
  }
}

// Members of a set that have another place than they had: the stand-ins of tensors have other
// hashes.
void Capture::note_order(PyObject* set, const std::vector<Owned>& items) {
  const Owned order(need(keys_in_order(set)));
  for (size_t i = 0; i < items.size(); ++i)
    if (PyTuple_GET_ITEM(order.get(), static_cast<Py_ssize_t>(i)) != items[i].get()) {
      unordered_.insert(set);
      return;
    }
}

void Capture::check_order(PyObject* set) const {
  if (unordered_.contains(set)) throw Break{"the order of a set whose members are objects"};
}

// Functions of C that ask no more than which members a set has.
void Capture::check_order(const Call& call) const {
  if (unordered_.empty()) return;
  static PyObject* const len = imported("builtins", "len");
  const PyTypeObject* kind = Py_TYPE(call.callable);
  const bool is_method = kind == &PyMethodDescr_Type || kind == &PyWrapperDescr_Type;
  const PyTypeObject* owner = is_method ? PyDescr_TYPE(call.callable) : nullptr;
  const auto is_named = [&](const char* text) {
    return PyUnicode_CompareWithASCIIString(PyDescr_NAME(call.callable), text) == 0;
  };
  const bool is_of_sets = (owner == &PySet_Type || owner == &PyFrozenSet_Type) &&
                          !is_named("pop") && !is_named("__iter__");
  const bool is_set_made = call.callable == reinterpret_cast<PyObject*>(&PySet_Type) ||
                           call.callable == reinterpret_cast<PyObject*>(&PyFrozenSet_Type);
  if (is_of_sets || is_set_made || call.callable == len ||
      call.callable == reinterpret_cast<PyObject*>(&PyBool_Type))
    return;
  for (PyObject* value : call.values) check_order(value);
}

}  // namespace taeda::dynamo
