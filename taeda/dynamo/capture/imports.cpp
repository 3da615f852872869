// Imports of a captured program: modules that are there, and those of the package.
#include <string_view>

#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/handlers.h"

namespace taeda::dynamo {

Flow Capture::import_name(State& state, int argument) {
  PyObject* modules = PyImport_GetModuleDict();
  if (PyDict_GetItemWithError(modules, state.name(argument)) == nullptr) {
    // Modules of the package do nothing but define.
    const char* name = PyUnicode_AsUTF8(state.name(argument));
    if (name == nullptr || !std::string_view(name).starts_with("taeda."))
      throw Break{"an import of a module for the first time"};
    Owned args(need(PyTuple_Pack(1, state.name(argument))));
    static PyObject* const import_module = imported("importlib", "import_module");
    Owned loaded(need(recorder_.call_natively(import_module, args.get(), nullptr)));
  }
  const Flow flow = run::IMPORT_NAME_(state, argument);
  if (flow == Flow::Next) {
    PyObject* module = state.peek(1);
    if (find(module) == nullptr) Py_DECREF(note_outside(module, pin(module)));
  }
  return flow;
}

// `from module import name`: an attribute that is read.
Flow Capture::import_from(State& state, int argument) {
  PyObject* module = state.peek(1);
  if (!PyModule_CheckExact(module)) throw Break{"an import from an object that is no module"};
  try {
    state.push(attribute(module, state.name(argument)));
  } catch (const Raised&) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw;
    PyErr_Clear();
    throw Break{"an import of a name that is not there"};
  }
  return Flow::Next;
}

}  // namespace taeda::dynamo
