// A C++ function as a kernel: boxed by its type, with the schema its type implies.
//
//   Tensor scaled(const Tensor& x, double by, std::optional<std::vector<int64_t>> dims);
//   CppFunction(&scaled).schema       "(Tensor _0, float _1, int[]? _2) -> Tensor"
//
// Arguments: Tensor, TensorList, Scalar, int64_t, SymInt, double, bool, strings, DType, Device,
// Layout, MemoryFormat, vectors and Spans of these, and optionals; results: the same, tuples of
// them, Tensor& for what was written, or void.
#pragma once

#include <type_traits>

#include "taeda/dispatch/boxing.h"

namespace taeda::dispatch {

// Lists for which Value has no typed list, of strings for example, are lists of values.
template <class T>
concept HasOwnList = Value::Types::kHas<std::vector<T>>;
template <class T>
  requires(!HasOwnList<T>)
struct Boxing<std::vector<T>> {
  using Owned = std::vector<T>;
  static Owned from(const Value& v) {
    Owned out;
    for (const Value& item : *v.get<std::shared_ptr<Value::List>>())
      out.push_back(Boxing<T>::from(item));
    return out;
  }
  static Owned pass(const Owned& o) { return o; }
  static Value to(const std::vector<T>& v) {
    auto list = std::make_shared<Value::List>();
    for (const T& item : v) list->push_back(Boxing<T>::to(item));
    return Value(std::move(list));
  }
};

namespace kernel_detail {

template <class T>
struct TypeText;
#define TAEDA_SCHEMA_TYPE(type, text)         \
  template <>                                 \
  struct TypeText<type> {                     \
    static std::string get() { return text; } \
  }
TAEDA_SCHEMA_TYPE(Tensor, "Tensor");
TAEDA_SCHEMA_TYPE(int64_t, "int");
TAEDA_SCHEMA_TYPE(SymInt, "SymInt");
TAEDA_SCHEMA_TYPE(double, "float");
TAEDA_SCHEMA_TYPE(bool, "bool");
TAEDA_SCHEMA_TYPE(std::string, "str");
TAEDA_SCHEMA_TYPE(std::string_view, "str");
TAEDA_SCHEMA_TYPE(Scalar, "Scalar");
TAEDA_SCHEMA_TYPE(DType, "ScalarType");
TAEDA_SCHEMA_TYPE(Device, "Device");
TAEDA_SCHEMA_TYPE(Layout, "Layout");
TAEDA_SCHEMA_TYPE(MemoryFormat, "MemoryFormat");
TAEDA_SCHEMA_TYPE(Generator, "Generator");
TAEDA_SCHEMA_TYPE(Storage, "Storage");
#undef TAEDA_SCHEMA_TYPE
template <class T>
struct TypeText<std::vector<T>> {
  static std::string get() { return TypeText<T>::get() + "[]"; }
};
template <class T>
struct TypeText<Span<T>> : TypeText<std::vector<T>> {};
template <class T>
struct TypeText<std::optional<T>> {
  static std::string get() { return TypeText<T>::get() + "?"; }
};

template <class T>
concept SchemaType = requires { TypeText<std::remove_cvref_t<T>>::get(); };

template <class R>
struct ReturnText {
  static_assert(SchemaType<R>, "an operator cannot return this type");
  static std::string get() { return TypeText<std::remove_cvref_t<R>>::get(); }
};
template <>
struct ReturnText<void> {
  static std::string get() { return "()"; }
};
template <class... T>
struct ReturnText<std::tuple<T...>> {
  static std::string get() {
    std::string out;
    ((out += (out.empty() ? "" : ", ") + ReturnText<T>::get()), ...);
    return "(" + out + ")";
  }
};

// The type as which an argument is unboxed: a constant reference is read as a value, unless its
// type is boxed as a reference.
template <class A>
using Unboxed = std::conditional_t<std::is_lvalue_reference_v<A> &&
                                       !std::is_same_v<std::remove_cvref_t<A>, Tensor> &&
                                       !std::is_same_v<std::remove_cvref_t<A>, Scalar> &&
                                       !std::is_same_v<std::remove_cvref_t<A>, Generator>,
                                   std::remove_cvref_t<A>, A>;

template <class R, class... A>
void call_function(const Operator&, KeySet, Stack& stack, void* context) {
  auto fn = reinterpret_cast<R (*)(A...)>(context);
  call_unboxed<R, Unboxed<A>...>(stack, fn, std::index_sequence_for<A...>());
}

// The same for a function that takes the keys of its call first.
template <class R, class... A>
void call_function_with_keys(const Operator&, KeySet keys, Stack& stack, void* context) {
  auto fn = reinterpret_cast<R (*)(KeySet, A...)>(context);
  call_unboxed<R, Unboxed<A>...>(
      stack, [&](auto&&... args) -> R { return fn(keys, std::forward<decltype(args)>(args)...); },
      std::index_sequence_for<A...>());
}

template <class R, class... A>
std::string schema_of() {
  static_assert((SchemaType<A> && ...),
                "an operator cannot take this type: use int64_t for int, double for float");
  std::string out = "(";
  size_t i = 0;
  ((out += str(i ? ", " : "", TypeText<std::remove_cvref_t<A>>::get(), " _", i), ++i), ...);
  return out + ") -> " + ReturnText<R>::get();
}

}  // namespace kernel_detail

// A function or a lambda without captures.
struct CppFunction {
  template <class R, class... A>
  CppFunction(R (*fn)(A...))
      : kernel{&kernel_detail::call_function<R, A...>, reinterpret_cast<void*>(fn)},
        signature(&typeid(R(A...))),
        schema(kernel_detail::schema_of<R, A...>()) {}
  template <class R, class... A>
  CppFunction(R (*fn)(KeySet, A...))
      : kernel{&kernel_detail::call_function_with_keys<R, A...>, reinterpret_cast<void*>(fn)},
        signature(&typeid(R(A...))),
        schema(kernel_detail::schema_of<R, A...>()) {}
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, CppFunction> && requires(F f) { *+f; } &&
             std::is_class_v<std::remove_cvref_t<F>>)
  CppFunction(F&& lambda) : CppFunction(+lambda) {}
  CppFunction(BoxedKernel kernel) : kernel(kernel) {}

  static CppFunction makeFromBoxedFunction(BoxedFn fn) { return BoxedKernel{fn, nullptr}; }
  // As if nothing were registered: the call goes on to the next key.
  static CppFunction makeFallthrough();

  BoxedKernel kernel;
  const std::type_info* signature = nullptr;  // null: reads the stack itself, fits every schema
  std::string schema;                         // empty then
  bool is_fallthrough = false;
};

// Throws where a function's own schema cannot serve the declared one.
TAEDA_API void check_function_fits(const Operator& op, const CppFunction& fn);
// Throws where callers with a signature of this schema, "(Tensor _0, float _1) -> Tensor", do not
// call the operator as it is declared.
TAEDA_API void check_call_fits(const Operator& op, const std::string& call_schema);
// Hands a call at `key` to what lies below it.
TAEDA_API BoxedKernel fallthrough_kernel(Key key);

inline CppFunction CppFunction::makeFallthrough() {
  CppFunction out{BoxedKernel{}};
  out.is_fallthrough = true;
  return out;
}

}  // namespace taeda::dispatch
