// Fits a line to noisy points by gradient descent, written out: linear_regression
#include <taeda/taeda.h>

#include <cstdio>

using taeda::Tensor;

int main() {
  taeda::manual_seed(0);
  const Tensor x = taeda::rand({64, 3});
  const Tensor truth = taeda::tensor({1.0, -2.0, 0.5}).view({3, 1});
  const Tensor y = x.matmul(truth) + 0.3 + 0.01 * taeda::randn({64, 1});

  Tensor w = taeda::randn({3, 1}, taeda::requires_grad());
  Tensor b = taeda::zeros(1, taeda::requires_grad());
  for (int step = 0; step <= 400; ++step) {
    const Tensor loss = (x.matmul(w) + b - y).pow(2).mean();
    if (step % 100 == 0) std::printf("step %3d: loss %.4f\n", step, loss.item<double>());
    loss.backward();
    const taeda::NoGradGuard no_grad;
    for (Tensor* p : {&w, &b}) {
      *p -= 0.5 * p->grad();
      p->mutable_grad().reset();
    }
  }
  std::printf("weights: %.1f %.1f %.1f, bias: %.1f\n", w[0].item<double>(), w[1].item<double>(),
              w[2].item<double>(), b.item<double>());
  return 0;
}
