// Classes that nobody changed; Note [Guards of classes].
#include <cstring>
#include <unordered_map>

#include "taeda/dynamo/capture/guards.h"

namespace taeda::dynamo {

namespace {

// Gives the class a version where it has none.
unsigned version_of(PyTypeObject* type) {
  static PyObject* const any_name = PyUnicode_InternFromString("__init__");
  _PyType_Lookup(type, any_name);
  return type->tp_version_tag;
}

bool is_data(PyObject* value) {
  return Py_TYPE(value)->tp_descr_get == nullptr && Py_TYPE(value)->tp_descr_set == nullptr;
}

// __hash__ = None says what objects do.
bool is_special(PyObject* name) {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text == nullptr || std::strncmp(text, "__", 2) == 0;
}

bool has_same_names(PyObject* now, PyObject* before, bool is_strict) {
  if (PyDict_GET_SIZE(now) != PyDict_GET_SIZE(before)) return false;
  Py_ssize_t position = 0;
  PyObject *name, *value;
  while (PyDict_Next(before, &position, &name, &value)) {
    PyObject* found = PyDict_GetItemWithError(now, name);
    if (found == nullptr) {
      PyErr_Clear();
      return false;
    }
    if (found != value && (is_strict || is_special(name) || !is_data(found) || !is_data(value)))
      return false;
  }
  return true;
}

}  // namespace

Owned subclasses_of(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__subclasses__");
  return Owned(
      PyObject_CallOneArg(_PyType_Lookup(&PyType_Type, name), reinterpret_cast<PyObject*>(type)));
}

std::shared_ptr<const ClassGuard> ClassGuard::of(PyTypeObject* type, bool is_strict,
                                                 std::vector<Owned>& kept) {
  // Guards outlive the process's last look at this.
  static auto* const known = new std::unordered_map<PyTypeObject*, std::weak_ptr<ClassGuard>>;
  constexpr size_t kMany = 1024;
  if (known->size() > kMany)
    std::erase_if(*known, [](const auto& entry) { return entry.second.expired(); });
  const unsigned version = version_of(type);
  if (const auto found = known->find(type); found != known->end()) {
    const auto guard = found->second.lock();
    if (guard && version != 0 && guard->version_ == version) {
      for (const auto& [base, names] : guard->names_) kept.emplace_back(Py_XNewRef(names));
      return guard;
    }
  }
  auto made = std::make_shared<ClassGuard>();
  made->version_ = version;
  made->is_strict_ = is_strict;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;  // nobody changes those of C
    PyObject* names = PyDict_Copy(base->tp_dict);
    if (names == nullptr) PyErr_Clear();
    kept.emplace_back(names);
    made->names_.emplace_back(base, names);
  }
  (*known)[type] = made;
  return made;
}

bool ClassGuard::fits_again(PyTypeObject* type) const {
  size_t next = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    if (next == names_.size() || names_[next].first != base || !names_[next].second ||
        !has_same_names(base->tp_dict, names_[next].second, is_strict_))
      return false;
    ++next;
  }
  if (next != names_.size()) return false;
  version_ = version_of(type);
  return true;
}

}  // namespace taeda::dynamo
