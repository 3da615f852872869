// Lists, dictionaries and norms, dispatch over lists of dtypes, and operators registered by
// objects, one function per group.
#include <ATen/Dispatch_v2.h>
#include <torch/extension.h>
#include <torch/script.h>

#include <string>

// ---- values ----
c10::List<at::Tensor> repeated(const at::Tensor& x, int64_t times) {
  c10::List<at::Tensor> out;
  out.reserve(static_cast<size_t>(times));
  for (const auto i : c10::irange(times)) out.push_back(x + i);
  return out;
}

// A list is shared by its copies, a copy() is not.
int64_t shared_size(c10::List<int64_t> list) {
  const c10::List<int64_t> same = list;
  list.copy().push_back(7);
  same.push_back(8);
  return static_cast<int64_t>(list.size()) * 100 + list.get(list.size() - 1);
}

int64_t missing(const c10::List<std::optional<at::Tensor>>& tensors) {
  int64_t count = 0;
  for (const std::optional<at::Tensor>& t : tensors) count += !t.has_value();
  return count;
}

std::string ordered(const std::vector<std::string>& keys) {
  c10::Dict<std::string, int64_t> dict;
  for (const std::string& key : keys) dict.insert(key, static_cast<int64_t>(dict.size()));
  dict.erase("b");
  dict.insert_or_assign("a", 9);
  std::string out;
  for (const auto& item : dict) out += item.key() + std::to_string(item.value());
  return out + (dict.contains("b") ? "+" : "-") + std::to_string(dict.at("c"));
}

c10::SymFloat halved(c10::SymFloat x) { return x.expect_float() / 2; }
at::Storage storage_of(const at::Tensor& x) { return x.storage(); }
bool is_storage_of(at::Storage storage, const at::Tensor& x) { return storage == x.storage(); }

// ---- tensors ----
at::Tensor norm_of(const at::Tensor& x, double p, const std::vector<int64_t>& dims) {
  return dims.empty() ? x.norm(p) : at::norm(x, at::Scalar(p), at::IntArrayRef(dims), true);
}

std::vector<at::Tensor> spreads(const at::Tensor& x) {
  const std::vector<int64_t> dims = {0, 1};
  return {x.var({0}), x.var(dims), x.std({0, 1}), x.var({1}, /*unbiased=*/false, true), x.var()};
}

bool cut_off(at::Tensor x) {
  at::Tensor y = x * 2;
  return y.detach_().requires_grad();
}

// Backward may take its gradients by reference.
class Tripled : public torch::autograd::Function<Tripled> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx,
                                                const at::Tensor& x, const c10::SymInt& times) {
    ctx->saved_data["times"] = times;
    return {x * times.expect_int()};
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    return {grads[0] * ctx->saved_data["times"].toInt(), at::Tensor()};
  }
};
at::Tensor tripled(const at::Tensor& x) { return Tripled::apply(x, c10::SymInt(3))[0]; }

std::string kind_of(const at::Tensor& x) {
  std::string kind;
  AT_DISPATCH_V2(x.scalar_type(), "kind_of", AT_WRAP([&] {
                   const scalar_t zero = 0, one = 1;
                   kind = std::to_string(sizeof(zero)) + (one == scalar_t(1) ? "=" : "!");
                 }),
                 AT_EXPAND(AT_ALL_TYPES), at::kHalf, at::kBool);
  return kind;
}

// ---- operators registered by objects ----
at::Tensor twice(const at::Tensor& x) { return x * 2; }
at::Tensor thrice(const at::Tensor& x) { return x * 3; }
static auto registry =
    torch::RegisterOperators()
        .op("test_values::twice", &twice)
        .op("test_values::repeated(Tensor x, int times = 2) -> Tensor[]", &repeated)
        .op(torch::RegisterOperators::options()
                .schema("test_values::thrice(Tensor x) -> Tensor")
                .kernel<decltype(thrice), &thrice>(c10::DispatchKey::CPU));

// ---- kernels that read the stack ----
static int64_t calls = 0;
void counted(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  ++calls;
  const at::Tensor x = stack->back().toTensor();
  stack->clear();
  stack->push_back(x + static_cast<int64_t>(op.name().size()));
}
TORCH_LIBRARY_FRAGMENT(test_values, m) {
  m.def("named(Tensor x) -> Tensor");
  m.def("missing(Tensor?[] tensors) -> int", &missing);
}
TORCH_LIBRARY_IMPL(test_values, CPU, m) {
  m.impl("named", torch::CppFunction::makeFromBoxedFunction<&counted>());
}

// ---- results inside results ----
struct Pairs : torch::CustomClassHolder {
  std::tuple<std::tuple<std::string, std::vector<at::Tensor>>, int64_t> parts() {
    return {{"items", {torch::ones(1)}}, 3};
  }
};
TORCH_LIBRARY_FRAGMENT(test_values, m) {
  m.class_<Pairs>("Pairs").def(torch::init<>()).def("parts", &Pairs::parts);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("repeated", &repeated);
  m.def("shared_size", &shared_size);
  m.def("ordered", &ordered);
  m.def("halved", &halved);
  m.def("storage_of", &storage_of);
  m.def("is_storage_of", &is_storage_of);
  m.def("norm_of", &norm_of);
  m.def("spreads", &spreads);
  m.def("cut_off", &cut_off);
  m.def("tripled", &tripled);
  m.def("kind_of", &kind_of);
  m.def("calls", [] { return calls; });
}
