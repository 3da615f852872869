// Small names of PyTorch's C++ interface: errors by their classes, devices, numbers, options,
// lists, threads, anomaly mode, and a normalization of one's own.
#include <torch/torch.h>

#include <iostream>
#include <unordered_map>

struct OwnNormImpl : torch::nn::NormImplBase<1, OwnNormImpl, torch::nn::BatchNormOptions> {
  using NormImplBase::NormImplBase;
  explicit OwnNormImpl(int64_t n) : NormImplBase(torch::nn::BatchNormOptions(n)) {}
  void _check_input_dim(const torch::Tensor& input) override {
    TORCH_CHECK(input.dim() == 2, "expected 2D input");
  }
  torch::Tensor forward(const torch::Tensor& x) {
    _check_input_dim(x);
    return (x - x.mean(0)) * weight + bias;
  }
};
TORCH_MODULE(OwnNorm);

void errors() {
  try {
    torch::ones({2}).index({5});
  } catch (const c10::IndexError& error) {
    const std::string text = error.what_without_backtrace();
    std::cout << "index: " << text.substr(0, 36) << "\n";
  }
  try {
    TORCH_CHECK_VALUE(false, "bad ", 3);
  } catch (const c10::ValueError& error) {
    std::cout << "value: " << error.what_without_backtrace() << "\n";
  }
  try {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "later");
  } catch (const c10::NotImplementedError& error) {
    std::cout << "not implemented: " << error.msg() << "\n";
  }
  try {
    TORCH_CHECK_TYPE(false, "a type");
  } catch (const c10::Error& error) {
    std::cout << "any: " << error.what_without_backtrace() << "\n";
  }
}

void numbers() {
  const torch::Scalar half(at::Half(1.5f)), brain(at::BFloat16(2.5f)), yes(true), three(3);
  std::cout << half.toDouble() << " " << brain.to<float>() << " " << three.equal(3)
            << three.equal(4.0) << half.equal(1.5) << yes.equal(true) << yes.equal(1) << " "
            << torch::Scalar(c10::complex<double>(1, 2)).toComplexDouble().imag() << "\n";
  std::cout << (torch::ones({2}) * at::Half(2)).sum().item<float>() << " " << at::Half(0.5f) << " "
            << std::abs(c10::complex<float>(3, 4)) << " " << c10::complex<float>(1, 2) << "\n";
  std::cout << torch::ones({1}).is_signed() << torch::ones({1}, torch::kByte).is_signed()
            << torch::is_signed(torch::ones({1}, torch::kBool)) << c10::isSignedType(torch::kLong)
            << c10::canCast(torch::kFloat, torch::kInt) << " "
            << c10::toString(c10::toComplexType(torch::kFloat)) << "\n";
}

void devices() {
  torch::Device device("cuda:1");
  const torch::Device::Type cpu = torch::kCPU;
  std::cout << device.str() << " " << device.is_cuda() << device.is_mps() << device.is_xpu();
  device.set_index(0);
  const std::unordered_map<torch::Device, int> places = {{cpu, 3}, {device, 4}};
  std::cout << " " << device << " " << places.at(torch::Device("cpu")) << "\n";
  std::cout << torch::hasMPS() << at::hasHIP() << " " << torch::str("sizes ", 3, " of ", 4.5)
            << "\n";
}

void options() {
  torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
  std::cout << (torch::TensorOptions().dtype() == torch::kDouble)
            << (torch::get_default_dtype() == torch::kDouble);
  torch::set_default_dtype(caffe2::TypeMeta::Make<float>());
  const torch::TensorOptions options("cpu");
  std::cout << (options.dtype() == torch::kFloat) << options.requires_grad_opt().has_value() << " "
            << options.device() << "\n";
  const std::vector<int64_t> sizes = {1, 2, 3};
  std::cout << c10::makeArrayRef(sizes) << at::IntArrayRef(sizes).slice(1) << "\n";
}

void services() {
  const auto add = [](int64_t begin, int64_t end, int64_t sum) {
    for (; begin < end; ++begin) sum += begin;
    return sum;
  };
  std::cout << at::parallel_reduce(0, 1000, 10, int64_t{0}, add, std::plus<int64_t>());
  torch::autograd::DetectAnomalyGuard guard;
  std::cout << " " << torch::autograd::AnomalyMode::is_enabled()
            << torch::autograd::GradMode::is_enabled();
  auto generator = at::detail::createCPUGenerator();
  {
    std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_current_seed(5);
  }
  std::cout << " " << generator.current_seed() << "\n";
}

void norms() {
  OwnNorm norm(3);
  const auto y = norm->forward(torch::arange(6, torch::kFloat).reshape({2, 3}));
  std::cout << y.abs().sum().item<float>() << " " << norm->running_var.sum().item<float>();
  for (const auto& item : norm->named_parameters()) std::cout << " " << item.key();
  for (const auto& item : norm->named_buffers()) std::cout << " " << item.key();
  std::cout << " " << norm->clone()->parameters().size() << "\n";
}

void printed_layers() {
  torch::nn::Sequential net(torch::nn::Conv2d(1, 2, 3), torch::nn::ReLU());
  std::cout << net << "\n";
  std::cout << TORCH_VERSION << " " << TORCH_VERSION_MAJOR << "." << TORCH_VERSION_MINOR << "."
            << TORCH_VERSION_PATCH << "\n";
}

int main() {
  std::cout << std::noboolalpha;
  errors();
  numbers();
  devices();
  options();
  services();
  norms();
  printed_layers();
}
