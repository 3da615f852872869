// Nodes: exact inputs and users, metadata, purity.
#include "taeda/fx/node.h"

#include "taeda/fx/bind.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/effects.h"
#include "taeda/fx/graph.h"

namespace taeda::fx {
namespace {

PeerHooks peer_hooks{nullptr};

constexpr const char* kOpCodeNames[] = {
    "placeholder", "call_function", "call_method", "call_module", "get_attr", "output", "root"};

// Nodes wait here for their end, so that a chain of erased ones is freed without recursion.
void release_later(IntrusivePtr<Node> a, IntrusivePtr<Node> b) {
  static thread_local std::vector<IntrusivePtr<Node>> waiting;
  static thread_local bool is_releasing = false;
  waiting.push_back(std::move(a));
  waiting.push_back(std::move(b));
  if (is_releasing) return;
  is_releasing = true;
  while (!waiting.empty()) {
    const IntrusivePtr<Node> last = std::move(waiting.back());
    waiting.pop_back();
  }
  is_releasing = false;
}

bool writes_or_draws(const dispatch::Operator& op) {
  const dispatch::CallForm& form = call_form(op);
  return op.has(dispatch::Tag::NondeterministicSeeded) || form.writes || form.returns.empty() ||
         is_effectful(op);
}

}  // namespace

void set_peer_hooks(const PeerHooks& hooks) { peer_hooks = hooks; }
void hand_over_peer(Node& node) {
  if (node.peer && peer_hooks.hand_over) peer_hooks.hand_over(node);
}

// Arguments point to nodes without owning them: those of another graph, and those that were erased,
// may go while they are pointed at.
void check_inputs_are_here(const Graph& graph, std::string_view user, const Arg& arg) {
  for_each_node(arg, [&](Node& n) {
    TAEDA_CHECK(n.graph() == &graph && !n.is_erased(), "Argument '", n.name(), "' of Node '", user,
                "' does not belong to this Graph: it ",
                n.is_erased() ? "was erased"
                              : "belongs to another graph; node_copy(node, arg_transform) takes a "
                                "function that gives the node here for a node there");
  });
}

const char* opcode_name(OpCode op) { return kOpCodeNames[static_cast<int>(op)]; }

OpCode parse_opcode(std::string_view name) {
  for (int i = 0; i < static_cast<int>(OpCode::Root); ++i)
    if (name == kOpCodeNames[i]) return static_cast<OpCode>(i);
  fail(ErrorKind::Assertion, "op '", name, "' is not in _legal_ops",
       "; known: placeholder, call_function, call_method, call_module, get_attr, output");
}

std::string Target::text() const {
  if (const std::string* n = name()) return *n;
  if (const dispatch::Operator* o = op()) {
    const std::string full = o->full_name();
    return full.find("::") == std::string::npos ? "aten::" + full : full;
  }
  if (const Builtin* b = builtin()) return str("builtin::", b->name);
  return (*object())->text();
}

size_t Target::hash() const {
  if (const std::string* n = name()) return std::hash<std::string>()(*n);
  if (object()) return (*object())->hash();
  return std::hash<const void*>()(op() ? static_cast<const void*>(op()) : builtin());
}

bool operator==(const Target& a, const Target& b) {
  if (a.object() && b.object())
    return *a.object() == *b.object() || (*a.object())->equals(**b.object());
  return a.v_ == b.v_;
}

// ---- NodeSet ----

size_t NodeSet::find(const Node* n) const {
  if (index_) {
    auto it = index_->find(n);
    return it == index_->end() ? kNone : it->second;
  }
  for (size_t i = 0; i < items_.size(); ++i)
    if (items_[i] == n) return i;
  return kNone;
}

bool NodeSet::add(Node* n) {
  if (contains(n)) return false;
  if (!index_ && items_.size() >= kSmall) {
    compact();
    index_ = std::make_unique<std::unordered_map<const Node*, size_t>>();
    for (size_t i = 0; i < items_.size(); ++i) index_->emplace(items_[i], i);
  }
  if (index_) index_->emplace(n, items_.size());
  items_.push_back(n);
  return true;
}

bool NodeSet::remove(Node* n) {
  const size_t i = find(n);
  if (i == kNone) return false;
  if (index_) index_->erase(n);
  items_[i] = nullptr;
  ++holes_;
  if (holes_ > kSmall && holes_ * 2 > items_.size()) compact();
  return true;
}

void NodeSet::compact() {
  std::erase(items_, nullptr);
  holes_ = 0;
  if (index_)
    for (size_t i = 0; i < items_.size(); ++i) (*index_)[items_[i]] = i;
}

std::vector<Node*> NodeSet::list() const {
  std::vector<Node*> out;
  out.reserve(size());
  for (Node* n : items_)
    if (n) out.push_back(n);
  return out;
}

Node* NodeSet::first() const {
  for (Node* n : items_)
    if (n) return n;
  return nullptr;
}

void NodeSet::clear() {
  items_.clear();
  index_.reset();
  holes_ = 0;
}

// ---- Node ----

static void check_new_input(const Node& user, const Arg& arg) {
  TAEDA_CHECK(user.graph() && !user.is_erased(), "node ", user.name(),
              " was erased from its graph");
  check_inputs_are_here(*user.graph(), user.name(), arg);
}

Node::Node(Graph* graph, std::string name, OpCode op, Target target)
    : graph_(graph), name_(std::move(name)), op_(op), target_(std::move(target)) {}

Node::~Node() {
  if (successor_ || predecessor_) release_later(std::move(successor_), std::move(predecessor_));
}

const Arg* Node::kwarg(std::string_view name) const {
  for (const auto& [key, value] : kwargs_)
    if (key == name) return &value;
  return nullptr;
}

void Node::drop_inputs() {
  for (Node* n : inputs_.list()) n->users_.remove(this);
  inputs_.clear();
}

void Node::update_inputs() {
  drop_inputs();
  auto use = [&](Node& n) {
    if (inputs_.add(&n)) n.users_.add(this);
  };
  for (const Arg& a : args_) for_each_node(a, use);
  for (const auto& [name, a] : kwargs_) for_each_node(a, use);
}

void Node::set_args(std::vector<Arg> args) {
  for (const Arg& a : args) check_new_input(*this, a);
  args_ = std::move(args);
  update_inputs();
}

void Node::set_kwargs(Kwargs kwargs) {
  for (const auto& [name, a] : kwargs) check_new_input(*this, a);
  kwargs_ = std::move(kwargs);
  update_inputs();
}

void Node::set_arg(size_t index, Arg arg) {
  TAEDA_CHECK_INDEX(index < args_.size(), "node ", name_, " has ", args_.size(),
                    " positional arguments, got index ", index);
  check_new_input(*this, arg);
  args_[index] = std::move(arg);
  update_inputs();
}

void Node::set_kwarg(std::string_view name, Arg arg) {
  check_new_input(*this, arg);
  for (auto& [key, value] : kwargs_)
    if (key == name) {
      value = std::move(arg);
      return update_inputs();
    }
  kwargs_.emplace_back(std::string(name), std::move(arg));
  update_inputs();
}

void Node::rename(std::string_view candidate) {
  if (candidate == name_) return;
  name_ = graph_->names().make(candidate);
}

void Node::replace_input(Node& old_input, const Arg& new_input) {
  check_new_input(*this, new_input);
  auto map = [&](Node& n) { return &n == &old_input ? new_input : Arg(n); };
  for (Arg& a : args_) a = map_nodes(a, map);
  for (auto& [name, a] : kwargs_) a = map_nodes(a, map);
  update_inputs();
}

std::vector<Node*> Node::replace_uses(const Arg& other, FunctionRef<bool(Node&)> filter) {
  std::vector<Node*> changed;
  for (Node* user : users_.list()) {
    if (!filter(*user)) continue;
    user->replace_input(*this, other);
    changed.push_back(user);
  }
  return changed;
}

std::vector<Node*> Node::replace_uses(const Arg& other) {
  return replace_uses(other, [](Node&) { return true; });
}

bool Node::is_impure() const {
  if (op_ == OpCode::GetAttr) return false;
  if (op_ != OpCode::CallFunction) return true;
  if (const dispatch::Operator* o = target_.op()) return writes_or_draws(*o);
  if (const Builtin* b = target_.builtin()) return b->is_impure;
  return true;
}

Value Node::meta_value(std::string_view key) const {
  if (meta_store_) return meta_store_->get(key);
  if (key == "val") return meta_.val;
  if (key == "stack_trace") return meta_.stack_trace.empty() ? Value() : Value(meta_.stack_trace);
  for (const auto& [name, value] : meta_.others)
    if (name == key) return value;
  return {};
}

void Node::set_meta_value(std::string_view key, Value v) {
  if (meta_store_) return meta_store_->set(key, std::move(v));
  if (key == "val") {
    meta_.val = std::move(v);
    return;
  }
  if (key == "stack_trace") {
    meta_.stack_trace = v.get<std::string>();
    return;
  }
  for (auto& [name, value] : meta_.others)
    if (name == key) {
      value = std::move(v);
      return;
    }
  meta_.others.emplace_back(std::string(key), std::move(v));
}

void Node::move_meta(IntrusivePtr<MetaStore> store) {
  meta_store_ = std::move(store);
  meta_ = {};
}

void Node::copy_meta(const Node& from) {
  meta_ = from.meta_;
  meta_store_ = from.meta_store_ ? from.meta_store_->copy() : nullptr;
}

}  // namespace taeda::fx
