// Tensors as lines of an index and storages as entries.
#include "taeda/serialization/tensor_archive.h"

#include <charconv>
#include <optional>

#include "taeda/ops/functions.h"
#include "taeda/serialization/geometry.h"

namespace taeda::serialization {
namespace {

constexpr std::string_view kIndex = "tensors";
constexpr std::string_view kTitle = "taeda tensors 1";

std::string data_name(size_t storage) { return str("data/", storage); }

// All bytes of a storage as a tensor of its own.
Tensor bytes_of(const Tensor& t) {
  auto impl = make_intrusive<TensorImpl>(t.storage(), DType::UInt8, dense_keys(t.device()));
  const int64_t size = static_cast<int64_t>(t.storage()->nbytes()), stride = 1;
  impl->set_geometry({&size, 1}, {&stride, 1}, 0);
  return Tensor(std::move(impl));
}

std::string list_text(IntList values) {
  std::string out;
  for (const int64_t v : values) out += (out.empty() ? "" : ",") + std::to_string(v);
  return out.empty() ? "-" : out;
}

class IndexWriter {
 public:
  explicit IndexWriter(ZipWriter& archive) : archive_(archive) {}

  void add(const NamedTensor& named) {
    TAEDA_CHECK_VALUE(named.name.find_first_of("\r\n") == std::string::npos,
                      "a tensor's name has a line break");
    TAEDA_CHECK_VALUE(names_.insert(named.name).second, "two tensors are called ", named.name);
    TAEDA_CHECK_VALUE(named.tensor.defined() && !named.tensor.is_meta(), "cannot write ",
                      named.name, ": the tensor has no memory");
    const Tensor t = resolve_neg(resolve_conj(named.tensor));
    index_ +=
        str(dtype_name(t.dtype()), " ", list_text(t.sizes()), " ", list_text(t.strides()), " ",
            t.storage_offset(), " ", storage_number(t), " ", named.requires_grad ? "grad" : "-",
            " ", t.device().text(), " ", named.name, "\n");
  }

  void finish() {
    archive_.add(kIndex, index_);
    for (size_t i = 0; i < storages_.size(); ++i) {
      const Tensor bytes = bytes_of(storages_[i]).to(Device(DeviceType::CPU));
      archive_.add(data_name(i), bytes.data(), bytes.nbytes());
    }
  }

 private:
  size_t storage_number(const Tensor& t) {
    const auto [it, is_new] = numbers_.emplace(t.storage().get(), storages_.size());
    if (is_new) storages_.push_back(t);
    return it->second;
  }

  ZipWriter& archive_;
  std::string index_ = str(kTitle, "\n");
  std::unordered_set<std::string> names_;
  std::unordered_map<const StorageImpl*, size_t> numbers_;
  std::vector<Tensor> storages_;  // one tensor of each
};

class IndexReader {
 public:
  explicit IndexReader(ZipReader& archive) : archive_(archive) {}

  std::vector<NamedTensor> run() {
    const std::string text = archive_.read_text(kIndex);
    rest_ = text;
    check(line() == kTitle, "its first line is not \"", kTitle, "\"");
    std::vector<NamedTensor> tensors;
    std::unordered_set<std::string> names;
    while (!rest_.empty()) {
      tensors.push_back(tensor(line()));
      check(names.insert(tensors.back().name).second, "the name ", tensors.back().name,
            " is there twice");
    }
    return tensors;
  }

 private:
  template <class... Args>
  void check(bool condition, const Args&... args) const {
    if (!condition)
      fail(ErrorKind::Runtime, "the index of tensors in ", archive_.name(), " is damaged at line ",
           line_number_, ": ", args...);
  }

  std::string_view line() {
    ++line_number_;
    const size_t end = rest_.find('\n');
    check(end != std::string_view::npos, "it has no end");
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return out;
  }
  static std::string_view field(std::string_view& line) {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string_view out = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return out;
  }
  int64_t number(std::string_view text) const {
    int64_t v = 0;
    const char* last = text.data() + text.size();
    const auto r = std::from_chars(text.data(), last, v);
    check(r.ec == std::errc() && r.ptr == last && v >= 0, "'", text, "' is no natural number");
    return v;
  }
  std::vector<int64_t> numbers(std::string_view text) const {
    std::vector<int64_t> out;
    if (text == "-") return out;
    while (true) {
      const size_t end = std::min(text.find(','), text.size());
      out.push_back(number(text.substr(0, end)));
      if (end == text.size()) return out;
      text.remove_prefix(end + 1);
    }
  }
  DType dtype(std::string_view name) const {
    for (int i = 0; i < kNumDTypes; ++i)
      if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
    check(false, "no dtype is called ", name);
    return DType::Undefined;
  }

  NamedTensor tensor(std::string_view text) {
    const DType type = dtype(field(text));
    const std::vector<int64_t> sizes = numbers(field(text)), strides = numbers(field(text));
    const int64_t offset = number(field(text));
    const int64_t storage = number(field(text));
    const std::string_view flags = field(text);
    check(flags == "-" || flags == "grad", "unknown flags ", flags);
    const Device device = Device::parse(std::string(field(text)));
    const Tensor bytes = storage_bytes(storage, device);
    const std::string problem =
        geometry_problem(sizes, strides, offset, type, static_cast<uint64_t>(bytes.nbytes()));
    check(problem.empty(), problem);
    auto impl = make_intrusive<TensorImpl>(bytes.storage(), type, dense_keys(bytes.device()));
    impl->set_geometry(sizes, strides, offset);
    return {std::string(text), Tensor(std::move(impl)), flags == "grad"};
  }

  Tensor storage_bytes(int64_t number, Device device) {
    const auto it = storages_.find(number);
    if (it != storages_.end()) {
      check(it->second.device() == device, "a storage is on two devices");
      return it->second;
    }
    const ZipEntry* entry = archive_.find(data_name(static_cast<size_t>(number)));
    check(entry, "it names the storage ", number, ", which is not there");
    const int64_t size = static_cast<int64_t>(entry->size);
    Tensor bytes = make_tensor({size}, DType::UInt8, DeviceType::CPU);
    archive_.read(*entry, bytes.data());
    if (!device.is_cpu()) bytes = bytes.to(device);
    return storages_.emplace(number, bytes).first->second;
  }

  ZipReader& archive_;
  std::string_view rest_;
  size_t line_number_ = 0;
  std::unordered_map<int64_t, Tensor> storages_;
};

}  // namespace

void write_tensors(ZipWriter& archive, const std::vector<NamedTensor>& tensors) {
  IndexWriter writer(archive);
  for (const NamedTensor& t : tensors) writer.add(t);
  writer.finish();
}

std::vector<NamedTensor> read_tensors(ZipReader& archive) { return IndexReader(archive).run(); }

}  // namespace taeda::serialization
