// taeda._C.PyTorchFileWriter: the archive of a checkpoint, record by record.
#include <memory>
#include <new>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/serialization/file_objects.h"
#include "python/src/serialization/serialization_functions.h"
#include "python/src/tensor/storage_type.h"
#include "taeda/serialization/checkpoint_archive.h"

namespace taeda::python {
namespace {

using serialization::CheckpointWriter;

struct WriterObject {
  PyObject_HEAD std::unique_ptr<CheckpointWriter> writer;
  bool is_file;  // written by the system, not by a Python object
};
WriterObject* writer_object(PyObject* o) { return reinterpret_cast<WriterObject*>(o); }

CheckpointWriter& writer_of(PyObject* self) {
  TAEDA_CHECK(writer_object(self)->writer, "PyTorchFileWriter: the file was given up");
  return *writer_object(self)->writer;
}

PyObject* create_writer(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"file", "compute_crc32", "storage_alignment", nullptr};
  PyObject* file = nullptr;
  int has_checksums = 1;
  unsigned long long alignment = 64;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|pK:PyTorchFileWriter",
                                   const_cast<char**>(names), &file, &has_checksums, &alignment))
    return nullptr;
  return guarded([&] {
    const serialization::ZipOptions options{alignment, has_checksums != 0};
    const bool is_file = is_path(file);
    auto writer =
        is_file ? std::make_unique<CheckpointWriter>(path_text(file), options)
                : std::make_unique<CheckpointWriter>(open_object_sink(file), "archive", options);
    PyObject* self = checked(type->tp_alloc(type, 0));
    new (&writer_object(self)->writer) std::unique_ptr<CheckpointWriter>(std::move(writer));
    writer_object(self)->is_file = is_file;
    return self;
  });
}

void drop_writer(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  writer_object(self)->writer.~unique_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

void write(PyObject* self, const std::string& name, const void* data, size_t size) {
  CheckpointWriter& writer = writer_of(self);
  const GilRelease blocking(writer_object(self)->is_file);
  writer.add(name, data, size);
}

void check_size(size_t size, size_t there) {
  TAEDA_CHECK_VALUE(size <= there, "write_record: expected ", size, " bytes, the data has ", there);
}

// write_record(name, data, size): data is bytes, a str, a storage or an address
PyObject* write_record(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  PyObject* data = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "sOn:write_record", &name, &data, &size)) return nullptr;
  return guarded([&] {
    TAEDA_CHECK_VALUE(size >= 0, "write_record: the size is negative: got ", size);
    const auto count = static_cast<size_t>(size);
    if (is_storage(data)) {
      const Storage storage = storage_of(data);
      check_size(count, storage->nbytes());
      TAEDA_CHECK(storage->device().is_cpu(), "write_record: the storage is on ",
                  storage->device().text(), ", expected one of the CPU");
      write(self, name, storage->data(), count);
    } else if (PyLong_Check(data)) {
      const void* address = PyLong_AsVoidPtr(data);
      if (!address && PyErr_Occurred()) throw_python_error();
      write(self, name, address, count);
    } else if (PyUnicode_Check(data)) {
      const std::string text = text_of(data);
      check_size(count, text.size());
      write(self, name, text.data(), count);
    } else {
      Py_buffer buffer;
      if (PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) < 0) throw_python_error();
      const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> held(&buffer,
                                                                         &PyBuffer_Release);
      check_size(count, static_cast<size_t>(buffer.len));
      write(self, name, buffer.buf, count);
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* write_record_metadata(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "sn:write_record_metadata", &name, &size)) return nullptr;
  return guarded([&] {
    TAEDA_CHECK_VALUE(size >= 0, "write_record_metadata: the size is negative: got ", size);
    writer_of(self).add_gap(name, static_cast<uint64_t>(size));
    return Py_NewRef(Py_None);
  });
}

PyObject* write_end_of_file(PyObject* self, PyObject*) {
  return guarded([&] {
    CheckpointWriter& writer = writer_of(self);
    {
      const GilRelease blocking(writer_object(self)->is_file);
      writer.finish();
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* give_up(PyObject* self, PyObject*) {
  writer_object(self)->writer.reset();
  Py_RETURN_NONE;
}

PyObject* archive_name(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(writer_of(self).folder()); });
}

PyObject* get_all_written_records(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref names(checked(PySet_New(nullptr)));
    for (const std::string& name : writer_of(self).names()) {
      const Ref text(checked(wrap(name)));
      if (PySet_Add(names.get(), text.get()) < 0) throw_python_error();
    }
    return names.release();
  });
}

PyMethodDef writer_methods[] = {
    {"write_record", write_record, METH_VARARGS,
     "write_record(name, data, size)\n\nAdds bytes, a str, a storage or the memory at an address."},
    {"write_record_metadata", write_record_metadata, METH_VARARGS,
     "write_record_metadata(name, size)\n\nAdds space whose bytes are written later."},
    {"write_end_of_file", write_end_of_file, METH_NOARGS,
     "write_end_of_file()\n\nFinishes the archive; a file appears under its name now."},
    {"_give_up", give_up, METH_NOARGS, "_give_up()\n\nDrops what was written to a file."},
    {"archive_name", archive_name, METH_NOARGS,
     "archive_name() -> str\n\nThe folder that records lie in."},
    {"get_all_written_records", get_all_written_records, METH_NOARGS,
     "get_all_written_records() -> set[str]"},
    {},
};
PyType_Slot writer_slots[] = {
    {Py_tp_doc, const_cast<char*>("PyTorchFileWriter(file, compute_crc32=True, "
                                  "storage_alignment=64)\n\nWrites an archive of records to a path "
                                  "or a file object.")},
    {Py_tp_new, reinterpret_cast<void*>(create_writer)},
    {Py_tp_dealloc, reinterpret_cast<void*>(drop_writer)},
    {Py_tp_methods, writer_methods},
    {0, nullptr},
};
PyType_Spec writer_spec = {"taeda._C.PyTorchFileWriter", sizeof(WriterObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, writer_slots};

}  // namespace

bool init_file_writer_type(PyObject* module) {
  const Ref type(PyType_FromSpec(&writer_spec));
  return type && PyModule_AddObjectRef(module, "PyTorchFileWriter", type.get()) == 0;
}

}  // namespace taeda::python
