// Softmax and layer norm in the passes of their eager kernels, so that both give the same bits.
#include "taeda/ops/normalization/lowerings.h"

#include "taeda/kernel/reduce_bodies.h"
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

  LayerRows(const Tensor& input, SymIntList normalized)
      : ndim(static_cast<size_t>(input.dim())),
        count(normalized.size()),
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

}  // namespace taeda::lowering
