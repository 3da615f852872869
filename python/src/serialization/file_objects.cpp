// Calls the methods of Python's files.
#include "python/src/serialization/file_objects.h"

#include <algorithm>
#include <cstring>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/text.h"

namespace taeda::python {
namespace {

constexpr size_t kPiece = size_t{1} << 16;
// One call moves at most this much: some file objects count in 32 bits.
constexpr size_t kLargestCall = size_t{1} << 30;
constexpr size_t kCopied = size_t{1} << 20;

int64_t tell(PyObject* file) {
  const Ref position(checked(PyObject_CallMethod(file, "tell", nullptr)));
  return to_int64(position.get());
}
void seek(PyObject* file, int64_t offset, int whence = 0) {
  Ref(checked(PyObject_CallMethod(file, "seek", "Li", static_cast<long long>(offset), whence)));
}

// Of module io: these keep no memory that they are given. Other objects get copies.
bool is_plain_file(PyObject* file) {
  const Ref module(
      checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(file)), "__module__")));
  return PyUnicode_Check(module.get()) && text_of(module.get()) == "_io";
}

Ref view_of(void* data, size_t size, int flags) {
  return Ref(checked(
      PyMemoryView_FromMemory(static_cast<char*>(data), static_cast<Py_ssize_t>(size), flags)));
}

size_t checked_count(int64_t count, size_t size, const char* what) {
  TAEDA_CHECK(count >= 0 && static_cast<size_t>(count) <= size, what, " moved ", count,
              " bytes of ", size);
  return static_cast<size_t>(count);
}

size_t read_into(PyObject* file, void* into, size_t size) {
  const auto call = [&](PyObject* buffer) {
    const Ref count(checked(PyObject_CallMethod(file, "readinto", "O", buffer)));
    return checked_count(count.get() == Py_None ? 0 : to_int64(count.get()), size, "readinto");
  };
  if (is_plain_file(file)) return call(view_of(into, size, PyBUF_WRITE).get());
  size = std::min(size, kCopied);
  const Ref copy(checked(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size))));
  const size_t n = call(copy.get());
  TAEDA_CHECK(static_cast<size_t>(PyByteArray_GET_SIZE(copy.get())) >= n,
              "readinto made its buffer smaller");
  std::memcpy(into, PyByteArray_AS_STRING(copy.get()), n);
  return n;
}

// How many bytes came; 0 at the end.
size_t read_some(PyObject* file, void* into, size_t size) {
  size = std::min(size, kLargestCall);
  if (PyObject_HasAttrString(file, "readinto")) return read_into(file, into, size);
  const Ref bytes(checked(PyObject_CallMethod(file, "read", "n", static_cast<Py_ssize_t>(size))));
  char* data = nullptr;
  Py_ssize_t n = 0;
  if (PyBytes_AsStringAndSize(bytes.get(), &data, &n) < 0) throw_python_error();
  std::memcpy(into, data, checked_count(n, size, "read"));
  return static_cast<size_t>(n);
}

// How many bytes were taken.
size_t write_some(PyObject* file, const char* data, size_t size, bool is_plain) {
  Ref written;
  if (is_plain && size > kPiece) {
    size = std::min(size, kLargestCall);
    const Ref view = view_of(const_cast<char*>(data), size, PyBUF_READ);
    written = Ref(checked(PyObject_CallMethod(file, "write", "O", view.get())));
  } else {
    size = std::min(size, kCopied);
    written =
        Ref(checked(PyObject_CallMethod(file, "write", "y#", data, static_cast<Py_ssize_t>(size))));
  }
  // Raw files take less than they are given; other objects may say nothing.
  if (!PyLong_Check(written.get())) return size;
  const size_t n = checked_count(to_int64(written.get()), size, "write");
  TAEDA_CHECK(n > 0, "write took none of ", size, " bytes");
  return n;
}

class ObjectSource final : public serialization::Source {
 public:
  explicit ObjectSource(PyObject* file) : file_(Ref::share(file)), start_(tell(file)) {
    seek(file, 0, 2);
    const int64_t end = tell(file);
    seek(file, start_);
    size_ = static_cast<uint64_t>(std::max<int64_t>(end - start_, 0));
  }
  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  void read(uint64_t offset, void* into, size_t size) override {
    TAEDA_CHECK(offset <= size_ && size <= size_ - offset, name_, " is truncated: ", size,
                " bytes at byte ", offset, " lie beyond its end at ", size_);
    seek(file_.get(), start_ + static_cast<int64_t>(offset));
    read_exactly(file_.get(), into, size);
  }

 private:
  Ref file_;
  int64_t start_;
  uint64_t size_;
  std::string name_ = "the file object";
};

class ObjectSink final : public serialization::Sink {
 public:
  explicit ObjectSink(PyObject* file) : file_(Ref::share(file)) {}
  void write(const void* data, size_t size) override { write_all(file_.get(), data, size); }
  void finish() override {}

 private:
  Ref file_;
};

}  // namespace

std::unique_ptr<serialization::Source> open_object_source(PyObject* file) {
  return std::make_unique<ObjectSource>(file);
}
std::unique_ptr<serialization::Sink> open_object_sink(PyObject* file) {
  return std::make_unique<ObjectSink>(file);
}

void read_exactly(PyObject* file, void* into, size_t size) {
  char* p = static_cast<char*>(into);
  while (size > 0) {
    const size_t n = read_some(file, p, size);
    TAEDA_CHECK(n > 0, "unexpected EOF, expected ", size,
                " more bytes. The file might be corrupted. (it ends at byte ", tell(file), ")");
    p += n;
    size -= n;
  }
}

void write_all(PyObject* file, const void* data, size_t size) {
  const char* p = static_cast<const char*>(data);
  const bool is_plain = is_plain_file(file);
  while (size > 0) {
    const size_t n = write_some(file, p, size, is_plain);
    p += n;
    size -= n;
  }
}

void ObjectReader::refill(std::string& buffer) {
  const size_t before = buffer.size();
  buffer.resize(before + kPiece);
  const size_t n = read_some(file_.get(), buffer.data() + before, kPiece);
  buffer.resize(before + n);
}

void ObjectReader::give_back() {
  if (!unread().empty()) seek(file_.get(), -static_cast<int64_t>(unread().size()), 1);
}

std::string path_text(PyObject* path) {
  PyObject* encoded = nullptr;
  if (!PyUnicode_FSConverter(path, &encoded)) throw_python_error();
  const Ref bytes(encoded);
  return {PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

bool is_path(PyObject* o) {
  return PyUnicode_Check(o) || PyBytes_Check(o) || PyObject_HasAttrString(o, "__fspath__");
}

}  // namespace taeda::python
