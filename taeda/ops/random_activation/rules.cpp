// Activations with random slopes or draws, out of other operators.
#include "taeda/ops/random_activation/declarations.h"

#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/random_activation/functions.h"

namespace taeda::impl {
namespace {

void check_slopes(const Tensor& self, const Scalar& lower, const Scalar& upper) {
  TAEDA_CHECK(lower.to_double() <= upper.to_double(),
              "Lower bound should be less than or equal to the upper bound");
  TAEDA_CHECK_NOT_IMPLEMENTED(self.is_floating_point(),
                              "\"rrelu_with_noise_out_cpu\" not implemented for '", self.dtype(),
                              "'");
}

Scalar middle(const Scalar& lower, const Scalar& upper) {
  return Scalar((lower.to_double() + upper.to_double()) / 2);
}

}  // namespace

Tensor _rrelu_noise_meta(const Tensor& self, const Scalar& lower, const Scalar& upper,
                         const Generator&) {
  check_slopes(self, lower, upper);
  return taeda::empty_like(self);
}

Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
             const Generator& generator) {
  TAEDA_CHECK(lower.to_double() <= upper.to_double(),
              "Lower bound should be less than or equal to the upper bound");
  if (!training) return taeda::leaky_relu(self, middle(lower, upper));
  const Tensor x = self.contiguous();
  return x.mul(taeda::_rrelu_noise(x.detach(), lower, upper, generator));
}

Tensor& rrelu_(Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
               const Generator& generator) {
  TAEDA_CHECK(lower.to_double() <= upper.to_double(),
              "Lower bound should be less than or equal to the upper bound");
  if (!training) return taeda::leaky_relu_(self, middle(lower, upper));
  return self.mul_(taeda::_rrelu_noise(self.detach(), lower, upper, generator));
}

Tensor rrelu_with_noise(const Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
                        bool training, const Generator& generator) {
  TAEDA_CHECK(self.sym_sizes() == noise.sym_sizes(),
              "noise tensor shape must match self tensor "
              "shape. Got self.shape = ",
              self.sym_sizes(), " noise.shape = ", noise.sym_sizes());
  if (!training) return taeda::leaky_relu(self, middle(lower, upper));
  const Tensor x = self.contiguous();
  const Tensor drawn = taeda::_rrelu_noise(x.detach(), lower, upper, generator);
  noise.copy_(drawn);
  return x.mul(drawn);
}

Tensor& rrelu_with_noise_(Tensor& self, Tensor& noise, const Scalar& lower, const Scalar& upper,
                          bool training, const Generator& generator) {
  if (!training) return taeda::leaky_relu_(self, middle(lower, upper));
  const Tensor drawn = taeda::_rrelu_noise(self.detach(), lower, upper, generator);
  noise.copy_(drawn);
  return self.mul_(drawn);
}

Tensor rrelu_with_noise_backward(const Tensor& grad_output, const Tensor& self, const Tensor& noise,
                                 const Scalar& lower, const Scalar& upper, bool training,
                                 bool self_is_result) {
  const bool is_random = training && upper.to_double() - lower.to_double() > 1e-6;
  if (is_random) return noise.mul(grad_output);
  return taeda::leaky_relu_backward(grad_output, self, middle(lower, upper), self_is_result);
}

Tensor gumbel_softmax(const Tensor& self, double tau, bool hard, double, int64_t dim) {
  const Tensor like = taeda::empty_like(self, {}, {}, {}, {}, MemoryFormat::Contiguous);
  // Under transforms the fill is a function of the shape: examples draw each for itself.
  const Tensor drawn = dispatch::num_levels() > 0 ? taeda::exponential(like) : [&] {
    Tensor filled = like;
    return filled.exponential_();
  }();
  const Tensor soft = taeda::softmax(self.sub(drawn.log()).div(Scalar(tau)), dim);
  if (!hard) return soft;
  // One-hot forward, the relaxed draw's gradient backward.
  const Tensor index = soft.argmax(dim, /*keepdim=*/true);
  const Tensor one_hot = taeda::zeros_like(soft).scatter(dim, index, Scalar(1.0));
  return one_hot.sub(soft.detach()).add(soft);
}

}  // namespace taeda::impl
