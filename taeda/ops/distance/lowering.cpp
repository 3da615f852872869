// Gradients of distances between rows, which add up row after row.
#include "taeda/ops/distance/lowerings.h"

#include <cmath>

#include "taeda/ops/index_map.h"

namespace taeda::lowering {
namespace {

// A norm of differences in a type of floats.
struct Norm {
  double p;
  Type type;

  Sym number(Emitter& e, double value) const { return e.constant(value, type); }
  // In the type of the elements, as eager kernels hold it.
  double rounded(double value) const {
    return type == Type::F32 ? static_cast<double>(static_cast<float>(value)) : value;
  }
  Sym sign(Emitter& e, Sym d) const {
    const Sym zero = number(e, 0);
    return where(d > zero, number(e, 1), where(d < zero, number(e, -1), zero));
  }

  // Of the norm by a difference.
  Sym slope(Emitter& e, Sym d, Sym norm) const {
    const Sym zero = number(e, 0), size = abs(d);
    if (p == 0) return zero;
    if (p == 1) return sign(e, d);
    if (p == 2) return where(norm == zero, zero, d / norm);
    if (std::isinf(p)) return where(size == norm, sign(e, d), zero);
    const Sym steep = pow(size / norm, number(e, rounded(rounded(p) - 1)));
    return where((norm == zero) | (d == zero), zero, copysign(steep, d));
  }
};

Norm norm_of(double p, const Tensor& t) {
  return {p, t.dtype() == DType::Double ? Type::F64 : Type::F32};
}

// Pairs of different rows, by the first one.
struct Pairs {
  const Expr* rows;
  const Expr* count;

  static Sym integer(Emitter& e, int64_t n) { return e.constant(n, Type::I64); }
  // The pairs of rows before row i.
  Sym before(Emitter& e, Sym i) const {
    return i * e.index(rows) - div_trunc(i * (i + integer(e, 1)), integer(e, 2));
  }
  Sym of(Emitter& e, Sym i, Sym j) const {
    const Sym a = minimum(i, j), b = maximum(i, j);
    return before(e, a) + b - a - integer(e, 1);
  }
};

// The place of updates that meet along dimensions which do not name it. Kernels keep the order of
// updates where an index is one that they read, as a part of this one is.
const Expr* meeting_place(Emitter& e, const Expr* at) {
  return e.pool().add(at, e.indirect(e.constant(0, Type::I64), e.pool().integer(1), false));
}

Lowering::ValueFn zeros(Type type) {
  return [type](Emitter& e, const Place&) { return e.constant(0, type); };
}

}  // namespace

void _pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& pdist,
                     const Tensor& out) {
  Lowering& l = Lowering::current();
  const Norm norm = norm_of(p, out);
  const Definition &g = l.of(grad), &x = l.of(self), &norms = l.of(pdist);
  const Pairs pairs{x.sizes[0], g.sizes[0]};
  const auto update = [=, &g, &x, &norms](Emitter& e, const Place& at) {
    const Expr *i = at[0], *j = at[1], *k = at[2];
    const Sym own = e.index(i), other = e.index(j), none = e.constant(0, Type::I64);
    const SymMask is_pair = own != other;
    const Expr* pair =
        e.indirect(where(is_pair, pairs.of(e, own, other), none), pairs.count, false);
    const Sym slope =
        norm.slope(e, e.read(x, {i, k}) - e.read(x, {j, k}), e.read_if(is_pair, norms, {pair}));
    const Sym share = e.read_if(is_pair, g, {pair}) * slope;
    return Scatter::Update{{meeting_place(e, i), k},
                           where(is_pair, share, e.constant(0, norm.type))};
  };
  l.scatter(out, zeros(norm.type), {{x.sizes[0], x.sizes[0], x.sizes[1]}, update});
}

void _cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                     const Tensor& cdist, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Norm norm = norm_of(p, out);
  const Definition &g = l.of(grad), &a = l.of(x1), &b = l.of(x2), &norms = l.of(cdist);
  const Place rows = l.sizes(out), pairs = g.sizes;
  const size_t last = pairs.size();
  Place others = pairs, updates = pairs;
  others[last - 2] = pairs[last - 1];
  others[last - 1] = rows[last - 1];
  updates.push_back(rows[last - 1]);
  const auto update = [=, &g, &a, &b, &norms](Emitter& e, const Place& at) {
    Place pair = at;
    pair.pop_back();
    Place own = pair, other = pair;
    own[last - 1] = at[last];
    other[last - 2] = at[last - 1];
    other[last - 1] = at[last];
    const Sym d = e.read(a, broadcast_place(e.pool(), rows, a.sizes, own)) -
                  e.read(b, broadcast_place(e.pool(), others, b.sizes, other));
    Place to = own;
    to[last - 2] = meeting_place(e, own[last - 2]);
    return Scatter::Update{to, e.read(g, pair) * norm.slope(e, d, e.read(norms, pair))};
  };
  l.scatter(out, zeros(norm.type), {updates, update});
}

}  // namespace taeda::lowering
