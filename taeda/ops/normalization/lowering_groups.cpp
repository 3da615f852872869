// Group norm in the passes of its eager kernel.
#include "taeda/ops/chunked_rows.h"
#include "taeda/ops/normalization/channel_numbers.h"
#include "taeda/ops/normalization/lowerings.h"

namespace taeda::lowering {
namespace {

// Dimension 1 as (groups, channels of a group).
struct Groups {
  const Expr *groups, *per_group;

  Groups(symbolic::ExprPool& pool, const Place& sizes, int64_t count)
      : groups(pool.integer(count)), per_group(pool.floor_div(sizes[1], groups)) {}
  const Expr* group_of(symbolic::ExprPool& pool, const Expr* channel) const {
    return pool.floor_div(channel, per_group);
  }
  const Expr* channel(symbolic::ExprPool& pool, const Expr* group, const Expr* place) const {
    return pool.add(pool.mul(group, per_group), place);
  }
};

uint64_t behind_two(size_t ndim) { return ((uint64_t{1} << ndim) - 1) & ~uint64_t{3}; }

// The tensor as (examples, groups, channels of a group, the rest).
const Definition& in_groups(const Tensor& input, Groups g) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(input);
  Place sizes = {x.sizes[0], g.groups, g.per_group};
  for (size_t d = 2; d < x.sizes.size(); ++d) sizes.push_back(x.sizes[d]);
  return l.define(input.dtype(), sizes, [&x, g](Emitter& e, const Place& at) {
    Place place = {at[0], g.channel(e.pool(), at[1], at[2])};
    for (size_t d = 3; d < at.size(); ++d) place.push_back(at[d]);
    return e.read(x, place);
  });
}

bool fits(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const auto is_vector = [](const Tensor& t) { return !t.defined() || t.dim() == 1; };
  return input.dim() >= 2 && is_vector(weight) && is_vector(bias);
}

const Expr* elements_of_group(symbolic::ExprPool& pool, const Place& sizes, Groups g) {
  const Expr* n = g.per_group;
  for (size_t d = 2; d < sizes.size(); ++d) n = pool.mul(n, sizes[d]);
  return n;
}

}  // namespace

void native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, SymInt,
                       SymInt, SymInt, int64_t group, double eps, const Tensor& out0,
                       const Tensor& out1, const Tensor& out2) {
  if (!fits(input, weight, bias)) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(input);
  const Groups g(l.pool(), x.sizes, group);
  const Definition& grouped = in_groups(input, g);
  const Moments moments(grouped, behind_two(grouped.sizes.size()));
  const Place sizes = {x.sizes[0], g.groups};
  const Definition& mean = l.define(DType::Double, sizes, [moments](Emitter& e, const Place& at) {
    return moments.at(e, at).mean;
  });
  const Definition& rstd =
      l.define(DType::Double, sizes, [moments, eps](Emitter& e, const Place& at) {
        const Moments::State s = moments.at(e, at);
        return e.constant(1, Type::F64) / sqrt(s.squares / s.count + e.constant(eps, Type::F64));
      });
  const ChannelNumbers w(weight, 1), b(bias, 0);
  const Type type = kernel::compute_type(input.dtype());
  l.define(out0, [&x, &mean, &rstd, g, w, b, type](Emitter& e, const Place& at) {
    const Place row = {at[0], g.group_of(e.pool(), at[1])};
    const auto narrow = [&](Sym value) { return e.cast(value, type); };
    const Sym scale = e.read(rstd, row) * w.wide(e, at[1]);
    return (e.read(x, at) - narrow(e.read(mean, row))) * narrow(scale) + narrow(b.wide(e, at[1]));
  });
  l.define(out1, [&mean](Emitter& e, const Place& at) { return e.read(mean, at); });
  l.define(out2, [&rstd](Emitter& e, const Place& at) { return e.read(rstd, at); });
}

void native_group_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                const Tensor& rstd, const Tensor& weight, SymInt, SymInt, SymInt,
                                int64_t group, Span<bool>, const Tensor& out0, const Tensor& out1,
                                const Tensor& out2) {
  if (!fits(input, weight, Tensor()) || mean.dim() != 2 || rstd.dim() != 2) return;
  Lowering& l = Lowering::current();
  const Definition &x = l.of(input), &grad = l.of(grad_out), &means = l.of(mean),
                   &rstds = l.of(rstd);
  const Groups g(l.pool(), x.sizes, group);
  const Type type = kernel::compute_type(input.dtype());
  const ChannelNumbers w(weight, 1);
  const auto wide = [](Emitter& e, Sym value) { return e.cast(value, Type::F64); };
  const auto element = [&grad, type](Emitter& e, const Place& at) {
    return e.cast(e.read(grad, at), type);
  };
  const auto deviation = [&x, &means, g, type, wide](Emitter& e, const Place& at) {
    const Place row = {at[0], g.group_of(e.pool(), at[1])};
    return e.read(x, at) - e.cast(wide(e, e.read(means, row)), type);
  };
  const uint64_t rest = behind_two(x.sizes.size());
  const Reduction& sum = l.reduce("sum", x.sizes, rest, [element](Emitter& e, const Place& at) {
    return std::vector<Sym>{element(e, at)};
  });
  const Reduction& product =
      l.reduce("sum", x.sizes, rest, [element, deviation](Emitter& e, const Place& at) {
        return std::vector<Sym>{element(e, at) * deviation(e, at)};
      });
  if (out0.defined()) {
    // Of a group's channels, times their weights.
    const auto of_group = [&](const Reduction& r) -> const Reduction& {
      return l.reduce("sum", {x.sizes[0], g.groups, g.per_group}, 4,
                      [&r, g, w, wide](Emitter& e, const Place& at) {
                        const Expr* c = g.channel(e.pool(), at[1], at[2]);
                        return std::vector<Sym>{wide(e, e.result(r, 0, {at[0], c})) * w.wide(e, c)};
                      });
    };
    const Reduction &a = of_group(sum), &b = of_group(product);
    const Expr* count = elements_of_group(l.pool(), x.sizes, g);
    l.define(out0, [=, &a, &b, &rstds](Emitter& e, const Place& at) {
      const Place row = {at[0], g.group_of(e.pool(), at[1])};
      const Sym r = wide(e, e.read(rstds, row)), n = e.cast(e.index(count), Type::F64);
      const Sym share = e.result(b, 0, row) * r * r * r / n;
      const Sym shift = -e.result(a, 0, row) * r / n;
      const auto narrow = [&](Sym value) { return e.cast(value, type); };
      return element(e, at) * narrow(w.wide(e, at[1]) * r) + deviation(e, at) * narrow(-share) +
             narrow(shift);
    });
  }
  // Over the examples.
  const auto by_channel = [&](const Tensor& out, const Reduction& r, bool is_scaled) {
    if (!out.defined()) return;
    const Reduction& total =
        l.reduce("sum", {x.sizes[0], x.sizes[1]}, 1,
                 [&r, &rstds, g, wide, is_scaled](Emitter& e, const Place& at) {
                   const Sym value = wide(e, e.result(r, 0, at));
                   if (!is_scaled) return std::vector<Sym>{value};
                   return std::vector<Sym>{
                       value * wide(e, e.read(rstds, {at[0], g.group_of(e.pool(), at[1])}))};
                 });
    l.define(out, [&total](Emitter& e, const Place& at) { return e.result(total, 0, at); });
  };
  by_channel(out1, product, true);
  by_channel(out2, sum, false);
}

}  // namespace taeda::lowering
