// Definitions written into each other.
#include "taeda/inductor/emit.h"

#include <algorithm>

#include "taeda/base/str.h"

namespace taeda::inductor {

using kernel::NodeId;
using kernel::Sym;

size_t InliningEmitter::Hash::operator()(const Key& key) const {
  size_t hash = static_cast<size_t>(key.id) * 31 + static_cast<size_t>(key.mask);
  for (const Expr* e : key.place) hash = hash * 1000003 + reinterpret_cast<size_t>(e);
  return hash;
}

Sym InliningEmitter::read(const Definition& definition, const Place& place) {
  // What is known everywhere is known under a mask too.
  for (const NodeId mask : {mask_, NodeId{-1}}) {
    const auto found = known_.find({definition.id, mask, place});
    if (found != known_.end()) return Sym::from_id(found->second);
  }
  const std::optional<Sym> value = stored(definition, place);
  if (!value) {
    begin_inline();
    const Sym computed = compute(definition, place);
    end_inline(definition, place);
    return computed;
  }
  known_[{definition.id, mask_, place}] = value->id;
  return *value;
}

Sym InliningEmitter::read_if(kernel::SymMask mask, const Definition& definition,
                             const Place& place) {
  const NodeId outer = mask_;
  mask_ = outer < 0 ? mask.id : graph().apply(kernel::Op::And, outer, mask.id);
  const Sym value = read(definition, place);
  mask_ = outer;
  const Sym zero = constant(Scalar(0), type_of(value));
  return Sym::from_id(graph().apply(kernel::Op::Where, mask.id, value.id, zero.id));
}

const Expr* InliningEmitter::indirect(Sym value, const Expr* extent, bool wraps) {
  Sym index = cast(value, kernel::Type::I64);
  // Of elements that nothing reads the index may be any number.
  if (mask_ >= 0) {
    const Sym zero = constant(Scalar(0), kernel::Type::I64);
    index = Sym::from_id(graph().apply(kernel::Op::Where, mask_, index.id, zero.id));
  }
  const Expr*& symbol = indirect_[{index.id, extent, wraps}];
  if (!symbol)
    symbol = graph().indirect(pool(), str("t", indirect_.size() - 1), index.id, extent, wraps);
  return symbol;
}

// The index of an array with one element, 1 for a zero: what finds indices out of range finds it.
// Elements that nothing reads are zeros and divide nothing.
Sym InliningEmitter::divisor(Sym value) {
  const kernel::Type type = type_of(value);
  const kernel::Node& node = graph().node(value.id);
  if (node.op == kernel::Op::Constant && node.bits[0] != 0) return value;
  NodeId is_bad = graph().apply(kernel::Op::Eq, value.id, constant(Scalar(0), type).id);
  if (mask_ >= 0) is_bad = graph().apply(kernel::Op::And, mask_, is_bad);
  const Expr* place =
      indirect(cast(Sym::from_id(is_bad), kernel::Type::I64), pool().integer(1), false);
  return Sym::from_id(graph().apply(kernel::Op::Add, value.id, index(place, type).id));
}

std::set<const Expr*> InliningEmitter::indirect_symbols(const Place& place) {
  std::set<const Expr*> found;
  if (indirect_.empty()) return found;
  for (const Expr* at : place)
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (graph().find_indirect(symbol)) found.insert(symbol);
  return found;
}

Sym InliningEmitter::compute(const Definition& definition, const Place& place) {
  const kernel::BuilderScope scope(graph(), kernel::compute_type(definition.dtype));
  // What has no elements is computed nowhere, and its sizes divide nothing.
  const bool is_empty = std::any_of(definition.sizes.begin(), definition.sizes.end(),
                                    [](const Expr* size) { return size->is_constant(0); });
  if (is_empty) return constant(Scalar(0), kernel::compute_type(definition.dtype));
  const Sym value = kernel::as_stored(graph(), definition.value(*this, place), definition.dtype);
  known_[{definition.id, mask_, place}] = value.id;
  return value;
}

}  // namespace taeda::inductor
