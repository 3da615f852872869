// Checks that ranges cover the file, and moves bytes between tensors and files.
#include "taeda/serialization/safetensors.h"

#include <algorithm>
#include <unordered_set>

#include "taeda/core/storage_window.h"
#include "taeda/ops/functions.h"
#include "taeda/serialization/geometry.h"
#include "taeda/serialization/mapped_file.h"
#include "taeda/serialization/safetensors_header.h"
#include "taeda/serialization/utf8.h"

namespace taeda::serialization {
namespace {

constexpr uint64_t kSizeField = 8;

template <class... Args>
void check_file(bool condition, const std::string& file, uint64_t at, const Args&... args) {
  if (!condition)
    fail(ErrorKind::Runtime, "Error while deserializing header: ", file,
         " is no valid safetensors file: ", args..., " (at byte ", at, ")");
}

// The bytes of a tensor of this shape; false where they are not a number.
bool byte_count(const SafetensorsEntry& e, uint64_t& out) {
  out = static_cast<uint64_t>(item_size(e.dtype));
  bool is_empty = false;
  for (const int64_t size : e.shape) {
    is_empty = is_empty || size == 0;
    if (size > 0 && __builtin_mul_overflow(out, static_cast<uint64_t>(size), &out)) return false;
  }
  if (is_empty) out = 0;
  return true;
}

// The data begins at byte `start` of the file.
void check_ranges(std::vector<SafetensorsEntry>& entries, uint64_t start, uint64_t available,
                  const std::string& file) {
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
            });
  uint64_t end = 0;
  for (const SafetensorsEntry& e : entries) {
    check_file(e.begin == end, file, start + end, "InvalidOffset: ", e.name, " begins at byte ",
               e.begin, " of the data, where ", end, " is expected");
    uint64_t bytes = 0;
    check_file(byte_count(e, bytes) && bytes == e.end - e.begin, file, start + e.begin,
               "TensorInvalidInfo: ", e.name, " has ", e.end - e.begin,
               " bytes, which are not those of its shape");
    end = e.end;
  }
  check_file(end == available, file, start + std::min(end, available),
             "MetadataIncompleteBuffer: the tensors have ", end, " bytes, the file ", available,
             " after its header");
}

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  return strides;
}

}  // namespace

SafetensorsReader::SafetensorsReader(std::unique_ptr<Source> source) : source_(std::move(source)) {
  const std::string& file = source_->name();
  check_file(source_->size() >= kSizeField, file, source_->size(), "HeaderTooSmall: it has ",
             source_->size(), " bytes");
  uint64_t size = 0;
  source_->read(0, &size, sizeof size);
  check_file(size <= kLargestHeader, file, 0, "HeaderTooLarge: its header claims ", size, " bytes");
  check_file(size <= source_->size() - kSizeField, file, 0,
             "InvalidHeaderLength: its header claims ", size, " of ", source_->size() - kSizeField,
             " bytes");
  std::string json(size, '\0');
  source_->read(kSizeField, json.data(), size);
  check_file(json.starts_with('{'), file, kSizeField,
             "InvalidHeaderStart: its header does not start with {");
  SafetensorsHeader header = parse_safetensors_header(json, file, kSizeField);
  const uint64_t start = kSizeField + size;
  check_ranges(header.entries, start, source_->size() - start, file);
  for (SafetensorsEntry& e : header.entries) {
    e.begin += start;
    e.end += start;
  }
  entries_ = std::move(header.entries);
  metadata_ = std::move(header.metadata);
}

SafetensorsReader SafetensorsReader::map(const std::string& path) {
  const Storage whole = map_file(path);
  SafetensorsReader reader(open_storage_source(whole, path));
  reader.mapped_ = whole;
  return reader;
}

const SafetensorsEntry* SafetensorsReader::find(std::string_view name) const {
  for (const SafetensorsEntry& e : entries_)
    if (e.name == name) return &e;
  return nullptr;
}

Tensor SafetensorsReader::read(const SafetensorsEntry& entry) {
  const uint64_t size = entry.end - entry.begin;
  // Numbers of a complex pair are aligned each for itself.
  const uint64_t alignment = std::min<uint64_t>(static_cast<uint64_t>(item_size(entry.dtype)), 8);
  if (mapped_ && entry.begin % alignment == 0)
    return tensor_over(storage_window(mapped_, entry.begin, size), entry.dtype, entry.shape,
                       row_major(entry.shape), 0);
  Tensor out = make_tensor(entry.shape, entry.dtype, DeviceType::CPU);
  source_->read(entry.begin, out.data(), size);
  return out;
}

void write_safetensors(Sink& sink, const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const SafetensorsMetadata& metadata) {
  std::vector<const std::pair<std::string, Tensor>*> order;
  std::unordered_set<std::string> names;
  for (const auto& named : tensors) {
    const auto& [name, t] = named;
    TAEDA_CHECK_VALUE(is_utf8(name) && name != "__metadata__", "a tensor cannot be called ", name);
    TAEDA_CHECK_VALUE(names.insert(name).second, "two tensors are called ", name);
    TAEDA_CHECK_VALUE(t.defined() && !t.is_meta(), "cannot write ", name,
                      ": the tensor has no memory");
    TAEDA_CHECK_VALUE(!safetensors_dtype_name(t.dtype()).empty(), "cannot write ", name,
                      ": safetensors files have no dtype ", dtype_name(t.dtype()));
    TAEDA_CHECK_VALUE(t.is_contiguous(), "You are trying to save a non contiguous tensor: `", name,
                      "` which is not allowed. Call `.contiguous()` on your tensor to pack it "
                      "before saving");
    order.push_back(&named);
  }
  // Larger numbers first, which keeps all of them aligned.
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const int64_t left = item_size(a->second.dtype()), right = item_size(b->second.dtype());
    return left != right ? left > right : a->first < b->first;
  });
  SafetensorsHeader header;
  header.metadata = metadata;
  uint64_t position = 0;
  for (const auto* named : order) {
    const Tensor& t = named->second;
    const uint64_t end = position + static_cast<uint64_t>(t.nbytes());
    const std::vector<int64_t> shape(t.sizes().begin(), t.sizes().end());
    header.entries.push_back({named->first, t.dtype(), shape, position, end});
    position = end;
  }
  const std::string json = safetensors_header_text(header);
  TAEDA_CHECK_VALUE(json.size() <= SafetensorsReader::kLargestHeader, "the names take ",
                    json.size(), " bytes, more than a header may have");
  const uint64_t size = json.size();
  sink.write(&size, sizeof size);
  sink.write(json.data(), json.size());
  for (const auto* named : order) {
    const Tensor t = resolve_neg(resolve_conj(named->second)).to(Device(DeviceType::CPU));
    sink.write(t.data(), static_cast<size_t>(t.nbytes()));
  }
  sink.finish();
}

}  // namespace taeda::serialization
