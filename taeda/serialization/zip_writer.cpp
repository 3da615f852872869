// Writes archives, front to back.
#include <algorithm>

#include "taeda/base/error.h"
#include "taeda/serialization/crc32.h"
#include "taeda/serialization/zip.h"
#include "taeda/serialization/zip_records.h"

namespace taeda::serialization {
namespace {

constexpr uint64_t kLargestAlignment = 1 << 15;
constexpr uint64_t kFieldHeader = 4;

uint32_t clipped32(uint64_t v) { return v >= kLimit32 ? kLimit32 : static_cast<uint32_t>(v); }
uint16_t clipped16(uint64_t v) { return v >= kLimit16 ? kLimit16 : static_cast<uint16_t>(v); }

bool is_wide(uint64_t size, uint64_t header) { return size >= kLimit32 || header >= kLimit32; }

// The numbers that do not fit 32 bits, as a field; nothing where all fit.
std::string wide_field(uint64_t size, uint64_t header) {
  std::string out;
  if (!is_wide(size, header)) return out;
  const uint16_t count = (size >= kLimit32 ? 2 : 0) + (header >= kLimit32 ? 1 : 0);
  put(out, kExtra64);
  put(out, static_cast<uint16_t>(8 * count));
  if (size >= kLimit32) put(out, size), put(out, size);
  if (header >= kLimit32) put(out, header);
  return out;
}

// Where the data would begin after an empty field of padding.
uint64_t unpadded_offset(uint64_t header, uint64_t name_size, uint64_t size) {
  return header + kLocalHeaderSize + name_size + wide_field(size, header).size() + kFieldHeader;
}

}  // namespace

ZipWriter::ZipWriter(std::unique_ptr<Sink> sink, ZipOptions options)
    : sink_(std::move(sink)), options_(options) {
  TAEDA_CHECK_VALUE(options.alignment > 0 && options.alignment <= kLargestAlignment,
                    "the alignment of an archive must be between 1 and ", kLargestAlignment,
                    ": got ", options.alignment);
}

uint64_t ZipWriter::data_offset(uint64_t header, uint64_t name_size, uint64_t size,
                                uint64_t alignment) {
  const uint64_t start = unpadded_offset(header, name_size, size);
  return (start + alignment - 1) / alignment * alignment;
}

void ZipWriter::write(std::string_view bytes) {
  sink_->write(bytes.data(), bytes.size());
  position_ += bytes.size();
}

void ZipWriter::add(std::string_view name, const void* data, uint64_t size) {
  static constexpr char kNothing = 0;
  add_entry(name, size == 0 ? &kNothing : data, size);
}

void ZipWriter::add_gap(std::string_view name, uint64_t size) { add_entry(name, nullptr, size); }

std::string ZipWriter::local_header(std::string_view name, uint64_t size) const {
  const std::string wide = wide_field(size, position_);
  const uint64_t padding = data_offset(position_, name.size(), size, options_.alignment) -
                           unpadded_offset(position_, name.size(), size);
  std::string out;
  put(out, kLocalHeader);
  put(out, wide.empty() ? kVersion : kVersion64);
  put(out, static_cast<uint16_t>(kFlagUtf8 | (size > 0 ? kFlagDescriptor : 0)));
  put(out, kStored);
  put(out, kTime);
  put(out, kDate);
  out.append(12, '\0');  // checksum and sizes: they follow the data
  put(out, static_cast<uint16_t>(name.size()));
  put(out, static_cast<uint16_t>(wide.size() + kFieldHeader + padding));
  out.append(name);
  out.append(wide);
  put(out, kExtraPadding);
  put(out, static_cast<uint16_t>(padding));
  out.append(padding, kPaddingByte);
  return out;
}

// In pieces that stay in the cache between the checksum and the copy into the kernel.
uint32_t ZipWriter::write_data(const void* data, uint64_t size) {
  if (!data) {
    sink_->skip(size);
    position_ += size;
    return 0;
  }
  constexpr uint64_t kPiece = 1 << 18;
  const char* p = static_cast<const char*>(data);
  if (!options_.has_checksums) {
    write({p, size});
    return 0;
  }
  uint32_t crc = 0;
  for (uint64_t done = 0; done < size; done += kPiece) {
    const uint64_t piece = std::min(kPiece, size - done);
    crc = crc32(crc, p + done, piece);
    write({p + done, piece});
  }
  return crc;
}

void ZipWriter::add_entry(std::string_view name, const void* data, uint64_t size) {
  const std::string problem = name_problem(name);
  TAEDA_CHECK_VALUE(problem.empty(), "cannot add the entry ", name, ": ", problem);
  TAEDA_CHECK_VALUE(names_.emplace(name).second, "the archive has an entry ", name, " already");
  Entry entry{std::string(name), 0, size, position_};
  write(local_header(name, size));
  entry.crc = write_data(data, size);
  if (size > 0) {
    std::string descriptor;
    put(descriptor, kDescriptor);
    put(descriptor, entry.crc);
    for (int i = 0; i < 2; ++i)
      if (is_wide(size, entry.offset))
        put(descriptor, size);
      else
        put(descriptor, static_cast<uint32_t>(size));
    write(descriptor);
  }
  checksum_ = crc32(checksum_, &entry.crc, sizeof entry.crc);
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  const uint64_t start = position_;
  for (const Entry& e : entries_) {
    const std::string wide = wide_field(e.size, e.offset);
    const uint16_t version = wide.empty() ? kVersion : kVersion64;
    std::string header;
    put(header, kDirectoryHeader);
    put(header, version);
    put(header, version);
    put(header, static_cast<uint16_t>(kFlagUtf8 | (e.size > 0 ? kFlagDescriptor : 0)));
    put(header, kStored);
    put(header, kTime);
    put(header, kDate);
    put(header, e.crc);
    put(header, clipped32(e.size));
    put(header, clipped32(e.size));
    put(header, static_cast<uint16_t>(e.name.size()));
    put(header, static_cast<uint16_t>(wide.size()));
    put(header, uint16_t{0});  // comment
    put(header, uint16_t{0});  // part
    put(header, uint16_t{0});  // attributes, then those of the system
    put(header, uint32_t{0});
    put(header, clipped32(e.offset));
    write(header + e.name + wide);
  }
  write_directory_end(start);
  sink_->finish();
}

void ZipWriter::write_directory_end(uint64_t start) {
  const uint64_t end = position_, count = entries_.size();
  std::string tail;
  if (count >= kLimit16 || start >= kLimit32 || end - start >= kLimit32) {
    put(tail, kDirectoryEnd64);
    put(tail, kDirectoryEnd64Size - 12);
    put(tail, kVersion64);
    put(tail, kVersion64);
    put(tail, uint32_t{0});
    put(tail, uint32_t{0});
    put(tail, count);
    put(tail, count);
    put(tail, end - start);
    put(tail, start);
    put(tail, kDirectoryLocator64);
    put(tail, uint32_t{0});
    put(tail, end);
    put(tail, uint32_t{1});
  }
  put(tail, kDirectoryEnd);
  put(tail, uint16_t{0});
  put(tail, uint16_t{0});
  put(tail, clipped16(count));
  put(tail, clipped16(count));
  put(tail, clipped32(end - start));
  put(tail, clipped32(start));
  put(tail, uint16_t{0});
  write(tail);
}

}  // namespace taeda::serialization
