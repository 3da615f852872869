// Blobs kept on disk under the text that they were made from, for later processes.
//
// A cache never fails: where its folder cannot be used, it finds nothing and says why once, as a
// warning (so what a warning handler throws gets out, as does std::bad_alloc).
//
// Note [Trust in a cache folder]
// Blobs are loaded as code, so only what this user wrote is read: the folder belongs to the
// effective user and nobody else may write it, the same holds for each file, and the last component
// of neither path may be a symbolic link. All of it is checked on the opened descriptor, each time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taeda/base/export.h"

namespace taeda::kernel {

class Descriptor;

// Any number of threads and processes may use one folder: an entry appears whole, by a rename. A
// cache holds no lock and no descriptor between calls, so a forked child goes on with it.
class TAEDA_API DiskCache {
 public:
  static constexpr int64_t kDefaultLimit = int64_t{1} << 30;

  // An empty folder switches the cache off. Nothing is created before the first store().
  explicit DiskCache(std::string folder, int64_t limit_bytes = kDefaultLimit);
  // In TAEDA_CACHE_DIR ("" for none), else $XDG_CACHE_HOME/taeda, else $HOME/.cache/taeda, with a
  // limit of TAEDA_CACHE_LIMIT_MB.
  static std::unique_ptr<DiskCache> from_environment();
  // from_environment() of the first call; lives until the process ends.
  static DiskCache& shared();

  // A hit makes the entry the youngest. A damaged entry is removed.
  std::optional<std::string> find(std::string_view key);

  // Entries that were not used for longest are removed where all together exceed the limit. Every
  // sixteenth of the limit that is stored the folder is read for that, so it may be exceeded by as
  // much. A blob above the limit is not kept.
  void store(std::string_view key, std::string_view blob);

  // An entry as it lies in the folder; `used`: seconds since 1970.
  struct Entry {
    std::string name;
    int64_t bytes;
    double used;
  };
  // Those that were not used for longest first. None where the folder cannot be used.
  std::vector<Entry> entries();
  // What an entry of this name holds; nothing where it cannot be used, or is damaged.
  struct Content {
    std::string key, blob;
  };
  std::optional<Content> content(const std::string& name);
  // Removes all entries and abandoned files; returns how many entries. Processes that use the
  // folder at the same time find nothing, or store anew.
  int64_t clear();

  const std::string& folder() const { return folder_; }
  int64_t limit() const { return limit_; }
  int64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  int64_t misses() const { return misses_.load(std::memory_order_relaxed); }

 private:
  enum class Trouble : uint8_t { Folder = 1, Read = 2, Write = 4 };

  std::optional<std::string> read(std::string_view key);
  Descriptor open_folder(bool create);
  void discard(const Descriptor& folder, const std::string& name, const std::string& problem);
  void warn_once(Trouble trouble, const std::string& message);

  std::string folder_;
  int64_t limit_;
  std::atomic<int64_t> uncounted_;  // bytes stored since the folder was read
  std::atomic<int64_t> hits_{0}, misses_{0};
  std::atomic<uint8_t> warned_{0};
};

}  // namespace taeda::kernel
