// Reads archives whose every number may be wrong.
#include <algorithm>
#include <optional>

#include "taeda/base/error.h"
#include "taeda/serialization/crc32.h"
#include "taeda/serialization/inflate.h"
#include "taeda/serialization/utf8.h"
#include "taeda/serialization/zip.h"
#include "taeda/serialization/zip_records.h"

namespace taeda::serialization {
namespace {

// Deflate makes a byte of at most this many.
constexpr uint64_t kLargestRatio = 1032;
// A larger entry that shrank by more than this is a trap, no data.
constexpr uint64_t kLargeEntry = uint64_t{1} << 30, kLargeRatio = 100;
constexpr uint64_t kLargestComment = 0xFFFF;

struct Directory {
  uint64_t start = 0, size = 0, count = 0;
};

class DirectoryReader {
 public:
  explicit DirectoryReader(Source& source) : source_(source) {}

  std::vector<ZipEntry> run() {
    const Directory directory = find_directory();
    std::vector<ZipEntry> entries = read_entries(directory);
    for (ZipEntry& e : entries) read_local_header(e, directory.start);
    check_overlaps(entries);
    return entries;
  }

 private:
  // `at` is the byte that the condition is about.
  template <class... Args>
  void check(bool condition, uint64_t at, const Args&... args) const {
    if (!condition)
      fail(ErrorKind::Runtime, source_.name(), " is no valid archive: ", args..., " (at byte ", at,
           " of ", source_.size(), ")");
  }
  std::string bytes(uint64_t offset, uint64_t size) const {
    check(offset <= source_.size() && size <= source_.size() - offset, offset,
          "it is truncated, or a record lies beyond its end");
    std::string out(size, '\0');
    source_.read(offset, out.data(), size);
    return out;
  }

  Directory find_directory() const {
    const uint64_t tail_size = std::min(source_.size(), kDirectoryEndSize + kLargestComment);
    const uint64_t tail_start = source_.size() - tail_size;
    const std::string tail = bytes(tail_start, tail_size);
    std::optional<uint64_t> last;
    for (uint64_t at = tail_size; at-- > 0;) {
      if (at + kDirectoryEndSize > tail_size) continue;
      if (number_at<uint32_t>(tail, at) != kDirectoryEnd) continue;
      if (!last) last = at;
      const uint64_t comment = number_at<uint16_t>(tail, at + 20);
      if (at + kDirectoryEndSize + comment == tail_size)
        return read_end(std::string_view(tail).substr(at), tail_start + at);
    }
    // Other bytes may follow the archive, as PyTorch has it.
    if (last) return read_end(std::string_view(tail).substr(*last), tail_start + *last);
    fail(ErrorKind::Runtime, source_.name(),
         " is no archive or a truncated one: the end of its directory is not found between byte ",
         tail_start, " and its end at byte ", source_.size());
  }

  Directory read_end(std::string_view record, uint64_t position) const {
    Directory d;
    d.count = number_at<uint16_t>(record, 10);
    d.size = number_at<uint32_t>(record, 12);
    d.start = number_at<uint32_t>(record, 16);
    uint64_t end = position;
    check(number_at<uint16_t>(record, 4) == 0 && number_at<uint16_t>(record, 6) == 0 &&
              number_at<uint16_t>(record, 8) == d.count,
          position, "archives in several parts are not supported");
    // Some writers give the 64-bit records to every archive.
    if (position >= kDirectoryLocator64Size) {
      const std::string locator =
          bytes(position - kDirectoryLocator64Size, kDirectoryLocator64Size);
      if (number_at<uint32_t>(locator, 0) == kDirectoryLocator64)
        d = read_end64(number_at<uint64_t>(locator, 8), end);
    }
    check(d.start <= end && d.size == end - d.start, position,
          "its directory is not where it says: it is truncated or damaged");
    check(d.count <= d.size / kDirectoryHeaderSize, position, "it declares ", d.count,
          " entries, more than its directory holds");
    return d;
  }

