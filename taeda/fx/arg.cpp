// Equality, hashing and mapping of arguments.
#include "taeda/fx/arg.h"

#include <bit>

#include "taeda/fx/graph.h"

template class std::vector<taeda::fx::Arg>;

namespace taeda::fx {
namespace {

bool any_has_nodes(const std::vector<Arg>& items) {
  for (const Arg& a : items)
    if (a.has_nodes()) return true;
  return false;
}

template <class List>
Arg list_of(const List& values) {
  std::vector<Arg> items;
  items.reserve(values.size());
  for (const auto& v : values) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, Tensor>)
      items.emplace_back(v.defined() ? Value(v) : Value());
    else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, SymInt>)
      items.emplace_back(v.is_symbolic() ? Value(v) : Value(v.word()));
    else
      items.emplace_back(Value(v));
  }
  return Arg::list(std::move(items));
}

struct SameValue {
  bool operator()(double a, double b) const {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  }
  bool operator()(const Complex<double>& a, const Complex<double>& b) const {
    return (*this)(a.re, b.re) && (*this)(a.im, b.im);
  }
  bool operator()(const SymInt& a, const SymInt& b) const { return a.word() == b.word(); }
  bool operator()(const Tensor& a, const Tensor& b) const { return a.is_same(b); }
  bool operator()(const Generator& a, const Generator& b) const { return a == b; }
  bool operator()(const IntrusivePtr<Opaque>& a, const IntrusivePtr<Opaque>& b) const {
    return a == b || a->equals(*b);
  }
  template <class T>
  bool operator()(const std::vector<T>& a, const std::vector<T>& b) const {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!(*this)(static_cast<const T&>(a[i]), static_cast<const T&>(b[i]))) return false;
    return true;
  }
  bool operator()(const Value& a, const Value& b) const { return same_value(a, b); }
  bool operator()(const std::shared_ptr<Value::List>& a,
                  const std::shared_ptr<Value::List>& b) const {
    return (*this)(*a, *b);
  }
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};

struct HashValue {
  size_t operator()(std::monostate) const { return 0; }
  size_t operator()(double v) const { return std::bit_cast<uint64_t>(v); }
  size_t operator()(const Complex<double>& v) const { return (*this)(v.re) * 31 + (*this)(v.im); }
  size_t operator()(const SymInt& v) const { return static_cast<size_t>(v.word()); }
  size_t operator()(const Tensor& v) const { return std::hash<void*>()(v.impl()); }
  size_t operator()(const std::string& v) const { return std::hash<std::string>()(v); }
  size_t operator()(const IntrusivePtr<Opaque>& v) const { return v->hash(); }
  size_t operator()(const IntrusivePtr<SymNode>& v) const { return std::hash<void*>()(v.get()); }
  size_t operator()(const Device& v) const {
    return static_cast<size_t>(v.type) * 256 + static_cast<size_t>(v.index + 1);
  }
  template <class T>
  size_t operator()(const T& v) const {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
      return static_cast<size_t>(v);
    else
      return 1;  // lists and generators: equality decides
  }
};

}  // namespace

Compound::Compound(Kind kind, std::vector<Arg> items, std::vector<Value> keys,
                   IntrusivePtr<Opaque> type)
    : kind(kind),
      items(std::move(items)),
      keys(std::move(keys)),
      type(std::move(type)),
      has_nodes(any_has_nodes(this->items)) {}

Arg::Arg() noexcept = default;
Arg::Arg(const Arg& other) = default;
Arg::Arg(Arg&& other) noexcept = default;
Arg& Arg::operator=(const Arg& other) = default;
Arg& Arg::operator=(Arg&& other) noexcept = default;
Arg::~Arg() = default;
Arg::Arg(Node* node) : v_(node) {}
Arg::Arg(IntrusivePtr<Compound> c) : v_(std::move(c)) {}

Arg::Arg(Value v) {
  if (v.is<std::vector<int64_t>>())
    *this = list_of(v.get<std::vector<int64_t>>());
  else if (v.is<std::vector<SymInt>>())
    *this = list_of(v.get<std::vector<SymInt>>());
  else if (v.is<std::vector<double>>())
    *this = list_of(v.get<std::vector<double>>());
  else if (v.is<std::vector<bool>>())
    *this = list_of(
        std::vector<Value>(v.get<std::vector<bool>>().begin(), v.get<std::vector<bool>>().end()));
  else if (v.is<std::vector<Tensor>>())
    *this = list_of(v.get<std::vector<Tensor>>());
  else if (v.is<std::shared_ptr<Value::List>>())
    *this = list_of(*v.get<std::shared_ptr<Value::List>>());
  else if (v.is<SymInt>() && !v.get<SymInt>().is_symbolic())
    v_ = Value(v.get<SymInt>().word());
  else
    v_ = std::move(v);
}

Arg::Arg(IntrusivePtr<Graph> region) : v_(IntrusivePtr<RefCounted>(std::move(region))) {}

Graph* Arg::region() const {
  const auto* p = std::get_if<IntrusivePtr<RefCounted>>(&v_);
  return p ? static_cast<Graph*>(p->get()) : nullptr;
}

bool operator==(const Arg& a, const Arg& b) {
  if (a.v_.index() != b.v_.index()) return false;
  if (a.is_constant()) return same_value(a.constant(), b.constant());
  if (a.is_node()) return a.node() == b.node();
  const Compound *x = a.compound(), *y = b.compound();
  if (!x) return a.region() == b.region();
  if (x == y) return true;
  if (x->kind != y->kind || x->type.get() != y->type.get() || x->items.size() != y->items.size())
    return false;
  for (size_t i = 0; i < x->keys.size(); ++i)
    if (!same_value(x->keys[i], y->keys[i])) return false;
  return x->items == y->items;
}

void for_each_node(const Arg& arg, FunctionRef<void(Node&)> f) {
  if (Node* n = arg.node()) return f(*n);
  if (const Compound* c = arg.compound(); c && c->has_nodes)
    for (const Arg& item : c->items) for_each_node(item, f);
}

Arg map_nodes(const Arg& arg, FunctionRef<Arg(Node&)> f) {
  if (Node* n = arg.node()) return f(*n);
  const Compound* c = arg.compound();
  if (!c || !c->has_nodes) return arg;
  std::vector<Arg> items;
  items.reserve(c->items.size());
  for (const Arg& item : c->items) items.push_back(map_nodes(item, f));
  return Arg(make_intrusive<Compound>(c->kind, std::move(items), c->keys, c->type));
}

bool same_value(const Value& a, const Value& b) {
  return a.index() == b.index() &&
         a.visit([&]<class T>(const T& v) { return SameValue()(v, b.get<T>()); });
}

size_t hash_value(const Value& v) { return v.visit(HashValue()) * 31 + v.index(); }

}  // namespace taeda::fx
