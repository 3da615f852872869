// Archives of named tensors and numbers, nested by name, for models and optimizers in C++.
//
//   OutputArchive archive;
//   archive.write("weight", weight);
//   archive.save_to("model.pt");
//
// Names of nested archives are joined by dots. The file is that of tensor_archive.h; numbers are
// tensors of no dimension.
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "taeda/serialization/tensor_archive.h"

namespace taeda::serialization {

class TAEDA_API OutputArchive {
 public:
  // RuntimeError for a name that is used. A buffer takes no gradient when it is read.
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, int64_t number);
  void write(const std::string& key, double number);
  // Everything of the other archive, below `key`.
  void write(const std::string& key, const OutputArchive& nested);

  void save_to(const std::string& filename) const;
  void save_to(std::ostream& stream) const;

 private:
  void save_to(std::unique_ptr<Sink> sink) const;
  std::vector<NamedTensor> entries_;
};

class TAEDA_API InputArchive {
 public:
  // False where there is no such name. A tensor that is defined takes the data and stays the same
  // tensor, on its device; another one becomes the tensor that was read.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  bool try_read(const std::string& key, int64_t& number) const;
  bool try_read(const std::string& key, double& number) const;
  bool try_read(const std::string& key, InputArchive& nested) const;
  // RuntimeError where there is no such name.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  void read(const std::string& key, int64_t& number) const;
  void read(const std::string& key, double& number) const;
  void read(const std::string& key, InputArchive& nested) const;
  // The names at this level, each once.
  std::vector<std::string> keys() const;

  // Tensors go to `device`, or to the devices they were on.
  void load_from(const std::string& filename, std::optional<Device> device = std::nullopt);
  void load_from(std::istream& stream, std::optional<Device> device = std::nullopt);
  void load_from(const char* data, size_t size, std::optional<Device> device = std::nullopt);

 private:
  using Entries = std::map<std::string, NamedTensor>;
  void load_from(std::unique_ptr<Source> source, std::optional<Device> device);
  const NamedTensor* find(const std::string& key) const;
  void check_found(bool is_found, const std::string& key) const;

  // Shared by nested archives, which see the names below `prefix_`.
  std::shared_ptr<const Entries> entries_ = std::make_shared<Entries>();
  std::string prefix_;
};

}  // namespace taeda::serialization
