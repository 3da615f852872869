// Broadcast and reshaped places.
#include "taeda/ops/index_map.h"

#include <algorithm>

namespace taeda {

using kernel::Place;
using symbolic::Expr;

Place broadcast_place(symbolic::ExprPool& pool, const Place& from, const Place& to,
                      const Place& at) {
  Place place;
  const size_t skipped = from.size() - to.size();
  // Sizes that are equal may be different expressions, which a guard holds together; another one
  // made a size 1. The sizes of the trace tell which it was.
  const auto is_one = [](const Expr* size) {
    return size->is_constant(1) || (size->has_hint && size->value.integer == 1);
  };
  for (size_t d = 0; d < to.size(); ++d)
    place.push_back(to[d] != from[skipped + d] && is_one(to[d]) ? pool.integer(0)
                                                                : at[skipped + d]);
  return place;
}

Place reshaped_place(symbolic::ExprPool& pool, const Place& from, const Place& to,
                     const Place& at) {
  Place place(to.size(), pool.integer(0));
  const auto is_zero = [](const Expr* size) { return size->is_constant(0); };
  if (std::any_of(from.begin(), from.end(), is_zero)) return place;  // there is no place
  size_t i = 0, j = 0;
  const auto skip_ones = [](const Place& sizes, size_t& d) {
    while (d < sizes.size() && sizes[d]->is_constant(1)) ++d;
  };
  for (skip_ones(from, i), skip_ones(to, j); i < from.size() && j < to.size();
       skip_ones(from, i), skip_ones(to, j)) {
    // The least number of dimensions on both sides with as many elements.
    const size_t first_from = i, first_to = j;
    const Expr *left = from[i++], *right = to[j++];
    while (left != right) {
      const bool can_left = i < from.size(), can_right = j < to.size();
      // Of two products the one that is known to be less grows; where neither is, both do in turn.
      const bool is_left_less =
          left->is_constant() && right->is_constant()
              ? left->value.integer < right->value.integer
              : left->size < right->size || (left->size == right->size && left->is_constant());
      if (can_left && (is_left_less || !can_right))
        left = pool.mul(left, from[i++]);
      else if (can_right)
        right = pool.mul(right, to[j++]);
      else
        break;
    }
    const Expr* position = pool.integer(0);
    for (size_t d = first_from; d < i; ++d) position = pool.add(pool.mul(position, from[d]), at[d]);
    for (size_t d = j; d-- > first_to + 1;) {
      place[d] = pool.modulo(position, to[d]);
      position = pool.floor_div(position, to[d]);
    }
    place[first_to] = position;
  }
  return place;
}

namespace lowering {

DType dtype_of_sums(const Tensor& out) {
  return is_reduced_float(out.dtype()) ? DType::Float : out.dtype();
}

void add_up(const Tensor& out, Lowering::ValueFn value, kernel::Scatter updates) {
  Lowering& l = Lowering::current();
  const DType dtype = dtype_of_sums(out);
  if (dtype == out.dtype()) return l.scatter(out, std::move(value), std::move(updates));
  const Definition& sums = l.scatter(dtype, l.sizes(out), std::move(value), std::move(updates));
  l.define(out, [&sums](Emitter& e, const Place& at) { return e.read(sums, at); });
}

size_t vector_dim(int64_t dim, const Tensor& self) {
  return static_cast<size_t>(wrap_dim(dim, std::max<int64_t>(self.dim(), 1)));
}

Place vector_place(symbolic::ExprPool& pool, const Place& at, size_t ndim) {
  if (at.size() == ndim) return at;
  return ndim == 0 ? Place() : Place{pool.integer(0)};
}

NamedPlace::NamedPlace(Emitter& e, const Definition& x, const Place& at, size_t along, Sym index)
    : place(vector_place(e.pool(), at, x.sizes.size())) {
  const bool is_scalar = place.empty();
  const Expr* named = e.indirect(index, is_scalar ? e.pool().integer(1) : x.sizes[along], false);
  (is_scalar ? scalar : place[along]) = named;
}

Sym NamedPlace::checked(Emitter& e, Sym value) const {
  if (!scalar) return value;
  if (e.type_of(value) == Type::Mask) value = e.cast(value, Type::I64);
  return where(e.index(scalar) == e.constant(0, Type::I64), value, e.constant(0, e.type_of(value)));
}

void filled(const Tensor& out, const Scalar& value) {
  Lowering& l = Lowering::current();
  // The element as the result's dtype holds it.
  const Type type = out.dtype() == DType::Bool ? Type::I64 : kernel::compute_type(out.dtype());
  if (value.is_symbolic() && out.dtype() == DType::Bool) {
    l.define(out, [number = l.number(value), type](Emitter& e, const Place&) {
      const SymMask is_set = number(e, Type::F64) != e.constant(0.0, Type::F64);
      return where(is_set, e.constant(1, type), e.constant(0, type));
    });
  } else if (value.is_symbolic()) {
    l.define(out, [number = l.number(value), type](Emitter& e, const Place&) {
      return number(e, type);
    });
  } else if (out.dtype() == DType::Bool) {
    l.define(out, [is_set = value.to_bool(), type](Emitter& e, const Place&) {
      return e.constant(Scalar(static_cast<int64_t>(is_set)), type);
    });
  } else {
    l.define(out, [value, type](Emitter& e, const Place&) { return e.constant(value, type); });
  }
}

}  // namespace lowering

}  // namespace taeda