  Directory read_end64(uint64_t position, uint64_t& end) const {
    const std::string record = bytes(position, kDirectoryEnd64Size);
    check(number_at<uint32_t>(record, 0) == kDirectoryEnd64, position,
          "its 64-bit directory is damaged");
    check(number_at<uint32_t>(record, 16) == 0 && number_at<uint32_t>(record, 20) == 0, position,
          "archives in several parts are not supported");
    end = position;
    return {number_at<uint64_t>(record, 48), number_at<uint64_t>(record, 40),
            number_at<uint64_t>(record, 32)};
  }

  std::vector<ZipEntry> read_entries(const Directory& directory) const {
    const std::string all = bytes(directory.start, directory.size);
    std::string_view rest = all;
    std::vector<ZipEntry> entries;
    for (uint64_t i = 0; i < directory.count; ++i) {
      const uint64_t at = directory.start + (all.size() - rest.size());
      check(rest.size() >= kDirectoryHeaderSize && number_at<uint32_t>(rest, 0) == kDirectoryHeader,
            at, "entry ", i, " of its directory is damaged");
      const uint64_t name_size = number_at<uint16_t>(rest, 28);
      const uint64_t extra_size = number_at<uint16_t>(rest, 30);
      const uint64_t whole =
          kDirectoryHeaderSize + name_size + extra_size + number_at<uint16_t>(rest, 32);
      check(whole <= rest.size(), at, "entry ", i, " of its directory is damaged");
      entries.push_back(read_entry(at, rest, rest.substr(kDirectoryHeaderSize, name_size),
                                   rest.substr(kDirectoryHeaderSize + name_size, extra_size)));
      rest.remove_prefix(whole);
    }
    check(rest.empty(), directory.start + (all.size() - rest.size()),
          "its directory holds more than the entries it declares");
    return entries;
  }

  // The record stands at byte `at`.
  ZipEntry read_entry(uint64_t at, std::string_view record, std::string_view name,
                      std::string_view extra) const {
    ZipEntry e;
    e.name = name;
    const std::string problem = name_problem(name);
    check(problem.empty(), at, "the name of an entry is refused: ", problem);
    check(!(number_at<uint16_t>(record, 8) & kFlagEncrypted), at, name, " is encrypted");
    const uint16_t method = number_at<uint16_t>(record, 10);
    check(method == kStored || method == kDeflated, at, name, " is compressed by method ", method,
          "; stored and deflated entries are supported");
    e.is_deflated = method == kDeflated;
    e.crc = number_at<uint32_t>(record, 16);
    e.stored_size = number_at<uint32_t>(record, 20);
    e.size = number_at<uint32_t>(record, 24);
    e.header = number_at<uint32_t>(record, 42);
    read_wide_numbers(at, e, extra);
    check(e.stored_size <= source_.size(), at, name, " declares ", e.stored_size,
          " bytes, more than the file has: it is truncated or damaged");
    check(e.is_deflated ? e.size / kLargestRatio <= e.stored_size : e.size == e.stored_size, at,
          name, " declares ", e.size, " bytes, which its ", e.stored_size,
          " stored ones cannot make");
    check(e.size <= kLargeEntry || e.size / kLargeRatio <= e.stored_size, at, name, " declares ",
          e.size, " bytes in ", e.stored_size, " stored ones, too much to be data");
    return e;
  }

  // The 64-bit field has those numbers that did not fit, in this order.
  void read_wide_numbers(uint64_t at, ZipEntry& e, std::string_view extra) const {
    while (extra.size() >= 4) {
      const uint16_t id = number_at<uint16_t>(extra, 0);
      const uint64_t size = number_at<uint16_t>(extra, 2);
      check(size + 4 <= extra.size(), at, "the extra fields of ", e.name, " are damaged");
      std::string_view field = extra.substr(4, size);
      extra.remove_prefix(4 + size);
      if (id != kExtra64) continue;
      for (uint64_t* number : {&e.size, &e.stored_size, &e.header}) {
        if (*number != kLimit32) continue;
        check(field.size() >= 8, at, "the 64-bit sizes of ", e.name, " are damaged");
        *number = number_at<uint64_t>(field, 0);
        field.remove_prefix(8);
      }
    }
  }

