// Conversions of the argument types that most signatures are made of.
#include "taeda/dispatch/boxing.h"

namespace taeda::dispatch {

const Tensor* Boxing<const Tensor&>::from(const Value& v) {
  static const Tensor undefined;
  return v.is_none() ? &undefined : &v.get<Tensor>();
}
Value Boxing<const Tensor&>::to(const Tensor& t) { return t.defined() ? Value(t) : Value(); }

Generator Boxing<const Generator&>::from(const Value& v) {
  return v.is_none() ? Generator() : v.get<Generator>();
}
Value Boxing<const Generator&>::to(const Generator& g) { return g.defined() ? Value(g) : Value(); }

SymInt Boxing<SymInt>::from(const Value& v) {
  return v.is<int64_t>() ? SymInt(v.get<int64_t>()) : v.get<SymInt>();
}
Value Boxing<SymInt>::to(SymInt v) {
  return v.is_symbolic() ? Value(std::move(v)) : Value(v.word());
}

std::string_view Boxing<std::string_view>::from(const Value& v) { return v.get<std::string>(); }
Value Boxing<std::string_view>::to(std::string_view v) { return Value(std::string(v)); }

Span<SymInt> Boxing<Span<SymInt>>::from(const Value& v) {
  if (!v.is<std::vector<int64_t>>()) return v.get<std::vector<SymInt>>();
  const auto& plain = v.get<std::vector<int64_t>>();
  // Note [SymInt layout] holds for the values that a SymInt takes; its constructor refuses others.
  for (const int64_t value : plain) static_cast<void>(SymInt(value));
  return as_symint(plain);
}
Value Boxing<Span<SymInt>>::to(Span<SymInt> v) {
  return has_symbolic(v) ? Value(v.vec()) : Value(as_int(v).vec());
}

SmallVector<bool, 8> Boxing<Span<bool>>::from(const Value& v) {
  Owned out;
  for (bool b : v.get<std::vector<bool>>()) out.push_back(b);
  return out;
}

}  // namespace taeda::dispatch
