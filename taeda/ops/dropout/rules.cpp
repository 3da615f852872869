// Dropout: whole operators out of random masks and products.
#include "taeda/ops/dropout/declarations.h"

#include <cmath>

#include "taeda/dispatch/levels.h"
#include "taeda/ops/dropout/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::impl {

std::tuple<Tensor, Tensor> native_dropout_meta(const Tensor& input, double, std::optional<bool>) {
  return {taeda::empty_like(input), taeda::empty_like(input, DType::Bool)};
}
Tensor native_dropout_backward_meta(const Tensor& grad_output, const Tensor& mask, double) {
  if (mask.sym_sizes() != grad_output.sym_sizes()) mask.expand(grad_output.sym_sizes());
  if (!is_integral(grad_output.dtype(), true)) return taeda::empty_like(grad_output);
  return taeda::empty_like(grad_output, default_dtype());
}

namespace {

enum class Unit { Element, Channel };

bool is_identity(const Tensor& input, double p, bool train) {
  TAEDA_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  return p == 0 || !train || input.sym_numel() == SymInt(0);
}

// Ones with probability p. Under transforms the fill is a function of the shape: examples of a
// batch draw each for itself, though the shape is the same for all.
Tensor drawn(Tensor shape, double p) {
  return dispatch::num_levels() > 0 ? shape.bernoulli(p) : shape.bernoulli_(p);
}

// Ones with probability 1 - p, one per element or one per channel.
Tensor mask_for(const Tensor& input, double p, Unit unit) {
  if (unit == Unit::Element) return drawn(taeda::empty_like(input), 1 - p);
  TAEDA_CHECK(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
  SymIntVec sizes(static_cast<size_t>(input.dim()), SymInt(1));
  sizes[0] = input.sym_sizes()[0];
  sizes[1] = input.sym_sizes()[1];
  return drawn(input.new_empty(SymIntList(sizes)), 1 - p);
}

// The factor of an input and the number added to it.
struct Noise {
  Tensor scale, shift;
};
Noise noise_for(const Tensor& input, double p, Unit unit, bool keeps_moments) {
  // Nothing is left, whatever would be drawn: every dtype has a zero.
  if (p == 1) return {input.new_zeros(SymIntList()), Tensor()};
  Tensor mask = mask_for(input, p, unit);
  if (!keeps_moments) return {mask.div_(1 - p), Tensor()};
  // Dropped units take SELU's limit for minus infinity; a keeps the variance, the shift the mean.
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const Tensor shift = mask.sub(1).mul_(kAlpha * a).add_(kAlpha * a * p);
  return {mask.mul_(a), shift};
}

Tensor drop(const Tensor& input, double p, bool train, Unit unit, bool keeps_moments) {
  if (is_identity(input, p, train)) return input;
  const Noise noise = noise_for(input, p, unit, keeps_moments);
  const Tensor out = input.mul(noise.scale);
  return noise.shift.defined() ? out.add(noise.shift) : out;
}
Tensor& drop_(Tensor& self, double p, bool train, Unit unit, bool keeps_moments) {
  if (is_identity(self, p, train)) return self;
  const Noise noise = noise_for(self, p, unit, keeps_moments);
  self.mul_(noise.scale);
  return noise.shift.defined() ? self.add_(noise.shift) : self;
}

// The function of a batch, on an example that has no dimension for one.
Tensor drop_channels(const Tensor& input, double p, bool train, bool is_single) {
  if (!is_single) return taeda::feature_dropout(input, p, train);
  return taeda::feature_dropout(input.unsqueeze(0), p, train).squeeze(0);
}
Tensor& drop_channels_(Tensor& self, double p, bool train, bool is_single) {
  if (!is_single) return taeda::feature_dropout_(self, p, train);
  self.unsqueeze_(0);
  taeda::feature_dropout_(self, p, train);
  return self.squeeze_(0);
}

bool is_single_row(const Tensor& input) {
  TAEDA_CHECK(input.dim() == 2 || input.dim() == 3,
              "dropout1d: Expected 2D or 3D input, but received a ", input.dim(),
              "D input. Note that dropout1d exists to provide channel-wise dropout on inputs with "
              "1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D "
              "or 3D inputs).");
  return input.dim() == 2;
}
// As in PyTorch, only five dimensions have a batch.
bool is_single_volume(const Tensor& input) { return input.dim() != 5; }

}  // namespace

Tensor dropout(const Tensor& input, double p, bool train) {
  if (is_identity(input, p, train)) return input;
  // One pass over floats; the general form serves the rest, and draws nothing where all is dropped.
  if (input.is_floating_point() && p != 1)
    return std::get<0>(taeda::native_dropout(input, p, true));
  return drop(input, p, train, Unit::Element, false);
}
Tensor& dropout_(Tensor& self, double p, bool train) {
  return drop_(self, p, train, Unit::Element, false);
}
Tensor feature_dropout(const Tensor& input, double p, bool train) {
  return drop(input, p, train, Unit::Channel, false);
}
Tensor& feature_dropout_(Tensor& self, double p, bool train) {
  return drop_(self, p, train, Unit::Channel, false);
}
Tensor dropout1d(const Tensor& input, double p, bool train) {
  return drop_channels(input, p, train, is_single_row(input));
}
Tensor& dropout1d_(Tensor& self, double p, bool train) {
  return drop_channels_(self, p, train, is_single_row(self));
}
Tensor dropout3d(const Tensor& input, double p, bool train) {
  return drop_channels(input, p, train, is_single_volume(input));
}
Tensor& dropout3d_(Tensor& self, double p, bool train) {
  return drop_channels_(self, p, train, is_single_volume(self));
}
Tensor alpha_dropout(const Tensor& input, double p, bool train) {
  return drop(input, p, train, Unit::Element, true);
}
Tensor& alpha_dropout_(Tensor& self, double p, bool train) {
  return drop_(self, p, train, Unit::Element, true);
}
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) {
  return drop(input, p, train, Unit::Channel, true);
}
Tensor& feature_alpha_dropout_(Tensor& self, double p, bool train) {
  return drop_(self, p, train, Unit::Channel, true);
}

}  // namespace taeda::impl
