// Value: an operator argument or result in boxed form, for fallbacks, graphs and bindings.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::dispatch {

// A value of another world (a Python object, say) that graphs carry without knowing it.
class TAEDA_API Opaque : public RefCounted {
 public:
  virtual bool equals(const Opaque& other) const = 0;
  virtual size_t hash() const = 0;
  virtual std::string text() const = 0;
};

// The types that a Value holds, by number.
template <class... T>
struct TypeList {
  template <class U>
  static constexpr bool kHas = (std::is_same_v<U, T> || ...);
  template <class U>
  static constexpr uint8_t index_of() {
    static_assert(kHas<U>, "a Value does not hold this type");
    uint8_t index = 0;
    (void)((std::is_same_v<U, T> || (++index, false)) || ...);
    return index;
  }
  static constexpr size_t kBytes = std::max({sizeof(T)...});
  static constexpr size_t kAlignment = std::max({alignof(T)...});
  static_assert((std::is_nothrow_move_constructible_v<T> && ...));
  // table[index] calls F with the type of that number.
  template <class R, class F>
  static constexpr R (*kCalls[])(const void*, F&) = {
      [](const void* p, F& f) -> R { return f(*static_cast<const T*>(p)); }...};
};

// A variant whose kinds are listed once and whose code stands once: std::variant of twenty types
// costs every source that mentions it a fifth of a second of compile time.
class TAEDA_API Value {
 public:
  using List = std::vector<Value>;
  // uint64_t is a number from 2**63 on; the last a symbolic float or truth value.
  using Types = TypeList<std::monostate, bool, int64_t, uint64_t, double, Complex<double>, SymInt,
                         Tensor, std::string, std::vector<int64_t>, std::vector<SymInt>,
                         std::vector<double>, std::vector<bool>, std::vector<Tensor>, DType, Device,
                         Layout, MemoryFormat, Generator, Storage, std::shared_ptr<List>,
                         IntrusivePtr<Opaque>, IntrusivePtr<SymNode>>;

  Value() noexcept = default;
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value() {
    if (index_ > Types::index_of<Complex<double>>()) destroy();
  }
  // Unsigned numbers come as a Scalar, which knows whether an int64_t holds them.
  template <class T>
    requires(Types::kHas<std::remove_cvref_t<T>> && !std::same_as<std::remove_cvref_t<T>, uint64_t>)
  Value(T&& v) : Value(std::in_place_type<std::remove_cvref_t<T>>, std::forward<T>(v)) {}
  // Numbers of other widths, unless they may not fit.
  template <std::integral T>
    requires(!Types::kHas<T> && (sizeof(T) < sizeof(int64_t) || std::is_signed_v<T>))
  Value(T v) : Value(static_cast<int64_t>(v)) {}
  Value(std::same_as<float> auto v) : Value(static_cast<double>(v)) {}
  Value(std::vector<bool>::reference v) : Value(static_cast<bool>(v)) {}
  Value(const char* v) : Value(std::string(v)) {}
  template <class T>
    requires(!Types::kHas<IntrusivePtr<T>> && std::is_base_of_v<Opaque, T>)
  Value(IntrusivePtr<T> v) : Value(IntrusivePtr<Opaque>(std::move(v))) {}
  template <class T>
    requires(!Types::kHas<IntrusivePtr<T>> && std::is_base_of_v<SymNode, T>)
  Value(IntrusivePtr<T> v) : Value(IntrusivePtr<SymNode>(std::move(v))) {}
  Value(const Scalar& s);
  // Scalar takes these too, a pointer as a truth value.
  template <class T>
    requires(!std::same_as<std::remove_cv_t<T>, char>)
  Value(T* v) = delete;
  Value(std::nullptr_t) = delete;

  bool is_none() const { return index_ == 0; }
  template <class T>
  bool is() const {
    return index_ == Types::index_of<T>();
  }
  template <class T>
  const T& get() const {
    TAEDA_INTERNAL_CHECK(is<T>(), "boxed value holds ", kind_name());
    return *std::launder(reinterpret_cast<const T*>(bytes_));
  }
  template <class T>
  T& get() {
    return const_cast<T&>(static_cast<const Value*>(this)->get<T>());
  }
  // The number of the held type in Types.
  size_t index() const { return index_; }
  // f(held value), for an f that takes every type.
  template <class F>
  auto visit(F&& f) const {
    using R = std::invoke_result_t<F&, const std::monostate&>;
    return Types::kCalls<R, std::remove_reference_t<F>>[index_](bytes_, f);
  }
  const char* kind_name() const;

  bool is_scalar() const {
    return is<bool>() || is<int64_t>() || is<uint64_t>() || is<double>() || is<Complex<double>>() ||
           is<SymInt>() || is<IntrusivePtr<SymNode>>();
  }
  Scalar to_scalar() const;
  int64_t to_int() const;
  double to_double() const;

  // ---- names of PyTorch's IValue ----
  bool isNone() const { return is_none(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isInt() const { return is<int64_t>(); }
  bool isDouble() const { return is<double>(); }
  bool isBool() const { return is<bool>(); }
  bool isString() const { return is<std::string>(); }
  bool isScalar() const { return is_scalar(); }
  bool isIntList() const { return is<std::vector<int64_t>>(); }
  bool isDoubleList() const { return is<std::vector<double>>(); }
  bool isTensorList() const { return is<std::vector<Tensor>>(); }
  bool isDevice() const { return is<Device>(); }
  Tensor toTensor() const { return is_none() ? Tensor() : get<Tensor>(); }
  int64_t toInt() const { return to_int(); }
  double toDouble() const { return to_double(); }
  bool toBool() const { return get<bool>(); }
  Scalar toScalar() const { return to_scalar(); }
  const std::string& toStringRef() const { return get<std::string>(); }
  const std::vector<int64_t>& toIntVector() const { return get<std::vector<int64_t>>(); }
  const std::vector<int64_t>& toIntList() const { return get<std::vector<int64_t>>(); }
  const std::vector<double>& toDoubleVector() const { return get<std::vector<double>>(); }
  const std::vector<Tensor>& toTensorVector() const { return get<std::vector<Tensor>>(); }
  const std::vector<Tensor>& toTensorList() const { return get<std::vector<Tensor>>(); }
  DType toScalarType() const { return get<DType>(); }
  Device toDevice() const { return get<Device>(); }

 private:
  template <class T, class... From>
  explicit Value(std::in_place_type_t<T>, From&&... from) : index_(Types::index_of<T>()) {
    new (bytes_) T(std::forward<From>(from)...);
  }
  void destroy() noexcept;

  alignas(Types::kAlignment) unsigned char bytes_[Types::kBytes];
  uint8_t index_ = 0;
};

using Stack = std::vector<Value>;

}  // namespace taeda::dispatch

extern template class std::vector<taeda::dispatch::Value>;

namespace taeda::dispatch {

// Calls f on each tensor inside a value, lists and lists of lists included.
template <class F>
void for_each_tensor(const Value& v, F&& f) {
  if (v.is<Tensor>()) {
    if (v.get<Tensor>().defined()) f(v.get<Tensor>());
  } else if (v.is<std::vector<Tensor>>()) {
    for (const Tensor& t : v.get<std::vector<Tensor>>())
      if (t.defined()) f(t);
  } else if (v.is<std::shared_ptr<Value::List>>()) {
    for (const Value& item : *v.get<std::shared_ptr<Value::List>>()) for_each_tensor(item, f);
  }
}

}  // namespace taeda::dispatch
