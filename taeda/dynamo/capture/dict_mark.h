// Tells whether a dict was changed since it was looked at.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace taeda::dynamo {

// Note [Marks of dicts]: until 3.12 a dict counts its changes, and a mark compares the count; the
// dict has to be alive. Since 3.13 attributes are written without a new count, but a dict can be
// watched: the interpreter tells before a change, and when the dict goes. The first change sets a
// flag that all marks of the dict share and ends the watching, so a dict that is often written
// costs one call per mark, not one per write.
class DictMark {
 public:
  // None where the interpreter has no watcher left.
  static std::optional<DictMark> of(PyObject* dict);

  PyObject* dict() const { return dict_; }

#if PY_VERSION_HEX < 0x030D0000
  bool is_unchanged() const { return count_of(dict_) == count_; }

 private:
  DictMark(PyObject* dict, uint64_t count) : dict_(dict), count_(count) {}
  static uint64_t count_of(PyObject* dict) {
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#  pragma GCC diagnostic pop
  }
  PyObject* dict_;
  uint64_t count_;
#else
  bool is_unchanged() const { return !*is_changed_; }

 private:
  DictMark(PyObject* dict, std::shared_ptr<const bool> is_changed)
      : dict_(dict), is_changed_(std::move(is_changed)) {}
  PyObject* dict_;
  std::shared_ptr<const bool> is_changed_;
#endif
};

}  // namespace taeda::dynamo
