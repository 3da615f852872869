// A program written for PyTorch: models, optimizers, schedules and saving by torch's names.
#include <torch/nn/functional.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>
#include <torch/torch.h>

#include <iostream>
#include <sstream>

namespace F = torch::nn::functional;

struct NetImpl : torch::nn::Cloneable<NetImpl> {
  explicit NetImpl(int64_t classes) : classes_(classes) { reset(); }
  void reset() override {
    conv = register_module(
        "conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3).padding(torch::kSame)));
    fc = register_module("fc", torch::nn::Linear(4 * 4, classes_));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = F::relu(conv->forward(x), F::ReLUFuncOptions().inplace(true));
    x = torch::max_pool2d(x, {2, 2});
    return F::log_softmax(fc(x.view({x.size(0), -1})), F::LogSoftmaxFuncOptions(1));
  }
  torch::nn::Conv2d conv{nullptr};
  torch::nn::Linear fc{nullptr};

 private:
  int64_t classes_;
};
TORCH_MODULE(Net);

int main() {
  torch::manual_seed(5);
  torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  device = torch::Device(torch::kCPU);
  Net net(3);
  net->to(device);
  auto x = torch::randn({12, 1, 4, 4});
  auto y = torch::randint(0, 3, {12}, torch::kLong);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.2).momentum(0.9));
  torch::optim::StepLR scheduler(optimizer, 30, 0.5);
  double first = 0, last = 0;
  for (size_t epoch = 0; epoch < 60; ++epoch) {
    optimizer.zero_grad();
    auto loss = F::nll_loss(net->forward(x), y, F::NLLLossFuncOptions().reduction(torch::kMean));
    AT_ASSERT(!std::isnan(loss.template item<float>()));
    loss.backward();
    torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
    optimizer.step();
    scheduler.step();
    (epoch == 0 ? first : last) = loss.item<double>();
  }
  for (auto& group : optimizer.param_groups()) {
    auto& options = static_cast<torch::optim::SGDOptions&>(group.options());
    std::cout << options.lr() << std::endl;
  }
  std::cout << std::boolalpha << (last < 0.5 * first) << std::endl;

  std::stringstream stream;
  torch::save(net, stream);
  Net other(3);
  torch::load(other, stream);
  torch::NoGradGuard no_grad;
  std::cout << torch::equal(net->forward(x), other->forward(x)) << std::endl;
  auto copy = std::dynamic_pointer_cast<NetImpl>(net->clone());
  std::cout << torch::allclose(copy->fc->weight, net->fc->weight) << std::endl;
  auto total = torch::nll_loss(net->forward(x), y, {}, torch::Reduction::Sum);
  std::cout << (std::abs(total.item<double>() / 12 - last) < 0.1) << std::endl;
  std::cout << net << std::endl;
}
