// Python's files as the library's streams. All of it needs the GIL.
#pragma once

#include "python/interop/python.h"

#include <memory>
#include <string>

#include "taeda/serialization/byte_streams.h"
#include "taeda/serialization/pickle/byte_reader.h"

namespace taeda::python {

// From the file's position on, through seek, tell and readinto, or read where it has none.
std::unique_ptr<serialization::Source> open_object_source(PyObject* file);
// Through write.
std::unique_ptr<serialization::Sink> open_object_sink(PyObject* file);

// Reads `size` bytes at the file's position; RuntimeError where it ends before.
void read_exactly(PyObject* file, void* into, size_t size);
// Writes all of it; large runs of bytes are not copied.
void write_all(PyObject* file, const void* data, size_t size);

// A file's bytes in order, in pieces; `give_back` returns to behind what was taken.
class ObjectReader final : public serialization::ByteReader {
 public:
  // `name` and `start`, the file's position, are for messages.
  ObjectReader(PyObject* file, std::string name, uint64_t start)
      : ByteReader(std::move(name), start), file_(Ref::share(file)) {}
  void give_back();

 private:
  void refill(std::string& buffer) override;

  Ref file_;
};

// A path (str, bytes or os.PathLike) as the system takes it; PythonError for anything else.
std::string path_text(PyObject* path);
bool is_path(PyObject* o);

}  // namespace taeda::python
