// Zip archives: entries with names, checked against everything a file can get wrong.
//
// Note [Archive layout]: entries are written stored, their data at multiples of 64 bytes, so that a
// reader may use them where they lie. Sizes from 4 GiB on and more than 65,535 entries take the
// format's 64-bit records. Readers take stored and deflated entries of any zip file, no encrypted
// ones and none of several parts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "taeda/serialization/byte_streams.h"

namespace taeda::serialization {

class TAEDA_API ZipWriter {
 public:
  static constexpr uint64_t kAlignment = 64;

  explicit ZipWriter(std::unique_ptr<Sink> sink) : sink_(std::move(sink)) {}

  // ValueError for a name that is used or that a reader would refuse.
  void add(std::string_view name, const void* data, uint64_t size);
  void add(std::string_view name, std::string_view text) { add(name, text.data(), text.size()); }
  // Writes the directory and finishes the sink; without it the archive does not come to be.
  void finish();

 private:
  struct Entry {
    std::string name;
    uint32_t crc;
    uint64_t size, offset;
  };
  void write(std::string_view bytes);

  std::unique_ptr<Sink> sink_;
  uint64_t position_ = 0;
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
