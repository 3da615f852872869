#include "taeda/dynamo/capture/dict_mark.h"

#include <unordered_map>

namespace taeda::dynamo {

#if PY_VERSION_HEX < 0x030D0000

std::optional<DictMark> DictMark::of(PyObject* dict) { return DictMark(dict, count_of(dict)); }

#else

namespace {

// The flags of the dicts that are watched. Used under Python's lock.
std::unordered_map<PyObject*, std::shared_ptr<bool>>& watched() {
  static auto* const flags = new std::unordered_map<PyObject*, std::shared_ptr<bool>>();
  return *flags;
}

int on_change(PyDict_WatchEvent event, PyObject* dict, PyObject*, PyObject*);

// -1 where all watchers of the interpreter are taken.
int watcher() {
  static const int id = [] {
    const int added = PyDict_AddWatcher(on_change);
    if (added < 0) PyErr_Clear();
    return added;
  }();
  return id;
}

int on_change(PyDict_WatchEvent event, PyObject* dict, PyObject*, PyObject*) {
  const auto found = watched().find(dict);
  if (found == watched().end()) return 0;
  *found->second = true;
  watched().erase(found);
  return event == PyDict_EVENT_DEALLOCATED ? 0 : PyDict_Unwatch(watcher(), dict);
}

// Attributes that an object holds itself are written past the watchers of its dict, in 3.13.0 at
// least. A dict takes its values over for a key that is no string, and keeps them without it.
bool take_values(PyObject* dict) {
  if (reinterpret_cast<PyDictObject*>(dict)->ma_values == nullptr) return true;
  return PyDict_SetItem(dict, Py_None, Py_None) == 0 && PyDict_DelItem(dict, Py_None) == 0;
}

}  // namespace

std::optional<DictMark> DictMark::of(PyObject* dict) {
  if (watcher() < 0) return std::nullopt;
  std::shared_ptr<bool>& flag = watched()[dict];
  if (!flag) {
    if (!take_values(dict) || PyDict_Watch(watcher(), dict) < 0) {
      PyErr_Clear();
      watched().erase(dict);
      return std::nullopt;
    }
    flag = std::make_shared<bool>(false);
  }
  return DictMark(dict, flag);
}

#endif

}  // namespace taeda::dynamo
