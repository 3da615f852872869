// Reads values by their kinds.
#include "taeda/serialization/pickle/value.h"

namespace taeda::serialization {

std::string_view pickle_kind_name(PickleKind kind) {
  constexpr std::string_view kNames[] = {"None",      "a bool", "an int",   "a long int", "a float",
                                         "a complex", "a text", "bytes",    "a list",     "a tuple",
                                         "a dict",    "a set",  "a tensor", "a storage",  "a dtype",
                                         "a device",  "a name", "an object"};
  return kNames[static_cast<size_t>(kind)];
}

const PickleNode& PickleValue::get(PickleKind kind) const {
  TAEDA_CHECK(is(kind), "the pickle has ", pickle_kind_name(this->kind()), " where ",
              pickle_kind_name(kind), " is expected");
  return *node_;
}

int64_t PickleValue::to_int() const {
  return is(PickleKind::Bool) ? node_->integer : get(PickleKind::Int).integer;
}

double PickleValue::to_double() const {
  return is(PickleKind::Int) ? static_cast<double>(node_->integer) : get(PickleKind::Float).real;
}

size_t PickleValue::size() const {
  return has_pairs() ? node_->items.size() / 2 : node_->items.size();
}

PickleValue PickleValue::item(size_t index) const {
  TAEDA_CHECK_INDEX(index < node_->items.size(), "the pickle has ", pickle_kind_name(kind()),
                    " of ", size(), " where one with more is expected");
  return {nodes_, node_->items[index]};
}

PickleValue PickleValue::at(size_t index) const {
  TAEDA_CHECK(!has_pairs(), "the pickle has ", pickle_kind_name(kind()),
              " where a list is expected");
  return item(index);
}

PickleValue PickleValue::key(size_t index) const {
  TAEDA_CHECK(has_pairs(), "the pickle has ", pickle_kind_name(kind()),
              " where a dict is expected");
  return item(2 * index);
}

PickleValue PickleValue::value(size_t index) const {
  TAEDA_CHECK(has_pairs(), "the pickle has ", pickle_kind_name(kind()),
              " where a dict is expected");
  return item(2 * index + 1);
}

std::optional<PickleValue> PickleValue::find(std::string_view key) const {
  TAEDA_CHECK(has_pairs(), "the pickle has ", pickle_kind_name(kind()),
              " where a dict is expected");
  // A key that is there twice counts as in Python: the last one.
  for (size_t i = size(); i-- > 0;) {
    const PickleNode* name = node_->items[2 * i];
    if (name->kind == PickleKind::Text && name->text == key) return value(i);
  }
  return std::nullopt;
}

}  // namespace taeda::serialization
