// Archives of named values, nested by name, for models and optimizers in C++.
//
//   OutputArchive archive;
//   archive.write("weight", weight);
//   archive.save_to("model.pt");
//
// The file is the archive that PyTorch's C++ writes (TorchScript modules without methods): its
// torch::load and torch.jit.load read it, and InputArchive reads theirs. InputArchive also reads
// the state dicts that torch.save and taeda.save write in Python.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "taeda/dispatch/value.h"
#include "taeda/serialization/byte_streams.h"
#include "taeda/serialization/pickle/value.h"

namespace taeda::serialization {

class Pickler;

class TAEDA_API OutputArchive {
 public:
  // RuntimeError for a name that is used. A buffer takes no gradient when it is read.
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  // Numbers, texts, lists of numbers and tensors, tuples (a list of values).
  void write(const std::string& key, const dispatch::Value& value);
  // Everything of the other archive, below `key`.
  void write(const std::string& key, const OutputArchive& nested);

  void save_to(const std::string& filename) const;
  void save_to(std::ostream& stream) const;

 private:
  friend class ScriptWriter;
  enum class Role : uint8_t { Parameter, Buffer, Attribute, Module };
  struct Member {
    std::string name;
    Role role;
    dispatch::Value value;
    std::shared_ptr<OutputArchive> nested;
  };
  void add(Member member);

  std::vector<Member> members_;
  std::unordered_set<std::string> names_;
};

class TAEDA_API InputArchive {
 public:
  // False where there is no such name. A tensor that is defined takes the data and stays the same
  // tensor, on its device; another one becomes the tensor that was read.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  bool try_read(const std::string& key, int64_t& number) const;
  bool try_read(const std::string& key, double& number) const;
  bool try_read(const std::string& key, dispatch::Value& value) const;
  bool try_read(const std::string& key, InputArchive& nested) const;
  // RuntimeError where there is no such name.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  void read(const std::string& key, int64_t& number) const;
  void read(const std::string& key, double& number) const;
  void read(const std::string& key, dispatch::Value& value) const;
  void read(const std::string& key, InputArchive& nested) const;
  // The names at this level, each once.
  std::vector<std::string> keys() const;

  // Tensors go to `device`, or to the devices they were on.
  void load_from(const std::string& filename, std::optional<Device> device = std::nullopt);
  void load_from(std::istream& stream, std::optional<Device> device = std::nullopt);
  void load_from(const char* data, size_t size, std::optional<Device> device = std::nullopt);

 private:
  void load_from(std::unique_ptr<Source> source, std::optional<Device> device);
  std::optional<PickleValue> find(const std::string& key) const;
  void check_found(bool is_found, const std::string& key) const;

  // An object whose members are looked for, or a dict whose names begin with `prefix_`.
  std::optional<PickleValue> members_;
  std::string prefix_;     // in a dict
  std::string hierarchy_;  // for messages
};

// One value in a file that torch.load reads, in memory.
TAEDA_API std::vector<char> pickle_save(const dispatch::Value& value);
// The value of such a file; RuntimeError for a dict or an object, which a Value does not hold.
TAEDA_API dispatch::Value pickle_load(const std::vector<char>& data);

}  // namespace taeda::serialization
