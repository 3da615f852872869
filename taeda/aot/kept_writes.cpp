// Moving writes from the epilogue to the forward.
#include "taeda/aot/kept_writes.h"

#include <algorithm>
#include <unordered_set>

#include "taeda/fx/builtins.h"
#include "taeda/ops/operators.h"

namespace taeda::aot {
namespace {

using fx::Arg;
using fx::Node;

class Keeper {
 public:
  Keeper(const fx::Retraced& traced, const fx::Graph& forward,
         const std::unordered_set<size_t>& needed, bool is_plain)
      : traced_(traced),
        needed_(needed),
        is_plain_(is_plain),
        made_{fx::clone(forward), fx::clone(*traced.epilogue), {}} {
    given_ = made_.epilogue->placeholders();
    num_inputs_ = given_.size() - traced.num_values;
    inputs_ = made_.forward->placeholders();
    results_ = made_.forward->output_node()->args().at(0).compound()->items;
  }

  KeptWrites run() {
    for (const Node& node : *made_.epilogue)
      if (node.target().op() == &ops::as_strided_) changed_.insert(node.args().at(0).node());
    for (Node& node : *made_.epilogue)
      if (node.target().op() == &ops::copy_) move(node);
    drop_results();
    return std::move(made_);
  }

 private:
  size_t place_of(const Node* given) const {
    return static_cast<size_t>(std::find(given_.begin(), given_.end(), given) - given_.begin());
  }

  static bool is_dense(const fx::Value& val) {
    if (!val.is<Tensor>() || val.get<Tensor>().impl()->has_symbolic_sizes()) return false;
    const Tensor& t = val.get<Tensor>();
    return t.impl()->is_non_overlapping_and_dense() && !t.is_conj() && !t.is_neg();
  }

  bool is_before(const Node& user, const Node& copy, const Node* detached) const {
    if (&user == detached) return false;
    for (const Node& node : *made_.epilogue) {
      if (&node == &copy) return false;
      if (&node == &user) return true;
    }
    return false;
  }

  void move(Node& copy) {
    Node* target = copy.args().at(0).node();
    const bool is_detached = target->target().op() == &ops::detach ||
                             target->target().builtin() == &fx::get_builtin("_data");
    Node* detached = is_detached ? target : nullptr;
    if (detached) target = detached->args().at(0).node();
    const size_t input = place_of(target);
    const size_t value = place_of(copy.args().at(1).node()) - num_inputs_;
    if (input >= num_inputs_ || changed_.count(target)) return;
    if (std::ranges::count(traced_.tangents, value)) return;
    for (const auto& [number, error] : traced_.overwritten)
      if (number == value) return;
    if (is_plain_ && !(is_dense(inputs_.at(input)->val()) && results_.at(value).is_node())) return;
    Node& output = *made_.forward->output_node();
    const fx::InsertBefore before(*made_.forward, output);
    Node& made = made_.forward->call(ops::copy_, {Arg(inputs_.at(input)), results_.at(value)});
    made.set_val(inputs_[input]->val());
    if (const Node* from = results_[value].node())
      if (const Value trace = from->meta_value("stack_trace"); !trace.is_none())
        made.set_meta_value("stack_trace", trace);
    // Views that were made before the write are older than it.
    const bool is_looked_at = std::ranges::any_of(
        target->users().list(), [&](const Node* user) { return is_before(*user, copy, detached); });
    if (is_looked_at) {
      const fx::InsertBefore here(*made_.epilogue, copy);
      made_.epilogue->call(fx::get_builtin("_count_write"), {Arg(target)});
    }
    made_.epilogue->erase(copy);
    if (detached && detached->users().list().empty()) made_.epilogue->erase(*detached);
    moved_.insert(value);
  }

  // A value that nothing else reads is none; one that is returned again is read there.
  void drop_results() {
    std::vector<Arg> kept;
    std::vector<size_t> dropped;
    for (size_t i = 0; i < results_.size(); ++i) {
      const bool is_read = !moved_.count(i) || needed_.count(i) ||
                           !given_.at(num_inputs_ + i)->users().list().empty();
      made_.places.push_back(kept.size());
      if (is_read)
        kept.push_back(results_[i]);
      else
        dropped.push_back(i);
    }
    for (const size_t i : dropped) {
      const auto found = std::find(kept.begin(), kept.end(), results_[i]);
      made_.places[i].reset();
      if (found != kept.end()) made_.places[i] = static_cast<size_t>(found - kept.begin());
    }
    made_.forward->output_node()->set_args({Arg::tuple(std::move(kept))});
  }

  using Value = fx::Value;
  const fx::Retraced& traced_;
  const std::unordered_set<size_t>& needed_;
  bool is_plain_;
  KeptWrites made_;
  size_t num_inputs_ = 0;
  std::vector<Node*> given_, inputs_;
  std::vector<Arg> results_;
  std::unordered_set<const Node*> changed_;
  std::unordered_set<size_t> moved_;
};

}  // namespace

KeptWrites keep_writes(const fx::Retraced& traced, const fx::Graph& forward,
                       const std::unordered_set<size_t>& needed, bool is_plain) {
  return Keeper(traced, forward, needed, is_plain).run();
}

}  // namespace taeda::aot
