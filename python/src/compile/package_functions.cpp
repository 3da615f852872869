// taeda._C._inductor: packages.
#include "python/src/compile/package_functions.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/compile/compiled_object.h"
#include "python/src/fx/export_functions.h"
#include "python/src/fx/fx_regions.h"
#include "taeda/inductor/package.h"

namespace taeda::python {
namespace {

using inductor::Metadata;
using inductor::Package;

Metadata read_metadata(PyObject* dict) {
  TAEDA_CHECK_TYPE(PyDict_Check(dict), "metadata is a dict");
  Metadata made;
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &at, &key, &value)) made.emplace(bytes_of(key), bytes_of(value));
  return made;
}

void handle_signals() {
  const GilHold gil;
  if (PyErr_CheckSignals() < 0) throw_python_error();
}

// save_package(path or None, examples, metadata, program...): bytes when there is no path
PyObject* save_package(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 9,
                     "save_package takes a path, inputs, metadata and the parts of a program");
    const exported::ExportedProgram program(read_program(args + 3));
    const std::vector<dispatch::Value> examples = read_values(args[1], "examples are a list");
    const Metadata metadata = read_metadata(args[2]);
    const std::string path = args[0] == Py_None ? "" : bytes_of(args[0]);
    std::string bytes;
    {
      const GilRelease blocking;
      if (args[0] == Py_None)
        inductor::save_package(program, examples, serialization::open_memory_sink(bytes), metadata,
                               handle_signals);
      else
        inductor::save_package(program, examples, path, metadata, handle_signals);
    }
    if (args[0] != Py_None) return Py_NewRef(Py_None);
    return checked(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  });
}

template <class Map>
Ref dict_of(const Map& map) {
  Ref dict(checked(PyDict_New()));
  for (const auto& [name, value] : map) {
    const Ref item(checked(wrap(value)));
    if (PyDict_SetItemString(dict.get(), name.c_str(), item.get()) < 0) throw_python_error();
  }
  return dict;
}

constexpr const char* kPackage = "taeda._C._inductor.package";

Package& package_of(PyObject* capsule) {
  void* found = PyCapsule_GetPointer(capsule, kPackage);
  if (!found) throw_python_error();
  return *static_cast<Package*>(found);
}

// load_package(path as str, or the archive as bytes): a callable of flat inputs, the package, its
// tensors, notes and metadata, and why kernels are interpreted
PyObject* load_package(PyObject*, PyObject* source) {
  return guarded([&] {
    const std::string text = bytes_of(source);
    const bool is_bytes = PyBytes_Check(source);
    auto package = [&] {
      const GilRelease blocking;
      return std::make_unique<Package>(
          is_bytes ? Package::load(serialization::open_memory_source(text)) : Package::load(text));
    }();
    auto made = std::make_shared<Compiled>();
    made->plans = package->plans();
    made->is_short = false;
    made->run = [own = *package](const std::vector<dispatch::Value>& inputs) mutable {
      return own.run(inputs);
    };
    const exported::ProgramParts& parts = package->program().parts();
    const Ref run(wrap_compiled(std::move(made))),
        state = dict_of(parts.state), notes = dict_of(parts.notes),
        metadata = dict_of(package->metadata()), problem(checked(wrap_message(package->problem())));
    const Ref capsule(checked(PyCapsule_New(package.get(), kPackage, [](PyObject* o) {
      delete static_cast<Package*>(PyCapsule_GetPointer(o, kPackage));
    })));
    package.release();
    return checked(PyTuple_Pack(6, run.get(), capsule.get(), state.get(), notes.get(),
                                metadata.get(), problem.get()));
  });
}

// load_constants(package, {name: tensor}, is_full)
PyObject* load_constants(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3 && PyDict_Check(args[1]),
                     "load_constants takes a package, a dict of tensors and a bool");
    std::map<std::string, Tensor> tensors;
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(args[1], &at, &key, &value))
      tensors.emplace(bytes_of(key), expect_tensor(value, "a constant of the package"));
    package_of(args[0]).load_constants(tensors, args[2] == Py_True);
    return Py_NewRef(Py_None);
  });
}

// interpreted_runs(package)
PyObject* interpreted_runs(PyObject*, PyObject* package) {
  return guarded([&] { return wrap(package_of(package).interpreted_runs()); });
}

}  // namespace

PyMethodDef package_functions[] = {
    {"save_package", as_function(save_package), METH_FASTCALL,
     "save_package(path, examples, metadata, program...): bytes where the path is None."},
    {"load_package", load_package, METH_O, "The package at a path, or in bytes."},
    {"load_constants", as_function(load_constants), METH_FASTCALL,
     "Copies tensors into those of a package."},
    {"interpreted_runs", interpreted_runs, METH_O,
     "Runs of inputs that the plans are not made for."},
    {},
};

}  // namespace taeda::python
