// What a pickle holds, as C++ sees it: numbers, texts, containers, tensors, and objects of classes
// that nobody runs.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::serialization {

enum class PickleKind : uint8_t {
  None,
  Bool,
  Int,
  LongInt,  // more than 64 bits: its little-endian bytes are the text
  Float,
  Complex,
  Text,
  Bytes,
  List,
  Tuple,
  Dict,
  Set,
  Tensor,
  Storage,
  DType,
  Device,
  Global,  // the name of a class or function
  Object,  // of the class that its text names; its members are a dict's
};
TAEDA_API std::string_view pickle_kind_name(PickleKind kind);

struct PickleNode {
  PickleKind kind = PickleKind::None;
  DType dtype = DType::Undefined;  // of a storage too
  Device device;
  int64_t integer = 0;  // of a Bool too
  double real = 0, imaginary = 0;
  std::string text;
  std::vector<PickleNode*> items;  // of dicts and objects: keys and values in turn
  Tensor tensor;
  taeda::Storage storage;
};
// Owns all nodes of a pickle, which may refer to each other in circles and nest as deep as they
// like: dropping them recurses nowhere.
using PickleNodes = std::deque<PickleNode>;

// A node and what keeps it. RuntimeError that names both kinds where it is not what is asked for.
class TAEDA_API PickleValue {
 public:
  PickleValue(std::shared_ptr<const PickleNodes> nodes, const PickleNode* node)
      : nodes_(std::move(nodes)), node_(node) {}

  PickleKind kind() const { return node_->kind; }
  bool is_none() const { return kind() == PickleKind::None; }
  bool is(PickleKind kind) const { return node_->kind == kind; }
  bool to_bool() const { return get(PickleKind::Bool).integer != 0; }
  int64_t to_int() const;
  double to_double() const;  // of an Int too
  Complex<double> to_complex() const {
    const PickleNode& node = get(PickleKind::Complex);
    return {node.real, node.imaginary};
  }
  const std::string& to_text() const { return get(PickleKind::Text).text; }
  const std::string& to_bytes() const { return get(PickleKind::Bytes).text; }
  const Tensor& to_tensor() const { return get(PickleKind::Tensor).tensor; }
  DType to_dtype() const { return get(PickleKind::DType).dtype; }
  Device to_device() const { return get(PickleKind::Device).device; }
  // Little-endian, of an int of more than 64 bits.
  const std::string& long_bytes() const { return get(PickleKind::LongInt).text; }
  const std::string& class_name() const { return get(PickleKind::Object).text; }

  // Of lists, tuples and sets; pairs of dicts and members of objects.
  size_t size() const;
  PickleValue at(size_t index) const;
  PickleValue key(size_t index) const;
  PickleValue value(size_t index) const;
  // The value of a text in a dict or object.
  std::optional<PickleValue> find(std::string_view key) const;

 private:
  const PickleNode& get(PickleKind kind) const;
  bool has_pairs() const { return is(PickleKind::Dict) || is(PickleKind::Object); }
  PickleValue item(size_t index) const;

  std::shared_ptr<const PickleNodes> nodes_;
  const PickleNode* node_;
};

}  // namespace taeda::serialization
