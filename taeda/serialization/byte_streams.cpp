// Files through plain system calls, every result looked at; memory through strings.
#include "taeda/serialization/byte_streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "taeda/base/error.h"

namespace taeda::serialization {
namespace {

[[noreturn]] void fail_system(const char* what, const std::string& path) {
  const int reason = errno;
  fail(ErrorKind::Runtime, "cannot ", what, " ", path, ": ", std::strerror(reason));
}

// One system call moves at most this much; larger counts are cut short by the kernel anyway.
constexpr size_t kLargestStep = size_t{1} << 30;

class FileSink final : public Sink {
 public:
  explicit FileSink(const std::string& path) : path_(resolved(path)) {
    struct stat old;
    const bool is_there = ::stat(path_.c_str(), &old) == 0;
    TAEDA_CHECK(!is_there || S_ISREG(old.st_mode), "cannot write ", path_,
                ": it is there and no regular file");
    open_temporary();
    if (is_there && ::fchmod(file_, old.st_mode & 07777) != 0)
      fail_and_remove("set the permissions of");
  }
  ~FileSink() override { discard(); }

  void write(const void* data, size_t size) override {
    const char* p = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t n = ::write(file_, p, size < kLargestStep ? size : kLargestStep);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_and_remove("write");
      p += n;
      size -= static_cast<size_t>(n);
    }
  }

  void finish() override {
    if (::fsync(file_) != 0) fail_and_remove("write");
    const int file = std::exchange(file_, -1);
    if (::close(file) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
      const int reason = errno;
      ::unlink(temporary_.c_str());
      errno = reason;
      fail_system("write", path_);
    }
  }

 private:
  // A link's target is replaced, not the link.
  static std::string resolved(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    return real ? std::string(real.get()) : path;
  }
  void open_temporary() {
    static std::atomic<unsigned> count{0};
    do {
      temporary_ = str(path_, ".partial-", ::getpid(), "-", count++);
      file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file_ < 0 && errno == EEXIST);
    if (file_ < 0) fail_system("write", path_);
  }
  [[noreturn]] void fail_and_remove(const char* what) {
    const int reason = errno;
    discard();
    errno = reason;
    fail_system(what, path_);
  }
  void discard() {
    if (file_ < 0) return;
    ::close(file_);
    ::unlink(temporary_.c_str());
    file_ = -1;
  }

  std::string path_, temporary_;
  int file_ = -1;
};

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
                " bytes at ", offset, " lie beyond its end at ", size_);
    char* p = static_cast<char*>(into);
    while (size > 0) {
      const ssize_t n =
          ::pread(file_, p, size < kLargestStep ? size : kLargestStep, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_system("read", path_);
      TAEDA_CHECK(n > 0, path_, " is truncated: it became shorter while it was read");
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
                " is truncated: ", size, " bytes at ", offset, " lie beyond its end at ",
                bytes_.size());
    if (size > 0) std::memcpy(into, bytes_.data() + offset, size);
  }

 private:
  std::string_view bytes_;
  std::string name_ = "the archive in memory";
};

}  // namespace

std::unique_ptr<Sink> open_file_sink(const std::string& path) {
  return std::make_unique<FileSink>(path);
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
