// Value: an operator argument or result in boxed form, for fallbacks, graphs and bindings.
#pragma once

#include <memory>
#include <string>
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

class TAEDA_API Value {
 public:
  using List = std::vector<Value>;
  using Variant =
      std::variant<std::monostate, bool, int64_t, double, Complex<double>, SymInt, Tensor,
                   std::string, std::vector<int64_t>, std::vector<SymInt>, std::vector<double>,
                   std::vector<bool>, std::vector<Tensor>, DType, Device, Layout, MemoryFormat,
                   Generator, std::shared_ptr<List>, IntrusivePtr<Opaque>,
                   IntrusivePtr<SymNode>>;  // the last: a symbolic float or truth value

  Value() = default;
  // Out of line: the code that copies, moves and drops twenty kinds stands once in the library.
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  template <class T>
    requires(std::is_constructible_v<Variant, T> && !std::is_same_v<std::remove_cvref_t<T>, Value>)
  Value(T&& v) : v_(std::forward<T>(v)) {}
  Value(const Scalar& s);

  bool is_none() const { return v_.index() == 0; }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(v_);
  }
  template <class T>
  const T& get() const {
    const T* p = std::get_if<T>(&v_);
    TAEDA_INTERNAL_CHECK(p, "boxed value holds ", kind_name());
    return *p;
  }
  template <class T>
  T& get() {
    return const_cast<T&>(static_cast<const Value*>(this)->get<T>());
  }
  const Variant& variant() const { return v_; }
  const char* kind_name() const;

  bool is_scalar() const {
    return is<bool>() || is<int64_t>() || is<double>() || is<Complex<double>>() || is<SymInt>() ||
           is<IntrusivePtr<SymNode>>();
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
  Variant v_;
};

using Stack = std::vector<Value>;

}  // namespace taeda::dispatch

extern template class std::vector<taeda::dispatch::Value>;

namespace taeda::dispatch {

// Calls f on each tensor inside a value, lists included.
template <class F>
void for_each_tensor(const Value& v, F&& f) {
  if (v.is<Tensor>()) {
    if (v.get<Tensor>().defined()) f(v.get<Tensor>());
  } else if (v.is<std::vector<Tensor>>()) {
    for (const Tensor& t : v.get<std::vector<Tensor>>())
      if (t.defined()) f(t);
  }
}

}  // namespace taeda::dispatch
