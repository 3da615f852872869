// PyTorch's header names in front of Taeda's: what both have is one and the same.
#include <taeda/taeda.h>
#include <torch/torch.h>

#include <ATen/CPUGeneratorImpl.h>

#include <iostream>

static_assert(std::is_same_v<torch::Tensor, taeda::Tensor>);
static_assert(torch::kFloat == taeda::kFloat);

int main() {
  const torch::Tensor x = torch::arange(3, torch::kLong) * 2;
  std::cout << x.index({torch::indexing::Slice(1)}) << std::endl;
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(7);
  return generator == at::detail::getDefaultCPUGenerator() || generator.initial_seed() != 7;
}
