// A walk over the nodes behind several roots, with the inputs that each leads to.
#include "taeda/autograd/reach.h"

#include <unordered_map>

#include "taeda/autograd/variable.h"

namespace taeda::autograd {
namespace {

class Walk {
 public:
  explicit Walk(Span<Tensor> inputs) : num_inputs_(inputs.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      edges_.push_back(gradient_edge(inputs[i]));
      wanted_[edges_.back().function.get()].push_back(i);
    }
  }

  // Without recursion, since chains are long.
  const std::vector<bool>& from(const Tensor& t) {
    const Edge edge = gradient_edge(t);
    const Node* root = edge.function.get();
    std::vector<std::pair<const Node*, size_t>> path;
    const auto visit = [&](const Node* node) {
      if (!node || !reached_.emplace(node, std::vector<bool>(num_inputs_)).second) return;
      if (const auto wanted = wanted_.find(node); wanted != wanted_.end())
        for (const size_t i : wanted->second) reached_[node][i] = true;
      path.emplace_back(node, 0);
    };
    visit(root);
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next < node->num_edges()) {
        visit(node->next_edges()[next++].function.get());
        continue;
      }
      std::vector<bool>& here = reached_[node];
      for (const Edge& edge : node->next_edges()) {
        if (!edge) continue;
        const std::vector<bool>& behind = reached_[edge.function.get()];
        for (size_t i = 0; i < num_inputs_; ++i)
          if (behind[i]) here[i] = true;
      }
      path.pop_back();
    }
    return reached_[root];
  }

 private:
  size_t num_inputs_;
  std::vector<Edge> edges_;  // nodes of leaves that no history leads to live as long as these
  std::unordered_map<const Node*, std::vector<size_t>> wanted_;
  std::unordered_map<const Node*, std::vector<bool>> reached_;
};

}  // namespace

std::vector<std::vector<bool>> reached_inputs(Span<Tensor> roots, Span<Tensor> inputs) {
  Walk walk(inputs);
  std::vector<std::vector<bool>> all;
  for (const Tensor& root : roots) all.push_back(walk.from(root));
  return all;
}

}  // namespace taeda::autograd
