// Batch norm in the passes of its eager kernel: numbers per channel are doubles, elements are
// computed in their own type.
#include "taeda/ops/chunked_rows.h"
#include "taeda/ops/index_map.h"
#include "taeda/ops/normalization/channel_numbers.h"
#include "taeda/ops/normalization/lowerings.h"

namespace taeda::lowering {
namespace {

uint64_t all_but_channels(const Tensor& t) { return ((uint64_t{1} << t.dim()) - 1) & ~uint64_t{2}; }

// Planes of examples are reduced first, then the examples; see Note [Sums of planes].
bool has_planes(const Tensor& t) { return t.dim() > 2; }
uint64_t behind_two(const Tensor& t) { return ((uint64_t{1} << t.dim()) - 1) & ~uint64_t{3}; }

std::vector<Sym> parts_of(const Moments::State& s) { return {s.count, s.mean, s.squares}; }

// The moments of each channel.
std::function<Moments::State(Emitter&, const Place&)> channel_moments(const Tensor& input) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(input);
  if (!has_planes(input)) {
    const Moments whole(x, all_but_channels(input));
    return [whole](Emitter& e, const Place& at) { return whole.at(e, at); };
  }
  const Moments planes(x, behind_two(input));
  const Reduction& joined = l.reduce(
      "moments", {x.sizes[0], x.sizes[1]}, 1,
      [planes](Emitter& e, const Place& at) { return parts_of(planes.at(e, at)); },
      kernel::Part::Combining);
  return [&joined](Emitter& e, const Place& at) {
    return Moments::State{e.result(joined, 0, at), e.result(joined, 1, at),
                          e.result(joined, 2, at)};
  };
}

// The sum of a value of each element by channel.
const Reduction& channel_sum(const Tensor& input, Lowering::ValueFn value) {
  Lowering& l = Lowering::current();
  const Place sizes = l.sizes(input);
  const auto element = [value = std::move(value)](Emitter& e, const Place& at) {
    return std::vector<Sym>{value(e, at)};
  };
  if (!has_planes(input)) return l.reduce("sum", sizes, all_but_channels(input), element);
  const Reduction& planes = l.reduce("sum", sizes, behind_two(input), element);
  return l.reduce("sum", {sizes[0], sizes[1]}, 1, [&planes](Emitter& e, const Place& at) {
    return std::vector<Sym>{e.result(planes, 0, at)};
  });
}

// Elements per channel.
const Expr* count_of(symbolic::ExprPool& pool, const Place& sizes) {
  const Expr* n = pool.integer(1);
  for (size_t d = 0; d < sizes.size(); ++d)
    if (d != 1) n = pool.mul(n, sizes[d]);
  return n;
}

Sym reciprocal_deviation(Emitter& e, Sym var, double eps) {
  return e.constant(1, Type::F64) / sqrt(var + e.constant(eps, Type::F64));
}

// Means and reciprocal deviations that elements are normalized by, and variances, all doubles.
struct Statistics {
  const Definition *mean, *var, *rstd;
};

const Definition& per_channel(const Place& sizes, Lowering::ValueFn value) {
  return Lowering::current().define(DType::Double, {sizes[1]}, std::move(value));
}

Statistics statistics(const Tensor& input, const ChannelNumbers& running_mean,
                      const ChannelNumbers& running_var, bool training, double eps) {
  const Definition& x = Lowering::current().of(input);
  Statistics made;
  if (training) {
    const auto moments = channel_moments(input);
    made.mean = &per_channel(
        x.sizes, [moments](Emitter& e, const Place& at) { return moments(e, at).mean; });
    made.var = &per_channel(x.sizes, [moments](Emitter& e, const Place& at) {
      const Moments::State s = moments(e, at);
      return s.squares / s.count;
    });
  } else {
    made.mean = &per_channel(x.sizes, [running_mean](Emitter& e, const Place& at) {
      return running_mean.wide(e, at[0]);
    });
    made.var = &per_channel(
        x.sizes, [running_var](Emitter& e, const Place& at) { return running_var.wide(e, at[0]); });
  }
  made.rstd = &per_channel(x.sizes, [var = made.var, eps](Emitter& e, const Place& at) {
    return reciprocal_deviation(e, e.read(*var, at), eps);
  });
  return made;
}

// (1 - momentum) * running + momentum * value, where a variance is that of all from which the batch
// was drawn.
void define_moved(const Tensor& out, const ChannelNumbers& running, const Definition& value,
                  double momentum, const Expr* count) {
  Lowering::current().define(out, [running, &value, momentum, count](Emitter& e, const Place& at) {
    const auto number = [&](double n) { return e.constant(n, Type::F64); };
    Sym moved = e.read(value, at);
    if (count) {
      const Sym n = e.cast(e.index(count), Type::F64);
      moved = moved * (n / maximum(n - number(1), number(1)));
    }
    return number(1 - momentum) * running.wide(e, at[0]) + number(momentum) * moved;
  });
}

bool are_vectors(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* t : tensors)
    if (t->defined() && t->dim() != 1) return false;
  return true;
}

}  // namespace

