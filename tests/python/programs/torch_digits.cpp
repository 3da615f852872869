// A network for images of digits as programs for PyTorch write it, over random images: prints the
// losses of a few steps, then what evaluation finds.
#include <torch/torch.h>

#include <cstdio>

struct Net : torch::nn::Module {
  Net()
      : conv1(torch::nn::Conv2dOptions(1, 4, /*kernel_size=*/5)),
        conv2(torch::nn::Conv2dOptions(4, 8, /*kernel_size=*/5)),
        fc1(128, 16),
        fc2(16, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("drop", drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(drop->forward(conv2->forward(x)), 2));
    x = x.view({-1, 128});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.5, /*train=*/is_training());
    return torch::log_softmax(fc2->forward(x), /*dim=*/1);
  }

  torch::nn::Conv2d conv1;
  torch::nn::Conv2d conv2;
  torch::nn::Dropout2d drop;
  torch::nn::Linear fc1;
  torch::nn::Linear fc2;
};

template <class Optimizer>
void train(Net& net, Optimizer& optimizer, torch::Tensor images, torch::Tensor targets) {
  net.train();
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    auto output = net.forward(images);
    auto loss = torch::nll_loss(output, targets);
    AT_ASSERT(!std::isnan(loss.template item<float>()));
    loss.backward();
    optimizer.step();
    std::printf("%.8f\n", loss.template item<float>());
  }
}

void test(Net& net, const torch::Tensor& images, const torch::Tensor& targets) {
  torch::NoGradGuard no_grad;
  net.eval();
  auto output = net.forward(images);
  const float loss =
      torch::nll_loss(output, targets, /*weight=*/{}, torch::Reduction::Sum).template item<float>();
  auto pred = output.argmax(1);
  std::printf("%.8f\n%ld\n", loss, pred.eq(targets).sum().template item<int64_t>());
}

int main() {
  torch::manual_seed(1);
  torch::Device device(torch::kCPU);
  Net net;
  net.to(device);
  auto images = torch::randn({6, 1, 28, 28}).to(device);
  auto targets = torch::randint(0, 10, {6}, torch::kLong).to(device);
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.5));
  train(net, optimizer, images, targets);
  test(net, images, targets);
}
