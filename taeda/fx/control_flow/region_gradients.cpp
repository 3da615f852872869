// Derivatives of regions, and the node of a call that was recorded whole.
#include <unordered_set>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/saved.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/control_flow/random_state.h"
#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/tracer.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {

// What is made of a traced call is traced as the call was.
Value traced_region(Program program, const Values& operands) {
  RetraceOptions options;
  if (const Tracer* around = active_tracer()) {
    options.decompose = around->decompose;
    if (around->on_node)
      options.on_node = [noted = around->on_node](Node& made, const Node*) { noted(made); };
  }
  Retraced made = trace(program, operands, options);
  TAEDA_CHECK(made.written.empty(),
              "Encountered input mutation during higher order op tracing: Higher order ops do not "
              "support input mutation; write to a clone");
  TAEDA_CHECK(made.constants.empty(),
              "a region takes a tensor from around it; pass it as an operand");
  return region_value(std::move(made.graph));
}

bool may_have_gradient(const Value& v) {
  return v.is<Tensor>() && autograd::is_differentiable(v.get<Tensor>());
}

Values differentiable(const Values& values) {
  Values out;
  for (const Value& v : values)
    if (may_have_gradient(v)) out.push_back(v);
  return out;
}

Values scattered(const Values& gradients, const Values& operands) {
  Values out;
  size_t at = 0;
  for (const Value& o : operands)
    out.push_back(may_have_gradient(o) ? gradients.at(at++) : Value());
  return out;
}

Values Vjp::operator()(const Values& operands, const Values& cotangents,
                       const Tensor& state) const {
  const autograd::EnableGrad recorded;
  Values inputs = operands;
  std::vector<Tensor> wanted;
  for (Value& v : inputs) {
    if (!may_have_gradient(v)) continue;
    wanted.push_back(autograd::detached(v.get<Tensor>()));
    autograd::set_requires_grad(wanted.back(), true);
    v = Value(wanted.back());
  }
  std::vector<Tensor> roots, weights;
  size_t at = 0;
  for (const Value& r : state.defined() ? run_from(state, region_, inputs) : region_(inputs)) {
    if (!may_have_gradient(r)) continue;
    const Value& cotangent = cotangents.at(at++);
    if (!autograd::requires_grad(r.get<Tensor>())) continue;
    roots.push_back(r.get<Tensor>());
    weights.push_back(cotangent.get<Tensor>());
  }
  std::vector<Tensor> found(wanted.size());
  if (!roots.empty() && !wanted.empty())
    found = autograd::run_backward(roots, weights, false, false, wanted, true, false);
  const autograd::NoGrad unrecorded;
  Values out;
  for (size_t i = 0; i < wanted.size(); ++i)
    out.emplace_back(found[i].defined() ? found[i]
                                        : taeda::zeros_like(autograd::detached(wanted[i])));
  return out;
}

namespace {

class RegionNode final : public autograd::Node {
 public:
  RegionNode(const char* name, const Values& operands, RegionBackward backward, RegionReach reaches)
      : name_(name),
        backward_(std::move(backward)),
        reaches_(std::move(reaches)),
        numbers_(operands) {
    autograd::EdgeList edges;
    for (Value& v : numbers_) {
      is_tensor_.push_back(v.is<Tensor>());
      if (!v.is<Tensor>()) continue;
      autograd::append_edges(edges, v.get<Tensor>());
      saved_.emplace_back(v.get<Tensor>(), false);
      v = Value();
    }
    set_next_edges(std::move(edges));
  }

  const char* name() const override { return name_; }
  void release_saved() override {
    for (autograd::SavedTensor& s : saved_) s.release();
    for (autograd::SavedTensor& s : kept_) s.release();
  }

  // Called once the results have their history.
  void keep_results(const Values& results, size_t num_kept) {
    num_results_ = results.size();
    for (size_t i = results.size() - num_kept; i < results.size(); ++i)
      kept_.emplace_back(results[i].get<Tensor>(), true);
  }

  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override {
    Values operands = numbers_;
    size_t at = 0;
    for (size_t i = 0; i < operands.size(); ++i)
      if (is_tensor_[i]) operands[i] = Value(saved_[at++].unpack(this));
    for (const autograd::SavedTensor& s : kept_) operands.emplace_back(s.unpack(this));
    Values gradients(num_results_);
    std::vector<bool> is_given(num_results_), is_reached(operands.size(), true);
    for (size_t i = 0; i < grads.size(); ++i) {
      gradients[i] = materialized(grads[i], i);
      is_given[i] = grads[i].defined();
    }
    if (reaches_) is_reached = reaches_(is_given);
    const Values found = backward_(operands, gradients);
    at = 0;
    for (size_t i = 0; i < is_tensor_.size(); ++i) {
      if (!is_tensor_[i]) continue;
      const bool has_one = i < is_reached.size() && is_reached[i] && !found.at(i).is_none();
      if (needs_input(at) && has_one) grad_inputs[at] = found[i].get<Tensor>();
      ++at;
    }
  }

 private:
  // None for results that have no gradient.
  Value materialized(const Tensor& grad, size_t i) const {
    if (grad.defined()) return Value(grad);
    const autograd::InputMetadata& like = input_metadata(i);
    const bool is_kept = i + kept_.size() >= num_results_;
    if (!like.is_defined() || is_kept) return {};
    return Value(taeda::zeros(SymIntList(like.sizes), like.dtype, {}, like.device));
  }

  const char* name_;
  RegionBackward backward_;
  RegionReach reaches_;
  Values numbers_;  // operands that are no tensors, in their places
  std::vector<bool> is_tensor_;
  std::vector<autograd::SavedTensor> saved_, kept_;
  size_t num_results_ = 0;
};

}  // namespace

std::vector<bool> operands_of(const RegionValue& region, const std::vector<bool>& results) {
  const std::vector<Node*> placeholders = region.graph()->placeholders();
  std::vector<Node*> open;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](Node& node) {
    if (seen.insert(&node).second) open.push_back(&node);
  };
  const std::vector<Arg>& all = region.graph()->output_node()->args().at(0).compound()->items;
  for (size_t i = 0; i < all.size(); ++i)
    if (results.at(i)) for_each_node(all[i], visit);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (Node* input : node->inputs().list()) visit(*input);
  }
  std::vector<bool> found;
  for (const Node* node : placeholders) found.push_back(seen.contains(node));
  return found;
}

Values record_node(const char* name, const Values& operands, Values results,
                   RegionBackward backward, size_t num_kept, RegionReach reaches) {
  auto node = make_intrusive<RegionNode>(name, operands, std::move(backward), std::move(reaches));
  uint32_t number = 0;
  for (const Value& r : results)
    autograd::set_history(r.is<Tensor>() ? r.get<Tensor>() : Tensor(), node, number++);
  node->keep_results(results, num_kept);
  return results;
}

}  // namespace taeda::fx
