// Activations made of others.
#include "taeda/ops/activation/declarations.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

// The numbers that make mean 0 and variance 1 a fixed point of layers with SELU.
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

Scalar celu_input_scale(const Scalar& alpha) {
  TAEDA_CHECK(alpha.to_double() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return Scalar(1 / alpha.to_double());
}

}  // namespace

Tensor relu6(const Tensor& self) { return taeda::hardtanh(self, Scalar(0), Scalar(6)); }
Tensor& relu6_(Tensor& self) { return taeda::hardtanh_(self, Scalar(0), Scalar(6)); }

Tensor celu(const Tensor& self, const Scalar& alpha) {
  return taeda::elu(self, alpha, Scalar(1.0), celu_input_scale(alpha));
}
Tensor& celu_(Tensor& self, const Scalar& alpha) {
  return taeda::elu_(self, alpha, Scalar(1.0), celu_input_scale(alpha));
}

Tensor selu(const Tensor& self) {
  return taeda::elu(self, Scalar(kSeluAlpha), Scalar(kSeluScale), Scalar(1));
}
Tensor& selu_(Tensor& self) {
  return taeda::elu_(self, Scalar(kSeluAlpha), Scalar(kSeluScale), Scalar(1));
}

Tensor softsign(const Tensor& self) { return self.div(self.abs().add(Scalar(1))); }

Tensor tanhshrink(const Tensor& self) { return self.sub(self.tanh()); }

Tensor glu(const Tensor& self, int64_t dim) {
  TAEDA_CHECK(self.dim() > 0, "glu does not support scalars because halving size must be even");
  const int64_t wrapped = wrap_dim(dim, self.dim());
  const SymInt size = self.sym_size(wrapped);
  TAEDA_CHECK(size % SymInt(2) == SymInt(0), "Halving dimension must be even, but dimension ",
              wrapped, " is size ", size);
  TAEDA_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"glu_cpu\" not implemented for '",
                              self.dtype(), "'");
  const SymInt half = size / SymInt(2);
  return self.narrow(wrapped, SymInt(0), half).mul(self.narrow(wrapped, half, half).sigmoid());
}

Tensor prelu(const Tensor& self, const Tensor& weight) {
  TAEDA_CHECK(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ",
              self.dtype(), " and ", weight.dtype());
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(self.dtype()), "\"prelu_cpu\" not implemented for '",
                              self.dtype(), "'");
  Tensor slope = weight;
  if (weight.sym_numel() != SymInt(1)) {
    TAEDA_CHECK(self.dim() > 0, "Not allow zero-dim input tensor.");
    const SymInt channels = self.dim() > 1 ? self.sym_size(1) : SymInt(1);
    TAEDA_CHECK(channels == weight.sym_numel(),
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = ",
                weight.sym_numel(), " and channel size = ", channels, ".");
  }
  TAEDA_CHECK(
      weight.dim() <= 1,
      "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  if (self.dim() > 1 || weight.dim() > self.dim()) {
    SymIntVec shape(static_cast<size_t>(self.dim()), SymInt(1));
    if (self.dim() > 1) shape[1] = weight.sym_numel();
    slope = weight.reshape(shape);
  }
  return taeda::where(self.gt(Scalar(0)), self, slope.mul(self));
}

}  // namespace taeda::impl
