// Finds the pickle of a file and the storages that it names.
#include "taeda/serialization/checkpoint.h"

#include <algorithm>
#include <unordered_map>

#include "taeda/core/storage_window.h"
#include "taeda/ops/functions.h"
#include "taeda/serialization/checkpoint_archive.h"
#include "taeda/serialization/geometry.h"
#include "taeda/serialization/mapped_file.h"
#include "taeda/serialization/pickle/unpickler.h"
#include "taeda/serialization/pickle/value_model.h"

namespace taeda::serialization {
namespace {

constexpr std::string_view kZipStart = "PK\x03\x04";
// Magic number and version of the older stream.
constexpr std::string_view kStreamMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr int64_t kStreamVersion = 1001;

Storage cpu_storage(uint64_t nbytes) {
  return make_intrusive<StorageImpl>(nbytes, Device(DeviceType::CPU), &cpu_allocator());
}

Tensor storage_bytes_tensor(const Storage& storage) {
  return tensor_over(storage, DType::UInt8, {static_cast<int64_t>(storage->nbytes())}, {1}, 0);
}

// The storage where it belongs.
Storage placed(Storage storage, const std::string& location, const LoadOptions& options) {
  const Device device = options.device ? *options.device : Device::parse(location);
  return device.is_cpu() ? storage : storage_bytes_tensor(storage).to(device).storage();
}

uint64_t byte_size(const StorageRecord& record, uint64_t available, const std::string& file) {
  uint64_t nbytes = 0;
  TAEDA_CHECK(!__builtin_mul_overflow(record.numel, static_cast<uint64_t>(item_size(record.dtype)),
                                      &nbytes) &&
                  nbytes <= available,
              "the storage ", record.key, " in ", file, " claims ", record.numel, " elements of ",
              record.dtype, ", more than there are");
  return nbytes;
}

void swap_bytes(const Storage& storage, DType dtype) {
  const auto width = static_cast<size_t>(item_size(to_real(dtype)));
  auto* data = static_cast<char*>(storage->data());
  for (size_t at = 0; at + width <= storage->nbytes(); at += width)
    std::reverse(data + at, data + at + width);
}

class ArchiveReader {
 public:
  ArchiveReader(std::unique_ptr<Source> source, Storage mapped, const LoadOptions& options)
      : archive_(std::move(source)),
        mapped_(std::move(mapped)),
        options_(options),
        is_swapped_(archive_.is_big_endian()) {}

  PickleValue run() {
    const std::string pickle = archive_.read_bytes(kPickleEntry);
    const auto [name, start] = archive_.place(archive_.get(kPickleEntry));
    ByteReader bytes(pickle, name, start);
    ValueModel model([this](const StorageRecord& record) { return find(record); });
    return model.value_of(Unpickler<ValueModel>(bytes, model).load());
  }

 private:
  Storage find(const StorageRecord& record) {
    Storage& known = storages_[record.key];
    if (!known) known = placed(read(record), record.location, options_);
    return known;
  }
  Storage read(const StorageRecord& record) {
    const ZipEntry& entry = archive_.get(storage_entry(record.key));
    const uint64_t nbytes = byte_size(record, entry.size, archive_.name());
    TAEDA_CHECK(nbytes == entry.size, "record size (", entry.size,
                " bytes) does not match expected size (", nbytes, " bytes): ", entry.name,
                " at byte ", entry.data, " of ", archive_.name());
    if (mapped_ && !entry.is_deflated && !is_swapped_)
      return storage_window(mapped_, entry.data, entry.size);
    const Storage storage = cpu_storage(nbytes);
    archive_.read(entry, storage->data());
    if (is_swapped_) swap_bytes(storage, record.dtype);
    return storage;
  }

  CheckpointReader archive_;
  Storage mapped_;
  const LoadOptions& options_;
  bool is_swapped_;
  std::unordered_map<std::string, Storage> storages_;
};

// A source's bytes in order.
class SourceReader final : public ByteReader {
 public:
  explicit SourceReader(Source& source) : ByteReader(source.name()), source_(source) {}
  void read(void* into, size_t size) {
    const size_t kept = std::min(unread().size(), size);
    const std::string_view first = take(kept);
    std::copy(first.begin(), first.end(), static_cast<char*>(into));
    source_.read(next_, static_cast<char*>(into) + kept, size - kept);
    next_ += size - kept;
    skip(size - kept);
  }

 private:
  void refill(std::string& buffer) override {
    constexpr uint64_t kPiece = 1 << 16;
    const uint64_t size = std::min(kPiece, source_.size() - next_);
    const size_t before = buffer.size();
    buffer.resize(before + size);
    source_.read(next_, buffer.data() + before, size);
    next_ += size;
  }

