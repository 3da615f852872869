// Operators called through the dispatcher by name: torch::Dispatcher and typed handles.
#pragma once

#include "ATen/core_names.h"
#include "taeda/dispatch/library.h"

namespace c10 {

// A handle with the signature of an operator: op.call(args...).
template <class Signature>
class TypedOperatorHandle;
template <class R, class... A>
class TypedOperatorHandle<R(A...)> {
 public:
  explicit TypedOperatorHandle(::taeda::dispatch::Operator& op) : op_(&op) {}
  R call(A... args) const {
    using namespace ::taeda::dispatch;
    Stack stack;
    (stack.push_back(Boxing<kernel_detail::Unboxed<A>>::to(args)), ...);
    call_boxed(*op_, stack);
    if constexpr (!std::is_void_v<R>) return PopResult<R>::pop(stack);
  }

 private:
  ::taeda::dispatch::Operator* op_;
};

class OperatorHandle {
 public:
  explicit OperatorHandle(::taeda::dispatch::Operator& op) : op_(&op) {}
  template <class Signature>
  TypedOperatorHandle<Signature> typed() const {
    return TypedOperatorHandle<Signature>(*op_);
  }
  void callBoxed(::taeda::dispatch::Stack& stack) const {
    ::taeda::dispatch::call_boxed(*op_, stack);
  }

 private:
  ::taeda::dispatch::Operator* op_;
};

class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher dispatcher;
    return dispatcher;
  }
  // `name` with its namespace: "myops::myadd".
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const {
    const std::string full = *overload ? ::taeda::str(name, ".", overload) : std::string(name);
    return OperatorHandle(::taeda::dispatch::get_operator(full));
  }
};

}  // namespace c10
