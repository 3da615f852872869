// Softmax, layer and RMS norm in the passes of their eager kernels, so that both give the same
// bits.
#include "taeda/ops/normalization/lowerings.h"

#include "taeda/kernel/reduce_bodies.h"
#include "taeda/ops/normalization/root_mean_square.h"
#include "taeda/ops/shape.h"

namespace taeda::lowering {
namespace {

// Between the passes values have the type that they are computed in.
DType computed_dtype(const Tensor& t) {
  return t.dtype() == DType::Double ? DType::Double : DType::Float;
}

uint64_t bit_of(const Tensor& t, int64_t dim) { return dim_bitset({dim}, t.dim(), true); }

const Reduction& combined(const char* body, const Definition& x, uint64_t dims) {
  return Lowering::current().reduce(body, x.sizes, dims, [&x](Emitter& e, const Place& at) {
    return std::vector<Sym>{e.read(x, at)};
  });
}

// exp(x - largest) with the largest element of the row, whose result is `largest`.
const Definition& exponentials(const Definition& x, const Reduction& largest, DType dtype) {
  return Lowering::current().define(dtype, x.sizes, [&x, &largest](Emitter& e, const Place& at) {
    const Sym shift = e.result(largest, 0, largest.kept(at));
    return kernel::LogSumExpBody::term(e.read(x, at), shift);
  });
}

void softmax(bool is_log, const Tensor& self, int64_t dim, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  const uint64_t dims = bit_of(self, dim);
  const Reduction& largest = combined("max", x, dims);
  const Definition& e_x = exponentials(x, largest, computed_dtype(self));
  const Reduction& sum = combined("sum", e_x, dims);
  if (is_log)
    l.define(out, [&x, &largest, &sum](Emitter& e, const Place& at) {
      const Place row = sum.kept(at);
      return e.read(x, at) - e.result(largest, 0, row) - log(e.result(sum, 0, row));
    });
  else
    l.define(out, [&e_x, &sum](Emitter& e, const Place& at) {
      return e.read(e_x, at) * (Sym(1) / e.result(sum, 0, sum.kept(at)));
    });
}

void softmax_backward(bool is_log, const Tensor& grad_output, const Tensor& output, int64_t dim,
                      const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &grad = l.of(grad_output), &y = l.of(output);
  const Reduction& sum = l.reduce("sum", grad.sizes, bit_of(grad_output, dim),
                                  [&grad, &y, is_log](Emitter& e, const Place& at) {
                                    const Sym g = e.read(grad, at);
                                    return std::vector<Sym>{is_log ? g : g * e.read(y, at)};
                                  });
  l.define(out, [&grad, &y, &sum, is_log](Emitter& e, const Place& at) {
    const Sym total = e.result(sum, 0, sum.kept(at)), g = e.read(grad, at), v = e.read(y, at);
    return is_log ? g - exp(v) * total : v * (g - total);
  });
}

// Rows over the last dimensions; parameters lie along them, statistics along the others.
struct LayerRows {
  size_t ndim, count;  // of all dimensions, of those in a row
  Type type;

  LayerRows(const Tensor& input, SymIntList normalized) : LayerRows(input, normalized.size()) {}
  LayerRows(const Tensor& input, size_t num_normalized)
      : ndim(static_cast<size_t>(input.dim())),
        count(num_normalized),
        type(kernel::compute_type(input.dtype())) {}
  uint64_t dims() const { return ((uint64_t{1} << count) - 1) << (ndim - count); }
  uint64_t outer() const { return ((uint64_t{1} << ndim) - 1) & ~dims(); }
  Sym parameter(Emitter& e, const Definition* p, const Place& at) const {
    Place place;
    for (size_t d = ndim - count; d < ndim; ++d) place.push_back(at[d]);
    return e.cast(e.read(*p, place), type);
  }
  // Statistics keep the dimensions of a row, with one element each.
  Sym statistic(Emitter& e, const Definition& s, const Place& at) const {
    Place place = at;
    for (size_t d = ndim - count; d < ndim; ++d) place[d] = e.pool().integer(0);
    return e.cast(e.read(s, place), type);
  }
  Sym length(Emitter& e, const Place& sizes) const {
    const Expr* n = e.pool().integer(1);
    for (size_t d = ndim - count; d < ndim; ++d) n = e.pool().mul(n, sizes[d]);
    return e.cast(e.index(n), type);
  }
};

const Definition* optional(const Tensor& t) {
  return t.defined() ? &Lowering::current().of(t) : nullptr;
}

// Gradients of rows that were normalized, around their mean where there is one: with
// h = grad * weight, rstd * (h - mean(h) - normalized * mean(h * normalized)).
class NormGradients {
 public:
  NormGradients(const Tensor& grad, const Tensor& input, LayerRows rows, const Tensor* mean,
                const Tensor& rstd, const Tensor& weight)
      : rows_(rows),
        grad_(Lowering::current().of(grad)),
        x_(Lowering::current().of(input)),
        rstd_(Lowering::current().of(rstd)),
        mean_(mean ? optional(*mean) : nullptr),
        weight_(optional(weight)) {}

