// Archives of named tensors and numbers.
#include "taeda/serialization/archive.h"

#include <istream>
#include <iterator>
#include <ostream>

#include "taeda/ops/functions.h"

namespace taeda::serialization {

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool is_buffer) {
  for (const NamedTensor& entry : entries_) {
    TAEDA_CHECK(entry.name != key, "an archive has the name '", key, "' already");
  }
  entries_.push_back({key, tensor.detach(), !is_buffer && tensor.requires_grad()});
}

void OutputArchive::write(const std::string& key, int64_t number) {
  write(key, taeda::scalar_tensor(number, DType::Int64), /*is_buffer=*/true);
}

void OutputArchive::write(const std::string& key, double number) {
  write(key, taeda::scalar_tensor(number, DType::Double), /*is_buffer=*/true);
}

void OutputArchive::write(const std::string& key, const OutputArchive& nested) {
  for (const NamedTensor& entry : nested.entries_) {
    entries_.push_back({key + "." + entry.name, entry.tensor, entry.requires_grad});
  }
}

void OutputArchive::save_to(const std::string& filename) const {
  save_to(open_file_sink(filename));
}

void OutputArchive::save_to(std::ostream& stream) const {
  std::string bytes;
  save_to(open_memory_sink(bytes));
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void OutputArchive::save_to(std::unique_ptr<Sink> sink) const {
  ZipWriter writer(std::move(sink));
  write_tensors(writer, entries_);
  writer.finish();
}

const NamedTensor* InputArchive::find(const std::string& key) const {
  const auto found = entries_->find(prefix_ + key);
  return found == entries_->end() ? nullptr : &found->second;
}

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool is_buffer) const {
  const NamedTensor* found = find(key);
  if (!found) return false;
  if (!tensor.defined()) {
    tensor = found->tensor;
    if (!is_buffer && found->requires_grad) tensor.set_requires_grad(true);
  } else {
    tensor.set_data(found->tensor.to(tensor.device(), found->tensor.dtype()));
  }
  return true;
}

bool InputArchive::try_read(const std::string& key, int64_t& number) const {
  const NamedTensor* found = find(key);
  if (found) number = found->tensor.item<int64_t>();
  return found != nullptr;
}

bool InputArchive::try_read(const std::string& key, double& number) const {
  const NamedTensor* found = find(key);
  if (found) number = found->tensor.item<double>();
  return found != nullptr;
}

bool InputArchive::try_read(const std::string& key, InputArchive& nested) const {
  const std::string prefix = prefix_ + key + ".";
  const auto first = entries_->lower_bound(prefix);
  if (first == entries_->end() || !first->first.starts_with(prefix)) return false;
  nested.entries_ = entries_;
  nested.prefix_ = prefix;
  return true;
}

void InputArchive::check_found(bool is_found, const std::string& key) const {
  TAEDA_CHECK(is_found, "No such serialized tensor '", prefix_, key, "'");
}

void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) const {
  check_found(try_read(key, tensor, is_buffer), key);
}

void InputArchive::read(const std::string& key, int64_t& number) const {
  check_found(try_read(key, number), key);
}

void InputArchive::read(const std::string& key, double& number) const {
  check_found(try_read(key, number), key);
}

void InputArchive::read(const std::string& key, InputArchive& nested) const {
  TAEDA_CHECK(try_read(key, nested), "No such serialized submodule: '", prefix_, key, "'");
}

std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> out;
  for (auto at = entries_->lower_bound(prefix_);
       at != entries_->end() && at->first.starts_with(prefix_); ++at) {
    const std::string rest = at->first.substr(prefix_.size());
    std::string key = rest.substr(0, rest.find('.'));
    if (out.empty() || out.back() != key) out.push_back(std::move(key));
  }
  return out;
}

void InputArchive::load_from(const std::string& filename, std::optional<Device> device) {
  load_from(open_file_source(filename), device);
}

void InputArchive::load_from(std::istream& stream, std::optional<Device> device) {
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  load_from(bytes.data(), bytes.size(), device);
}

void InputArchive::load_from(const char* data, size_t size, std::optional<Device> device) {
  load_from(open_memory_source({data, size}), device);
}

void InputArchive::load_from(std::unique_ptr<Source> source, std::optional<Device> device) {
  ZipReader reader(std::move(source));
  auto entries = std::make_shared<Entries>();
  for (NamedTensor& entry : read_tensors(reader)) {
    if (device) entry.tensor = entry.tensor.to(*device, entry.tensor.dtype());
    std::string name = entry.name;
    entries->emplace(std::move(name), std::move(entry));
  }
  entries_ = std::move(entries);
  prefix_.clear();
}

}  // namespace taeda::serialization
