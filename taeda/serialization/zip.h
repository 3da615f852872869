// Zip archives: entries with names, checked against everything a file can get wrong.
//
// Note [Archive layout]: entries are written stored, their data at multiples of 64 bytes, so that a
// reader may use them where they lie; sizes and checksum follow the data, which are read once. An
// entry of n bytes whose header stands at `p` has its data at ZipWriter::data_offset(p, ...):
// PyTorch's readers count on it. Sizes from 4 GiB on and more than 65,535 entries take the
// format's 64-bit records. Readers take stored and deflated entries of any zip file, no encrypted
// ones and none of several parts. A checksum of zero means that there is none.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "taeda/serialization/byte_streams.h"

namespace taeda::serialization {

struct ZipOptions {
  uint64_t alignment = 64;  // of the data, at most 32,768
  bool has_checksums = true;
};

class TAEDA_API ZipWriter {
 public:
  static constexpr uint64_t kAlignment = 64;

  // ValueError for an alignment of zero or beyond the limit.
  explicit ZipWriter(std::unique_ptr<Sink> sink, ZipOptions options = {});

  // ValueError for a name that is used or that a reader would refuse.
  void add(std::string_view name, const void* data, uint64_t size);
  void add(std::string_view name, std::string_view text) { add(name, text.data(), text.size()); }
  // An entry of zeros, whose bytes somebody writes later; it has no checksum.
  void add_gap(std::string_view name, uint64_t size);
  bool has(std::string_view name) const { return names_.contains(std::string(name)); }
  // Of all entries so far, in their order.
  uint32_t checksum() const { return checksum_; }
  // Where the data of an entry begins whose header is at `header`.
  static uint64_t data_offset(uint64_t header, uint64_t name_size, uint64_t size,
                              uint64_t alignment);
  // Writes the directory and finishes the sink; without it the archive does not come to be.
  void finish();

 private:
  struct Entry {
    std::string name;
    uint32_t crc;
    uint64_t size, offset;
  };
  void write(std::string_view bytes);
  void add_entry(std::string_view name, const void* data, uint64_t size);
  std::string local_header(std::string_view name, uint64_t size) const;
  uint32_t write_data(const void* data, uint64_t size);
  void write_directory_end(uint64_t start);

  std::unique_ptr<Sink> sink_;
  ZipOptions options_;
  uint64_t position_ = 0;
  uint32_t checksum_ = 0;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
};

struct ZipEntry {
  std::string name;
  uint32_t crc = 0;
  bool is_deflated = false;
  uint64_t size = 0;         // of the data
  uint64_t stored_size = 0;  // in the file
  uint64_t header = 0;       // where its local header is
  uint64_t data = 0;         // where its bytes are
};

// Opening reads and checks the directory; entries are read, and their checksums verified, when
// asked for. One thread at a time.
class TAEDA_API ZipReader {
 public:
  explicit ZipReader(std::unique_ptr<Source> source);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  // Null when there is none of that name.
  const ZipEntry* find(std::string_view name) const;
  // RuntimeError naming the archive when there is none.
  const ZipEntry& get(std::string_view name) const;
  // Fills `into`, which takes the entry's size.
  void read(const ZipEntry& entry, void* into);
  // RuntimeError unless these are the entry's bytes, as far as its checksum can tell.
  void check_sum(const ZipEntry& entry, const void* data) const;
  std::string read_bytes(std::string_view name);
  // RuntimeError unless it is UTF-8.
  std::string read_text(std::string_view name);
  const std::string& name() const { return source_->name(); }

 private:
  std::unique_ptr<Source> source_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string, size_t> by_name_;
};

// Empty if a name may be an entry's: UTF-8, relative, without "..", backslashes or control
// characters. Else the fault.
TAEDA_API std::string name_problem(std::string_view name);

}  // namespace taeda::serialization
