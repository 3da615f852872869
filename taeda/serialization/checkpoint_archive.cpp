// The folder, the records around the data, and PyTorch's words for damaged files.
#include "taeda/serialization/checkpoint_archive.h"

#include <sys/stat.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "taeda/base/error.h"
#include "taeda/serialization/crc32.h"

namespace taeda::serialization {
namespace {

constexpr std::string_view kId = ".data/serialization_id", kByteOrder = "byteorder";
constexpr std::string_view kVersionEntry = "version", kNewVersionEntry = ".data/version";
constexpr std::string_view kProducedVersion = "3\n";
constexpr uint64_t kOldestVersion = 1, kNewestVersion = 10;

// "model" for "some/folder/model.pt"
std::string stem(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find_last_of('.'));
}

const std::string& checked_folder(const std::string& folder, const std::string& shown) {
  TAEDA_CHECK(!folder.empty(), "invalid file name: ", shown);
  return folder;
}

std::unique_ptr<Sink> open_checked(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash != std::string::npos && slash > 0) {
    const std::string parent = path.substr(0, slash);
    struct stat info;
    TAEDA_CHECK(::stat(parent.c_str(), &info) == 0 && S_ISDIR(info.st_mode), "Parent directory ",
                parent, " does not exist.");
  }
  return open_file_sink(path);
}

[[noreturn]] void fail_corrupt(std::string_view what, std::string_view fault,
                               const std::string& detail) {
  fail(ErrorKind::Runtime, "PytorchStreamReader failed ", what, ": ", fault,
       ". This is an internal miniz error in PyTorch. If you are seeing this error, there is a "
       "high likelihood that your checkpoint file is corrupted: ",
       detail);
}

ZipReader open_zip(std::unique_ptr<Source> source) {
  try {
    return ZipReader(std::move(source));
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::Runtime) throw;
    const bool has_end = e.message().find("the end of its directory") == std::string::npos;
    fail_corrupt(
        "reading zip archive",
        has_end ? "invalid header or archive is corrupted" : "failed finding central directory",
        e.message());
  }
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::unique_ptr<Sink> sink, std::string folder,
                                   ZipOptions options)
    : folder_(checked_folder(folder, folder)), zip_(std::move(sink), options) {}

CheckpointWriter::CheckpointWriter(const std::string& path, ZipOptions options)
    : folder_(checked_folder(stem(path), path)), zip_(open_checked(path), options) {}

void CheckpointWriter::take_name(std::string_view name) {
  TAEDA_CHECK(!is_finished_, "the archive is finished: ", name, " cannot be added");
  TAEDA_CHECK(!zip_.has(full(name)), "Tried to serialize file twice: ", name);
  names_.emplace_back(name);
}

void CheckpointWriter::add(std::string_view name, const void* data, uint64_t size) {
  take_name(name);
  zip_.add(full(name), data, size);
}

void CheckpointWriter::add_gap(std::string_view name, uint64_t size) {
  take_name(name);
  zip_.add_gap(full(name), size);
}

void CheckpointWriter::finish() {
  TAEDA_CHECK(!is_finished_, "the archive is finished already");
  if (!zip_.has(full(kVersionEntry)) && !zip_.has(full(kNewVersionEntry)))
    add(kVersionEntry, kProducedVersion);
  if (!zip_.has(full(kByteOrder))) add(kByteOrder, "little");
  if (!zip_.has(full(kId))) {
    uint32_t names = 0;
    for (const std::string& name : names_) names = crc32(names, name.data(), name.size());
    char id[41];
    std::snprintf(id, sizeof id, "%020" PRIu32 "%020" PRIu32, names, zip_.checksum());
    add(kId, std::string_view(id));
  }
  is_finished_ = true;
  zip_.finish();
}

CheckpointReader::CheckpointReader(std::unique_ptr<Source> source)
    : zip_(open_zip(std::move(source))) {
  TAEDA_CHECK(!zip_.entries().empty(), "archive does not contain any files: the directory of ",
              zip_.name(), " is empty at byte 0");
  const std::string& first = zip_.entries()[0].name;
  const size_t slash = first.find('/');
  TAEDA_CHECK(slash != std::string::npos, "file in archive is not in a subdirectory: ", first,
              " (at byte ", zip_.entries()[0].header, " of ", zip_.name(), ")");
  folder_ = first.substr(0, slash);
  check_version();
}

void CheckpointReader::check_version() {
  const ZipEntry& entry = get(has(kNewVersionEntry) ? kNewVersionEntry : kVersionEntry);
  std::string text = zip_.read_bytes(entry.name);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  uint64_t version = 0;
  const char* last = text.data() + text.size();
  const auto r = std::from_chars(text.data(), last, version);
  TAEDA_CHECK(r.ec == std::errc() && r.ptr == last, "Couldn't parse the version ", text,
              " as Long Long. (at byte ", entry.data, " of ", zip_.name(), ")");
  TAEDA_CHECK(version >= kOldestVersion && version <= kNewestVersion,
              "Attempted to read a PyTorch file with version ", version, ", but the ",
              version < kOldestVersion ? "minimum" : "maximum",
              " supported version for reading is ",
              version < kOldestVersion ? kOldestVersion : kNewestVersion, " (at byte ", entry.data,
              " of ", zip_.name(), ")");
}

const ZipEntry& CheckpointReader::get(std::string_view name) const {
  const ZipEntry* entry = zip_.find(full(name));
  if (!entry)
    fail(ErrorKind::Runtime, "PytorchStreamReader failed locating file ", name,
         ": file not found in ", zip_.name(), ", whose last entry is at byte ",
         zip_.entries().back().header);
  return *entry;
}

std::string CheckpointReader::read_bytes(std::string_view name) {
  get(name);
  return zip_.read_bytes(full(name));
}

std::pair<std::string, uint64_t> CheckpointReader::place(const ZipEntry& entry) const {
  if (entry.is_deflated) return {str("the inflated ", entry.name, " in ", name()), 0};
  return {name(), entry.data};
}

std::vector<std::string> CheckpointReader::names() const {
  std::vector<std::string> out;
  for (const ZipEntry& e : zip_.entries()) {
    TAEDA_CHECK(e.name.starts_with(folder_ + "/"), "file in archive is not in a subdirectory ",
                folder_, "/: ", e.name, " (at byte ", e.header, " of ", zip_.name(), ")");
    out.push_back(e.name.substr(folder_.size() + 1));
  }
  return out;
}

bool CheckpointReader::is_big_endian() {
  if (!has(kByteOrder)) return false;
  const std::string order = read_bytes(kByteOrder);
  TAEDA_CHECK_VALUE(order == "little" || order == "big", "Unknown endianness type: ", order,
                    " (at byte ", get(kByteOrder).data, " of ", zip_.name(), ")");
  return order == "big";
}

}  // namespace taeda::serialization
