// Arg: an argument of a node: a constant, a node, a region, or a tuple, list, dict or slice of
// such.
//
// Args are values. Their parts are immutable and shared, so copying one is cheap. Lists of numbers
// or tensors are lists here, whatever the operator calls them: `bind.h` gives a call the types its
// schema asks for.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "taeda/base/function_ref.h"
#include "taeda/dispatch/value.h"

namespace taeda::fx {

using dispatch::Opaque;
using dispatch::Value;

class Graph;
class Node;
class TAEDA_API Arg;

// A tuple, list, dict or slice.
struct TAEDA_API Compound final : RefCounted {
  enum class Kind : uint8_t { Tuple, List, Dict, Slice };
  Compound(Kind kind, std::vector<Arg> items, std::vector<Value> keys = {},
           IntrusivePtr<Opaque> type = nullptr);

  const Kind kind;
  const std::vector<Arg> items;     // of a dict its values; of a slice start, stop and step
  const std::vector<Value> keys;    // of a dict
  const IntrusivePtr<Opaque> type;  // the class of a named tuple, null for plain ones
  const bool has_nodes;
};

class TAEDA_API Arg {
 public:
  Arg() noexcept;  // None
  Arg(const Arg& other);
  Arg(Arg&& other) noexcept;
  Arg& operator=(const Arg& other);
  Arg& operator=(Arg&& other) noexcept;
  ~Arg();
  // A constant; boxed lists become lists of constants.
  Arg(Value v);
  template <class T>
    requires(std::is_constructible_v<Value, T> && !std::is_same_v<std::remove_cvref_t<T>, Value> &&
             !std::is_pointer_v<std::remove_cvref_t<T>>)
  Arg(T&& v) : Arg(Value(std::forward<T>(v))) {}
  Arg(Node* node);
  Arg(Node& node) : Arg(&node) {}
  Arg(IntrusivePtr<Compound> c);
  // A region: a graph that the node runs zero or more times.
  Arg(IntrusivePtr<Graph> region);

  static Arg tuple(std::vector<Arg> items) { return make(Compound::Kind::Tuple, std::move(items)); }
  static Arg list(std::vector<Arg> items) { return make(Compound::Kind::List, std::move(items)); }

  bool is_node() const { return std::holds_alternative<Node*>(v_); }
  Node* node() const { return is_node() ? std::get<Node*>(v_) : nullptr; }
  bool is_constant() const { return std::holds_alternative<Value>(v_); }
  const Value& constant() const { return std::get<Value>(v_); }
  const Compound* compound() const {
    const auto* p = std::get_if<IntrusivePtr<Compound>>(&v_);
    return p ? p->get() : nullptr;
  }
  Graph* region() const;
  bool is_none() const { return is_constant() && constant().is_none(); }
  bool has_nodes() const { return is_node() || (compound() && compound()->has_nodes); }

  // Structural; constants by value, tensors and objects by identity or their own equality.
  friend TAEDA_API bool operator==(const Arg& a, const Arg& b);

 private:
  static Arg make(Compound::Kind kind, std::vector<Arg> items) {
    return Arg(make_intrusive<Compound>(kind, std::move(items)));
  }
  std::variant<Value, Node*, IntrusivePtr<Compound>, IntrusivePtr<RefCounted>> v_;
};

}  // namespace taeda::fx

extern template class std::vector<taeda::fx::Arg>;

namespace taeda::fx {

// Calls f on each node in an argument, in order, repeats included.
TAEDA_API void for_each_node(const Arg& arg, FunctionRef<void(Node&)> f);
// The argument with every node replaced by f(node).
TAEDA_API Arg map_nodes(const Arg& arg, FunctionRef<Arg(Node&)> f);

// Whether two constants are the same: numbers by kind and bits, tensors by identity, symbolic
// numbers by expression node. Never guards.
TAEDA_API bool same_value(const Value& a, const Value& b);
TAEDA_API size_t hash_value(const Value& v);

}  // namespace taeda::fx
