// TORCH_LIBRARY and its relatives: registration of operators and kernels.
#pragma once

#include "ATen/Operators.h"
#include "c10/util/Exception.h"
#include "taeda/dispatch/library.h"
#include "torch/custom_class.h"

namespace at {
// Properties of operators, by name: m.def("...", {at::Tag::pt2_compliant_tag}).
struct Tag {
  using Name = ::taeda::dispatch::TagName;
  static constexpr Name core{"core"}, data_dependent_output{"data_dependent_output"},
      dynamic_output_shape{"dynamic_output_shape"}, flexible_layout{"flexible_layout"},
      inplace_view{"inplace_view"}, needs_exact_strides{"needs_exact_strides"},
      needs_fixed_stride_order{"needs_fixed_stride_order"},
      nondeterministic_seeded{"nondeterministic_seeded"}, pointwise{"pointwise"},
      pt2_compliant_tag{"pt2_compliant_tag"};
};
}  // namespace at

namespace torch {

using Library = ::taeda::dispatch::Library;
using CppFunction = ::taeda::dispatch::CppFunction;
namespace jit {
using Stack = ::taeda::dispatch::Stack;
}

// m.impl("name", torch::dispatch(c10::kCUDA, &function)): a kernel for another key than the
// block's.
template <class F>
::taeda::dispatch::TargetedFunction dispatch(const char* key, F&& fn) {
  return {::taeda::dispatch::DispatchTarget::parse(key), CppFunction(std::forward<F>(fn))};
}
template <class F>
::taeda::dispatch::TargetedFunction dispatch(::taeda::DeviceType device, F&& fn) {
  return {{::taeda::Key::Dense, device}, CppFunction(std::forward<F>(fn))};
}
// m.def(torch::schema("..."), &function).
inline const char* schema(const char* text) { return text; }

}  // namespace torch

#define TORCH_LIBRARY(ns, m) TAEDA_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TAEDA_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) TAEDA_LIBRARY_IMPL(ns, key, m)
#define TORCH_FN(f) &f
#define TORCH_FN_TYPE(f) decltype(&f)
#define TORCH_BOX(f) ::taeda::dispatch::CppFunction(f)
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