  Source& source_;
  uint64_t next_ = 0;
};

// The stream that PyTorch wrote before its archives: magic number, version, system, the object, the
// storages' keys, and for each its number of elements and its bytes.
class StreamReader {
 public:
  StreamReader(std::unique_ptr<Source> source, const LoadOptions& options)
      : source_(std::move(source)), bytes_(*source_), options_(options) {}

  PickleValue run() {
    ValueModel headers(
        [](const StorageRecord&) -> Storage { throw PickleError("a storage in a header"); });
    const PickleValue magic = load(headers);
    TAEDA_CHECK(magic.is(PickleKind::LongInt) && magic_of(magic) == kStreamMagic,
                "Invalid magic number; corrupt file? (before ", bytes_.place(), ")");
    const PickleValue version = load(headers);
    TAEDA_CHECK(version.is(PickleKind::Int) && version.to_int() == kStreamVersion,
                "Invalid protocol version: expected ", kStreamVersion, " before ", bytes_.place());
    load(headers);
    ValueModel model([this](const StorageRecord& record) { return find(record); });
    const PickleValue result = load(model);
    const PickleValue keys = load(headers);
    TAEDA_CHECK(keys.is(PickleKind::List), "the keys of the storages are ",
                pickle_kind_name(keys.kind()), ", expected a list, before ", bytes_.place());
    for (size_t i = 0; i < keys.size(); ++i) fill(keys.at(i));
    TAEDA_CHECK(filled_ == storages_.size(), source_->name(), " has ", storages_.size(),
                " storages and the bytes of ", filled_, " before ", bytes_.place());
    return result;
  }

 private:
  struct Waiting {
    Storage storage;
    uint64_t numel;
    bool is_filled = false;
  };

  PickleValue load(ValueModel& model) {
    return model.value_of(Unpickler<ValueModel>(bytes_, model).load());
  }
  static std::string_view magic_of(const PickleValue& value) { return value.long_bytes(); }

  Storage find(const StorageRecord& record) {
    const auto known = storages_.find(record.key);
    if (known != storages_.end()) return known->second.storage;
    const Device device = options_.device ? *options_.device : Device::parse(record.location);
    TAEDA_CHECK_NOT_IMPLEMENTED(device.is_cpu(), "files of the older format go to the CPU, not to ",
                                device.text());
    // All claims together: each byte of the file belongs to one storage.
    const uint64_t nbytes = byte_size(record, source_->size() - claimed_, source_->name());
    claimed_ += nbytes;
    const Storage storage = cpu_storage(nbytes);
    storages_.emplace(record.key, Waiting{storage, record.numel});
    return storage;
  }
  void fill(const PickleValue& value) {
    TAEDA_CHECK(value.is(PickleKind::Text), "the key of a storage is ",
                pickle_kind_name(value.kind()), ", expected a text, before ", bytes_.place());
    const std::string& key = value.to_text();
    const auto found = storages_.find(key);
    TAEDA_CHECK(found != storages_.end() && !found->second.is_filled, "the storage ", key, " in ",
                source_->name(), " is not expected before ", bytes_.place());
    Waiting& waiting = found->second;
    uint64_t numel = 0;
    bytes_.read(&numel, sizeof numel);
    TAEDA_CHECK(numel == waiting.numel, "the storage ", key, " in ", source_->name(), " has ",
                numel, " elements, expected ", waiting.numel, ", before ", bytes_.place());
    bytes_.read(waiting.storage->data(), waiting.storage->nbytes());
    waiting.is_filled = true;
    ++filled_;
  }

  std::unique_ptr<Source> source_;
  SourceReader bytes_;
  const LoadOptions& options_;
  std::unordered_map<std::string, Waiting> storages_;
  uint64_t claimed_ = 0;  // bytes of all storages
  size_t filled_ = 0;
};

bool is_zip(Source& source) {
  std::string start(std::min<uint64_t>(source.size(), kZipStart.size()), '\0');
  source.read(0, start.data(), start.size());
  return start == kZipStart;
}

}  // namespace

PickleValue load_checkpoint(std::unique_ptr<Source> source, const LoadOptions& options) {
  if (is_zip(*source)) return ArchiveReader(std::move(source), nullptr, options).run();
  return StreamReader(std::move(source), options).run();
}

PickleValue load_checkpoint(const std::string& path, const LoadOptions& options) {
  if (!options.is_mapped) return load_checkpoint(open_file_source(path), options);
  const Storage mapped = map_file(path);
  auto source = open_storage_source(mapped, path);
  TAEDA_CHECK(is_zip(*source), "only archives of torch.save can be mapped: ", path, " is none");
  return ArchiveReader(std::move(source), mapped, options).run();
}

}  // namespace taeda::serialization
