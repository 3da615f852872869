// Normalization by the root of the mean square: rules, and the form made of other operators.
#include <limits>

#include "taeda/base/log.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"
#include "taeda/ops/normalization/declarations.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/normalization/gradients.h"
#include "taeda/ops/normalization/root_mean_square.h"

namespace taeda::normalization {

double rms_epsilon(DType dtype, std::optional<double> eps) {
  const DType real = to_real(dtype);
  return eps                     ? *eps
         : real == DType::Double ? std::numeric_limits<double>::epsilon()
                                 : std::numeric_limits<float>::epsilon();
}

RootMeanSquare::RootMeanSquare(const Tensor& input, size_t ndim, std::optional<double> eps)
    : dtype(is_reduced_float(input.dtype()) ? DType::Float : input.dtype()) {
  for (int64_t d = input.dim() - static_cast<int64_t>(ndim); d < input.dim(); ++d)
    dims.push_back(d);
  const Tensor x = input.to(dtype);
  rstd = mean(x.mul(x)).add(Scalar(rms_epsilon(input.dtype(), eps))).rsqrt();
  value = x.mul(rstd);
}

}  // namespace taeda::normalization

namespace taeda::impl {
namespace {

using normalization::RootMeanSquare;

void check_rms_norm(const Tensor& input, SymIntList normalized_shape, const Tensor& weight) {
  const int64_t ndim = static_cast<int64_t>(normalized_shape.size());
  TAEDA_CHECK(ndim >= 1,
              "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
              "one element, but got normalized_shape = ",
              normalized_shape);
  TAEDA_CHECK(!weight.defined() || weight.sym_sizes() == normalized_shape,
              "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
              weight.defined() ? weight.sym_sizes() : SymIntList(),
              " and normalized_shape = ", normalized_shape);
  TAEDA_CHECK_VALUE(input.dim() >= ndim, "Input tensor must have at least ", ndim,
                    " dimensions, but got ", input.dim());
  bool is_suffix = true;
  std::string expected;
  for (int64_t i = 0; i < ndim; ++i) {
    is_suffix &= input.sym_size(input.dim() - ndim + i) == normalized_shape[i];
    expected += str(i ? ", " : "", normalized_shape[i]);
  }
  TAEDA_CHECK(is_suffix, "Given normalized_shape=", normalized_shape,
              ", expected input with shape [*", expected, "], but got input of size",
              input.sym_sizes());
  TAEDA_CHECK_NOT_IMPLEMENTED(
      (input.is_floating_point() && !is_float8(input.dtype())) || input.is_complex(),
      "\"rms_norm\" not implemented for '", input.dtype(), "'");
}

}  // namespace

Tensor rms_norm(const Tensor& input, SymIntList normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  check_rms_norm(input, normalized_shape, weight);
  const MemoryFormat format = input.suggested_format();
  if (format == MemoryFormat::Contiguous && !input.is_complex() &&
      (!weight.defined() || weight.dtype() == input.dtype()))
    return std::get<0>(taeda::_fused_rms_norm(input, normalized_shape, weight, eps));
  const RootMeanSquare x(input, normalized_shape.size(), eps);
  const Tensor out = weight.defined() ? x.value.mul(weight) : x.value;
  return (format == MemoryFormat::Contiguous ? out.contiguous() : out).to(input.dtype());
}

std::array<OutSpec, 2> _fused_rms_norm_spec(const Tensor& input, SymIntList normalized_shape,
                                            const Tensor& weight, std::optional<double>) {
  check_rms_norm(input, normalized_shape, weight);
  TAEDA_CHECK_NOT_IMPLEMENTED(!input.is_complex(), "\"_fused_rms_norm\" not implemented for '",
                              input.dtype(), "'");
  SymIntVec kept(input.sym_sizes());
  for (size_t i = kept.size() - normalized_shape.size(); i < kept.size(); ++i) kept[i] = 1;
  const DType wide = is_reduced_float(input.dtype()) ? DType::Float : input.dtype();
  return {OutSpec(input.sym_sizes(), input.dtype(), input.device()),
          OutSpec(SymIntList(kept), wide, input.device())};
}

std::tuple<Tensor, Tensor> _fused_rms_norm_backward_meta(const Tensor& grad_out,
                                                         const Tensor& input,
                                                         SymIntList normalized_shape,
                                                         const Tensor& rstd, const Tensor& weight,
                                                         Span<bool> output_mask) {
  check_rms_norm(input, normalized_shape, weight);
  SymInt rows = 1;
  for (int64_t d = 0; d < input.dim() - static_cast<int64_t>(normalized_shape.size()); ++d)
    rows *= input.sym_size(d);
  TAEDA_CHECK_NOT_IMPLEMENTED(!input.is_complex(),
                              "\"_fused_rms_norm_backward\" not implemented for '", input.dtype(),
                              "'");
  TAEDA_CHECK(grad_out.sym_sizes() == input.sym_sizes() && rstd.sym_numel() == rows &&
                  output_mask.size() == 2,
              "_fused_rms_norm_backward: expected a gradient of ", input.sym_sizes(), " and ", rows,
              " reciprocal roots, got ", grad_out.sym_sizes(), " and ", rstd.sym_sizes());
  Tensor grad_input, grad_weight;
  if (output_mask[0])
    grad_input = OutSpec(input.sym_sizes(), input.dtype(), input.device()).allocate();
  if (output_mask[1] && weight.defined())
    grad_weight = OutSpec(normalized_shape, weight.dtype(), input.device()).allocate();
  return {grad_input, grad_weight};
}

}  // namespace taeda::impl

namespace taeda::gradients {

std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& input,
                                             SymIntList normalized_shape, const Tensor& rstd,
                                             const Tensor& weight, std::optional<double> eps,
                                             Span<bool> wanted, bool is_recorded) {
  if (!grad.defined()) return {};
  if (!is_recorded)
    return taeda::_fused_rms_norm_backward(grad, input, normalized_shape, rstd, weight, wanted);
  const normalization::RootMeanSquare x(input, normalized_shape.size(), eps);
  const Tensor g = grad.to(x.dtype);
  const Tensor h = weight.defined() ? g.mul(weight) : g;
  Tensor grad_input, grad_weight;
  if (wanted[0])
    grad_input =
        cast_gradient(h.sub(x.value.mul(x.mean(h.mul(x.value)))).mul(x.rstd), input.dtype());
  if (wanted[1])
    grad_weight = cast_gradient(sum_to(g.mul(x.value), weight.sym_sizes()), weight.dtype());
  return {grad_input, grad_weight};
}

Tensor rms_norm_forward(const Tensor& input, const Tensor& input_tangent,
                        SymIntList normalized_shape, const Tensor& weight,
                        const Tensor& weight_tangent, std::optional<double> eps) {
  const normalization::RootMeanSquare x(input, normalized_shape.size(), eps);
  const Tensor t = input_tangent.to(x.dtype);
  Tensor out = t.sub(x.value.mul(x.mean(t.mul(x.value)))).mul(x.rstd);
  if (weight.defined()) out = out.mul(weight).add(x.value.mul(weight_tangent));
  return out.to(input.dtype());
}

}  // namespace taeda::gradients
