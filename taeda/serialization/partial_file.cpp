// Locks tell living writers from dead ones, also across containers, where process numbers do not.
#include "taeda/serialization/partial_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "taeda/base/error.h"

namespace taeda::serialization {
namespace {

constexpr std::string_view kMark = ".partial-";

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether `name` is that of a partial file of `target`.
bool is_partial(std::string_view name, std::string_view target) {
  if (!name.starts_with(target)) return false;
  name.remove_prefix(target.size());
  if (!name.starts_with(kMark)) return false;
  name.remove_prefix(kMark.size());
  const size_t dash = name.find('-');
  return dash != name.npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

// Whether an open file still has the name that it was opened by.
bool is_named(int file, const std::string& name) {
  struct stat opened, there;
  return ::fstat(file, &opened) == 0 && ::lstat(name.c_str(), &there) == 0 &&
         opened.st_ino == there.st_ino && opened.st_dev == there.st_dev;
}

void remove_if_left(const std::string& name) {
  const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;  // gone, or of somebody who does not let us
  if (::flock(file, LOCK_EX | LOCK_NB) == 0 && is_named(file, name)) ::unlink(name.c_str());
  ::close(file);
}

void remove_left_files(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const std::string folder = slash == path.npos ? "" : path.substr(0, slash + 1);
  const std::string target = path.substr(folder.size());
  const std::unique_ptr<DIR, decltype(&::closedir)> opened(
      ::opendir(folder.empty() ? "." : folder.c_str()), &::closedir);
  // Without the right to look around nothing is removed.
  while (const dirent* entry = opened ? ::readdir(opened.get()) : nullptr)
    if (is_partial(entry->d_name, target)) remove_if_left(folder + entry->d_name);
}

}  // namespace

PartialFile open_partial_file(const std::string& path) {
  static std::atomic<unsigned> count{0};
  remove_left_files(path);
  while (true) {
    PartialFile out;
    out.name = str(path, kMark, ::getpid(), "-", count++);
    out.file = ::open(out.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out.file < 0) {
      const int reason = errno;
      TAEDA_CHECK(reason == EEXIST, "cannot write ", path, ": ", std::strerror(reason));
      continue;
    }
    // File systems without locks have nobody who could take the file away.
    if (::flock(out.file, LOCK_EX) != 0 || is_named(out.file, out.name)) return out;
    ::close(out.file);
  }
}

}  // namespace taeda::serialization
