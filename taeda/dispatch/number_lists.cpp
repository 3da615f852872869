// Lists of numbers in and out of boxed values.
#include "taeda/dispatch/number_lists.h"

namespace taeda::dispatch {
namespace {

template <class T>
std::vector<Scalar> scalars_of(const std::vector<T>& values) {
  std::vector<Scalar> scalars;
  scalars.reserve(values.size());
  for (const auto& v : values) scalars.push_back(Value(v).to_scalar());
  return scalars;
}

}  // namespace

std::vector<Scalar> Boxing<Span<Scalar>>::from(const Value& v) {
  if (v.is<std::vector<double>>()) return scalars_of(v.get<std::vector<double>>());
  if (v.is<std::vector<int64_t>>()) return scalars_of(v.get<std::vector<int64_t>>());
  if (v.is<std::vector<SymInt>>()) return scalars_of(v.get<std::vector<SymInt>>());
  if (v.is<std::vector<bool>>()) return scalars_of(v.get<std::vector<bool>>());
  return scalars_of(*v.get<std::shared_ptr<Value::List>>());
}

Value Boxing<Span<Scalar>>::to(Span<Scalar> v) {
  auto list = std::make_shared<Value::List>();
  for (const Scalar& s : v) list->push_back(Value(s));
  return Value(std::move(list));
}

}  // namespace taeda::dispatch
