// A walk over the nodes of a backward and what they kept.
#include "taeda/autograd/overwritten.h"

#include <unordered_set>

#include "taeda/autograd/saved.h"
#include "taeda/autograd/variable.h"

namespace taeda::autograd {
namespace {

class Search final : public SavedVisitor {
 public:
  explicit Search(Span<Tensor> inputs) {
    for (const Tensor& t : inputs) wanted_.insert(gradient_edge(t).function.get());
  }

  std::optional<Error> from(Node* root) {
    for (Node* node : in_order(root)) {
      if (!leads_.count(node) || wanted_.count(node)) continue;
      node_ = node;
      node->visit_saved(*this);
      if (found_) break;
    }
    return found_;
  }

  void tensor(const char*, SavedTensor& saved) override {
    if (found_ || saved.is_freed() || !saved.kept_tensor().defined()) return;
    try {
      saved.check(node_);
    } catch (const Error& e) {
      found_ = e;
    }
  }
  void tensors(const char* name, std::vector<SavedTensor>& saved) override {
    for (SavedTensor& s : saved) tensor(name, s);
  }
  void value(const char*, dispatch::Value) override {}

 private:
  // Every node before those that it leads to, as a backward runs them; finds out which lead to the
  // inputs. Without recursion, since chains are long.
  std::vector<Node*> in_order(Node* root) {
    std::vector<Node*> finished;
    std::unordered_set<Node*> seen{root};
    std::vector<std::pair<Node*, size_t>> path{{root, 0}};
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next < node->num_edges()) {
        Node* behind = node->next_edges()[next++].function.get();
        if (behind && seen.insert(behind).second) path.emplace_back(behind, 0);
        continue;
      }
      bool leads = wanted_.count(node) != 0;
      for (const Edge& edge : node->next_edges()) leads |= leads_.count(edge.function.get()) != 0;
      if (leads) leads_.insert(node);
      finished.push_back(node);
      path.pop_back();
    }
    return {finished.rbegin(), finished.rend()};
  }

  std::unordered_set<const Node*> wanted_, leads_;
  Node* node_ = nullptr;
  std::optional<Error> found_;
};

}  // namespace

std::optional<Error> overwritten_error(const Tensor& root, Span<Tensor> inputs) {
  const Edge edge = gradient_edge(root);
  return edge ? Search(inputs).from(edge.function.get()) : std::nullopt;
}

}  // namespace taeda::autograd
