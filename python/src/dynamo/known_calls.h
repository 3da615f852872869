// What functions do that a capture does not enter, by object.
//
// Python knows it (taeda/compiler/_known_calls.py) and tells it module by module, when a function
// of the module is met: a function that nobody imported cannot be called.
#pragma once

#include "python/interop/python.h"

#include <unordered_map>

#include "taeda/dynamo/capture/recorder.h"

namespace taeda::python {

// Under the GIL. Calls of Python (learn, substitute_of) are made outside of captures.
class KnownCalls {
 public:
  // What a program says replaces what is known.
  void set(PyObject* function, dynamo::CallKind kind);
  // What Python tells of a module leaves it.
  void add(PyObject* function, dynamo::CallKind kind);
  dynamo::CallKind of(PyObject* function) const;
  // Whether the program said of a function of Python that captures leave it alone.
  static bool is_disabled(PyObject* function);

  // Another function is entered instead. A text is the module that has it, imported when asked for.
  void substitute(PyObject* function, PyObject* with);
  bool is_substituted(PyObject* function) const { return substitutes_.contains(function); }
  // Null without one. Borrowed.
  PyObject* substitute_of(PyObject* function);

  // Whether Python was not asked about the module of a function so far.
  bool is_new(PyObject* function) const;
  void learn(PyObject* function);

 private:
  std::unordered_map<PyObject*, dynamo::CallKind> kinds_;
  std::unordered_map<PyObject*, PyObject*> substitutes_;
  PyObject* learned_ = nullptr;  // a set of names of modules
};
KnownCalls& known_calls();

}  // namespace taeda::python