  void read_local_header(ZipEntry& e, uint64_t directory) const {
    const std::string header = bytes(e.header, kLocalHeaderSize);
    check(number_at<uint32_t>(header, 0) == kLocalHeader, e.header, "the header of ", e.name,
          " is not where the directory says");
    const uint64_t name_size = number_at<uint16_t>(header, 26);
    e.data = e.header + kLocalHeaderSize + name_size + number_at<uint16_t>(header, 28);
    check(e.data <= directory && e.stored_size <= directory - e.data, e.header, e.name,
          " lies beyond the end of the data: the file is truncated or damaged");
    check(bytes(e.header + kLocalHeaderSize, name_size) == e.name, e.header, "the entry ", e.name,
          " has another name in its header");
    check(number_at<uint16_t>(header, 8) == (e.is_deflated ? kDeflated : kStored), e.header, e.name,
          " has another compression in its header");
  }

  void check_overlaps(const std::vector<ZipEntry>& entries) const {
    std::vector<const ZipEntry*> order;
    for (const ZipEntry& e : entries) order.push_back(&e);
    std::sort(order.begin(), order.end(),
              [](const ZipEntry* a, const ZipEntry* b) { return a->header < b->header; });
    for (size_t i = 1; i < order.size(); ++i)
      check(order[i - 1]->data + order[i - 1]->stored_size <= order[i]->header, order[i]->header,
            "the entries ", order[i - 1]->name, " and ", order[i]->name, " overlap");
  }

  Source& source_;
};

}  // namespace

std::string name_problem(std::string_view name) {
  if (name.empty()) return "it is empty";
  if (name.size() > 4096) return "it is longer than 4096 characters";
  if (!is_utf8(name)) return "it is no UTF-8 text";
  if (name.front() == '/') return "it starts with /";
  if (name.size() > 1 && name[1] == ':') return "it names a drive";
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\')
      return "it has a backslash or a control character";
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('/', start), name.size());
    if (name.substr(start, end - start) == "..") return "it leaves the archive through ..";
    start = end + 1;
  }
  return "";
}

ZipReader::ZipReader(std::unique_ptr<Source> source) : source_(std::move(source)) {
  entries_ = DirectoryReader(*source_).run();
  for (size_t i = 0; i < entries_.size(); ++i)
    TAEDA_CHECK(by_name_.emplace(entries_[i].name, i).second, name(),
                " is no valid archive: the entry ", entries_[i].name,
                " is there twice (again at byte ", entries_[i].header, ")");
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

const ZipEntry& ZipReader::get(std::string_view name) const {
  const ZipEntry* e = find(name);
  TAEDA_CHECK(e, this->name(), " has no entry ", name, " in its ", source_->size(), " bytes");
  return *e;
}

void ZipReader::read(const ZipEntry& entry, void* into) {
  if (entry.is_deflated) {
    std::string stored(entry.stored_size, '\0');
    source_->read(entry.data, stored.data(), stored.size());
    const std::optional<size_t> fault = inflate(stored.data(), stored.size(), into, entry.size);
    TAEDA_CHECK(!fault, "the deflated data of ", entry.name, " in ", name(),
                " is damaged, or not of the declared size of ", entry.size, " bytes, at byte ",
                entry.data + *fault);
  } else {
    source_->read(entry.data, into, entry.size);
  }
  check_sum(entry, into);
}

void ZipReader::check_sum(const ZipEntry& entry, const void* data) const {
  if (entry.crc == 0) return;
  TAEDA_CHECK(crc32(0, data, entry.size) == entry.crc, "the checksum of ", entry.name, " in ",
              name(), " is wrong: the file is damaged between byte ", entry.data, " and byte ",
              entry.data + entry.stored_size);
}

std::string ZipReader::read_bytes(std::string_view name) {
  const ZipEntry& entry = get(name);
  std::string out(entry.size, '\0');
  read(entry, out.data());
  return out;
}

std::string ZipReader::read_text(std::string_view name) {
  std::string out = read_bytes(name);
  TAEDA_CHECK(is_utf8(out), "the entry ", name, " of ", this->name(), " is no UTF-8 text");
  return out;
}

}  // namespace taeda::serialization
