// The file format of cache entries, and the housekeeping of their folder.
#include "taeda/kernel/native/disk_cache_entry.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "taeda/base/str.h"
#include "taeda/kernel/native/sha256.h"

namespace taeda::kernel {
namespace {

constexpr char kMagic[8] = {'t', 'a', 'e', 'd', 'a', 'b', 'l', 'b'};
constexpr uint64_t kVersion = 1;
constexpr size_t kNameSize = 64;
constexpr std::string_view kTemporary = ".new-";
constexpr time_t kAbandoned = 3600;  // seconds after which no process writes a temporary file

struct Header {
  char magic[8];
  uint64_t version, key_size, blob_size, checksum;
};

// A change within one word always changes the result: each step can be undone.
uint64_t checksum(std::string_view bytes, uint64_t sum) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t count = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), count);
    sum = (sum ^ word) * kOdd;
    sum ^= sum >> 32;
    bytes.remove_prefix(count);
  }
  return sum;
}

uint64_t checksum_of(std::string_view key, std::string_view blob) {
  return checksum(blob, checksum(key, kVersion));
}

std::string temporary_name() {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
    random = static_cast<uint64_t>(getpid()) ^ reinterpret_cast<uintptr_t>(&random);
  return str(kTemporary, random);
}

int write_parts(Descriptor& file, std::string_view key, std::string_view blob) {
  Header header{{}, kVersion, key.size(), blob.size(), checksum_of(key, blob)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const std::string_view head(reinterpret_cast<const char*>(&header), sizeof header);
  for (const std::string_view part : {head, key, blob})
    if (const int error = write_all(file.get(), part)) return error;
  return file.close();
}

bool is_entry(std::string_view name) {
  return name.size() == kNameSize &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string entry_name(std::string_view key) { return sha256_hex(key); }

int64_t entry_size(std::string_view key, std::string_view blob) {
  return static_cast<int64_t>(sizeof(Header) + key.size() + blob.size());
}

std::string read_entry(int file, std::string_view key, std::string& blob) {
  if (std::string problem = trust_problem(file, false); !problem.empty()) return problem;
  struct stat info;
  Header header;
  if (fstat(file, &info) != 0) return error_text(errno);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size < sizeof header + key.size()) return "it is too short";
  if (const int error = read_all(file, reinterpret_cast<char*>(&header), sizeof header))
    return error_text(error);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return "it is no entry of a cache";
  if (header.version != kVersion)
    return str("its format is ", header.version, ", expected ", kVersion);
  if (header.key_size != key.size()) return "it belongs to another key";
  if (header.blob_size != size - sizeof header - key.size())
    return str("it has ", size, " bytes, expected ",
               sizeof header + header.key_size + header.blob_size);
  std::string content(key.size() + header.blob_size, '\0');
  if (const int error = read_all(file, content.data(), content.size())) return error_text(error);
  blob = content.substr(key.size());
  content.resize(key.size());
  if (header.checksum != checksum_of(content, blob)) return "its checksum is wrong";
  return content == key ? "" : "it belongs to another key";
}

std::string read_key(int file, std::string& key) {
  struct stat info;
  Header header;
  if (fstat(file, &info) != 0) return error_text(errno);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size < sizeof header) return "it is too short";
  if (const int error = read_all(file, reinterpret_cast<char*>(&header), sizeof header))
    return error_text(error);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return "it is no entry of a cache";
  if (header.key_size > size - sizeof header) return "it is too short";
  key.assign(header.key_size, '\0');
  if (const int error = read_all(file, key.data(), key.size())) return error_text(error);
  return lseek(file, 0, SEEK_SET) == 0 ? "" : error_text(errno);
}

int write_entry(int folder, std::string_view key, std::string_view blob) {
  const std::string temporary = temporary_name();
  Descriptor file(openat(folder, temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno;
  int error = write_parts(file, key, blob);
  if (!error && renameat(folder, temporary.c_str(), folder, entry_name(key).c_str()) != 0)
    error = errno;
  if (error) unlinkat(folder, temporary.c_str(), 0);
  return error;
}

std::vector<FoundEntry> list_entries(int folder) {
  std::vector<FoundEntry> all;
  Descriptor again(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(again ? fdopendir(again.get()) : nullptr,
                                                   closedir);
  if (!stream) return all;
  again.release();
  while (const dirent* next = readdir(stream.get())) {
    const std::string_view name = next->d_name;
    const bool is_temporary = name.starts_with(kTemporary);
    struct stat info;
    if (!is_temporary && !is_entry(name)) continue;
    if (fstatat(folder, next->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    if (!is_temporary)
      all.push_back({std::string(name), info.st_size, info.st_mtim});
    else if (info.st_mtim.tv_sec + kAbandoned < time(nullptr))
      unlinkat(folder, next->d_name, 0);
  }
  std::sort(all.begin(), all.end(), [](const FoundEntry& a, const FoundEntry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  return all;
}

void shrink_folder(int folder, int64_t limit) {
  const std::vector<FoundEntry> all = list_entries(folder);
  int64_t total = 0;
  for (const FoundEntry& one : all) total += one.size;
  if (total <= limit) return;
  for (const FoundEntry& one : all) {
    if (total <= limit - limit / 8) return;
    unlinkat(folder, one.name.c_str(), 0);
    total -= one.size;
  }
}

std::string trust_problem(int fd, bool is_folder) {
  struct stat info;
  if (fstat(fd, &info) != 0) return error_text(errno);
  if (!is_folder && !S_ISREG(info.st_mode)) return "it is no regular file";
  if (info.st_uid != geteuid())
    return str("it belongs to user ", info.st_uid, ", expected user ", geteuid());
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return "its group or others may write it; take that right away with chmod go-w";
  return "";
}

}  // namespace taeda::kernel
