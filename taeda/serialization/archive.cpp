// Archives of named values.
#include "taeda/serialization/archive.h"

#include <algorithm>
#include <istream>
#include <iterator>
#include <ostream>
#include <unordered_set>

#include "taeda/ops/functions.h"
#include "taeda/serialization/checkpoint.h"
#include "taeda/serialization/checkpoint_archive.h"
#include "taeda/serialization/pickle/pickler.h"
#include "taeda/serialization/script_writer.h"

namespace taeda::serialization {
namespace {

using dispatch::Value;

constexpr size_t kDeepestValue = 100;

Value boxed(const PickleValue& value, size_t depth = 0) {
  TAEDA_CHECK(depth < kDeepestValue, "a value of the archive nests too deeply");
  switch (value.kind()) {
    case PickleKind::None: return {};
    case PickleKind::Bool: return value.to_bool();
    case PickleKind::Int: return value.to_int();
    case PickleKind::Float: return value.to_double();
    case PickleKind::Text: return value.to_text();
    case PickleKind::Tensor: return value.to_tensor();
    case PickleKind::Device: return value.to_device();
    case PickleKind::DType: return value.to_dtype();
    case PickleKind::List:
    case PickleKind::Tuple: {
      auto items = std::make_shared<Value::List>();
      for (size_t i = 0; i < value.size(); ++i) items->push_back(boxed(value.at(i), depth + 1));
      return items;
    }
    default:
      fail(ErrorKind::Runtime, "a value of the archive is ", pickle_kind_name(value.kind()),
           ", which C++ does not hold");
  }
}

std::string streamed(std::istream& stream) { return {std::istreambuf_iterator<char>(stream), {}}; }

}  // namespace

void OutputArchive::add(Member member) {
  TAEDA_CHECK(names_.insert(member.name).second, "an archive has the name '", member.name,
              "' already");
  members_.push_back(std::move(member));
}

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool is_buffer) {
  add({key, is_buffer ? Role::Buffer : Role::Parameter, tensor, nullptr});
}

void OutputArchive::write(const std::string& key, const Value& value) {
  add({key, Role::Attribute, value, nullptr});
}

void OutputArchive::write(const std::string& key, const OutputArchive& nested) {
  add({key, Role::Module, {}, std::make_shared<OutputArchive>(nested)});
}

void OutputArchive::save_to(const std::string& filename) const {
  CheckpointWriter writer(filename);
  ScriptWriter(writer).run(*this);
}

void OutputArchive::save_to(std::ostream& stream) const {
  std::string bytes;
  CheckpointWriter writer(open_memory_sink(bytes), "archive");
  ScriptWriter(writer).run(*this);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::optional<PickleValue> InputArchive::find(const std::string& key) const {
  return members_ ? members_->find(prefix_ + key) : std::nullopt;
}

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool is_buffer) const {
  const std::optional<PickleValue> found = find(key);
  if (!found || !found->is(PickleKind::Tensor)) return false;
  const Tensor& read = found->to_tensor();
  if (!tensor.defined())
    tensor = is_buffer ? read.detach() : read;
  else
    tensor.set_data(read.detach().to(tensor.device(), read.dtype()));
  return true;
}

bool InputArchive::try_read(const std::string& key, int64_t& number) const {
  Value value;
  if (!try_read(key, value)) return false;
  number = value.is<Tensor>() ? value.get<Tensor>().item<int64_t>() : value.to_int();
  return true;
}

bool InputArchive::try_read(const std::string& key, double& number) const {
  Value value;
  if (!try_read(key, value)) return false;
  number = value.is<Tensor>() ? value.get<Tensor>().item<double>() : value.to_double();
  return true;
}

bool InputArchive::try_read(const std::string& key, Value& value) const {
  const std::optional<PickleValue> found = find(key);
  if (found) value = boxed(*found);
  return found.has_value();
}

bool InputArchive::try_read(const std::string& key, InputArchive& nested) const {
  if (!members_) return false;
  const std::optional<PickleValue> found = find(key);
  if (found && (found->is(PickleKind::Object) || found->is(PickleKind::Dict))) {
    nested.members_ = found;
    nested.prefix_.clear();
  } else if (members_->is(PickleKind::Dict)) {
    const std::string prefix = prefix_ + key + ".";
    bool has_any = false;
    for (size_t i = 0; i < members_->size() && !has_any; ++i)
      has_any =
          members_->key(i).is(PickleKind::Text) && members_->key(i).to_text().starts_with(prefix);
    if (!has_any) return false;
    nested.members_ = members_;
    nested.prefix_ = prefix;
  } else {
    return false;
  }
  nested.hierarchy_ = hierarchy_ + key + ".";
  return true;
}

void InputArchive::check_found(bool is_found, const std::string& key) const {
  TAEDA_CHECK(is_found, "No such serialized tensor '", hierarchy_, key, "'");
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
void InputArchive::read(const std::string& key, Value& value) const {
  check_found(try_read(key, value), key);
}
void InputArchive::read(const std::string& key, InputArchive& nested) const {
  TAEDA_CHECK(try_read(key, nested), "No such serialized submodule: '", hierarchy_, key, "'");
}

std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> out;
  std::unordered_set<std::string> seen;
  for (size_t i = 0; members_ && i < members_->size(); ++i) {
    if (!members_->key(i).is(PickleKind::Text)) continue;
    std::string name = members_->key(i).to_text();
    if (!name.starts_with(prefix_)) continue;
    name.erase(0, prefix_.size());
    if (members_->is(PickleKind::Dict)) name = name.substr(0, name.find('.'));
    if (seen.insert(name).second) out.push_back(std::move(name));
  }
  return out;
}

void InputArchive::load_from(const std::string& filename, std::optional<Device> device) {
  load_from(open_file_source(filename), device);
}

void InputArchive::load_from(std::istream& stream, std::optional<Device> device) {
  const std::string bytes = streamed(stream);
  load_from(bytes.data(), bytes.size(), device);
}

void InputArchive::load_from(const char* data, size_t size, std::optional<Device> device) {
  load_from(open_memory_source({data, size}), device);
}

void InputArchive::load_from(std::unique_ptr<Source> source, std::optional<Device> device) {
  const std::string name = source->name();
  PickleValue root = load_checkpoint(std::move(source), {.device = device});
  TAEDA_CHECK(root.is(PickleKind::Object) || root.is(PickleKind::Dict), name, " holds ",
              pickle_kind_name(root.kind()), ", expected a module or a state dict");
  members_ = std::move(root);
  prefix_.clear();
  hierarchy_.clear();
}

std::vector<char> pickle_save(const Value& value) {
  std::string bytes;
  CheckpointWriter writer(open_memory_sink(bytes), "archive");
  Pickler pickler;
  pickler.value(value, value.is<Tensor>() && value.get<Tensor>().requires_grad());
  writer.add(kPickleEntry, pickler.finish());
  write_storages(writer, pickler);
  writer.finish();
  return {bytes.begin(), bytes.end()};
}

Value pickle_load(const std::vector<char>& data) {
  return boxed(load_checkpoint(open_memory_source({data.data(), data.size()})));
}

}  // namespace taeda::serialization
