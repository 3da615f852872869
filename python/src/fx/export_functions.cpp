// taeda._C._export: validates, saves and loads exported programs, and checks their inputs.
#include "python/src/fx/export_functions.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/fx/fx_types.h"
#include "taeda/export/exported_program.h"
#include "taeda/fx/text.h"

namespace taeda::python {

using exported::ExportedProgram;
using exported::ProgramParts;

std::string bytes_of(PyObject* o) {
  Py_ssize_t size = 0;
  char* data = nullptr;
  if (PyBytes_Check(o)) {
    if (PyBytes_AsStringAndSize(o, &data, &size) < 0) throw_python_error();
    return {data, static_cast<size_t>(size)};
  }
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) throw_python_error();
  return {text, static_cast<size_t>(size)};
}

namespace {

// Calls f(name, value) for the items of a dict.
template <class F>
void for_each_item(PyObject* dict, F&& f) {
  TAEDA_CHECK_TYPE(PyDict_Check(dict), "expected a dict");
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &at, &key, &value)) f(bytes_of(key), value);
}

const IntrusivePtr<fx::Graph>& graph_argument(PyObject* o) {
  TAEDA_CHECK_TYPE(is_fx_graph(o), "expected a Graph");
  return reinterpret_cast<GraphObject*>(o)->value;
}

}  // namespace

ProgramParts read_program(PyObject* const* args) {
  ProgramParts parts;
  parts.graph = graph_argument(args[0]);
  parts.signature = exported::read_signature(read_arg(args[1]));
  for_each_item(args[2], [&](std::string name, PyObject* t) {
    parts.state.emplace(std::move(name), expect_tensor(t, "a tensor of the program"));
  });
  TAEDA_CHECK_TYPE(PyList_Check(args[3]), "expected a list of tensors");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[3]); ++i)
    parts.examples.push_back(expect_tensor(PyList_GET_ITEM(args[3], i), "an example"));
  for_each_item(args[4], [&](std::string name, PyObject* text) {
    parts.notes.emplace(std::move(name), bytes_of(text));
  });
  for_each_item(args[5], [&](std::string name, PyObject* text) {
    parts.extra_files.emplace(std::move(name), bytes_of(text));
  });
  return parts;
}

namespace {

// validate(graph, signature, state)
PyObject* validate_program(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3, "validate takes a graph, a signature and tensors");
    const Ref none(PyDict_New()), empty(PyList_New(0));
    PyObject* all[] = {args[0], args[1], args[2], empty.get(), none.get(), none.get()};
    exported::validate(read_program(all));
    return Py_NewRef(Py_None);
  });
}

// save(path or None, program...): bytes when there is no path
PyObject* save(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 7, "save takes a path and the parts of a program");
    const ExportedProgram program(read_program(args + 1));
    if (args[0] != Py_None) {
      const std::string path = bytes_of(args[0]);
      const GilRelease blocking;
      program.save(path);
      return Py_NewRef(Py_None);
    }
    std::string bytes;
    program.save(serialization::open_memory_sink(bytes));
    return checked(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  });
}

Ref wrap_bytes(const std::string& s) {
  return Ref(checked(PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()))));
}

template <class Map, class F>
Ref wrap_dict(const Map& map, F&& wrap_item) {
  Ref dict(checked(PyDict_New()));
  for (const auto& [name, value] : map) {
    const Ref item = wrap_item(value);
    if (PyDict_SetItemString(dict.get(), name.c_str(), item.get()) < 0) throw_python_error();
  }
  return dict;
}

PyObject* wrap_parts(const ProgramParts& parts) {
  const auto tensor = [](const Tensor& t) { return Ref(checked(wrap(t))); };
  const Ref graph(checked(wrap_graph(parts.graph)));
  const Ref signature(checked(wrap_arg(fx::parse_arg(exported::to_text(parts.signature)))));
  const Ref state = wrap_dict(parts.state, tensor);
  const Ref examples(checked(wrap(parts.examples)));
  const Ref notes =
      wrap_dict(parts.notes, [](const std::string& s) { return Ref(checked(wrap(s))); });
  const Ref extra = wrap_dict(parts.extra_files, wrap_bytes);
  return checked(PyTuple_Pack(6, graph.get(), signature.get(), state.get(), examples.get(),
                              notes.get(), extra.get()));
}

// load(path as str, or the archive as bytes) -> program
PyObject* load(PyObject*, PyObject* source) {
  return guarded([&] {
    const std::string text = bytes_of(source);
    const bool is_bytes = PyBytes_Check(source);
    const ExportedProgram program =
        is_bytes ? ExportedProgram::load(serialization::open_memory_source(text)) : [&] {
          const GilRelease blocking;
          return ExportedProgram::load(text);
        }();
    return wrap_parts(program.parts());
  });
}

constexpr const char* kChecks = "taeda._C._export.checks";

// make_checks(graph, signature): the argument of check_inputs
PyObject* make_checks(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "make_checks takes a graph and a signature");
    auto checks = std::make_unique<exported::InputChecks>(
        *graph_argument(args[0]), exported::read_signature(read_arg(args[1])));
    PyObject* capsule = checked(PyCapsule_New(checks.get(), kChecks, [](PyObject* o) {
      delete static_cast<exported::InputChecks*>(PyCapsule_GetPointer(o, kChecks));
    }));
    checks.release();
    return capsule;
  });
}

// check_inputs(checks, list)
PyObject* check_inputs(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2 && PyList_Check(args[1]), "check_inputs takes checks and a list");
    auto* checks = static_cast<exported::InputChecks*>(PyCapsule_GetPointer(args[0], kChecks));
    if (!checks) throw_python_error();
    std::vector<fx::Value> values;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[1]); ++i) {
      const fx::Arg arg = read_arg(PyList_GET_ITEM(args[1], i));
      TAEDA_CHECK_TYPE(arg.is_constant(), "an input is no leaf");
      values.push_back(arg.constant());
    }
    checks->check(values);
    return Py_NewRef(Py_None);
  });
}

}  // namespace

PyMethodDef export_table[] = {
    {"validate", as_function(validate_program), METH_FASTCALL, nullptr},
    {"save", as_function(save), METH_FASTCALL, nullptr},
    {"load", load, METH_O, nullptr},
    {"make_checks", as_function(make_checks), METH_FASTCALL, nullptr},
    {"check_inputs", as_function(check_inputs), METH_FASTCALL, nullptr},
    {},
};

}  // namespace taeda::python
