// One function for each thing that bindings convert, and an operator.
#include <c10/util/Exception.h>
#include <torch/extension.h>

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Cube : torch::autograd::Function<Cube> {
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x, double scale) {
    ctx->save_for_backward({x});
    ctx->saved_data["scale"] = scale;
    return x * x * x * scale;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto x = ctx->get_saved_variables()[0];
    const double scale = ctx->saved_data["scale"].to_double();
    return {grads[0] * 3 * x * x * scale, torch::Tensor()};
  }
};
torch::Tensor cube(torch::Tensor x, double scale) { return Cube::apply(x, scale); }

torch::Tensor doubled(const torch::Tensor& x) {
  auto in = x.contiguous();
  auto out = torch::zeros_like(in);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "doubled", [&] {
    const scalar_t* from = in.data_ptr<scalar_t>();
    scalar_t* to = out.data_ptr<scalar_t>();
    at::parallel_for(0, in.numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = 2 * from[i];
    });
  });
  return out;
}

double trace(torch::Tensor x) {
  auto a = x.accessor<float, 2>();
  double sum = 0;
  for (int64_t i = 0; i < a.size(0); ++i) sum += a[i][i];
  auto p = x.packed_accessor32<float, 2, torch::RestrictPtrTraits>();
  return sum + 0 * p[0][0];
}

std::tuple<int64_t, std::string, std::vector<int64_t>> describe(const torch::Tensor& x,
                                                                std::optional<torch::Tensor> other,
                                                                const std::string& name,
                                                                std::vector<int64_t> dims,
                                                                bool flag, torch::ScalarType type) {
  return {x.dim() + (other ? 1 : 0) + flag, name + std::string(torch::toString(type)), dims};
}

torch::Tensor made(at::IntArrayRef sizes) {
  auto options =
      torch::TensorOptions().dtype(torch::kFloat64).device(torch::kCPU).requires_grad(true);
  auto t = torch::ones(sizes, options);
  t = t + torch::zeros(sizes, torch::kFloat64) + torch::full({1}, 2, torch::dtype(torch::kDouble));
  return t + torch::tensor({1.0, 2.0}, torch::kFloat64)[1] + at::rand({1}, at::kCPU) * 0;
}
void fails() { TORCH_CHECK(false, "no such thing: ", 42); }
void fails_value() { TORCH_CHECK_VALUE(1 == 2, "bad value"); }
int64_t twice(int64_t n) { return 2 * n; }
double twice_real(double n) { return 2 * n; }

TORCH_LIBRARY(taeda_test_extension, m) {
  m.def("scaled", [](const torch::Tensor& x, double by) { return x * by; });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("cube", &cube, "Cubes.", py::arg("x"), py::arg("scale") = 1.0);
  m.def("doubled", &doubled);
  m.def("trace", &trace, py::call_guard<py::gil_scoped_release>());
  m.def("describe", &describe, py::arg("x"), py::arg("other") = py::none(), py::arg("name") = "n",
        py::arg("dims") = std::vector<int64_t>{1, 2}, py::arg("flag") = false,
        py::arg("type") = torch::kFloat);
  m.def("made", &made);
  m.def("fails", &fails);
  m.def("fails_value", &fails_value);
  m.def("twice", &twice);
  m.def("twice", &twice_real);
  m.def("length", [](const std::vector<torch::Tensor>& xs) { return xs.size(); });
}
