// Imports of a captured program: modules that are there, and those of the package.
#include <string>
#include <string_view>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

std::string_view text_of(PyObject* name) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == nullptr) throw Raised{};
  return {text, static_cast<size_t>(size)};
}

Owned name_from(std::string_view text) {
  return Owned(
      need(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()))));
}

}  // namespace

// What sys.modules has by a name, guarded; modules of the package do nothing but define, and are
// loaded. A new reference.
PyObject* Capture::module_of(PyObject* name) {
  PyObject* modules = PyImport_GetModuleDict();
  const int is_there = PyDict_Contains(modules, name);
  need(is_there);
  if (!is_there) {
    if (!text_of(name).starts_with("taeda."))
      throw Break{"an import of a module for the first time"};
    Owned args(need(PyTuple_Pack(1, name)));
    static PyObject* const import_module = imported("importlib", "import_module");
    Owned loaded(need(recorder_.call_natively(import_module, args.get(), nullptr)));
  }
  PyObject* module = dict_get(pinned_dict(modules, "sys.modules"), name);
  if (module == nullptr || module == Py_None)
    throw Break{"an import of a module that is not there"};
  return Py_NewRef(module);
}

// The whole name of a module that `from ..name import` asks for, and of others their name.
Owned Capture::absolute_name(const State& state, PyObject* name, PyObject* level) {
  const long depth = PyLong_AsLong(level);
  if (depth == 0) return Owned(Py_NewRef(name));
  PyObject* globals = taeda_frame_globals(state.frame);
  static PyObject* const package_name = PyUnicode_InternFromString("__package__");
  PyObject* package =
      PyDict_CheckExact(globals) ? dict_get(pinned_dict(globals, "G"), package_name) : nullptr;
  if (depth < 0 || package == nullptr || !PyUnicode_CheckExact(package))
    throw Break{"an import from a package that is not known"};
  std::string_view base = text_of(package);
  for (long i = 1; i < depth; ++i)
    base = base.substr(0, base.rfind('.') == base.npos ? 0 : base.rfind('.'));
  if (base.empty()) throw Break{"an import from a package that is not known"};
  const std::string_view own = text_of(name);
  return name_from(own.empty() ? std::string(base) : std::string(base) + "." + std::string(own));
}

// `from package import name` loads a module of that name where the package has none.
void Capture::load_parts(PyObject* package, PyObject* package_name, PyObject* names) {
  if (!PyModule_CheckExact(package)) throw Break{"an import from an object that is no module"};
  static PyObject* const path = PyUnicode_InternFromString("__path__");
  static PyObject* const maker = PyUnicode_InternFromString("__getattr__");
  PyObject* dict = PyModule_GetDict(package);
  const auto has = [&](PyObject* name) {
    const int is_there = PyDict_Contains(dict, name);
    need(is_there);
    return is_there == 1;
  };
  if (!has(path)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (has(name) || has(maker)) continue;
    const Owned whole(need(PyUnicode_FromFormat("%U.%U", package_name, name)));
    Py_DECREF(module_of(whole.get()));
  }
}

Flow Capture::import_name(State& state, int argument) {
  PyObject* builtins = taeda_frame_builtins(state.frame);
  static PyObject* const importer_name = PyUnicode_InternFromString("__import__");
  PyObject* importer = PyDict_CheckExact(builtins)
                           ? dict_get(pinned_dict(builtins, "__builtins__"), importer_name)
                           : nullptr;
  if (importer == nullptr || !PyCFunction_CheckExact(importer))
    throw Break{"an import by a function of the program"};
  const Owned name = absolute_name(state, state.name(argument), state.peek(2));
  Owned module(module_of(name.get()));
  if (state.peek(1) != Py_None && PyTuple_GET_SIZE(state.peek(1)) > 0) {
    load_parts(module.get(), name.get(), state.peek(1));
  } else if (const size_t dot = text_of(name.get()).find('.'); dot != std::string_view::npos) {
    module = Owned(module_of(name_from(text_of(name.get()).substr(0, dot)).get()));
  }
  for (int i = 0; i < 2; ++i) Py_DECREF(state.pop());
  state.push(module.release());
  return Flow::Next;
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
