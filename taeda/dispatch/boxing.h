// Moves arguments between typed C++ calls and the boxed stack.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "taeda/dispatch/operator.h"

namespace taeda::dispatch {

// Boxing<T>::to puts an argument of type T into a Value. `from` takes it out again: an Owned, which
// may point into the Value (tensors, lists and texts are not copied), and which `pass` hands to the
// callee while the Value lives. The types that most signatures are made of convert out of line.
template <class T>
struct Boxing {
  using Owned = T;
  static T from(const Value& v) { return v.get<T>(); }
  static T pass(const Owned& o) { return o; }
  static Value to(T v) { return Value(std::move(v)); }
};
template <>
struct TAEDA_API Boxing<const Tensor&> {
  using Owned = const Tensor*;
  static const Tensor* from(const Value& v);
  static const Tensor& pass(Owned o) { return *o; }
  static Value to(const Tensor& t);
};
template <>
struct Boxing<Tensor&> : Boxing<const Tensor&> {
  // The stack belongs to the callee: a write through the reference changes the callee's copy of the
  // handle.
  static Tensor& pass(Owned o) { return const_cast<Tensor&>(*o); }
};
template <>
struct Boxing<Tensor> : Boxing<const Tensor&> {
  using Owned = Tensor;
  static Tensor from(const Value& v) { return *Boxing<const Tensor&>::from(v); }
  static Tensor pass(const Owned& o) { return o; }
};
template <>
struct TAEDA_API Boxing<const Scalar&> {
  using Owned = Scalar;
  static Scalar from(const Value& v) { return v.to_scalar(); }
  static const Scalar& pass(const Owned& o) { return o; }
  static Value to(const Scalar& s) { return Value(s); }
};
template <>
struct Boxing<Scalar> : Boxing<const Scalar&> {
  static Scalar pass(const Owned& o) { return o; }
};
template <>
struct TAEDA_API Boxing<const Generator&> {
  using Owned = Generator;
  static Generator from(const Value& v);
  static const Generator& pass(const Owned& o) { return o; }
  static Value to(const Generator& g);
};
template <>
struct Boxing<int64_t> {
  using Owned = int64_t;
  static int64_t from(const Value& v) { return v.to_int(); }
  static int64_t pass(Owned o) { return o; }
  static Value to(int64_t v) { return Value(v); }
};
template <>
struct TAEDA_API Boxing<SymInt> {
  using Owned = SymInt;
  static SymInt from(const Value& v);
  static SymInt pass(const Owned& o) { return o; }
  static Value to(SymInt v);
};
template <>
struct Boxing<double> {
  using Owned = double;
  static double from(const Value& v) { return v.to_double(); }
  static double pass(Owned o) { return o; }
  static Value to(double v) { return Value(v); }
};
template <>
struct TAEDA_API Boxing<std::string_view> {
  using Owned = std::string_view;
  static std::string_view from(const Value& v);
  static std::string_view pass(Owned o) { return o; }
  static Value to(std::string_view v);
};
template <class T>
struct Boxing<Span<T>> {
  using Owned = Span<T>;
  static Owned from(const Value& v) { return v.get<std::vector<T>>(); }
  static Span<T> pass(Owned o) { return o; }
  static Value to(Span<T> v) { return Value(v.vec()); }
};
template <>
struct TAEDA_API Boxing<Span<SymInt>> {
  using Owned = Span<SymInt>;
  static Owned from(const Value& v);
  static Span<SymInt> pass(Owned o) { return o; }
  static Value to(Span<SymInt> v);
};
// std::vector<bool> has no elements to point at.
template <>
struct TAEDA_API Boxing<Span<bool>> {
  using Owned = SmallVector<bool, 8>;
  static Owned from(const Value& v);
  static Span<bool> pass(const Owned& o) { return o; }
  static Value to(Span<bool> v) { return Value(v.vec()); }
};
template <class T>
struct Boxing<std::vector<T>> {
  using Owned = std::vector<T>;
  static Owned from(const Value& v) { return v.get<Owned>(); }
  static Owned pass(const Owned& o) { return o; }
  static Value to(std::vector<T> v) { return Value(std::move(v)); }
};
template <class T>
struct Boxing<std::optional<T>> {
  using Inner = Boxing<T>;
  using Owned = std::optional<typename Inner::Owned>;
  static Owned from(const Value& v) { return v.is_none() ? Owned() : Owned(Inner::from(v)); }
  static std::optional<T> pass(const Owned& o) {
    return o ? std::optional<T>(Inner::pass(*o)) : std::nullopt;
  }
  static Value to(const std::optional<T>& v) { return v ? Inner::to(*v) : Value(); }
};

template <class R>
void push_result(Stack& stack, R&& r) {
  stack.push_back(Boxing<std::remove_cvref_t<R>>::to(std::forward<R>(r)));
}
template <class... T>
void push_result(Stack& stack, std::tuple<T...> r) {
  std::apply([&](auto&... v) { (push_result(stack, v), ...); }, r);
}

template <class R>
struct PopResult {
  static R pop(Stack& stack) { return Boxing<R>::from(stack.at(0)); }
};
template <class... T>
struct PopResult<std::tuple<T...>> {
  static std::tuple<T...> pop(Stack& stack) {
    return pop_each(stack, std::index_sequence_for<T...>());
  }
  template <size_t... I>
  static std::tuple<T...> pop_each(Stack& stack, std::index_sequence<I...>) {
    return std::tuple<T...>(Boxing<T>::from(stack.at(I))...);
  }
};

// One function per type of argument: inlined into one per signature they were half of its code.
template <class A>
[[gnu::noinline]] void push_argument(Stack& stack, const std::remove_reference_t<A>& v) {
  stack.push_back(Boxing<A>::to(v));
}
template <class A>
[[gnu::noinline]] typename Boxing<A>::Owned read_argument(const Stack& stack, size_t i) {
  return Boxing<A>::from(stack.at(i));
}

template <class A>
void keep_written(Tensor*& written, std::remove_reference_t<A>& v) {
  if constexpr (std::is_same_v<A, Tensor&>) written = &v;
}

template <class R, class... A>
R TypedOperator<R(A...)>::call_through_stack(KeySet keys, A... args) {
  const BoxedKernel kernel = resolve_boxed(*this, keys);
  Stack stack;
  stack.reserve(sizeof...(A));
  (push_argument<A>(stack, args), ...);
  kernel.fn(*this, keys, stack, kernel.context);
  if constexpr (std::is_void_v<R>) {
    return;
  } else if constexpr (std::is_same_v<R, Tensor&>) {
    // In-place and out variants return the argument they wrote: the only non-const reference.
    Tensor* written = nullptr;
    (keep_written<A>(written, args), ...);
    return *written;
  } else {
    return PopResult<R>::pop(stack);
  }
}

// Unboxes the stack, calls `invoke(args...)`, boxes the result. What arguments own lives until the
// call has returned: a tuple of them would cost most of the time that a signature takes to compile.
template <class R, class... A, class Invoke, size_t... I>
void call_unboxed(Stack& stack, Invoke&& invoke, std::index_sequence<I...>) {
  Stack values = std::exchange(stack, Stack());
  if constexpr (std::is_void_v<R>) {
    invoke(Boxing<A>::pass(read_argument<A>(values, I))...);
  } else if constexpr (std::is_reference_v<R>) {
    push_result(stack, Tensor(invoke(Boxing<A>::pass(read_argument<A>(values, I))...)));
  } else {
    push_result(stack, invoke(Boxing<A>::pass(read_argument<A>(values, I))...));
  }
}

// Operator::CallBoxed of a typed operator; one instance per signature.
template <class Signature>
struct CallBoxedFor;
template <class R, class... A>
struct CallBoxedFor<R(A...)> {
  static void call(Operator& op, KeySet keys, Stack& stack) {
    auto& typed = static_cast<TypedOperator<R(A...)>&>(op);
    call_unboxed<R, A...>(
        stack, [&](A... args) -> R { return typed.redispatch(keys, std::forward<A>(args)...); },
        std::index_sequence_for<A...>());
  }
  // A plain function as a boxed kernel; the context is the function.
  static void call_function(const Operator&, KeySet, Stack& stack, void* context) {
    auto fn = reinterpret_cast<R (*)(A...)>(context);
    call_unboxed<R, A...>(stack, fn, std::index_sequence_for<A...>());
  }
};

}  // namespace taeda::dispatch
