// A program that is `using namespace torch` and names the namespaces inside without it.
#include <torch/torch.h>

#include <iostream>

using namespace torch;

struct Doubled : autograd::Function<Doubled> {
  static Tensor forward(autograd::AutogradContext*, Tensor x) { return x * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*,
                                          autograd::variable_list grads) {
    return {grads[0] * 2};
  }
};

int main() {
  const Tensor x = torch::ones({2}, torch::requires_grad());
  std::cout << autograd::grad({Doubled::apply(x).sum()}, {x})[0].sum().item<float>();
  {
    autograd::DetectAnomalyGuard anomaly;
    const AutoGradMode off(false);
    std::cout << " " << autograd::AnomalyMode::is_enabled() << autograd::GradMode::is_enabled()
              << GradMode::is_enabled();
  }
  std::cout << " " << special::expit(torch::zeros({1})).item<float>() << " "
            << x.index({indexing::Slice(0, 1)}).sizes() << " "
            << torch::tensor({c10::complex<float>(1, -2)}).scalar_type() << "\n";

  nn::AdaptiveLogSoftmaxWithLoss layer(32, 6, std::vector<int64_t>{2, 4});
  const nn::ASMoutput result = layer->forward(torch::ones({2, 32}), torch::tensor({0, 5}));
  const double loss = result.loss;
  std::cout << (std::abs(loss + result.output.mean().item<double>()) < 1e-6) << "\n";

  for (const auto& module : nn::Sequential(nn::Linear(1, 1))->modules(/*include_self=*/true))
    std::cout << module->name() << " ";
  nn::ParameterDict parameters;
  parameters->insert("a", torch::ones({2, 3}));
  std::cout << "\n" << nn::ParameterList(torch::ones({2})) << "\n" << parameters << "\n";
  std::cout << nn::MultiheadAttention(2, 1) << "\n";
}
