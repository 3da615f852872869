// Graph: the one intermediate representation, a list of nodes in execution order.
//
// A graph is closed when all its targets are operators, built-in functions or attributes, all its
// constants are core values and its regions are closed too: the interpreter, the serializer and the
// compilers take closed graphs. Others may call anything another language knows.
//
//   Graph g;
//   Node& x = g.placeholder("x");
//   Node& y = g.call(ops::relu, {x});
//   g.output(Arg::tuple({y}));
#pragma once

#include <initializer_list>

#include "taeda/fx/names.h"
#include "taeda/fx/node.h"

namespace taeda::fx {

class TAEDA_API Graph final : public RefCounted {
 public:
  Graph();
  ~Graph() override;

  // Makes a node at the insertion point. Arguments must be nodes of this graph.
  Node& create(OpCode op, Target target, std::vector<Arg> args, Kwargs kwargs,
               std::string_view name_candidate);
  Node& placeholder(std::string_view name);
  Node& get_attr(std::string_view qualified_name);
  Node& call(dispatch::Operator& op, std::vector<Arg> args, Kwargs kwargs = {});
  Node& call(const Builtin& function, std::vector<Arg> args);
  // Throws when there is one already.
  Node& output(Arg result);

  // Throws while the node has users.
  void erase(Node& node);
  // Moves a node; the caller keeps definitions before uses (lint checks).
  void move_before(Node& node, Node& anchor);
  void move_after(Node& node, Node& anchor);

  size_t size() const { return size_; }
  Node* first() const { return root_->next(); }
  Node* last() const { return root_->prev(); }
  // Stands for the end of the list; never a node of the graph.
  Node* end_node() const { return root_.get(); }
  Node* output_node() const;
  std::vector<Node*> placeholders() const;
  // In order, of one kind, with that target where one is given.
  std::vector<Node*> find(OpCode op, const Target* target = nullptr) const;
  Node* find_by_name(std::string_view name) const;
  // Whether `a` comes before `b`; constant time between edits.
  bool is_before(const Node& a, const Node& b) const;

  // New nodes go before this one; the end of the list by default.
  Node& insertion_point() const { return *insert_before_; }
  void set_insertion_point(Node& before) { insert_before_ = IntrusivePtr<Node>::share(&before); }

  Names& names() { return names_; }
  const Names& names() const { return names_; }

  // A walk that survives edits: nodes erased meanwhile are passed over.
  class Iterator {
   public:
    explicit Iterator(Node* n) : node_(IntrusivePtr<Node>::share(n)) {}
    Node& operator*() const { return *node_; }
    Iterator& operator++() {
      do node_ = IntrusivePtr<Node>::share(node_->next());
      while (node_->is_erased());
      return *this;
    }
    bool operator!=(const Iterator& o) const { return node_.get() != o.node_.get(); }

   private:
    IntrusivePtr<Node> node_;
  };
  Iterator begin() const { return Iterator(first()); }
  Iterator end() const { return Iterator(end_node()); }

  // Takes every node out of the graph; nodes that others hold live on.
  void clear();
  // Gives up the objects that stand for its nodes; the nodes stay.
  void release_peers();

  // The one object that stands for the graph in another language; not owned.
  void* peer = nullptr;

 private:
  friend class Node;
  void link_before(Node& node, Node& anchor);
  void unlink(Node& node);

  IntrusivePtr<Node> root_;
  IntrusivePtr<Node> insert_before_;
  size_t size_ = 0;
  mutable bool is_order_exact_ = true;
  Names names_;
};

// Sets the insertion point until the end of the scope.
class TAEDA_API InsertBefore {
 public:
  InsertBefore(Graph& graph, Node& anchor)
      : graph_(graph), saved_(IntrusivePtr<Node>::share(&graph.insertion_point())) {
    graph.set_insertion_point(anchor);
  }
  ~InsertBefore() { graph_.set_insertion_point(*saved_); }
  InsertBefore(const InsertBefore&) = delete;

 private:
  Graph& graph_;
  IntrusivePtr<Node> saved_;
};

// Throws RuntimeError naming the node: a node of another graph, a use before its definition, users
// and inputs out of step, a name twice, an output that is not last.
TAEDA_API void lint(const Graph& graph);
// Empty if the graph is closed, else the part that is not, and its node.
TAEDA_API std::string open_reason(const Graph& graph);
TAEDA_API void check_closed(const Graph& graph);

// Copies the nodes of `from` to the insertion point of `to`, placeholders too unless `map` has them
// already; gives the argument of the output node. `map` takes nodes of `from` to those of `to`.
using NodeMap = std::unordered_map<const Node*, Arg>;
TAEDA_API Arg copy_nodes(const Graph& from, Graph& to, NodeMap& map);
TAEDA_API Node& copy_node(const Node& node, Graph& to, FunctionRef<Arg(Node&)> map);
// A graph with the same nodes and names; regions are copied too.
TAEDA_API IntrusivePtr<Graph> clone(const Graph& graph);

// Equal for graphs with the same structure, whatever their names.
TAEDA_API size_t structural_hash(const Graph& graph);
TAEDA_API bool structurally_equal(const Graph& a, const Graph& b);

}  // namespace taeda::fx
