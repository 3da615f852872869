// TORCH_LIBRARY and its relatives: registration of operators and kernels.
#pragma once

#include "ATen/Operators.h"
#include "c10/util/Exception.h"
#include "taeda/dispatch/library.h"
#include "torch/custom_class.h"
#include "torch/headeronly/core/enum_tag.h"

namespace torch {

using Library = ::taeda::dispatch::Library;
namespace jit {
using Stack = ::taeda::dispatch::Stack;
template <class... T>
void push(Stack& stack, T&&... values) {
  (stack.emplace_back(std::forward<T>(values)), ...);
}
inline c10::IValue pop(Stack& stack) {
  c10::IValue last = std::move(stack.back());
  stack.pop_back();
  return last;
}
inline void drop(Stack& stack, size_t count) { stack.resize(stack.size() - count); }
}  // namespace jit

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

// TORCH_BOX also takes functions of numbers of any width, and of references to values that nobody
// else sees: such a parameter is a wide number, or a value.
namespace torch_compat {

template <class T>
struct Wide {
  using Type = T;
};
template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
struct Wide<T> {
  using Type = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
};
template <class T>
  requires(!std::is_const_v<T> && !std::is_same_v<T, ::taeda::Tensor>)
struct Wide<T&> : Wide<T> {};
template <class T>
using WideType = typename Wide<T>::Type;

template <auto* fn, class Signature = std::remove_pointer_t<decltype(fn)>>
struct Boxed;
template <auto* fn, class R, class... A>
struct Boxed<fn, R(A...)> {
  static WideType<R> call(WideType<A>... args) { return fn(static_cast<A>(args)...); }
};
template <auto* fn>
::taeda::dispatch::CppFunction boxed() {
  return &Boxed<fn>::call;
}

}  // namespace torch_compat

#define TORCH_LIBRARY(ns, m) TAEDA_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TAEDA_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) TAEDA_LIBRARY_IMPL(ns, key, m)
#define TORCH_FN(f) &f
#define TORCH_FN_TYPE(f) decltype(&f)
#define TORCH_BOX(f) ::torch_compat::boxed<f>()
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
