// Names of PyTorch's C++ interface beyond those of the other extensions, one function per group.
#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/autocast_mode.h>
#include <c10/util/SmallVector.h>
#include <c10/util/irange.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/extension.h>

#include <iostream>
#include <sstream>

using namespace torch::indexing;

torch::Tensor indexed(torch::Tensor x, torch::Tensor mask) {
  auto part = x.index({Slice(1, None), "...", 0});
  auto picked = x.index({mask});
  auto wide = x.index({None, 0, Slice(None, None, 2)});
  auto read = torch::cat({part.flatten(), picked.flatten(), wide.flatten()});
  x.index_put_({0, Slice()}, 7);
  x.index_put_({mask}, torch::tensor(-1.0));
  return read;
}

std::string printed(const torch::Tensor& x) {
  std::ostringstream out;
  out << x << " " << x.sizes() << " " << x.scalar_type() << " " << x.device();
  return out.str();
}

// A hook that doubles, a gradient that an inner node keeps, the names of nodes.
std::tuple<torch::Tensor, torch::Tensor, std::string, bool> hooked(torch::Tensor x) {
  auto y = x * 3;
  y.retain_grad();
  const auto id = x.register_hook([](torch::Tensor grad) { return grad * 2; });
  y.register_hook([](torch::Tensor) {});
  torch::autograd::backward({y.sum()}, {});
  return {x.grad(), y.grad(), y.grad_fn()->name(), x.remove_hook(id)};
}

// The nodes behind x * 3 + y, and the inputs of theirs that the gradients go to.
std::vector<std::string> edges(torch::Tensor x) {
  auto y = torch::cat({x, x});
  auto node = (x.sum() * 3 + std::get<1>(y.max(0)).sum() + std::get<0>(y.max(0))).grad_fn();
  std::vector<std::string> found;
  for (const auto i : c10::irange(node->next_edges().size())) {
    const torch::autograd::Edge& edge = node->next_edge(i);
    if (edge.function) found.push_back(edge.function->name() + std::to_string(edge.input_nr));
  }
  return found;
}

// The object of a tensor, twice of it, and whether another object is a tensor.
std::tuple<bool, py::object> unpacked(py::object object) {
  if (!THPVariable_Check(object.ptr())) return {false, py::none()};
  const at::Tensor twice = THPVariable_Unpack(object.ptr()) * 2;
  return {true, py::reinterpret_steal<py::object>(THPVariable_Wrap(twice))};
}

std::vector<int64_t> lists() {
  at::DimVector dims = {2, 3};
  c10::SmallVector<int64_t, 4> more(dims.begin(), dims.end());
  more.push_back(at::maybe_wrap_dim(-1, 4));
  std::vector<int64_t> found = at::infer_size({3, 1}, more);
  found.push_back(c10::multiply_integers(dims));
  found.push_back(c10::sum_integers(more));
  found.push_back(at::divup(7, 2));
  torch::jit::Stack stack;
  torch::jit::push(stack, 4, torch::ones({1}), 5);
  torch::jit::drop(stack, 1);
  found.push_back(torch::jit::pop(stack).toTensor().numel());
  found.push_back(torch::jit::pop(stack).toInt());
  if (C10_UNLIKELY(!stack.empty())) found.clear();
  return found;
}

// The values and the tangent of x^3 along a direction.
std::tuple<torch::Tensor, torch::Tensor> pushed_forward(torch::Tensor x, torch::Tensor direction) {
  const uint64_t level = torch::autograd::forward_ad::enter_dual_level();
  const auto dual = at::_make_dual(x, direction, level);
  auto parts = at::_unpack_dual(dual * dual * dual, level);
  TORCH_CHECK(!std::get<1>(at::_unpack_dual(x, level)).defined(), "a tensor without a tangent");
  torch::autograd::forward_ad::exit_dual_level(level);
  return parts;
}

// Arguments of forward may have defaults, and what was saved has a type.
struct Shifted : torch::autograd::Function<Shifted> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x,
                               torch::Tensor by = torch::Tensor(), int64_t times = 1) {
    ctx->saved_data["times"] = times;
    ctx->saved_data["sizes"] = x.sizes().vec();
    return by.defined() ? x * times + by : x * times;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    TORCH_CHECK(ctx->saved_data["sizes"].toIntVector().size() == 1, "one dimension");
    return {grads[0] * ctx->saved_data["times"].toInt(), torch::Tensor(), torch::Tensor()};
  }
};

