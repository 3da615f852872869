// A device's kernels by PyTorch's names: a fallback to the CPU that counts, and the device's name.
#include <ATen/native/CPUFallback.h>
#include <torch/extension.h>

static int64_t fallen_back = 0;
void counted_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  ++fallen_back;
  at::native::cpu_fallback(op, stack);
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&counted_fallback>());
}
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

at::Tensor ones_of(const at::Tensor& self, const at::Tensor&) { return at::ones_like(self); }
at::Tensor added(const at::Tensor& a, const at::Tensor& b) { return a + b; }
TORCH_LIBRARY(test_fallback, m) {
  m.def("own(Tensor a, Tensor b) -> Tensor");
  m.def("missing(Tensor a, Tensor b) -> Tensor");
}
TORCH_LIBRARY_IMPL(test_fallback, CPU, m) {
  m.impl("own", &added);
  m.impl("missing", &added);
}
TORCH_LIBRARY_IMPL(test_fallback, PrivateUse1, m) { m.impl("own", TORCH_FN(ones_of)); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("fallen_back", [] { return fallen_back; });
  m.def("rename", [] {
    c10::register_privateuse1_backend("npu");
    return c10::get_privateuse1_backend() + c10::get_privateuse1_backend(false);
  });
}
