// C++'s objects for the restricted pickle machine: PyTorch's tensors and plain containers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "taeda/serialization/pickle/value.h"

namespace taeda::serialization {

// What a pickle says of a storage, which lies outside of it.
struct StorageRecord {
  DType dtype;
  std::string key, location;
  uint64_t numel;
};
using FindStorage = std::function<Storage(const StorageRecord&)>;

class ValueModel {
 public:
  using Object = PickleNode*;

  explicit ValueModel(FindStorage find_storage) : find_storage_(std::move(find_storage)) {}

  PickleValue value_of(Object root) const { return {nodes_, root}; }

  static Object share(Object o) { return o; }
  Object none() { return make_node(PickleKind::None); }
  Object boolean(bool b);
  Object integer(int64_t v);
  Object long_integer(std::string_view bytes);
  Object real(double v);
  Object text(std::string_view utf8);
  Object byte_string(std::string_view bytes) { return text(bytes); }
  Object list() { return make_node(PickleKind::List); }
  Object dict() { return make_node(PickleKind::Dict); }
  Object set() { return make_node(PickleKind::Set); }
  Object tuple(std::vector<Object> items);
  void extend(Object list, std::vector<Object> items, const char* what);
  void set_items(Object dict, std::vector<Object> items, const char* op);
  Object global(const std::string& module, const std::string& name);
  Object reduce(Object function, Object arguments);
  Object make(Object type, Object arguments);
  void build(Object object, Object state);
  Object persistent(Object id);
  void warn_of_protocol(int) {}

 private:
  friend class Rebuilder;
  Object make_node(PickleKind kind);

  FindStorage find_storage_;
  std::shared_ptr<PickleNodes> nodes_ = std::make_shared<PickleNodes>();
};

}  // namespace taeda::serialization
