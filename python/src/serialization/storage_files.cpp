// Storages and files: memory that a file is, bytes that a file has, tensors over both.
#include <algorithm>
#include <cstring>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/numbers.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/serialization/file_objects.h"
#include "python/src/serialization/serialization_functions.h"
#include "python/src/tensor/storage_type.h"
#include "taeda/serialization/geometry.h"
#include "taeda/serialization/mapped_file.h"
#include "taeda/serialization/partial_file.h"

namespace taeda::python {
namespace {

const Storage& expect_storage(PyObject* o) {
  TAEDA_CHECK_TYPE(is_storage(o), "expected a torch.UntypedStorage, got ", Py_TYPE(o)->tp_name);
  return storage_of(o);
}
const Storage& expect_cpu_storage(PyObject* o) {
  const Storage& storage = expect_storage(o);
  TAEDA_CHECK(storage->device().is_cpu(), "expected a storage of the CPU, got one of ",
              storage->device().text());
  return storage;
}

// As Py_BuildValue calls it.
PyObject* decoded_path(void* name) {
  const auto& text = *static_cast<const std::string*>(name);
  return PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

// _map_file(path, shared, nbytes)
PyObject* map_file(PyObject*, PyObject* args) {
  PyObject* path = nullptr;
  int is_shared = 0;
  Py_ssize_t nbytes = 0;
  if (!PyArg_ParseTuple(args, "Opn:_map_file", &path, &is_shared, &nbytes)) return nullptr;
  return guarded([&] {
    TAEDA_CHECK_VALUE(nbytes >= 0, "from_file: the size is negative: got ", nbytes);
    return wrap_storage(
        serialization::map_file(path_text(path), is_shared != 0, static_cast<uint64_t>(nbytes)));
  });
}

// _open_partial_file(path) -> (descriptor, name): a file that will replace the one at `path`
PyObject* open_partial_file(PyObject*, PyObject* path) {
  return guarded([&] {
    const serialization::PartialFile made = serialization::open_partial_file(path_text(path));
    return checked(Py_BuildValue("(iO&)", made.file, &decoded_path, &made.name));
  });
}

// _byteswap(storage, bytes per number)
PyObject* byteswap(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  Py_ssize_t width = 0;
  if (!PyArg_ParseTuple(args, "On:_byteswap", &object, &width)) return nullptr;
  return guarded([&] {
    const Storage& storage = expect_cpu_storage(object);
    const auto n = static_cast<size_t>(width);
    TAEDA_CHECK(width == 1 || width == 2 || width == 4 || width == 8 || width == 16,
                "byteswap: numbers of ", width, " bytes are not known");
    TAEDA_CHECK(storage->nbytes() % n == 0, "Length of data is not a multiple of ", n);
    auto* data = static_cast<char*>(storage->data());
    for (size_t at = 0; at < storage->nbytes(); at += n) std::reverse(data + at, data + at + n);
    return Py_NewRef(Py_None);
  });
}

// _read_storage(storage, file): fills it from the file's position
PyObject* read_storage(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "_read_storage takes a storage and a file");
    const Storage storage = expect_cpu_storage(args[0]);
    read_exactly(args[1], storage->data(), storage->nbytes());
    return Py_NewRef(Py_None);
  });
}

// _write_storage(storage, file)
PyObject* write_storage(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "_write_storage takes a storage and a file");
    const Storage storage = expect_cpu_storage(args[0]);
    write_all(args[1], storage->data(), storage->nbytes());
    return Py_NewRef(Py_None);
  });
}

IntVec integers(PyObject* o, const char* what) {
  TAEDA_CHECK_TYPE(PyTuple_Check(o) || PyList_Check(o), what, " must be a tuple of ints, got ",
                   Py_TYPE(o)->tp_name);
  const Ref items(checked(PySequence_Tuple(o)));
  IntVec out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
    out.push_back(to_int64(PyTuple_GET_ITEM(items.get(), i)));
  return out;
}

// _tensor_over(storage, dtype, offset, size, stride): raises where it would not lie inside
PyObject* tensor_over(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 5, "_tensor_over takes a storage, a dtype and a geometry");
    TAEDA_CHECK_TYPE(is_dtype(args[1]), "expected a dtype, got ", Py_TYPE(args[1])->tp_name);
    return wrap(serialization::tensor_over(expect_storage(args[0]), to_dtype(args[1]),
                                           integers(args[3], "size"), integers(args[4], "stride"),
                                           to_int64(args[2])));
  });
}

}  // namespace

PyMethodDef storage_file_table[] = {
    {"_map_file", map_file, METH_VARARGS, nullptr},
    {"_open_partial_file", open_partial_file, METH_O, nullptr},
    {"_byteswap", byteswap, METH_VARARGS, nullptr},
    {"_read_storage", as_function(read_storage), METH_FASTCALL, nullptr},
    {"_write_storage", as_function(write_storage), METH_FASTCALL, nullptr},
    {"_tensor_over", as_function(tensor_over), METH_FASTCALL, nullptr},
    {},
};

}  // namespace taeda::python
