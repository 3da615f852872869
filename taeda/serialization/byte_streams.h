// Where the bytes of an archive go and come from: files and memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "taeda/base/export.h"

namespace taeda::serialization {

// Takes bytes in order. Every failure throws RuntimeError with the system's reason.
class TAEDA_API Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(const void* data, size_t size) = 0;
  // As many zeros; a file gets a hole.
  virtual void skip(uint64_t size);
  // Everything was written; without it nothing of a file remains.
  virtual void finish() = 0;
};

// Gives bytes at any place; reading past the end throws.
class TAEDA_API Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  virtual void read(uint64_t offset, void* into, size_t size) = 0;
  // For messages.
  virtual const std::string& name() const = 0;
};

// Writes to a temporary file beside `path`; finish() makes it durable and gives it its name, so
// that after a full disk or a killed process the old file is still there. What is there and no
// regular file (a pipe, a device) is written to as it is.
TAEDA_API std::unique_ptr<Sink> open_file_sink(const std::string& path);
// Appends to `out`, which must outlive the sink.
TAEDA_API std::unique_ptr<Sink> open_memory_sink(std::string& out);

TAEDA_API std::unique_ptr<Source> open_file_source(const std::string& path);
// Reads from `bytes`, which must outlive the source.
TAEDA_API std::unique_ptr<Source> open_memory_source(std::string_view bytes);

}  // namespace taeda::serialization
