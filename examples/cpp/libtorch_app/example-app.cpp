// A program written for PyTorch's C++ library, CMakeLists.txt included: a two-layer network learns
// exclusive or.
#include <torch/torch.h>

#include <iostream>
#include <vector>

struct Net {
  torch::Tensor w1, b1, w2, b2;

  Net() {
    auto options = torch::TensorOptions().dtype(torch::kFloat32).requires_grad(true);
    w1 = torch::randn({2, 8}, options);
    b1 = torch::zeros({8}, options);
    w2 = torch::randn({8, 1}, options);
    b2 = torch::zeros({1}, options);
  }
  torch::Tensor forward(const torch::Tensor& x) const {
    torch::Tensor hidden = torch::tanh(torch::matmul(x, w1) + b1);
    return torch::sigmoid(torch::matmul(hidden, w2) + b2);
  }
  std::vector<torch::Tensor> parameters() const { return {w1, b1, w2, b2}; }
};

int main() {
  using namespace torch::indexing;
  torch::manual_seed(1);

  auto x = torch::tensor({{0.0f, 0.0f}, {0.0f, 1.0f}, {1.0f, 0.0f}, {1.0f, 1.0f}});
  auto y = (x.index({Slice(), 0}) != x.index({Slice(), 1})).to(torch::kFloat).unsqueeze(1);

  Net net;
  for (size_t epoch = 1; epoch <= 500; ++epoch) {
    auto loss = torch::mean(torch::pow(net.forward(x) - y, 2));
    loss.backward();
    torch::NoGradGuard no_grad;
    for (auto& p : net.parameters()) {
      p.sub_(p.grad(), /*alpha=*/1.0);
      p.grad().zero_();
    }
    if (epoch % 100 == 0) {
      std::cout << "epoch " << epoch << ", loss " << loss.item<float>() << std::endl;
    }
  }

  torch::NoGradGuard no_grad;
  std::cout << net.forward(x).round().to(torch::kInt) << std::endl;
  return 0;
}
