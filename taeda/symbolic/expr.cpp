// Interning of expressions and the dispatch of construction to the rules.
#include "taeda/symbolic/expr.h"

#include <algorithm>

#include "taeda/symbolic/expr_rules.h"

namespace taeda::symbolic {
namespace {

uint64_t mixed(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdULL;
}

uint64_t hash_of(const Expr& e) {
  uint64_t h = mixed(static_cast<uint64_t>(e.op), static_cast<uint64_t>(e.kind));
  if (e.is_constant()) h = mixed(h, static_cast<uint64_t>(e.value.integer));
  if (e.is_symbol()) h = mixed(h, std::hash<std::string>()(e.name));
  for (const Expr* a : e.args) h = mixed(h, reinterpret_cast<uint64_t>(a));
  return h;
}

}  // namespace

bool ExprPool::Same::operator()(const Expr* a, const Expr* b) const {
  return a->op == b->op && a->kind == b->kind && a->args == b->args && a->name == b->name &&
         (!a->is_constant() || a->value == b->value);
}

size_t ExprPool::PairHash::operator()(const Pair& p) const {
  return mixed(mixed(static_cast<uint64_t>(p.op), reinterpret_cast<uint64_t>(p.a)),
               reinterpret_cast<uint64_t>(p.b));
}

const Expr* ExprPool::keep(Expr fresh) {
  fresh.hash = hash_of(fresh);
  if (auto it = interned_.find(&fresh); it != interned_.end()) return *it;
  fresh.id = static_cast<uint32_t>(all_.size());
  if (!fresh.args.empty()) {
    SmallVector<IntRange, 4> ranges;
    SmallVector<ExprValue, 4> values;
    for (const Expr* a : fresh.args) {
      fresh.has_hint &= a->has_hint;
      fresh.size = a->size > UINT32_MAX - fresh.size ? UINT32_MAX : fresh.size + a->size;
      ranges.push_back(a->range);
      values.push_back(a->value);
    }
    if (fresh.has_hint) fresh.value = apply_op(fresh.op, values);
    if (fresh.kind == SymKind::Int) fresh.range = range_of_op(&fresh, ranges);
  }
  all_.push_back(std::move(fresh));
  interned_.insert(&all_.back());
  return &all_.back();
}

const Expr* ExprPool::symbol(std::string name, SymKind kind, IntRange range,
                             std::optional<ExprValue> hint) {
  Expr e;
  e.op = ExprOp::Symbol;
  e.kind = kind;
  e.name = std::move(name);
  e.range = range;
  e.has_hint = hint.has_value();
  if (hint) e.value = *hint;
  return keep(std::move(e));
}

const Expr* ExprPool::constant(ExprValue v) {
  if (v.kind == SymKind::Int)
    TAEDA_CHECK_KIND(ErrorKind::Overflow, v.integer != IntRange::kMin,
                     "integer overflow in a symbolic shape: ", v.integer);
  Expr e;
  e.kind = v.kind;
  e.value = v;
  if (v.kind != SymKind::Float) e.range = IntRange::of(v.integer);
  e.hash = hash_of(e);
  // Most are there already: they are found without a move.
  if (auto it = interned_.find(&e); it != interned_.end()) return *it;
  return keep(std::move(e));
}

const Expr* ExprPool::intern(ExprOp op, SymKind kind, ExprArgs args) {
  Expr e;
  e.op = op;
  e.kind = kind;
  e.args = std::move(args);
  return keep(std::move(e));
}

const Expr* ExprPool::make(ExprOp op, const Expr* a, const Expr* b) {
  const Pair key{op, a, b};
  if (auto it = made_.find(key); it != made_.end()) return it->second;
  const Expr* result = simplified(*this, op, {a, b});
  made_.emplace(key, result);
  return result;
}

const Expr* ExprPool::make(ExprOp op, Span<const Expr*> args) {
  if (args.size() == 2) return make(op, args[0], args[1]);
  if (args.size() > 2 && op != ExprOp::Where) {
    const Expr* result = args[0];
    for (const Expr* a : args.drop_front()) result = make(op, result, a);
    return result;
  }
  return simplified(*this, op, args);
}

const Expr* substitute(ExprPool& pool, const Expr* e, const Replacements& replacements) {
  if (auto it = replacements.find(e); it != replacements.end()) return it->second;
  if (e->args.empty()) return e;
  ExprArgs args;
  bool changed = false;
  for (const Expr* a : e->args) {
    args.push_back(substitute(pool, a, replacements));
    changed |= args.back() != a;
  }
  if (!changed) return e;
  // A power inside a product is a repeated product.
  if (e->op == ExprOp::Pow) return pool.make(ExprOp::IntPow, args[0], args[1]);
  return pool.make(e->op, args);
}

std::vector<const Expr*> symbols_of(const Expr* e) {
  std::vector<const Expr*> found, todo{e};
  while (!todo.empty()) {
    const Expr* at = todo.back();
    todo.pop_back();
    if (at->is_symbol() && std::find(found.begin(), found.end(), at) == found.end())
      found.push_back(at);
    todo.insert(todo.end(), at->args.begin(), at->args.end());
  }
  std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->id < b->id; });
  return found;
}

}  // namespace taeda::symbolic
