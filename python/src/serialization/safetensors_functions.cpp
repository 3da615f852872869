// Files of named tensors, from Python: taeda.utils.safetensors.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/serialization/file_objects.h"
#include "python/src/serialization/serialization_functions.h"
#include "taeda/serialization/safetensors.h"

namespace taeda::python {
namespace {

using serialization::SafetensorsMetadata;
using serialization::SafetensorsReader;

std::string expect_text(PyObject* o, const char* what) {
  TAEDA_CHECK_TYPE(PyUnicode_Check(o), what, " must be str, not ", Py_TYPE(o)->tp_name);
  return text_of(o);
}

SafetensorsMetadata metadata_of(PyObject* dict) {
  SafetensorsMetadata out;
  if (dict == Py_None) return out;
  TAEDA_CHECK_TYPE(PyDict_Check(dict), "metadata must be a dict of str, got ",
                   Py_TYPE(dict)->tp_name);
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &at, &key, &value))
    out.emplace(expect_text(key, "a key of metadata"), expect_text(value, "a value of metadata"));
  return out;
}

// _save_safetensors(path or None, {name: tensor}, metadata or None): bytes without a path
PyObject* save_safetensors(PyObject*, PyObject* args) {
  PyObject *path = nullptr, *dict = nullptr, *metadata_object = nullptr;
  if (!PyArg_ParseTuple(args, "OO!O:_save_safetensors", &path, &PyDict_Type, &dict,
                        &metadata_object))
    return nullptr;
  return guarded([&] {
    const SafetensorsMetadata metadata = metadata_of(metadata_object);
    std::vector<std::pair<std::string, Tensor>> tensors;
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(dict, &at, &key, &value))
      tensors.emplace_back(text_of(key), expect_tensor(value, "a value of the dict"));
    if (path != Py_None) {
      const std::string text = path_text(path);
      const GilRelease blocking;
      serialization::write_safetensors(*serialization::open_file_sink(text), tensors, metadata);
      return Py_NewRef(Py_None);
    }
    std::string bytes;
    serialization::write_safetensors(*serialization::open_memory_sink(bytes), tensors, metadata);
    return checked(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  });
}

PyObject* wrap_contents(SafetensorsReader& reader, PyObject* wanted) {
  const Ref tensors(checked(PyDict_New())), metadata(checked(PyDict_New()));
  for (const auto& entry : reader.entries()) {
    const Ref name(checked(wrap(entry.name)));
    if (wanted != Py_None) {
      const int is_wanted = PySequence_Contains(wanted, name.get());
      if (is_wanted < 0) throw_python_error();
      if (!is_wanted) continue;
    }
    const Ref tensor(checked(wrap(reader.read(entry))));
    if (PyDict_SetItem(tensors.get(), name.get(), tensor.get()) < 0) throw_python_error();
  }
  for (const auto& [key, value] : reader.metadata()) {
    const Ref key_text(checked(wrap(key))), text(checked(wrap(value)));
    if (PyDict_SetItem(metadata.get(), key_text.get(), text.get()) < 0) throw_python_error();
  }
  return checked(PyTuple_Pack(2, tensors.get(), metadata.get()));
}

// _load_safetensors(path or bytes, names or None, is_mapped) -> ({name: tensor}, metadata)
PyObject* load_safetensors(PyObject*, PyObject* args) {
  PyObject *from = nullptr, *wanted = nullptr;
  int is_mapped = 0;
  if (!PyArg_ParseTuple(args, "OOp:_load_safetensors", &from, &wanted, &is_mapped)) return nullptr;
  return guarded([&] {
    if (PyBytes_Check(from)) {
      const std::string_view bytes(PyBytes_AS_STRING(from),
                                   static_cast<size_t>(PyBytes_GET_SIZE(from)));
      SafetensorsReader reader(serialization::open_memory_source(bytes));
      return wrap_contents(reader, wanted);
    }
    const std::string path = path_text(from);
    SafetensorsReader reader = is_mapped ? SafetensorsReader::map(path)
                                         : SafetensorsReader(serialization::open_file_source(path));
    return wrap_contents(reader, wanted);
  });
}

// _safetensors_names(path) -> [(name, dtype, shape), ...]
PyObject* safetensors_names(PyObject*, PyObject* path) {
  return guarded([&] {
    SafetensorsReader reader(serialization::open_file_source(path_text(path)));
    Ref out(checked(PyList_New(0)));
    for (const auto& entry : reader.entries()) {
      const Ref name(checked(wrap(entry.name))), dtype(checked(wrap(entry.dtype))),
          shape(checked(wrap(IntList(entry.shape))));
      const Ref item(checked(PyTuple_Pack(3, name.get(), dtype.get(), shape.get())));
      if (PyList_Append(out.get(), item.get()) < 0) throw_python_error();
    }
    return out.release();
  });
}

}  // namespace

PyMethodDef safetensors_table[] = {
    {"_save_safetensors", save_safetensors, METH_VARARGS, nullptr},
    {"_load_safetensors", load_safetensors, METH_VARARGS, nullptr},
    {"_safetensors_names", safetensors_names, METH_O, nullptr},
    {},
};

}  // namespace taeda::python