  // Any of them may be undefined.
  void define(const Tensor& input, const Tensor& weight, const Tensor& bias) const {
    if (input.defined()) define_input(input);
    if (weight.defined())
      define_sum(weight, [self = *this](Emitter& e, const Place& at) {
        return self.grad(e, at) * self.normalized(e, at);
      });
    if (bias.defined())
      define_sum(bias, [self = *this](Emitter& e, const Place& at) { return self.grad(e, at); });
  }

 private:
  using ElementFn = std::function<Sym(Emitter&, const Place&)>;

  Sym grad(Emitter& e, const Place& at) const { return e.cast(e.read(grad_, at), rows_.type); }
  Sym weighted(Emitter& e, const Place& at) const {
    return weight_ ? grad(e, at) * rows_.parameter(e, weight_, at) : grad(e, at);
  }
  Sym normalized(Emitter& e, const Place& at) const {
    Sym x = e.read(x_, at);
    if (mean_) x = x - rows_.statistic(e, *mean_, at);
    return x * rows_.statistic(e, rstd_, at);
  }
  const Reduction& sum(uint64_t dims, ElementFn element) const {
    return Lowering::current().reduce("sum", x_.sizes, dims,
                                      [element = std::move(element)](Emitter& e, const Place& at) {
                                        return std::vector<Sym>{element(e, at)};
                                      });
  }
  void define_input(const Tensor& out) const {
    const Reduction* const of_h =
        mean_ ? &sum(rows_.dims(),
                     [self = *this](Emitter& e, const Place& at) { return self.weighted(e, at); })
              : nullptr;
    const Reduction& of_hx = sum(rows_.dims(), [self = *this](Emitter& e, const Place& at) {
      return self.weighted(e, at) * self.normalized(e, at);
    });
    Lowering::current().define(out, [self = *this, of_h, &of_hx](Emitter& e, const Place& at) {
      const Sym n = self.rows_.length(e, self.x_.sizes);
      const auto mean = [&](const Reduction& r) { return e.result(r, 0, r.kept(at)) / n; };
      Sym h = self.weighted(e, at);
      if (of_h) h = h - mean(*of_h);
      return (h - self.normalized(e, at) * mean(of_hx)) * self.rows_.statistic(e, self.rstd_, at);
    });
  }
  // The sum over all rows.
  void define_sum(const Tensor& out, ElementFn element) const {
    const Reduction& total = sum(rows_.outer(), std::move(element));
    Lowering::current().define(
        out, [&total](Emitter& e, const Place& at) { return e.result(total, 0, at); });
  }

  LayerRows rows_;
  const Definition &grad_, &x_, &rstd_;
  const Definition *mean_, *weight_;
};

}  // namespace

void _softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  softmax(false, self, dim, out);
}
void _log_softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  softmax(true, self, dim, out);
}
void _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                            const Tensor& out) {
  softmax_backward(false, grad_output, output, dim, out);
}
void _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                                const Tensor& out) {
  softmax_backward(true, grad_output, output, dim, out);
}

