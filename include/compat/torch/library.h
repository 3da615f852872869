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
namespace jit {
using Stack = ::taeda::dispatch::Stack;
}

// A function as a kernel, also one that reads the stack itself, with PyTorch's signature:
// void (const c10::OperatorHandle&, [c10::DispatchKeySet,] torch::jit::Stack*).
struct CppFunction : ::taeda::dispatch::CppFunction {
  using Base = ::taeda::dispatch::CppFunction;
  using Base::Base;
  CppFunction(const Base& fn) : Base(fn) {}

  template <auto* fn>
  static CppFunction makeFromBoxedFunction() {
    return Base(::taeda::dispatch::BoxedKernel{&call_boxed<fn>, nullptr});
  }
  static CppFunction makeFallthrough() { return Base::makeFallthrough(); }

 private:
  using Operator = ::taeda::dispatch::Operator;
  template <auto* fn>
  static void call_boxed(const Operator& op, ::taeda::KeySet keys, jit::Stack& stack, void*) {
    const c10::OperatorHandle handle(const_cast<Operator&>(op));
    if constexpr (requires { fn(handle, keys, &stack); })
      fn(handle, keys, &stack);
    else
      fn(handle, &stack);
  }
};

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
template <class F>
::taeda::dispatch::TargetedFunction dispatch(c10::DispatchKey key, F&& fn) {
  return {key.target(), CppFunction(std::forward<F>(fn))};
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
