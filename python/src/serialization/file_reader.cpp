// taeda._C.PyTorchFileReader: the records of a checkpoint.
#include <memory>
#include <new>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/serialization/file_objects.h"
#include "python/src/serialization/serialization_functions.h"
#include "python/src/tensor/storage_type.h"
#include "taeda/core/storage_window.h"
#include "taeda/serialization/checkpoint_archive.h"

namespace taeda::python {
namespace {

using serialization::CheckpointReader;
using serialization::ZipEntry;

struct ReaderObject {
  PyObject_HEAD std::unique_ptr<CheckpointReader> reader;
  bool is_file;  // read by the system, not by a Python object
};
ReaderObject* reader_object(PyObject* o) { return reinterpret_cast<ReaderObject*>(o); }
CheckpointReader& reader_of(PyObject* self) { return *reader_object(self)->reader; }

PyObject* create_reader(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* file = nullptr;
  if (!PyArg_ParseTuple(args, "O:PyTorchFileReader", &file)) return nullptr;
  return guarded([&] {
    const bool is_file = is_path(file);
    auto reader = std::make_unique<CheckpointReader>(
        is_file ? serialization::open_file_source(path_text(file)) : open_object_source(file));
    PyObject* self = checked(type->tp_alloc(type, 0));
    new (&reader_object(self)->reader) std::unique_ptr<CheckpointReader>(std::move(reader));
    reader_object(self)->is_file = is_file;
    return self;
  });
}

void drop_reader(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reader_object(self)->reader.~unique_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

// Calls f with the record's name.
template <class F>
PyObject* with_name(PyObject* name, F&& f) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text) return nullptr;
  return guarded([&] { return f(std::string_view(text, static_cast<size_t>(size))); });
}

void read_entry(PyObject* self, const ZipEntry& entry, void* into) {
  const GilRelease blocking(reader_object(self)->is_file);
  reader_of(self).read(entry, into);
}

PyObject* get_record(PyObject* self, PyObject* name) {
  return with_name(name, [&](std::string_view record) {
    const ZipEntry& entry = reader_of(self).get(record);
    Ref bytes(checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(entry.size))));
    read_entry(self, entry, PyBytes_AS_STRING(bytes.get()));
    return bytes.release();
  });
}

PyObject* has_record(PyObject* self, PyObject* name) {
  return with_name(name,
                   [&](std::string_view record) { return wrap(reader_of(self).has(record)); });
}

void check_record_size(const CheckpointReader& reader, const ZipEntry& entry, uint64_t numel,
                       DType dtype) {
  const auto item = static_cast<uint64_t>(item_size(dtype));
  TAEDA_CHECK(numel <= entry.size && entry.size == numel * item, "record size (", entry.size,
              " bytes) does not match expected size (", numel * item, " bytes = ", numel,
              " elements * ", item, " bytes/element) for dtype ", dtype, ": ", entry.name,
              " at byte ", entry.data, " of ", reader.name());
}

Storage new_storage(uint64_t nbytes) {
  return make_intrusive<StorageImpl>(nbytes, Device(DeviceType::CPU), &cpu_allocator());
}

// get_storage_from_record(name, numel, dtype): a tensor of so many elements
PyObject* get_storage_from_record(PyObject* self, PyObject* args) {
  PyObject *name = nullptr, *dtype = nullptr;
  unsigned long long numel = 0;
  if (!PyArg_ParseTuple(args, "OKO:get_storage_from_record", &name, &numel, &dtype)) return nullptr;
  return with_name(name, [&](std::string_view record) {
    const ZipEntry& entry = reader_of(self).get(record);
    const DType type = is_dtype(dtype) ? to_dtype(dtype) : DType::UInt8;
    check_record_size(reader_of(self), entry, numel, type);
    const Storage storage = new_storage(entry.size);
    read_entry(self, entry, storage->data());
    auto impl = make_intrusive<TensorImpl>(storage, type, dense_keys(Device()));
    const auto size = static_cast<int64_t>(numel), stride = int64_t{1};
    impl->set_geometry({&size, 1}, {&stride, 1}, 0);
    return wrap(Tensor(std::move(impl)));
  });
}

// _mapped_storage(file's storage, name, nbytes, is_checked): a record where it lies in the file
PyObject* mapped_storage(PyObject* self, PyObject* args) {
  PyObject *whole = nullptr, *name = nullptr;
  unsigned long long nbytes = 0;
  int is_checked = 0;
  if (!PyArg_ParseTuple(args, "OOKp:_mapped_storage", &whole, &name, &nbytes, &is_checked))
    return nullptr;
  return with_name(name, [&](std::string_view record) {
    TAEDA_CHECK_TYPE(is_storage(whole), "_mapped_storage: expected a storage");
    const ZipEntry& entry = reader_of(self).get(record);
    check_record_size(reader_of(self), entry, nbytes, DType::UInt8);
    TAEDA_CHECK(!entry.is_deflated, entry.name, " at byte ", entry.data,
                " is compressed: mmap needs the bytes as they are in the file");
    const Storage& file = storage_of(whole);
    TAEDA_CHECK(entry.data <= file->nbytes() && entry.size <= file->nbytes() - entry.data,
                entry.name, " at byte ", entry.data, " lies beyond the mapped file of ",
                file->nbytes(), " bytes");
    const Storage storage = storage_window(file, entry.data, entry.size);
    if (is_checked) reader_of(self).check_sum(entry, storage->data());
    return wrap_storage(storage);
  });
}

