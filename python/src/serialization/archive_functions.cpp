// taeda._C._load_archive: what C++ reads of a checkpoint, as Python's objects; the checksum of
// record files.
#include <unordered_map>

#include "python/interop/errors.h"
#include "python/interop/wrap.h"
#include "python/src/serialization/file_objects.h"
#include "python/src/serialization/python_model.h"
#include "python/src/serialization/serialization_functions.h"
#include "taeda/serialization/checkpoint.h"
#include "taeda/serialization/crc32.h"

namespace taeda::python {
namespace {

using serialization::PickleKind;
using serialization::PickleValue;

constexpr size_t kDeepestArchive = 500;

Ref wrap_archive(const PickleValue& value, size_t depth);

Ref wrap_items(const PickleValue& value, size_t depth) {
  Ref list(checked(PyList_New(0)));
  for (size_t i = 0; i < value.size(); ++i) {
    const Ref item = wrap_archive(value.at(i), depth + 1);
    if (PyList_Append(list.get(), item.get()) < 0) throw_python_error();
  }
  if (value.is(PickleKind::List)) return list;
  return Ref(
      checked(value.is(PickleKind::Tuple) ? PyList_AsTuple(list.get()) : PySet_New(list.get())));
}

Ref wrap_pairs(const PickleValue& value, size_t depth) {
  Ref dict(checked(PyDict_New()));
  for (size_t i = 0; i < value.size(); ++i) {
    const Ref key = wrap_archive(value.key(i), depth + 1);
    const Ref item = wrap_archive(value.value(i), depth + 1);
    if (PyDict_SetItem(dict.get(), key.get(), item.get()) < 0) throw_python_error();
  }
  return dict;
}

Ref wrap_archive(const PickleValue& value, size_t depth) {
  TAEDA_CHECK(depth < kDeepestArchive, "the archive nests more than ", kDeepestArchive, " objects");
  switch (value.kind()) {
    case PickleKind::None: return Ref::share(Py_None);
    case PickleKind::Bool: return Ref(checked(wrap(value.to_bool())));
    case PickleKind::Int: return Ref(checked(wrap(value.to_int())));
    case PickleKind::Float: return Ref(checked(wrap(value.to_double())));
    case PickleKind::LongInt: return wrap_long(value.long_bytes());
    case PickleKind::Complex:
      return Ref(
          checked(PyComplex_FromDoubles(value.to_complex().real(), value.to_complex().imag())));
    case PickleKind::Text: return Ref(checked(wrap(value.to_text())));
    case PickleKind::Bytes: {
      const std::string& bytes = value.to_bytes();
      return Ref(
          checked(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()))));
    }
    case PickleKind::Tensor: return Ref(checked(wrap(value.to_tensor())));
    case PickleKind::DType: return Ref(checked(wrap(value.to_dtype())));
    case PickleKind::Device: return Ref(checked(wrap(value.to_device())));
    case PickleKind::List:
    case PickleKind::Tuple:
    case PickleKind::Set: return wrap_items(value, depth);
    case PickleKind::Dict:
    case PickleKind::Object: return wrap_pairs(value, depth);
    default:
      fail(ErrorKind::NotImplemented, "the archive has ",
           serialization::pickle_kind_name(value.kind()), ", which load_archive does not give");
  }
}

// _load_archive(path or bytes, is_mapped)
PyObject* load_archive(PyObject*, PyObject* args) {
  PyObject* from = nullptr;
  int is_mapped = 0;
  if (!PyArg_ParseTuple(args, "Op:_load_archive", &from, &is_mapped)) return nullptr;
  return guarded([&] {
    if (!PyBytes_Check(from))
      return wrap_archive(
                 serialization::load_checkpoint(path_text(from), {.is_mapped = is_mapped != 0}), 0)
          .release();
    const std::string_view bytes(PyBytes_AS_STRING(from),
                                 static_cast<size_t>(PyBytes_GET_SIZE(from)));
    return wrap_archive(serialization::load_checkpoint(serialization::open_memory_source(bytes)), 0)
        .release();
  });
}

// _crc32c(bytes)
PyObject* crc32c(PyObject*, PyObject* from) {
  Py_buffer view;
  if (PyObject_GetBuffer(from, &view, PyBUF_SIMPLE) != 0) return nullptr;
  const uint32_t sum = serialization::crc32c(0, view.buf, static_cast<size_t>(view.len));
  PyBuffer_Release(&view);
  return PyLong_FromUnsignedLong(sum);
}

}  // namespace

PyMethodDef archive_table[] = {
    {"_crc32c", crc32c, METH_O, nullptr},
    {"_load_archive", load_archive, METH_VARARGS, nullptr},
    {},
};

}  // namespace taeda::python
