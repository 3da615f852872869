// Operators called through the dispatcher by name: torch::Dispatcher and typed handles.
#pragma once

#include "c10/core/DispatchKey.h"
#include "taeda/dispatch/library.h"

namespace c10 {

namespace handle_detail {
// The result of a call as R: the value that was returned, or the argument that was written.
template <class R, class... A>
R result_of(::taeda::dispatch::Stack& stack, [[maybe_unused]] A&... args) {
  using namespace ::taeda::dispatch;
  if constexpr (std::is_same_v<R, ::taeda::Tensor&>) {
    ::taeda::Tensor* written = nullptr;
    (
        [&] {
          if constexpr (std::is_same_v<A, ::taeda::Tensor>) written = &args;
        }(),
        ...);
    return *written;
  } else if constexpr (!std::is_void_v<R>) {
    return PopResult<R>::pop(stack);
  }
}
}  // namespace handle_detail

class OperatorHandle {
 public:
  explicit OperatorHandle(::taeda::dispatch::Operator& op) : op_(&op) {}
  template <class Signature>
  auto typed() const;
  void callBoxed(::taeda::dispatch::Stack& stack) const {
    ::taeda::dispatch::call_boxed(*op_, stack);
  }
  void redispatchBoxed(DispatchKeySet keys, ::taeda::dispatch::Stack* stack) const {
    op_->call_boxed(*op_, keys, *stack);
  }
  ::taeda::dispatch::Schema schema() const { return ::taeda::dispatch::parse_schema(op_->schema); }
  std::string name() const { return op_->full_name(); }
  ::taeda::dispatch::Operator& target() const { return *op_; }

 protected:
  ::taeda::dispatch::Operator* op_;
};

// A handle with the signature of an operator: op.call(args...).
template <class Signature>
class TypedOperatorHandle;
template <class R, class... A>
class TypedOperatorHandle<R(A...)> : public OperatorHandle {
 public:
  using OperatorHandle::OperatorHandle;
  R call(A... args) const {
    ::taeda::dispatch::Stack stack = boxed(args...);
    ::taeda::dispatch::call_boxed(*op_, stack);
    return handle_detail::result_of<R>(stack, args...);
  }
  // Goes on with the kernel for `keys`.
  R redispatch(DispatchKeySet keys, A... args) const {
    ::taeda::dispatch::Stack stack = boxed(args...);
    op_->call_boxed(*op_, keys, stack);
    return handle_detail::result_of<R>(stack, args...);
  }

 private:
  template <class... T>
  static ::taeda::dispatch::Stack boxed(T&... args) {
    using namespace ::taeda::dispatch;
    Stack stack;
    (stack.push_back(Boxing<kernel_detail::Unboxed<A>>::to(args)), ...);
    return stack;
  }
};

namespace handle_detail {
template <class Signature>
struct SchemaOf;
template <class R, class... A>
struct SchemaOf<R(A...)> {
  static std::string get() { return ::taeda::dispatch::kernel_detail::schema_of<R, A...>(); }
};
}  // namespace handle_detail

// Throws where the signature is not the operator's.
template <class Signature>
auto OperatorHandle::typed() const {
  ::taeda::dispatch::check_call_fits(*op_, handle_detail::SchemaOf<Signature>::get());
  return TypedOperatorHandle<Signature>(*op_);
}

class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher dispatcher;
    return dispatcher;
  }
  // `name` with its namespace: "myops::myadd".
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const {
    return OperatorHandle(::taeda::dispatch::get_operator(full_name(name, overload)));
  }

  std::optional<OperatorHandle> findSchema(const char* name, const char* overload) const {
    ::taeda::dispatch::Operator* op = ::taeda::dispatch::find_operator(full_name(name, overload));
    return op ? std::optional<OperatorHandle>(*op) : std::nullopt;
  }

 private:
  static std::string full_name(std::string_view name, std::string_view overload) {
    if (name.starts_with("aten::")) name.remove_prefix(6);
    return overload.empty() ? std::string(name) : ::taeda::str(name, ".", overload);
  }
};

}  // namespace c10
