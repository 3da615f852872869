// The linked list of a graph's nodes and its edits.
#include "taeda/fx/graph.h"

#include "taeda/fx/builtins.h"

namespace taeda::fx {

void hand_over_peer(Node& node);
void check_inputs_are_here(const Graph& graph, std::string_view user, const Arg& arg);

// Numbers of neighbours differ by this much, so that nodes fit in between.
static constexpr int64_t kOrderGap = int64_t{1} << 24;

Graph::Graph() : root_(make_intrusive<Node>(this, "", OpCode::Root, Target())) {
  insert_before_ = root_;
}

Graph::~Graph() {
  clear();
  root_->graph_ = nullptr;  // Python may hold the root
}

void Graph::clear() {
  Node* n = root_->next_;
  root_->next_ = root_->prev_ = root_.get();
  insert_before_ = root_;
  size_ = 0;
  // Arguments first: they hold plain pointers to nodes that are about to go.
  for (Node* each = n; each != root_.get(); each = each->next_) {
    each->args_.clear();
    each->kwargs_.clear();
    each->inputs_.clear();
    each->users_.clear();
  }
  while (n != root_.get()) {
    Node* next = n->next_;
    n->is_erased_ = true;
    n->graph_ = nullptr;
    n->next_ = n->prev_ = n;
    hand_over_peer(*n);
    n->release();
    n = next;
  }
}

void Graph::release_peers() {
  for (Node* n = first(); n != root_.get(); n = n->next_) hand_over_peer(*n);
  hand_over_peer(*root_);
}

void Graph::link_before(Node& node, Node& anchor) {
  node.prev_ = anchor.prev_;
  node.next_ = &anchor;
  anchor.prev_->next_ = &node;
  anchor.prev_ = &node;
  const int64_t before = node.prev_->order_;
  if (&anchor == root_.get()) {
    node.order_ = before + kOrderGap;
  } else {
    node.order_ = before + (anchor.order_ - before) / 2;
    if (node.order_ == before) is_order_exact_ = false;
  }
}

void Graph::unlink(Node& node) {
  node.prev_->next_ = node.next_;
  node.next_->prev_ = node.prev_;
}

Node& Graph::create(OpCode op, Target target, std::vector<Arg> args, Kwargs kwargs,
                    std::string_view name_candidate) {
  for (const Arg& a : args) check_inputs_are_here(*this, name_candidate, a);
  for (const auto& [name, a] : kwargs) check_inputs_are_here(*this, name_candidate, a);
  auto node = make_intrusive<Node>(this, names_.make(name_candidate), op, std::move(target));
  node->args_ = std::move(args);
  node->kwargs_ = std::move(kwargs);
  node->update_inputs();
  link_before(*node, *insert_before_);
  ++size_;
  return *node.detach();
}

Node& Graph::placeholder(std::string_view name) {
  return create(OpCode::Placeholder, std::string(name), {}, {}, name);
}

Node& Graph::get_attr(std::string_view qualified_name) {
  return create(OpCode::GetAttr, std::string(qualified_name), {}, {}, qualified_name);
}

Node& Graph::call(dispatch::Operator& op, std::vector<Arg> args, Kwargs kwargs) {
  const std::string_view name = op.name;
  const size_t space = name.rfind("::");
  return create(OpCode::CallFunction, op, std::move(args), std::move(kwargs),
                snake_case(space == std::string_view::npos ? name : name.substr(space + 2)));
}

Node& Graph::call(const Builtin& function, std::vector<Arg> args) {
  return create(OpCode::CallFunction, function, std::move(args), {}, function.name);
}

Node& Graph::output(Arg result) {
  TAEDA_CHECK(!output_node(), "Tried to add a second output node to the graph");
  std::vector<Arg> args;
  args.push_back(std::move(result));
  return create(OpCode::Output, "output", std::move(args), {}, "output");
}

void Graph::erase(Node& node) {
  TAEDA_CHECK(node.graph_ == this, "Attempting to remove ", node.name_, " from the wrong graph!");
  if (!node.users_.empty()) {
    std::string names;
    for (Node* user : node.users_.list())
      names += (names.empty() ? "" : ", ") + user->name_ + ": None";
    fail(ErrorKind::Runtime, "Tried to erase Node ", node.name_, " but it still had ",
         node.users_.size(), " users in the graph: {", names, "}!");
  }
  if (insert_before_.get() == &node) insert_before_ = IntrusivePtr<Node>::share(node.next_);
  node.drop_inputs();
  node.args_.clear();
  node.kwargs_.clear();
  unlink(node);
  node.successor_ = IntrusivePtr<Node>::share(node.next_);
  node.predecessor_ = IntrusivePtr<Node>::share(node.prev_);
  node.is_erased_ = true;
  --size_;
  hand_over_peer(node);
  node.release();
}

void Graph::move_before(Node& node, Node& anchor) {
  TAEDA_CHECK_KIND(ErrorKind::Assertion, node.graph_ == this && anchor.graph_ == this,
                   "Attempting to move a Node into a different Graph");
  if (&node == &anchor) return;
  unlink(node);
  link_before(node, anchor);
}

void Graph::move_after(Node& node, Node& anchor) {
  if (&node == &anchor) return;
  Node& next = *anchor.next_;
  if (&next != &node) move_before(node, next);
}

Node* Graph::output_node() const {
  for (Node* n = last(); n != root_.get(); n = n->prev_)
    if (n->op_ == OpCode::Output) return n;
  return nullptr;
}

std::vector<Node*> Graph::placeholders() const { return find(OpCode::Placeholder); }

std::vector<Node*> Graph::find(OpCode op, const Target* target) const {
  std::vector<Node*> out;
  for (Node* n = first(); n != root_.get(); n = n->next_)
    if (n->op_ == op && (!target || n->target_ == *target)) out.push_back(n);
  return out;
}

Node* Graph::find_by_name(std::string_view name) const {
  for (Node* n = first(); n != root_.get(); n = n->next_)
    if (n->name_ == name) return n;
  return nullptr;
}

bool Graph::is_before(const Node& a, const Node& b) const {
  if (!is_order_exact_) {
    int64_t i = 0;
    for (Node* n = first(); n != root_.get(); n = n->next_) n->order_ = i += kOrderGap;
    is_order_exact_ = true;
  }
  return a.order_ < b.order_;
}

}  // namespace taeda::fx
