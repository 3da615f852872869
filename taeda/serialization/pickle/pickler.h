// Writes pickles of protocol 2 that PyTorch reads: tensors, numbers, texts, lists, objects.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "taeda/dispatch/value.h"

namespace taeda::serialization {

class TAEDA_API Pickler {
 public:
  // TorchScript has a name for storages of every dtype.
  explicit Pickler(bool is_script = false);

  // None, a number, a text, a tensor, a device, a list of numbers or tensors as TorchScript has it,
  // or a tuple of such values. ValueError for what pickles do not hold and for tensors without
  // memory. Conjugate and negative views are written as their values.
  void value(const dispatch::Value& value, bool requires_grad);
  // An object of a class: members follow, each a name and a value, until it is closed.
  void open_object(std::string_view module, std::string_view name);
  void member(std::string_view name) { text(name); }
  void close_object();
  // A list; items follow.
  void open_list();
  void close_list();

  // The whole pickle; nothing follows.
  std::string finish();
  // The storages that the pickle names by their numbers, as tensors over them.
  const std::vector<Tensor>& storages() const { return storages_; }

 private:
  void op(char c) { out_ += c; }
  void text(std::string_view text);
  void global(std::string_view module, std::string_view name);
  void integer(int64_t v);
  void real(double v);
  void tensor(const Tensor& tensor, bool requires_grad);
  void storage(const Tensor& tensor);
  void integers(IntList values);
  // The next number of the memo, given to what was pushed last.
  uint32_t keep();
  // False where the key is new.
  bool recall(const std::string& key);

  std::string name_of_storage(DType dtype) const;

  bool is_script_;
  std::string out_;
  std::unordered_map<std::string, uint32_t> memo_;
  std::unordered_map<const StorageImpl*, uint32_t> kept_storages_;
  uint32_t count_ = 0;
  std::vector<Tensor> storages_;
};

class CheckpointWriter;
// Adds the bytes of a pickle's storages.
TAEDA_API void write_storages(CheckpointWriter& archive, const Pickler& pickler);

}  // namespace taeda::serialization
