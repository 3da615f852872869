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
  const Sym index = cast(value, kernel::Type::I64);
  const Expr*& symbol = indirect_[{index.id, extent, wraps}];
  if (!symbol)
    symbol = graph().indirect(pool(), str("t", indirect_.size() - 1), index.id, extent, wraps);
  return symbol;
}

bool InliningEmitter::is_indirect(const Place& place) const {
  const auto is_read = [&](const auto& self, const Expr* e) -> bool {
    if (e->is_symbol())
      return std::any_of(indirect_.begin(), indirect_.end(),
                         [&](const auto& known) { return known.second == e; });
    return std::any_of(e->args.begin(), e->args.end(),
                       [&](const Expr* part) { return self(self, part); });
  };
  return !indirect_.empty() && std::any_of(place.begin(), place.end(),
                                           [&](const Expr* e) { return is_read(is_read, e); });
}

Sym InliningEmitter::compute(const Definition& definition, const Place& place) {
  const kernel::BuilderScope scope(graph(), kernel::compute_type(definition.dtype));
  const Sym value = kernel::as_stored(graph(), definition.value(*this, place), definition.dtype);
  known_[{definition.id, mask_, place}] = value.id;
  return value;
}

}  // namespace taeda::inductor
