// Node: one step of a graph, with its arguments, its users and facts about its result.
//
// Note [Nodes]: a graph owns its nodes in a linked list and keeps `inputs` and `users` exact under
// every edit. A node that is erased while somebody holds it keeps a reference to its successor, so
// a walk that stands on it goes on. Graphs belong to one thread at a time.
#pragma once

#include <memory>
#include <unordered_map>

#include "taeda/dispatch/operator.h"
#include "taeda/fx/arg.h"

namespace taeda::fx {

enum class OpCode : uint8_t {
  Placeholder,
  CallFunction,
  CallMethod,
  CallModule,
  GetAttr,
  Output,
  Root,  // the list's end
};
TAEDA_API const char* opcode_name(OpCode op);  // "call_function"
TAEDA_API OpCode parse_opcode(std::string_view name);

// A function on values that is no operator: indexing of results, arithmetic on sizes.
struct Builtin;

// The target of a node: an operator, a built-in function, a name, or an object of another language.
class TAEDA_API Target {
 public:
  Target() = default;
  Target(std::string name) : v_(std::move(name)) {}
  Target(const char* name) : v_(std::string(name)) {}
  Target(dispatch::Operator& op) : v_(&op) {}
  Target(const Builtin& f) : v_(&f) {}
  Target(IntrusivePtr<Opaque> object) : v_(std::move(object)) {}

  const std::string* name() const { return std::get_if<std::string>(&v_); }
  dispatch::Operator* op() const { return get<dispatch::Operator*>(); }
  const Builtin* builtin() const { return get<const Builtin*>(); }
  const IntrusivePtr<Opaque>* object() const { return std::get_if<IntrusivePtr<Opaque>>(&v_); }
  std::string text() const;
  size_t hash() const;
  friend TAEDA_API bool operator==(const Target& a, const Target& b);

 private:
  template <class P>
  P get() const {
    const P* p = std::get_if<P>(&v_);
    return p ? *p : nullptr;
  }
  std::variant<std::string, dispatch::Operator*, const Builtin*, IntrusivePtr<Opaque>> v_;
};

// Nodes in the order they were added; each once. Constant time whatever the count.
class TAEDA_API NodeSet {
 public:
  bool add(Node* n);
  bool remove(Node* n);
  bool contains(const Node* n) const { return find(n) != kNone; }
  size_t size() const { return items_.size() - holes_; }
  bool empty() const { return size() == 0; }
  std::vector<Node*> list() const;
  Node* first() const;
  void clear();

 private:
  static constexpr size_t kNone = ~size_t{0};
  static constexpr size_t kSmall = 8;
  size_t find(const Node* n) const;
  void compact();

  std::vector<Node*> items_;  // null where one was removed
  size_t holes_ = 0;
  std::unique_ptr<std::unordered_map<const Node*, size_t>> index_;  // of more than a few
};

// Where another language keeps a node's metadata once it has asked for it.
class TAEDA_API MetaStore : public RefCounted {
 public:
  virtual Value get(std::string_view key) const = 0;
  virtual void set(std::string_view key, Value value) = 0;
  virtual IntrusivePtr<MetaStore> copy() const = 0;
};

// Facts about a node's result.
struct NodeMeta {
  Value val;                // an example: fake tensors, symbolic numbers, lists of them
  std::string stack_trace;  // of the user's code
  std::vector<std::pair<std::string, Value>> others;
};

using Kwargs = std::vector<std::pair<std::string, Arg>>;

class TAEDA_API Node final : public RefCounted {
 public:
  Graph* graph() const { return graph_; }
  const std::string& name() const { return name_; }
  OpCode op() const { return op_; }
  const Target& target() const { return target_; }
  const std::vector<Arg>& args() const { return args_; }
  const Kwargs& kwargs() const { return kwargs_; }
  const Arg* kwarg(std::string_view name) const;
  // Each node the arguments hold, once, in order.
  const NodeSet& inputs() const { return inputs_; }
  const NodeSet& users() const { return users_; }
  bool is_erased() const { return is_erased_; }
  Node* next() const { return next_; }
  Node* prev() const { return prev_; }

  void set_op(OpCode op) { op_ = op; }
  void set_target(Target target) { target_ = std::move(target); }
  void set_args(std::vector<Arg> args);
  void set_kwargs(Kwargs kwargs);
  void set_arg(size_t index, Arg arg);
  void set_kwarg(std::string_view name, Arg arg);
  // As it is; lint finds a name that is used twice.
  void set_name(std::string name) { name_ = std::move(name); }
  // Gives it a new name, made unique.
  void rename(std::string_view candidate);

  void replace_input(Node& old_input, const Arg& new_input);
  // Every use of this node becomes a use of `other`; gives the users that changed. `filter` may
  // keep some.
  std::vector<Node*> replace_uses(const Arg& other, FunctionRef<bool(Node&)> filter);
  std::vector<Node*> replace_uses(const Arg& other);

  // Whether removing it when unused changes anything but its result: writes, draws random numbers,
  // is an input, the output, or a call that nothing is known about.
  bool is_impure() const;

  Value val() const { return meta_value("val"); }
  void set_val(Value v) { set_meta_value("val", std::move(v)); }
  Value meta_value(std::string_view key) const;
  void set_meta_value(std::string_view key, Value v);
  const NodeMeta& meta() const { return meta_; }
  const IntrusivePtr<MetaStore>& meta_store() const { return meta_store_; }
  // From now on the metadata lives in `store`, to which it has been copied.
  void move_meta(IntrusivePtr<MetaStore> store);
  void copy_meta(const Node& from);

  // The declared type of the result in another language; null if none.
  const IntrusivePtr<Opaque>& type() const { return type_; }
  void set_type(IntrusivePtr<Opaque> type) { type_ = std::move(type); }

  // The one object that stands for the node in another language. The node owns it while it is in a
  // graph; then the object owns the node.
  void* peer = nullptr;

  // Graph::create makes nodes.
  Node(Graph* graph, std::string name, OpCode op, Target target);
  ~Node() override;

 private:
  friend class Graph;
  void update_inputs();
  void drop_inputs();

  Graph* graph_ = nullptr;
  std::string name_;
  OpCode op_ = OpCode::Root;
  bool is_erased_ = false;
  Target target_;
  std::vector<Arg> args_;
  Kwargs kwargs_;
  NodeSet inputs_, users_;
  Node *prev_ = this, *next_ = this;
  IntrusivePtr<Node> successor_, predecessor_;  // of an erased node: keep walks alive
  int64_t order_ = 0;
  NodeMeta meta_;
  IntrusivePtr<MetaStore> meta_store_;
  IntrusivePtr<Opaque> type_;
};

// Set by the bindings: the node leaves its graph, its object must keep the node from now on.
struct PeerHooks {
  void (*hand_over)(Node& node);
};
TAEDA_API void set_peer_hooks(const PeerHooks& hooks);

}  // namespace taeda::fx