void native_layer_norm(const Tensor& input, SymIntList normalized_shape, const Tensor& weight,
                       const Tensor& bias, double eps, const Tensor& out0, const Tensor& out1,
                       const Tensor& out2) {
  Lowering& l = Lowering::current();
  const LayerRows rows(input, normalized_shape);
  const Definition& x = l.of(input);
  const Definition *w = optional(weight), *b = optional(bias);
  const DType dtype = computed_dtype(input);
  const Reduction& sum = combined("sum", x, rows.dims());
  const Definition& mean =
      l.define(dtype, l.sizes(out1), [rows, &x, &sum](Emitter& e, const Place& at) {
        return e.result(sum, 0, sum.kept(at)) / rows.length(e, x.sizes);
      });
  const Reduction& squares =
      l.reduce("sum", x.sizes, rows.dims(), [rows, &x, &mean](Emitter& e, const Place& at) {
        const Sym distance = e.read(x, at) - rows.statistic(e, mean, at);
        return std::vector<Sym>{distance * distance};
      });
  const Definition& rstd =
      l.define(dtype, l.sizes(out2), [rows, &x, &squares, eps](Emitter& e, const Place& at) {
        const Sym variance = e.result(squares, 0, squares.kept(at)) / rows.length(e, x.sizes);
        return Sym(1) / sqrt(variance + Sym(eps));
      });
  l.define(out0, [rows, &x, &mean, &rstd, w, b](Emitter& e, const Place& at) {
    Sym y = (e.read(x, at) - rows.statistic(e, mean, at)) * rows.statistic(e, rstd, at);
    if (w) y = y * rows.parameter(e, w, at);
    if (b) y = y + rows.parameter(e, b, at);
    return y;
  });
  for (const auto& [out, of] : {std::pair(&out1, &mean), std::pair(&out2, &rstd)})
    l.define(*out, [of](Emitter& e, const Place& at) { return e.read(*of, at); });
}

void native_layer_norm_backward(const Tensor& grad_out, const Tensor& input,
                                SymIntList normalized_shape, const Tensor& mean, const Tensor& rstd,
                                const Tensor& weight, const Tensor&, Span<bool>, const Tensor& out0,
                                const Tensor& out1, const Tensor& out2) {
  NormGradients(grad_out, input, LayerRows(input, normalized_shape), &mean, rstd, weight)
      .define(out0, out1, out2);
}

void _fused_rms_norm(const Tensor& input, SymIntList normalized_shape, const Tensor& weight,
                     std::optional<double> eps, const Tensor& out0, const Tensor& out1) {
  Lowering& l = Lowering::current();
  const LayerRows rows(input, normalized_shape.size());
  const Definition& x = l.of(input);
  const Definition* w = optional(weight);
  const Reduction& squares =
      l.reduce("sum", x.sizes, rows.dims(), [&x](Emitter& e, const Place& at) {
        const Sym value = e.read(x, at);
        return std::vector<Sym>{value * value};
      });
  const double epsilon = normalization::rms_epsilon(input.dtype(), eps);
  const Definition& rstd =
      l.define(computed_dtype(input), l.sizes(out1),
               [rows, &x, &squares, epsilon](Emitter& e, const Place& at) {
                 const Sym mean = e.result(squares, 0, squares.kept(at)) / rows.length(e, x.sizes);
                 return Sym(1) / sqrt(mean + Sym(epsilon));
               });
  l.define(out0, [rows, &x, &rstd, w](Emitter& e, const Place& at) {
    const Sym y = e.read(x, at) * rows.statistic(e, rstd, at);
    return w ? y * rows.parameter(e, w, at) : y;
  });
  l.define(out1, [&rstd](Emitter& e, const Place& at) { return e.read(rstd, at); });
}

void _fused_rms_norm_backward(const Tensor& grad_out, const Tensor& input,
                              SymIntList normalized_shape, const Tensor& rstd, const Tensor& weight,
                              Span<bool>, const Tensor& out0, const Tensor& out1) {
  NormGradients(grad_out, input, LayerRows(input, normalized_shape.size()), nullptr, rstd, weight)
      .define(out0, out1, Tensor());
}

}  // namespace taeda::lowering
