// Lists of tensors to the engine's roots.
#include "taeda/autograd/grad.h"

#include "taeda/autograd/engine.h"

namespace taeda::autograd {

static std::vector<Tensor> seeds_of(const std::vector<Tensor>& outputs,
                                    const std::vector<Tensor>& grad_outputs) {
  TAEDA_CHECK(grad_outputs.empty() || grad_outputs.size() == outputs.size(), "got ", outputs.size(),
              " tensors and ", grad_outputs.size(), " gradients");
  std::vector<Tensor> seeds = grad_outputs;
  seeds.resize(outputs.size());
  return seeds;
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, std::optional<bool> retain_graph,
                         bool create_graph, bool allow_unused) {
  return run_backward(outputs, seeds_of(outputs, grad_outputs), retain_graph.value_or(create_graph),
                      create_graph, inputs, allow_unused, /*accumulate=*/false);
}

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs,
              std::optional<bool> retain_graph, bool create_graph,
              const std::vector<Tensor>& inputs) {
  run_backward(outputs, seeds_of(outputs, grad_outputs), retain_graph.value_or(create_graph),
               create_graph, inputs, /*allow_unused=*/true);
}

}  // namespace taeda::autograd
