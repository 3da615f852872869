// Writes archives, front to back.
#include "taeda/base/error.h"
#include "taeda/serialization/crc32.h"
#include "taeda/serialization/zip.h"
#include "taeda/serialization/zip_records.h"

namespace taeda::serialization {
namespace {

uint32_t clipped32(uint64_t v) { return v >= kLimit32 ? kLimit32 : static_cast<uint32_t>(v); }
uint16_t clipped16(uint64_t v) { return v >= kLimit16 ? kLimit16 : static_cast<uint16_t>(v); }

// Both sizes, where one does not fit 32 bits.
std::string sizes_extra(uint64_t size) {
  std::string out;
  if (size < kLimit32) return out;
  put(out, kExtra64);
  put(out, uint16_t{16});
  put(out, size);
  put(out, size);
  return out;
}

// A field after which the data start at a multiple of the alignment.
std::string padding(uint64_t position) {
  constexpr uint64_t kFieldHeader = 4;
  const uint64_t past = (position + kFieldHeader) % ZipWriter::kAlignment;
  const uint64_t fill = past ? ZipWriter::kAlignment - past : 0;
  std::string out;
  put(out, kExtraPadding);
  put(out, static_cast<uint16_t>(fill));
  out.append(fill, '\0');
  return out;
}

}  // namespace

void ZipWriter::write(std::string_view bytes) {
  sink_->write(bytes.data(), bytes.size());
  position_ += bytes.size();
}

void ZipWriter::add(std::string_view name, const void* data, uint64_t size) {
  const std::string problem = name_problem(name);
  TAEDA_CHECK_VALUE(problem.empty(), "cannot add the entry ", name, ": ", problem);
  TAEDA_CHECK_VALUE(names_.emplace(name).second, "the archive has an entry ", name, " already");
  const Entry entry{std::string(name), crc32(0, data, size), size, position_};

  std::string extra = sizes_extra(size);
  extra += padding(position_ + kLocalHeaderSize + name.size() + extra.size());
  std::string header;
  put(header, kLocalHeader);
  put(header, size < kLimit32 ? kVersion : kVersion64);
  put(header, kFlagUtf8);
  put(header, kStored);
  put(header, kTime);
  put(header, kDate);
  put(header, entry.crc);
  put(header, clipped32(size));
  put(header, clipped32(size));
  put(header, static_cast<uint16_t>(name.size()));
  put(header, static_cast<uint16_t>(extra.size()));
  write(header + entry.name + extra);
  write({static_cast<const char*>(data), size});
  entries_.push_back(entry);
}

void ZipWriter::finish() {
  const uint64_t start = position_;
  for (const Entry& e : entries_) {
    std::string extra;
    if (e.size >= kLimit32) put(extra, e.size), put(extra, e.size);
    if (e.offset >= kLimit32) put(extra, e.offset);
    if (!extra.empty()) {
      std::string field;
      put(field, kExtra64);
      put(field, static_cast<uint16_t>(extra.size()));
      extra.insert(0, field);
    }
    const uint16_t version = extra.empty() ? kVersion : kVersion64;
    std::string header;
    put(header, kDirectoryHeader);
    put(header, version);
    put(header, version);
    put(header, kFlagUtf8);
    put(header, kStored);
    put(header, kTime);
    put(header, kDate);
    put(header, e.crc);
    put(header, clipped32(e.size));
    put(header, clipped32(e.size));
    put(header, static_cast<uint16_t>(e.name.size()));
    put(header, static_cast<uint16_t>(extra.size()));
    put(header, uint16_t{0});  // comment
    put(header, uint16_t{0});  // part
    put(header, uint16_t{0});  // attributes, then those of the system
    put(header, uint32_t{0});
    put(header, clipped32(e.offset));
    write(header + e.name + extra);
  }
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
  sink_->finish();
}

}  // namespace taeda::serialization