// _checked_size(name, nbytes): raises unless the record has this size
PyObject* checked_size(PyObject* self, PyObject* args) {
  PyObject* name = nullptr;
  unsigned long long nbytes = 0;
  if (!PyArg_ParseTuple(args, "OK:_checked_size", &name, &nbytes)) return nullptr;
  return with_name(name, [&](std::string_view record) {
    check_record_size(reader_of(self), reader_of(self).get(record), nbytes, DType::UInt8);
    return Py_NewRef(Py_None);
  });
}

PyObject* serialization_id(PyObject* self, PyObject*) {
  return guarded([&] {
    constexpr std::string_view kRecord = ".data/serialization_id";
    CheckpointReader& reader = reader_of(self);
    return wrap(reader.has(kRecord) ? reader.read_bytes(kRecord) : std::string());
  });
}

// _place(name) -> (of what the record's contents are bytes, which is the first)
PyObject* record_place(PyObject* self, PyObject* name) {
  return with_name(name, [&](std::string_view record) {
    const auto [file, start] = reader_of(self).place(reader_of(self).get(record));
    return checked(Py_BuildValue("(NK)", checked(wrap(file)), start));
  });
}

PyObject* get_all_records(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref names(checked(PyList_New(0)));
    for (const std::string& name : reader_of(self).names()) {
      const Ref text(checked(wrap(name)));
      if (PyList_Append(names.get(), text.get()) < 0) throw_python_error();
    }
    return names.release();
  });
}

PyObject* get_record_offset(PyObject* self, PyObject* name) {
  return with_name(name, [&](std::string_view record) {
    return PyLong_FromUnsignedLongLong(reader_of(self).get(record).data);
  });
}
PyObject* get_record_header_offset(PyObject* self, PyObject* name) {
  return with_name(name, [&](std::string_view record) {
    return PyLong_FromUnsignedLongLong(reader_of(self).get(record).header);
  });
}
PyObject* get_record_offset_no_read(PyObject* self, PyObject* args) {
  unsigned long long header = 0, size = 0, alignment = 0;
  const char* name = nullptr;
  if (!PyArg_ParseTuple(args, "KsKK:get_record_offset_no_read", &header, &name, &size, &alignment))
    return nullptr;
  return guarded([&] {
    TAEDA_CHECK_VALUE(alignment > 0, "the alignment of an archive must not be 0");
    const uint64_t name_size = reader_of(self).folder().size() + 1 + std::string_view(name).size();
    return PyLong_FromUnsignedLongLong(
        serialization::ZipWriter::data_offset(header, name_size, size, alignment));
  });
}

PyMethodDef reader_methods[] = {
    {"get_record", get_record, METH_O, "get_record(name) -> bytes"},
    {"has_record", has_record, METH_O, "has_record(name) -> bool"},
    {"get_storage_from_record", get_storage_from_record, METH_VARARGS,
     "get_storage_from_record(name, numel, dtype) -> Tensor"},
    {"_mapped_storage", mapped_storage, METH_VARARGS,
     "_mapped_storage(file, name, nbytes, is_checked) -> UntypedStorage"},
    {"_checked_size", checked_size, METH_VARARGS, "_checked_size(name, nbytes)"},
    {"_place", record_place, METH_O, "_place(name) -> (file, first byte)"},
    {"serialization_id", serialization_id, METH_NOARGS, "serialization_id() -> str"},
    {"get_all_records", get_all_records, METH_NOARGS, "get_all_records() -> list[str]"},
    {"get_record_offset", get_record_offset, METH_O, "get_record_offset(name) -> int"},
    {"get_record_header_offset", get_record_header_offset, METH_O,
     "get_record_header_offset(name) -> int"},
    {"get_record_offset_no_read", get_record_offset_no_read, METH_VARARGS,
     "get_record_offset_no_read(header, name, size, alignment) -> int\n\n"
     "Where a record's bytes are, from where its header is."},
    {},
};
PyType_Slot reader_slots[] = {
    {Py_tp_doc, const_cast<char*>("PyTorchFileReader(file)\n\n"
                                  "Reads an archive of records from a path or a file object.")},
    {Py_tp_new, reinterpret_cast<void*>(create_reader)},
    {Py_tp_dealloc, reinterpret_cast<void*>(drop_reader)},
    {Py_tp_methods, reader_methods},
    {0, nullptr},
};
PyType_Spec reader_spec = {"taeda._C.PyTorchFileReader", sizeof(ReaderObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, reader_slots};

}  // namespace

bool init_file_reader_type(PyObject* module) {
  const Ref type(PyType_FromSpec(&reader_spec));
  return type && PyModule_AddObjectRef(module, "PyTorchFileReader", type.get()) == 0;
}

}  // namespace taeda::python
