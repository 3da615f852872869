// A function of tensors, compiled: the first call traces it, other sizes compile nothing.
#include <taeda/compile.h>
#include <taeda/taeda.h>

#include <iostream>

taeda::Tensor layer(const taeda::Tensor& x, const taeda::Tensor& w, const taeda::Tensor& b) {
  return taeda::gelu(x.matmul(w) + b) * 0.5;
}

int main() {
  taeda::manual_seed(0);
  const taeda::Tensor w = taeda::randn({16, 8}, taeda::requires_grad()), b = taeda::zeros({8});
  const auto compiled = taeda::compile(layer);
  bool is_equal = true;
  for (int64_t batch : {4, 32, 7}) {
    const taeda::Tensor x = taeda::randn({batch, 16});
    const taeda::Tensor have = taeda::grad({compiled(x, w, b).sum()}, {w})[0];
    const taeda::Tensor want = taeda::grad({layer(x, w, b).sum()}, {w})[0];
    is_equal = is_equal && taeda::equal(have, want);
  }
  compiled.wait();  // kernels are native now
  std::cout << "eager's gradients: " << (is_equal ? "yes" : "no")
            << ", compiled: " << compiled.num_versions() << " time" << std::endl;
}
