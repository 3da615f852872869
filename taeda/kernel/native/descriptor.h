// File descriptors that close themselves, and reads and writes of whole texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace taeda::kernel {

// Owns a descriptor; an empty one is false.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  // Returns 0 or the error: some file systems notice only now that they are full.
  int close();

 private:
  int fd_ = -1;
};

// Writes all bytes; returns 0 or the error. Where the process's limit on file sizes is too low it
// returns EFBIG and writes nothing, because the write would raise a signal.
int write_all(int fd, std::string_view bytes);

// Creates or replaces a file that only this user may read; returns 0 or the error.
int write_file(const std::string& path, std::string_view bytes);

// Reads `size` bytes; returns 0 or the error, EIO where the file ends before.
int read_all(int fd, char* out, size_t size);

// The system's text for an error number.
std::string error_text(int error);

}  // namespace taeda::kernel