std::string dispatched(const torch::Tensor& x) {
  const auto name = [&](const char* kind) { return std::string(kind) + ":"; };
  return AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(
      at::kHalf, at::ScalarType::Bool, x.scalar_type(), "dispatched",
      [&]() -> std::string { return name("all") + std::to_string(sizeof(scalar_t)); });
}
std::string switched(const torch::Tensor& x) {
  return AT_DISPATCH_SWITCH(
      x.scalar_type(), "switched", AT_DISPATCH_CASE(at::kInt, [&] {
        return std::string("int");
      }) AT_DISPATCH_CASE_FLOATING_TYPES([&] { return std::string("real"); }));
}

struct Point {
  int x, y;
};
std::ostream& operator<<(std::ostream& out, const Point& p) { return out << p.x << "/" << p.y; }
void complains(const torch::Tensor& x) {
  TORCH_CHECK_INDEX(x.dim() == 3, "expected 3 dims at ", Point{1, 2}, ", got ", x.sizes(), " of ",
                    x.dtype());
}

torch::Tensor borrowed() {
  static float values[] = {1, 2, 3, 4};
  auto plain = torch::from_blob(values, {2, 2});
  auto turned = torch::from_blob(values, {2, 2}, {1, 2}, torch::kFloat);
  auto* own = new float[4]{5, 6, 7, 8};
  auto owned = torch::from_blob(own, {4}, [](void* p) { delete[] static_cast<float*>(p); });
  int64_t total = 0;
  for (const auto i : c10::irange(2, 5)) total += i;
  return plain + turned + owned.view({2, 2}) + torch::tensor({{1, 2}, {3, 4}}) + total;
}

// ---- kernels at several keys ----
torch::Tensor keyed_cpu(const torch::Tensor& x) { return x + 1; }
torch::Tensor keyed_below(c10::DispatchKeySet keys, const torch::Tensor& x) {
  static auto op = torch::Dispatcher::singleton()
                       .findSchemaOrThrow("test_names::keyed", "")
                       .typed<torch::Tensor(const torch::Tensor&)>();
  return op.redispatch(keys & c10::after_autograd_keyset, x * 10);
}
torch::Tensor mixed_autocast(const torch::Tensor& a) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::Autocast);
  static auto op = torch::Dispatcher::singleton()
                       .findSchemaOrThrow("test_names::mixed", "")
                       .typed<torch::Tensor(const torch::Tensor&)>();
  return op.call(at::autocast::cached_cast(at::kBFloat16, a));
}
torch::stable::Tensor stable_negated(const torch::stable::Tensor& x) {
  STD_TORCH_CHECK(x.scalar_type() == torch::headeronly::ScalarType::Float, "float only");
  auto out = torch::stable::empty_like(torch::stable::contiguous(x));
  for (int64_t i = 0; i < x.numel(); ++i)
    out.mutable_data_ptr<float>()[i] = -x.const_data_ptr<float>()[i];
  return out;
}
std::vector<std::string> joined(const std::vector<std::string>& words, at::Scalar n) {
  std::vector<std::string> out = words;
  out.push_back(std::to_string(n.toLong()));
  return out;
}

TORCH_LIBRARY(test_names, m) {
  m.set_python_module("test_names.fakes");
  m.def("keyed(Tensor x) -> Tensor", {at::Tag::pt2_compliant_tag});
  m.def("mixed(Tensor x) -> Tensor");
  m.def("negated(Tensor x) -> Tensor");
  m.def("joined(str[] words, Scalar n) -> str[]", &joined);
  m.impl("mixed", torch::dispatch(c10::kCPU, [](const torch::Tensor& x) { return x * 1; }));
}
TORCH_LIBRARY_IMPL(test_names, CPU, m) { m.impl("keyed", &keyed_cpu); }
TORCH_LIBRARY_IMPL(test_names, Autograd, m) { m.impl("keyed", &keyed_below); }
TORCH_LIBRARY_IMPL(test_names, Autocast, m) { m.impl("mixed", &mixed_autocast); }
STABLE_TORCH_LIBRARY_IMPL(test_names, CPU, m) { m.impl("negated", TORCH_BOX(&stable_negated)); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("indexed", &indexed);
  m.def("printed", &printed);
  m.def("drawn", [](uint64_t seed) {
    return torch::rand({3}, at::make_generator<at::CPUGeneratorImpl>(seed));
  });
  m.def("hooked", &hooked);
  m.def("edges", &edges);
  m.def("unpacked", &unpacked);
  m.def("lists", &lists);
  m.def("pushed_forward", &pushed_forward);
  m.def("shifted", [](torch::Tensor x) { return Shifted::apply(x); });
  m.def("dispatched", &dispatched);
  m.def("switched", &switched);
  m.def("complains", &complains);
  m.def("borrowed", &borrowed);
  m.def("sized", [](at::IntArrayRef sizes, at::Scalar value, c10::SymInt extra) {
    return torch::full(sizes, value) + extra.expect_int();
  });
}
