// Compiled programs in eager's world.
#include "taeda/aot/compiled_function.h"

#include <algorithm>
#include <map>

#include "taeda/autograd/custom_function.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/str.h"
#include "taeda/ops/functions.h"

namespace taeda::aot {

namespace {

// The history of a compiled program's results.
class CompiledNode final : public autograd::CustomNode {
 public:
  CompiledNode(std::shared_ptr<const CompiledFunction> function, std::vector<bool> is_tensor,
               std::vector<Value> numbers)
      : CustomNode(std::move(is_tensor)),
        function_(std::move(function)),
        saved_values_(std::move(numbers)) {}

  const char* name() const override { return "CompiledFunctionBackward"; }
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override {
    std::vector<Value> values = saved_values_;
    size_t next = 0;
    std::vector<Tensor> tensors = saved_tensors();
    for (Value& v : values)
      if (v.is_none()) v = std::move(tensors.at(next++));
    route(function_->run_backward(values, materialized(grads)), grad_inputs);
  }
  void remember(Span<Tensor> outputs) { remember_outputs(outputs); }

 private:
  std::shared_ptr<const CompiledFunction> function_;
  std::vector<Value> saved_values_;  // None where a tensor is saved
};

bool needs_gradient(const std::vector<Value>& inputs) {
  for (const Value& v : inputs)
    if (v.is<Tensor>() && autograd::requires_grad(v.get<Tensor>())) return true;
  return false;
}

}  // namespace

std::shared_ptr<CompiledFunction> compile(const fx::Graph& graph, const std::vector<Value>& inputs,
                                          const AotOptions& options) {
  return compile(graph, inputs, options, [](const std::string& name) -> Value {
    throw_error(ErrorKind::Attribute, str("the graph's attribute ", name, " is not given"));
  });
}

std::shared_ptr<CompiledFunction> compile(const fx::Graph& graph, const std::vector<Value>& inputs,
                                          const AotOptions& options,
                                          fx::AttributeReader attributes) {
  auto made = std::make_shared<CompiledFunction>();
  fx::RetraceOptions trace;
  trace.decompose = options.decompose;
  trace.differentiates = autograd::grad_enabled() && needs_gradient(inputs);
  made->traced_ = fx::retrace(graph, inputs, trace, attributes);
  made->num_inputs_ = inputs.size();
  TAEDA_CHECK_NOT_IMPLEMENTED(made->traced_.written.empty(),
                              "programs that write to their inputs are not compiled yet");
  const std::map<std::string, Tensor> constants(made->traced_.constants.begin(),
                                                made->traced_.constants.end());
  const auto constant = [&](const std::string& name) {
    const auto found = constants.find(name);
    return found == constants.end() ? attributes(name) : Value(found->second);
  };
  if (!trace.differentiates) {
    made->forward_ = options.forward(*made->traced_.graph, constant);
    return made;
  }
  made->parts_ = partition(made->traced_, inputs.size(), options.partition);
  made->forward_ = options.forward(*made->parts_->forward, constant);
  made->backward_ = options.backward(*made->parts_->backward, constant);
  return made;
}

std::vector<Value> CompiledFunction::operator()(const std::vector<Value>& inputs) {
  std::vector<Value> results = [&] {
    const autograd::NoGrad unrecorded;
    return forward_(inputs);
  }();
  if (!parts_) return results;
  std::vector<Value> saved(results.begin() + static_cast<long>(parts_->num_results), results.end());
  results.resize(parts_->num_results);

  std::vector<Tensor> tensors, to_save, outputs;
  std::vector<bool> is_tensor;
  for (const Value& v : inputs) {
    is_tensor.push_back(v.is<Tensor>());
    if (v.is<Tensor>()) tensors.push_back(v.get<Tensor>());
  }
  for (Value& v : saved)
    if (v.is<Tensor>()) to_save.push_back(std::exchange(v, Value()).get<Tensor>());
  std::vector<Tensor> constant;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(results[i].is<Tensor>() ? results[i].get<Tensor>() : Tensor());
    const bool has_tangent =
        std::find(traced_.tangents.begin(), traced_.tangents.end(), i) != traced_.tangents.end();
    if (outputs.back().defined() && !has_tangent) constant.push_back(outputs.back());
  }
  const bool is_recording = autograd::should_record(TensorList(tensors));
  IntrusivePtr<CompiledNode> node;
  if (is_recording) {
    node = make_intrusive<CompiledNode>(shared_from_this(), std::move(is_tensor), std::move(saved));
    node->set_next_edges(autograd::collect_edges(TensorList(tensors)));
  }
  autograd::record_outputs(outputs, {tensors, {}, constant}, node);
  if (node) {
    node->save(to_save, outputs);
    node->remember(outputs);
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (outputs[i].defined()) results[i] = outputs[i];
  return results;
}

std::vector<Tensor> CompiledFunction::run_backward(const std::vector<Value>& saved,
                                                   const std::vector<Tensor>& grads) const {
  std::vector<Value> inputs = saved;
  for (size_t i : traced_.tangents) inputs.push_back(grads.at(i));
  const autograd::NoGrad unrecorded;
  const std::vector<Value> results = backward_(inputs);
  std::vector<Tensor> by_input(num_inputs_);
  for (size_t i = 0; i < traced_.gradients.size(); ++i)
    if (results[i].is<Tensor>()) by_input[traced_.gradients[i]] = results[i].get<Tensor>();
  return by_input;
}

}  // namespace taeda::aot
