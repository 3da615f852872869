// Group normalization: shape and dtype rules, and group_norm itself.
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/normalization/mixed_dtypes.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_groups(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const SymInt& channels, int64_t groups) {
  TAEDA_CHECK(groups > 0, "Expected num groups to be greater than 0, got ", groups);
  TAEDA_CHECK(channels % SymInt(groups) == SymInt(0),
              "Expected number of channels in input to be divisible by num_groups, but got input "
              "of shape ",
              input.sym_sizes(), " and num_groups=", groups);
  const auto check_vector = [&](const char* name, const Tensor& t) {
    TAEDA_CHECK(!t.defined() || (t.dim() == 1 && t.sym_numel() == channels), "Expected ", name,
                " to be a vector of size equal to the number of channels in input, but got ", name,
                " of shape ", t.defined() ? t.sym_sizes() : SymIntList(), " and input of shape ",
                input.sym_sizes());
  };
  check_vector("weight", weight);
  check_vector("bias", bias);
}

// Parameters have the input's dtype; beside a half type all of them may be floats.
bool is_mixed_group(const Tensor& input, std::initializer_list<const Tensor*> parameters) {
  const bool is_mixed = has_mixed_dtypes(input, parameters);
  TAEDA_CHECK_NOT_IMPLEMENTED(input.is_floating_point() && !is_float8(input.dtype()),
                              "\"GroupNormKernelImpl\" not implemented for '", input.dtype(), "'");
  return is_mixed;
}

void check_group_sizes(const Tensor& input, const SymInt& examples, const SymInt& channels,
                       const SymInt& inner) {
  TAEDA_CHECK(input.dim() >= 2 && input.sym_size(1) == channels &&
                  input.sym_numel() == examples * channels * inner,
              "[native_group_norm] sizes differ: got N, C and HxW of ", examples, ", ", channels,
              " and ", inner, ", expected those of an input of ", input.sym_sizes());
}

OutSpec group_norm_result(const Tensor& input) {
  OutSpec spec(input.sym_sizes(), input.dtype(), input.device());
  if (input.suggested_format() != MemoryFormat::Contiguous)
    spec.strides = strides_like(input, input.suggested_format());
  return spec;
}

}  // namespace

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps, bool) {
  const SymInt channels = input.sym_size(1);
  check_groups(input, weight, bias, channels, num_groups);
  SymInt inner = 1;
  for (int64_t d = 2; d < input.dim(); ++d) inner *= input.sym_size(d);
  const auto in_rows = [](const Tensor& t) { return t.defined() ? t.contiguous() : t; };
  return std::get<0>(taeda::native_group_norm(input.contiguous(input.suggested_format()),
                                              in_rows(weight), in_rows(bias), input.sym_size(0),
                                              channels, inner, num_groups, eps));
}

std::array<OutSpec, 3> native_group_norm_spec(const Tensor& input, const Tensor& weight,
                                              const Tensor& bias, SymInt N, SymInt C, SymInt HxW,
                                              int64_t group, double) {
  check_groups(input, weight, bias, C, group);
  check_group_sizes(input, N, C, HxW);
  const bool is_mixed = is_mixed_group(input, {&weight, &bias});
  const OutSpec statistics(SymIntList({N, SymInt(group)}), is_mixed ? DType::Float : input.dtype(),
                           input.device());
  return {group_norm_result(input), statistics, statistics};
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward_meta(
    const Tensor& grad_out, const Tensor& input, const Tensor& mean, const Tensor& rstd,
    const Tensor& weight, SymInt N, SymInt C, SymInt HxW, int64_t group, Span<bool> output_mask) {
  TAEDA_CHECK(input.dtype() == grad_out.dtype(), "Expected scalar types of X and dY are same.");
  check_groups(input, weight, Tensor(), C, group);
  check_group_sizes(input, N, C, HxW);
  const bool is_mixed = is_mixed_group(input, {&mean, &rstd});
  const SymInt groups = N * SymInt(group);
  TAEDA_CHECK(grad_out.sym_sizes() == input.sym_sizes() && mean.sym_numel() == groups &&
                  rstd.sym_numel() == groups && output_mask.size() == 3,
              "native_group_norm_backward: expected a gradient of ", input.sym_sizes(), " and ",
              groups, " means and deviations, got ", grad_out.sym_sizes(), ", ", mean.sym_sizes(),
              " and ", rstd.sym_sizes());
  const DType dtype = weight.defined() ? weight.dtype() : is_mixed ? DType::Float : input.dtype();
  const OutSpec parameter(SymIntList({C}), dtype, input.device());
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0]) grad_input = group_norm_result(input).allocate();
  if (output_mask[1]) grad_weight = parameter.allocate();
  if (output_mask[2]) grad_bias = parameter.allocate();
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace taeda::impl
