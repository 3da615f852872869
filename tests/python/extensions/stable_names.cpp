// Names of the stable interface beyond the basics: memory of others, narrow numbers, tags,
// warnings.
#include <torch/csrc/stable/device.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/macros.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/Dispatch_v2.h>
#include <torch/headeronly/core/enum_tag.h>

#include <string>

#define NAMESPACE test_stable

using torch::stable::Tensor;

static int64_t freed = 0;
Tensor over(int64_t address, torch::headeronly::HeaderOnlyArrayRef<int64_t> sizes,
            torch::headeronly::HeaderOnlyArrayRef<int64_t> strides,
            torch::headeronly::ScalarType dtype) {
  const auto count = [counter = &freed](void*) { ++*counter; };
  return torch::stable::from_blob(reinterpret_cast<void*>(address), sizes, strides,
                                  torch::stable::Device("cpu"), dtype, count);
}
uint32_t freed_count() { return static_cast<uint32_t>(freed); }

// Numbers of any width, and references to the call's own values.
float mixed(torch::stable::DeviceIndex index, uint16_t small, float real, std::string& text,
            const std::string_view& view) {
  text += view;
  return static_cast<float>(index + small) + real + static_cast<float>(text.size());
}

Tensor product(Tensor out, Tensor a, Tensor b) { return torch::stable::mm_out(out, a, b); }

int64_t bytes_of(torch::headeronly::ScalarType dtype) {
  switch (dtype) {
#define CASE(type, name) \
  case torch::headeronly::ScalarType::name: return sizeof(type);
    AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(CASE)
#undef CASE
    default: break;
  }
  STD_TORCH_CHECK(false, "no bytes for ", dtype)
}

void warned(int64_t value) { STD_TORCH_WARN_ONCE("seen ", value, ' ', true); }

STABLE_TORCH_LIBRARY(NAMESPACE, m) {
  m.def("over(int address, int[] sizes, int[] strides, ScalarType dtype) -> Tensor");
  m.def("freed_count() -> int");
  m.def("mixed(DeviceIndex index, int small, float real, str text, str view) -> float");
  m.def("product(Tensor(a!) out, Tensor a, Tensor b) -> Tensor(a!)",
        std::vector<at::Tag>{at::Tag::core, at::Tag::pt2_compliant_tag});
  m.def("bytes_of(ScalarType dtype) -> int");
  m.def("warned(int value) -> ()");
}
STABLE_TORCH_LIBRARY_IMPL(NAMESPACE, CompositeExplicitAutograd, m) {
  m.impl("over", TORCH_BOX(&over));
  m.impl("freed_count", TORCH_BOX(&freed_count));
  m.impl("mixed", TORCH_BOX(&mixed));
  m.impl("product", TORCH_BOX(&product));
  m.impl("bytes_of", TORCH_BOX(&bytes_of));
  m.impl("warned", TORCH_BOX(&warned));
}
