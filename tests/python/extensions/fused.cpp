// Operators in C++: schemas in one block, kernels of a device in another.
#include <ATen/Operators.h>
#include <torch/all.h>
#include <torch/library.h>

namespace test_fused {

static void check(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.sizes() == b.sizes());
  TORCH_CHECK(a.dtype() == at::kFloat, "expected float, got ", a.scalar_type());
  TORCH_INTERNAL_ASSERT(a.device().type() == at::DeviceType::CPU);
  TORCH_INTERNAL_ASSERT(b.device().type() == at::DeviceType::CPU);
}

template <class Body>
static at::Tensor each(const at::Tensor& a, const at::Tensor& b, Body body) {
  check(a, b);
  at::Tensor left = a.contiguous(), right = b.contiguous();
  at::Tensor result = torch::empty(left.sizes(), left.options());
  const float* p = left.data_ptr<float>();
  const float* q = right.data_ptr<float>();
  float* r = result.data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); ++i) r[i] = body(p[i], q[i]);
  return result;
}

at::Tensor product_plus(const at::Tensor& a, const at::Tensor& b, double c) {
  return each(a, b, [c](float x, float y) { return x * y + static_cast<float>(c); });
}
at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  return each(a, b, [](float x, float y) { return x * y; });
}
void sum_into(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) {
  TORCH_CHECK(out.is_contiguous());
  out.copy_(each(a, b, [](float x, float y) { return x + y; }));
}

TORCH_LIBRARY(test_fused, m) {
  m.def("product_plus(Tensor a, Tensor b, float c) -> Tensor");
  m.def("product(Tensor a, Tensor b) -> Tensor");
  m.def("sum_into(Tensor a, Tensor b, Tensor(a!) out) -> ()");
}
TORCH_LIBRARY_IMPL(test_fused, CPU, m) {
  m.impl("product_plus", &product_plus);
  m.impl("product", &product);
  m.impl("sum_into", &sum_into);
}

}  // namespace test_fused