void _native_batch_norm_legit_functional(const Tensor& input, const Tensor& weight,
                                         const Tensor& bias, const Tensor& running_mean,
                                         const Tensor& running_var, bool training, double momentum,
                                         double eps, const Tensor& out0, const Tensor& out1,
                                         const Tensor& out2, const Tensor& out3,
                                         const Tensor& out4) {
  if (!are_vectors({&weight, &bias, &running_mean, &running_var})) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(input);
  const ChannelNumbers factor(weight, 1), shift(bias, 0), old_mean(running_mean, 0),
      old_var(running_var, 1);
  const Statistics used = statistics(input, old_mean, old_var, training, eps);
  const Type type = kernel::compute_type(input.dtype());
  const auto scale_at = [used, factor](Emitter& e, const Place& at) {
    return factor.wide(e, at[0]) * e.read(*used.rstd, at);
  };
  const Definition& scale = l.define(DType::Double, {x.sizes[1]}, scale_at, true);
  l.define(out0, [&x, &scale, used, shift, type](Emitter& e, const Place& at) {
    const auto narrow = [&](Sym value) { return e.cast(value, type); };
    const Place c = {at[1]};
    return (e.read(x, at) - narrow(e.read(*used.mean, c))) * narrow(e.read(scale, c)) +
           narrow(shift.wide(e, at[1]));
  });
  if (!training) {
    for (const Tensor* out : {&out1, &out2}) filled(*out, 0);
    l.view(out3, running_mean, [](const Place& at) { return at; });
    l.view(out4, running_var, [](const Place& at) { return at; });
    return;
  }
  l.define(out1, [used](Emitter& e, const Place& at) { return e.read(*used.mean, at); });
  l.define(out2, [used](Emitter& e, const Place& at) { return e.read(*used.rstd, at); });
  define_moved(out3, old_mean, *used.mean, momentum, nullptr);
  define_moved(out4, old_var, *used.var, momentum, count_of(l.pool(), x.sizes));
}

void native_batch_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight,
                                const Tensor& running_mean, const Tensor& running_var,
                                const Tensor& save_mean, const Tensor& save_invstd, bool train,
                                double eps, Span<bool>, const Tensor& out0, const Tensor& out1,
                                const Tensor& out2) {
  if (!are_vectors({&weight, &running_mean, &running_var, &save_mean, &save_invstd})) return;
  Lowering& l = Lowering::current();
  const Definition &x = l.of(input), &grad = l.of(grad_out);
  const Type type = kernel::compute_type(input.dtype());
  const ChannelNumbers factor(weight, 1), center(train ? save_mean : running_mean, 0),
      saved(train ? save_invstd : running_var, 1);
  const Definition& rstd = per_channel(x.sizes, [saved, train, eps](Emitter& e, const Place& at) {
    const Sym value = saved.wide(e, at[0]);
    return train ? value : reciprocal_deviation(e, value, eps);
  });
  const auto element = [&grad, type](Emitter& e, const Place& at) {
    return e.cast(e.read(grad, at), type);
  };
  const auto deviation = [&x, center, type](Emitter& e, const Place& at) {
    return e.read(x, at) - e.cast(center.wide(e, at[1]), type);
  };
  const Reduction& sum = channel_sum(input, element);
  const Reduction& product = channel_sum(input, [element, deviation](Emitter& e, const Place& at) {
    return element(e, at) * deviation(e, at);
  });
  const auto total = [](Emitter& e, const Reduction& r, const Expr* c) {
    return e.cast(e.result(r, 0, {c}), Type::F64);
  };
  const Expr* count =
      l.pool().make(symbolic::ExprOp::Max, count_of(l.pool(), x.sizes), l.pool().integer(1));
  if (out0.defined())
    l.define(out0, [=, &sum, &product, &rstd](Emitter& e, const Place& at) {
      const Expr* c = at[1];
      const Sym n = e.cast(e.index(count), Type::F64), r = e.read(rstd, {c});
      const Sym zero = e.constant(0, Type::F64);
      const Sym mean = train ? total(e, sum, c) / n : zero;
      const Sym slope = train ? total(e, product, c) * r * r / n : zero;
      const auto narrow = [&](Sym value) { return e.cast(value, type); };
      return (element(e, at) - narrow(mean) - deviation(e, at) * narrow(slope)) *
             narrow(factor.wide(e, c) * r);
    });
  if (out1.defined())
    l.define(out1, [total, &product, &rstd](Emitter& e, const Place& at) {
      return total(e, product, at[0]) * e.read(rstd, at);
    });
  if (out2.defined())
    l.define(out2, [total, &sum](Emitter& e, const Place& at) { return total(e, sum, at[0]); });
}

}  // namespace taeda::lowering
