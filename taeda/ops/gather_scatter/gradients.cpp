// Derivative helpers of gather and scatter.
#include "taeda/ops/gather_scatter/gradients.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor gather_backward(const Tensor& grad, SymIntList sizes, int64_t dim, const Tensor& index) {
  return grad.new_zeros(sizes).scatter_add(dim, index, grad);
}

Tensor scatter_source_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                               SymIntList sizes) {
  const Tensor picked = grad.gather(dim, index);
  if (picked.sym_sizes() == sizes) return picked;
  Tensor out = picked.new_zeros(sizes);
  const Tensor corner = index.dim() == 0 ? picked.reshape(sizes) : picked;
  out.as_strided(corner.sym_sizes(), out.sym_strides()).copy_(corner);
  return out;
}

namespace {

// How many elements went into each place of a mean, one where none did.
Tensor mean_counts(const Tensor& grad, int64_t dim, const Tensor& index, const Tensor& src,
                   bool include_self) {
  const Tensor start = include_self ? taeda::ones_like(grad) : taeda::zeros_like(grad);
  const Tensor counts = start.scatter_add(dim, index, taeda::ones_like(src));
  return counts.masked_fill(counts.eq(Scalar(0)), Scalar(1));
}

// For amax and amin: which elements are the result, and the gradient divided among them.
struct Ties {
  Tensor self, src, share;
  Ties(const Tensor& grad, const Tensor& self_values, int64_t dim, const Tensor& index,
       const Tensor& src_values, const Tensor& result) {
    self = self_values.eq(result).to(grad.dtype());
    src = src_values.eq(result.gather(dim, index)).to(grad.dtype());
    const Tensor counts = self.scatter_add(dim, index, src);
    share = grad.div(counts.masked_fill(counts.eq(Scalar(0)), Scalar(1)));
  }
};

}  // namespace

Tensor scatter_reduce_self_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                    const Tensor& index, const Tensor& src, std::string_view reduce,
                                    bool include_self, const Tensor& result) {
  Tensor out;
  if (reduce == "sum") {
    out = grad;
  } else if (reduce == "prod") {
    const Tensor nonzero = self.masked_fill(self.eq(Scalar(0)), Scalar(1));
    out =
        grad.mul(nonzero.scatter_reduce(dim, index, src, reduce, include_self).div(nonzero).conj());
  } else if (reduce == "mean") {
    out = grad.div(mean_counts(grad, dim, index, src, include_self));
  } else {
    const Ties ties(grad, self, dim, index, src, result);
    out = ties.self.mul(ties.share);
  }
  return include_self ? out : taeda::scatter(out, dim, index, Scalar(0));
}

Tensor scatter_reduce_src_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                   const Tensor& index, const Tensor& src, std::string_view reduce,
                                   bool include_self, const Tensor& result) {
  if (reduce == "sum") return grad.gather(dim, index);
  if (reduce == "mean")
    return grad.div(mean_counts(grad, dim, index, src, include_self)).gather(dim, index);
  if (reduce != "prod") {
    const Ties ties(grad, self, dim, index, src, result);
    return ties.src.mul(ties.share.gather(dim, index));
  }
  // A place with a single zero among its sources has a gradient there alone: the product of the
  // others.
  const Tensor is_zero = src.eq(Scalar(0));
  const Tensor zeros =
      taeda::zeros_like(self).scatter_add(dim, index, is_zero.to(self.dtype())).gather(dim, index);
  const Tensor is_single = is_zero.logical_and(zeros.eq(Scalar(1)));
  const Tensor others =
      self.scatter_reduce(dim, index, src.masked_fill(is_single, Scalar(1)), reduce, include_self);
  const Tensor rest = result.gather(dim, index).div(src.masked_fill(is_zero, Scalar(1)));
  return grad.gather(dim, index)
      .mul(taeda::where(is_single, others.gather(dim, index), rest).conj());
}

Tensor scatter_reduce_forward(const Tensor& self, const Tensor& self_tangent, int64_t dim,
                              const Tensor& index, const Tensor& src, const Tensor& src_tangent,
                              std::string_view reduce, bool include_self, const Tensor& result) {
  // Each source reaches one place: the backward of ones gives its slope there.
  const Tensor ones = taeda::ones_like(result);
  const Tensor self_slope =
      scatter_reduce_self_backward(ones, self, dim, index, src, reduce, include_self, result);
  const Tensor src_slope =
      scatter_reduce_src_backward(ones, self, dim, index, src, reduce, include_self, result);
  return self_slope.conj()
      .mul(self_tangent)
      .scatter_add(dim, index, src_slope.conj().mul(src_tangent));
}

}  // namespace taeda::gradients
