// Zip archives laid out as PyTorch's: every entry below one folder, with the records that say which
// version and byte order the rest has.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "taeda/serialization/zip.h"

namespace taeda::serialization {

constexpr std::string_view kPickleEntry = "data.pkl";

// The entry of the storage with this key.
inline std::string storage_entry(std::string_view key) { return "data/" + std::string(key); }

class TAEDA_API CheckpointWriter {
 public:
  // `folder` is the one that entries lie below. RuntimeError for an empty one.
  CheckpointWriter(std::unique_ptr<Sink> sink, std::string folder, ZipOptions options = {});
  // To a file, whose name without its ending is the folder. RuntimeError where the file's own
  // folder does not exist.
  explicit CheckpointWriter(const std::string& path, ZipOptions options = {});

  // RuntimeError for a name that is used.
  void add(std::string_view name, const void* data, uint64_t size);
  void add(std::string_view name, std::string_view text) { add(name, text.data(), text.size()); }
  void add_gap(std::string_view name, uint64_t size);
  // Adds version, byte order and an id of the contents, unless they are there, and finishes the
  // archive; without it a file does not come to be.
  void finish();
  bool is_finished() const { return is_finished_; }
  const std::string& folder() const { return folder_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  void take_name(std::string_view name);
  std::string full(std::string_view name) const { return folder_ + "/" + std::string(name); }

  std::string folder_;
  ZipWriter zip_;
  std::vector<std::string> names_;
  bool is_finished_ = false;
};

class TAEDA_API CheckpointReader {
 public:
  // RuntimeError with PyTorch's phrase for what is no such archive.
  explicit CheckpointReader(std::unique_ptr<Source> source);

  bool has(std::string_view name) const { return zip_.find(full(name)) != nullptr; }
  // RuntimeError with PyTorch's phrase where there is none.
  const ZipEntry& get(std::string_view name) const;
  std::string read_bytes(std::string_view name);
  void read(const ZipEntry& entry, void* into) { zip_.read(entry, into); }
  void check_sum(const ZipEntry& entry, const void* data) const { zip_.check_sum(entry, data); }
  // All entries' names below the folder; RuntimeError where one lies outside.
  std::vector<std::string> names() const;
  const std::string& folder() const { return folder_; }
  const std::string& name() const { return zip_.name(); }
  // For messages about an entry's contents: of what they are bytes, and which is their first.
  std::pair<std::string, uint64_t> place(const ZipEntry& entry) const;
  // An archive of TorchScript, not of torch.save.
  bool is_script() const { return has("constants.pkl"); }
  // Whether its numbers are big-endian; false where it does not say. ValueError for another word.
  bool is_big_endian();

 private:
  std::string full(std::string_view name) const { return folder_ + "/" + std::string(name); }
  void check_version();

  ZipReader zip_;
  std::string folder_;
};

}  // namespace taeda::serialization
