// Where a cache lies, what is done when it cannot be used, and the two operations.
#include "taeda/kernel/native/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "taeda/base/log.h"
#include "taeda/base/str.h"
#include "taeda/kernel/native/disk_cache_entry.h"

namespace taeda::kernel {
namespace {

constexpr int64_t kCountShare = 16;
constexpr const char* kCacheHint =
    "kernels are compiled anew in each process; name another folder in TAEDA_CACHE_DIR, or set it "
    "to \"\" for no cache";

// Absolute, and without a slash at the end: behind one, a symbolic link would be followed.
std::string plain_path(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  std::string plain = std::filesystem::absolute(path, error).lexically_normal();
  if (error) return path;
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  return plain;
}

// Creates a folder and those above it for this user alone; returns 0 or the error.
int make_folders(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return 0;
  const size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return errno;
  if (const int error = make_folders(path.substr(0, slash))) return error;
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

bool is_link(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

bool is_absolute(const char* path) { return path && *path == '/'; }

// nullopt where the environment names no folder.
std::optional<std::string> folder_of_environment() {
  if (const char* folder = std::getenv("TAEDA_CACHE_DIR")) return folder;
  // The specification of XDG_CACHE_HOME has relative paths ignored.
  if (const char* caches = std::getenv("XDG_CACHE_HOME"); is_absolute(caches))
    return str(caches, "/taeda");
  if (const char* home = std::getenv("HOME"); is_absolute(home)) return str(home, "/.cache/taeda");
  return std::nullopt;
}

int64_t limit_of_environment() {
  const char* text = std::getenv("TAEDA_CACHE_LIMIT_MB");
  if (!text || !*text) return DiskCache::kDefaultLimit;
  const std::string_view all(text);
  int32_t megabytes = 0;
  const auto [end, error] = std::from_chars(all.begin(), all.end(), megabytes);
  if (error == std::errc() && end == all.end() && megabytes >= 0) return int64_t{megabytes} << 20;
  warn(str("[disk cache] TAEDA_CACHE_LIMIT_MB is no number of megabytes: got '", text,
           "'; the limit is ", DiskCache::kDefaultLimit >> 20, " MB"));
  return DiskCache::kDefaultLimit;
}

}  // namespace

DiskCache::DiskCache(std::string folder, int64_t limit_bytes)
    : folder_(plain_path(folder)),
      limit_(limit_bytes),
      uncounted_(limit_bytes / kCountShare) {}  // the first store reads the folder

std::unique_ptr<DiskCache> DiskCache::from_environment() {
  const std::optional<std::string> folder = folder_of_environment();
  if (!folder)
    warn(str("[disk cache] there is no folder for it: neither HOME nor XDG_CACHE_HOME holds a ",
             "path; ", kCacheHint));
  return std::make_unique<DiskCache>(folder.value_or(""), limit_of_environment());
}

DiskCache& DiskCache::shared() {
  // Not a static object: another thread could be making it while this one forks, and the child
  // would wait for that thread.
  static std::atomic<DiskCache*> made{nullptr};
  DiskCache* known = made.load();
  if (known) return *known;
  std::unique_ptr<DiskCache> mine = from_environment();
  return made.compare_exchange_strong(known, mine.get()) ? *mine.release() : *known;
}

std::optional<std::string> DiskCache::find(std::string_view key) {
  std::optional<std::string> blob = read(key);
  (blob ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
  return blob;
}

std::optional<std::string> DiskCache::read(std::string_view key) {
  const Descriptor folder = open_folder(false);
  if (!folder) return std::nullopt;
  const std::string name = entry_name(key);
  // O_NONBLOCK: a pipe of this name would wait for a writer.
  const Descriptor file(
      openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  std::string blob, problem;
  if (file) {
    problem = read_entry(file.get(), key, blob);
  } else if (errno == ENOENT) {
    return std::nullopt;
  } else if (errno == ELOOP || errno == EACCES) {
    problem = errno == ELOOP ? "it is a symbolic link" : error_text(errno);
  } else {
    warn_once(Trouble::Read, str("cannot be read: ", error_text(errno), "; ", kCacheHint));
    return std::nullopt;
  }
  if (!problem.empty()) {
    discard(folder, name, problem);
    return std::nullopt;
  }
  futimens(file.get(), nullptr);
  return blob;
}

std::vector<DiskCache::Entry> DiskCache::entries() {
  std::vector<Entry> all;
  const Descriptor folder = open_folder(false);
  if (!folder) return all;
  for (const FoundEntry& one : list_entries(folder.get()))
    all.push_back(
        {one.name, one.size,
         static_cast<double>(one.used.tv_sec) + 1e-9 * static_cast<double>(one.used.tv_nsec)});
  return all;
}

std::optional<DiskCache::Content> DiskCache::content(const std::string& name) {
  const Descriptor folder = open_folder(false);
  if (!folder || name.find('/') != std::string::npos) return std::nullopt;
  const Descriptor file(
      openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  Content found;
  if (!file || !trust_problem(file.get(), false).empty() ||
      !read_key(file.get(), found.key).empty() || entry_name(found.key) != name ||
      !read_entry(file.get(), found.key, found.blob).empty())
    return std::nullopt;
  return found;
}

int64_t DiskCache::clear() {
  const Descriptor folder = open_folder(false);
  if (!folder) return 0;
  int64_t count = 0;
  for (const FoundEntry& one : list_entries(folder.get()))
    count += unlinkat(folder.get(), one.name.c_str(), 0) == 0;
  return count;
}

void DiskCache::store(std::string_view key, std::string_view blob) {
  const int64_t size = entry_size(key, blob);
  if (size > limit_) return;
  const Descriptor folder = open_folder(true);
  if (!folder) return;
  if (const int error = write_entry(folder.get(), key, blob))
    return warn_once(Trouble::Write,
                     str("cannot be written: ", error_text(error), "; ", kCacheHint));
  if (uncounted_.fetch_add(size) + size < limit_ / kCountShare) return;
  uncounted_.store(0);
  shrink_folder(folder.get(), limit_);
}

Descriptor DiskCache::open_folder(bool create) {
  if (folder_.empty()) return Descriptor();
  const auto open_it = [&] {
    return Descriptor(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  };
  Descriptor folder = open_it();
  if (!folder && errno == ENOENT) {
    if (!create) return folder;
    errno = make_folders(folder_);
    if (!errno) folder = open_it();
  }
  const int error = errno;
  std::string problem;
  if (folder)
    problem = trust_problem(folder.get(), true);
  else
    problem = is_link(folder_) ? "it is a symbolic link" : error_text(error);
  if (problem.empty()) return folder;
  warn_once(Trouble::Folder, str("cannot be used: ", problem, "; ", kCacheHint));
  return Descriptor();
}

void DiskCache::discard(const Descriptor& folder, const std::string& name,
                        const std::string& problem) {
  struct stat info;
  const bool is_ours = fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                       info.st_uid == geteuid();
  const bool is_removed = is_ours && unlinkat(folder.get(), name.c_str(), 0) == 0;
  warn_once(Trouble::Read, str("holds an entry that is not used: ", problem, "; ", name,
                               is_removed ? " was removed" : " was left in place"));
}

void DiskCache::warn_once(Trouble trouble, const std::string& message) {
  const auto bit = static_cast<uint8_t>(trouble);
  if (warned_.fetch_or(bit) & bit) return;
  warn(str("[disk cache] ", folder_, " ", message));
}

}  // namespace taeda::kernel
