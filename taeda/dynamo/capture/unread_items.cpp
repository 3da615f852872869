// Constants in lists and tuples of the program, whose guards wait until somebody looks at them;
// Note [Unread items].
#include <algorithm>
#include <utility>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

PyObject* Capture::import_item(PyObject* item, int source, Py_ssize_t place, Unread& unread) {
  // Slices may hold numbers that change. Handlers read what their program reads.
  const bool is_number = PyLong_CheckExact(item) || PyFloat_CheckExact(item);
  const bool waits = program_ == nullptr && is_immutable(item) && !PySlice_Check(item) &&
                     !(is_number && recorder_.may_change(item, source, sources_.text(source)));
  if (!waits) return import(item, source);
  unread.emplace(place, source);
  return Py_NewRef(item);
}

void Capture::note_unread(PyObject* container, Unread unread) {
  if (!unread.empty()) unread_items_.emplace(container, std::move(unread));
}

// A number that became a symbol meanwhile, by another path of the same name, is a constant here.
void Capture::read_unread(PyObject* item, int source) {
  const Owned own(import(item, source));
  if (own.get() != item) check(Check::Kind::Equal, source, item);
}

// None of these items can have become another than it is: what is written to a list opens it first.
void Capture::read_items(PyObject* container) {
  if (unread_items_.empty()) return;
  const auto node = unread_items_.extract(container);
  if (!node) return;
  for (const auto& [place, source] : node.mapped())
    read_unread(PySequence_Fast_GET_ITEM(container, place), source);
}

// The item of a subscript that only a whole number or a symbol can be; others read all.
void Capture::read_item(PyObject* container, PyObject* place) {
  const auto found = unread_items_.find(container);
  if (found == unread_items_.end()) return;
  const auto* methods = Py_TYPE(container)->tp_as_mapping;
  const bool is_plain =
      methods != nullptr && (methods->mp_subscript == PyTuple_Type.tp_as_mapping->mp_subscript ||
                             methods->mp_subscript == PyList_Type.tp_as_mapping->mp_subscript);
  if (!is_plain || !PyLong_CheckExact(place)) return read_items(container);
  Py_ssize_t index = PyLong_AsSsize_t(place);
  if (index == -1 && PyErr_Occurred()) return PyErr_Clear();  // an error of the subscript
  if (index < 0) index += PySequence_Fast_GET_SIZE(container);
  const auto item = found->second.find(index);
  if (item == found->second.end()) return;
  const int source = item->second;
  found->second.erase(item);
  if (found->second.empty()) unread_items_.erase(found);
  read_unread(PySequence_Fast_GET_ITEM(container, index), source);
}

// What a function of C found in a tuple: each item that is this object.
void Capture::read_found(PyObject* tuple, const PyObject* value) {
  const auto unread = unread_items_.find(tuple);
  if (unread == unread_items_.end()) return;
  std::vector<std::pair<PyObject*, int>> read;
  for (auto item = unread->second.begin(); item != unread->second.end();) {
    PyObject* own = PyTuple_GET_ITEM(tuple, item->first);
    if (own == value) read.emplace_back(own, item->second);
    item = own == value ? unread->second.erase(item) : std::next(item);
  }
  for (const auto& [own, source] : read) read_unread(own, source);
}

// A function of Python gets its arguments as they are; a class or an object of the program hands
// them on to one.
void Capture::read_arguments(const Call& call) {
  if (unread_items_.empty()) return;
  PyObject* callable = call.callable;
  const PyTypeObject* type =
      PyType_Check(callable) ? reinterpret_cast<PyTypeObject*>(callable) : Py_TYPE(callable);
  const bool is_handed_on =
      PyMethod_Check(callable) || is_partial(callable) ||
      (PyFunction_Check(callable) && recorder_.kind_of(callable) == CallKind::Entered) ||
      is_plain_instance(const_cast<PyTypeObject*>(type));
  static PyObject* const askers[] = {imported("builtins", "isinstance"),
                                     imported("builtins", "len"), imported("builtins", "getattr"),
                                     imported("builtins", "hasattr"), imported("builtins", "id")};
  if (is_handed_on || std::find(std::begin(askers), std::end(askers), callable) != std::end(askers))
    return;
  for (PyObject* value : call.values) open_deep(value);
}

}  // namespace taeda::dynamo
