// Conversions of boxed values.
#include "taeda/dispatch/value.h"

template class std::vector<taeda::dispatch::Value>;

namespace taeda::dispatch {

Value::Value(const Value& other) : index_(other.index_) {
  other.visit([this]<class T>(const T& v) { new (bytes_) T(v); });
}

Value::Value(Value&& other) noexcept : index_(other.index_) {
  other.visit([this]<class T>(const T& v) { new (bytes_) T(std::move(const_cast<T&>(v))); });
}

Value& Value::operator=(const Value& other) {
  if (this != &other) *this = Value(other);
  return *this;
}

Value& Value::operator=(Value&& other) noexcept {
  if (this == &other) return *this;
  // The old value goes last: dropping it may run code that reads this one.
  Value old(std::move(*this));
  destroy();
  return *new (this) Value(std::move(other));
}

void Value::destroy() noexcept {
  visit([]<class T>(const T& v) { v.~T(); });
  index_ = 0;
}

Value::Value(const Scalar& s) {
  if (s.is_symbolic()) {
    auto node = IntrusivePtr<SymNode>::share(s.node());
    *this = node->kind() == SymKind::Int ? Value(SymInt(std::move(node))) : Value(std::move(node));
    return;
  }
  switch (s.kind()) {
    case Scalar::Kind::Bool: *this = s.to_bool(); break;
    case Scalar::Kind::Float: *this = s.to_double(); break;
    case Scalar::Kind::Complex: *this = s.to_complex(); break;
    case Scalar::Kind::UInt:
      *this = Value(std::in_place_type<uint64_t>, static_cast<uint64_t>(s.to_int()));
      break;
    default: *this = s.to_int();
  }
}

const char* Value::kind_name() const {
  constexpr const char* names[] = {
      "None",      "bool",     "int",        "int",    "float",          "complex",
      "SymInt",    "Tensor",   "str",        "int[]",  "SymInt[]",       "float[]",
      "bool[]",    "Tensor[]", "ScalarType", "Device", "Layout",         "MemoryFormat",
      "Generator", "Storage",  "list",       "object", "symbolic number"};
  return names[index_];
}

Scalar Value::to_scalar() const {
  if (is<bool>()) return Scalar(get<bool>());
  if (is<int64_t>()) return Scalar(get<int64_t>());
  if (is<uint64_t>()) return Scalar(get<uint64_t>());
  if (is<double>()) return Scalar(get<double>());
  if (is<SymInt>()) return Scalar(get<SymInt>());
  if (is<IntrusivePtr<SymNode>>()) return Scalar(get<IntrusivePtr<SymNode>>());
  if (is<Tensor>()) return read_scalar(get<Tensor>());
  return Scalar(get<Complex<double>>());
}

int64_t Value::to_int() const {
  if (is<SymInt>()) return get<SymInt>().expect_int();
  if (is<bool>()) return get<bool>();
  TAEDA_CHECK_VALUE(!is<uint64_t>(), "Overflow when unpacking long long");
  return get<int64_t>();
}

double Value::to_double() const {
  if (is<SymInt>() || is<IntrusivePtr<SymNode>>()) return to_scalar().to_double();
  if (is<int64_t>()) return static_cast<double>(get<int64_t>());
  if (is<uint64_t>()) return static_cast<double>(get<uint64_t>());
  return get<double>();
}

}  // namespace taeda::dispatch
