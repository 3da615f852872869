// Files through plain system calls, every result looked at; memory through strings.
#include "taeda/serialization/byte_streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "taeda/base/error.h"
#include "taeda/serialization/partial_file.h"

namespace taeda::serialization {
namespace {

[[noreturn]] void fail_system(const char* what, const std::string& path) {
  const int reason = errno;
  fail(ErrorKind::Runtime, "cannot ", what, " ", path, ": ", std::strerror(reason));
}

// One system call moves at most this much; larger counts are cut short by the kernel anyway.
constexpr size_t kLargestStep = size_t{1} << 30;

// False with the reason in errno.
bool write_all(int file, const void* data, size_t size) {
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(file, p, size < kLargestStep ? size : kLargestStep);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    p += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

// Pipes and devices: nothing to keep, nothing to rename.
class DeviceSink final : public Sink {
 public:
  explicit DeviceSink(const std::string& path) : path_(path) {
    file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail_system("write", path_);
  }
  ~DeviceSink() override {
    if (file_ >= 0) ::close(file_);
  }
  void write(const void* data, size_t size) override {
    if (!write_all(file_, data, size)) fail_system("write", path_);
  }
  void finish() override {
    if (::close(std::exchange(file_, -1)) != 0) fail_system("write", path_);
  }

 private:
  std::string path_;
  int file_ = -1;
};

class FileSink final : public Sink {
 public:
  // `permissions` are those of the file that is replaced; 0 for none.
  FileSink(const std::string& path, mode_t permissions) : path_(path) {
    PartialFile partial = open_partial_file(path);
    file_ = partial.file;
    temporary_ = std::move(partial.name);
    if (permissions != 0 && ::fchmod(file_, permissions) != 0)
      fail_and_remove("set the permissions of");
  }
  ~FileSink() override { discard(); }

  void write(const void* data, size_t size) override {
    if (!write_all(file_, data, size)) fail_and_remove("write");
    has_hole_at_end_ = has_hole_at_end_ && size == 0;
  }

  void skip(uint64_t size) override {
    if (::lseek(file_, static_cast<off_t>(size), SEEK_CUR) < 0) fail_and_remove("write");
    has_hole_at_end_ = true;
  }

  void finish() override {
    if (has_hole_at_end_) {
      const off_t end = ::lseek(file_, 0, SEEK_CUR);
      if (end < 0 || ::ftruncate(file_, end) != 0) fail_and_remove("write");
    }
    if (::fsync(file_) != 0) fail_and_remove("write");
    // Renamed while it is locked: an unlocked one could be taken for one that was left.
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_and_remove("write");
    if (::close(std::exchange(file_, -1)) != 0) fail_system("write", path_);
  }

 private:
  [[noreturn]] void fail_and_remove(const char* what) {
    const int reason = errno;
    discard();
    errno = reason;
    fail_system(what, path_);
  }
  void discard() {
    if (file_ < 0) return;
    ::unlink(temporary_.c_str());
    ::close(std::exchange(file_, -1));
  }

  std::string path_, temporary_;
  int file_ = -1;
  bool has_hole_at_end_ = false;
};

// A link's target is replaced, not the link.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : path;
}

class FileSource final : public Source {
 public:
  explicit FileSource(const std::string& path) : path_(path) {
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail_system("read", path_);
    struct stat info;
    if (::fstat(file_, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(file_);
      fail(ErrorKind::Runtime, "cannot read ", path_, ": it is no regular file");
    }
    size_ = static_cast<uint64_t>(info.st_size);
  }
  ~FileSource() override { ::close(file_); }

  uint64_t size() const override { return size_; }
  const std::string& name() const override { return path_; }

  void read(uint64_t offset, void* into, size_t size) override {
    TAEDA_CHECK(offset <= size_ && size <= size_ - offset, path_, " is truncated: ", size,
                " bytes at byte ", offset, " lie beyond its end at ", size_);
    char* p = static_cast<char*>(into);
    while (size > 0) {
      const ssize_t n =
          ::pread(file_, p, size < kLargestStep ? size : kLargestStep, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_system("read", path_);
      TAEDA_CHECK(n > 0, path_, " is truncated: it became shorter while byte ", offset,
                  " was read");
      p += n;
      offset += static_cast<uint64_t>(n);
      size -= static_cast<size_t>(n);
    }
  }

 private:
  std::string path_;
  int file_ = -1;
  uint64_t size_ = 0;
};

class MemorySink final : public Sink {
 public:
  explicit MemorySink(std::string& out) : out_(out) {}
  void write(const void* data, size_t size) override {
    out_.append(static_cast<const char*>(data), size);
  }
  void finish() override {}

 private:
  std::string& out_;
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }
  void read(uint64_t offset, void* into, size_t size) override {
    TAEDA_CHECK(offset <= bytes_.size() && size <= bytes_.size() - offset, name_,
                " is truncated: ", size, " bytes at byte ", offset, " lie beyond its end at ",
                bytes_.size());
    if (size > 0) std::memcpy(into, bytes_.data() + offset, size);
  }

 private:
  std::string_view bytes_;
  std::string name_ = "the archive in memory";
};

}  // namespace

void Sink::skip(uint64_t size) {
  static constexpr char kZeros[4096] = {};
  for (; size > 0; size -= std::min<uint64_t>(size, sizeof kZeros))
    write(kZeros, static_cast<size_t>(std::min<uint64_t>(size, sizeof kZeros)));
}

std::unique_ptr<Sink> open_file_sink(const std::string& path) {
  const std::string real = resolved(path);
  struct stat old;
  if (::stat(real.c_str(), &old) != 0) return std::make_unique<FileSink>(real, 0);
  TAEDA_CHECK(!S_ISDIR(old.st_mode), "cannot write ", real, ": it is a folder");
  if (!S_ISREG(old.st_mode)) return std::make_unique<DeviceSink>(real);
  return std::make_unique<FileSink>(real, old.st_mode & 07777);
}
std::unique_ptr<Sink> open_memory_sink(std::string& out) {
  return std::make_unique<MemorySink>(out);
}
std::unique_ptr<Source> open_file_source(const std::string& path) {
  return std::make_unique<FileSource>(path);
}
std::unique_ptr<Source> open_memory_source(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

}  // namespace taeda::serialization
