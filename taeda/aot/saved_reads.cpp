// Saved values on their way to the first node that has a tangent.
#include "taeda/aot/saved_reads.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace taeda::aot {
namespace {

using fx::Node;
using Numbers = std::set<size_t>;

// What a node is made of: tangents, or, where there are none, saved values.
struct Made {
  Numbers tangents, saved;
};

}  // namespace

std::vector<std::vector<bool>> saved_reads(const fx::Graph& backward, size_t num_saved) {
  const std::vector<Node*> inputs = backward.placeholders();
  const size_t num_tangents = inputs.size() - num_saved;
  if (num_tangents < 2) return {};
  std::unordered_map<const Node*, Made> made;
  for (size_t i = 0; i < inputs.size(); ++i)
    (i < num_saved ? made[inputs[i]].saved : made[inputs[i]].tangents)
        .insert(i < num_saved ? i : i - num_saved);
  std::vector<std::vector<bool>> reads(num_saved, std::vector<bool>(num_tangents));
  for (const Node& node : backward) {
    if (node.op() == fx::OpCode::Placeholder) continue;
    Made& here = made[&node];
    for (const Node* input : node.inputs().list())
      here.tangents.insert(made[input].tangents.begin(), made[input].tangents.end());
    // What is computed for its effect, or is a gradient by itself, is needed for all of them.
    const bool is_end = here.tangents.empty() && node.users().list().empty();
    for (const Node* input : node.inputs().list()) {
      const Made& from = made[input];
      if (here.tangents.empty() && !is_end) {
        here.saved.insert(from.saved.begin(), from.saved.end());
        continue;
      }
      const bool is_for_all = is_end || node.op() == fx::OpCode::Output;
      for (const size_t s : from.saved)
        for (size_t t = 0; t < num_tangents; ++t)
          if (is_for_all || here.tangents.count(t)) reads[s][t] = true;
    }
  }
  const bool is_whole = std::ranges::all_of(
      reads, [](const std::vector<bool>& row) { return std::ranges::count(row, false) == 0; });
  return is_whole ? std::vector<std::vector<bool>>() : reads;
}

}  // namespace taeda::aot
