// Operators called by name with a signature, right and wrong, and autocast's promotion.
#include <ATen/autocast_mode.h>
#include <torch/extension.h>

static torch::Tensor scaled(const torch::Tensor& x, double by) { return x * by; }

TORCH_LIBRARY(test_typed, m) {
  m.def("scaled(Tensor x, float by) -> Tensor");
  m.impl("scaled", &scaled);
}

template <class Signature>
static auto handle() {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("test_typed::scaled", "")
      .typed<Signature>();
}

using torch::Tensor;

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("right",
        [](const Tensor& x) { return handle<Tensor(const Tensor&, double)>().call(x, 2); });
  m.def("by_function_type", [](const Tensor& x) { return handle<decltype(scaled)>().call(x, 3); });
  m.def("one_too_many", [] { handle<Tensor(const Tensor&, double, double)>(); });
  m.def("one_missing", [] { handle<Tensor(const Tensor&)>(); });
  m.def("wrong_type", [] { handle<Tensor(const Tensor&, int64_t)>(); });
  m.def("wrong_result", [] { handle<std::tuple<Tensor, Tensor>(const Tensor&, double)>(); });
  m.def("no_result", [] { handle<void(const Tensor&, double)>(); });
  m.def("promoted", [](const Tensor& x, const Tensor& y) {
    return at::autocast::promote_type(torch::kBFloat16, torch::kCPU, x, y);
  });
}
