// Loads a package and runs it on ones: run_package MODEL.pt2
//
// Prints how many kernels are native, the sizes of the tensors that the program gives and the sum
// of each. Symbolic sizes are taken as 3. No compiler is needed, nor Python.
#include <taeda/package.h>
#include <taeda/taeda.h>

#include <iostream>

using taeda::Tensor;

static std::vector<Tensor> ones_for(const taeda::Package& model) {
  std::vector<Tensor> inputs;
  const auto placeholders = model.program().graph().placeholders();
  for (size_t i = 0; i < placeholders.size(); ++i) {
    const auto& spec = model.program().signature().inputs[i];
    if (spec.kind != taeda::exported::InputKind::UserInput) continue;
    if (spec.argument != taeda::exported::ArgumentKind::Tensor) continue;
    const Tensor type = placeholders[i]->val().get<Tensor>();
    std::vector<int64_t> sizes;
    for (const taeda::SymInt& s : type.sym_sizes()) sizes.push_back(s.is_symbolic() ? 3 : s.word());
    inputs.push_back(taeda::ones(sizes, type.dtype()));
  }
  return inputs;
}

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: run_package MODEL.pt2\n", 2;
  try {
    taeda::Package model = taeda::load_package(argv[1]);
    int kernels = 0, native = 0;
    for (const auto& plan : model.plans()) {
      kernels += plan->report().kernels;
      native += plan->report().native;
    }
    std::cout << native << " of " << kernels << " kernels are native\n";
    if (!model.problem().empty()) std::cout << "why: " << model.problem() << "\n";
    for (const Tensor& result : model(ones_for(model)))
      std::cout << result.sizes() << ": sum " << result.to(taeda::kDouble).sum().item<double>()
                << "\n";
  } catch (const taeda::Error& error) {
    return std::cerr << "run_package: " << error.what() << "\n", 1;
  }
  return 0;
}
