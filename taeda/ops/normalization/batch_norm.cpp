// Batch normalization: shape and dtype rules, and the operators made of others.
#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/normalization/statistics.h"
#include "taeda/ops/shape.h"

namespace taeda::normalization {

void write_statistic(const Tensor& running, const Tensor& moved) {
  if (dispatch::num_levels() == 0) {
    const BelowADInplaceOrView untracked;
    Tensor(running).copy_(moved);
    return;
  }
  const dispatch::Level& level = dispatch::top_level();
  const dispatch::LevelWrapper* const target = dispatch::wrapper_at(running, level.id);
  const dispatch::LevelWrapper* const source = dispatch::wrapper_at(moved, level.id);
  const bool is_differentiating =
      level.kind == dispatch::LevelKind::Grad || level.kind == dispatch::LevelKind::Jvp;
  TAEDA_CHECK(level.kind != dispatch::LevelKind::Vmap || target || !source,
              "Batch norm got a batched tensor as input while the running_mean or running_var, "
              "which will be updated in place, were not batched.\nIf you are using a module and do "
              "not need eval mode, please set `track_running_stats` to be False; "
              "func.replace_all_batch_norm_modules_ does so for all of a model");
  if (!is_differentiating && (target || source)) {
    Tensor(running).copy_(moved);
    return;
  }
  const Tensor inner = target ? target->value : running, value = source ? source->value : moved;
  const dispatch::BelowLevel outside;
  write_statistic(inner, value);
}

}  // namespace taeda::normalization

namespace taeda::impl {
namespace {

using normalization::write_statistic;

void check_channels(const char* name, const Tensor& t, const SymInt& channels) {
  TAEDA_CHECK(!t.defined() || t.sym_numel() == channels, name, " should contain ", channels,
              " elements not ", t.defined() ? t.sym_numel() : SymInt(0));
}

void check_input(const Tensor& input) {
  TAEDA_CHECK_VALUE(input.dim() >= 2, "expected at least 2D input (got ", input.dim(), "D input)");
  TAEDA_CHECK_NOT_IMPLEMENTED(input.is_floating_point() && !is_float8(input.dtype()),
                              "\"batch_norm\" not implemented for '", input.dtype(), "'");
}

// Parameters and statistics have the input's dtype; beside a half type all of them may be floats.
void check_dtypes(const Tensor& input, std::initializer_list<const Tensor*> others) {
  bool is_mixed = false;
  for (const Tensor* t : others) {
    if (!t->defined()) continue;
    is_mixed = t->dtype() != input.dtype();
    break;
  }
  const DType expected = is_mixed ? DType::Float : input.dtype();
  for (const Tensor* t : others) {
    if (!t->defined()) continue;
    TAEDA_CHECK(!is_mixed || t->dtype() == expected,
                "mixed dtype (CPU): expect parameter to have scalar type of Float");
    TAEDA_CHECK(t->dtype() == expected, "expected scalar type ", expected, " but found ",
                t->dtype());
  }
  TAEDA_CHECK(!is_mixed || is_reduced_float(input.dtype()),
              "mixed dtype (CPU): all inputs must share same datatype.");
}

// That of memory without gaps, whatever the strides of dimensions of size one are.
MemoryFormat format_of(const Tensor& input) {
  if (input.is_contiguous()) return MemoryFormat::Contiguous;
  for (const MemoryFormat format : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
    if (input.is_contiguous(format)) return format;
  return input.suggested_format();
}

// Channels may lie innermost; other orders become rows.
OutSpec like_input(const Tensor& input) {
  OutSpec spec(input.sym_sizes(), input.dtype(), input.device());
  const MemoryFormat format = format_of(input);
  if (format != MemoryFormat::Contiguous) spec.strides = strides_like(input, format);
  return spec;
}

// Statistics that nothing reads, for a call without running ones.
Tensor unread(const Tensor& input, double value) {
  const DType dtype = is_reduced_float(input.dtype()) ? DType::Float : input.dtype();
  return taeda::full({input.sym_size(1)}, Scalar(value), dtype, {}, input.device());
}

}  // namespace

std::array<OutSpec, 5> _native_batch_norm_legit_functional_spec(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, bool training, double, double) {
  check_input(input);
  const SymInt channels = input.sym_size(1);
  check_channels("running_mean", running_mean, channels);
  check_channels("running_var", running_var, channels);
  check_channels("weight", weight, channels);
  check_channels("bias", bias, channels);
  const SymInt saved = training ? channels : SymInt(0);
  const OutSpec statistics(SymIntList({saved}), running_mean.dtype(), input.device());
  return {like_input(input), statistics, statistics,
          OutSpec(SymIntList({channels}), running_mean.dtype(), input.device()),
          OutSpec(SymIntList({channels}), running_var.dtype(), input.device())};
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const Tensor& weight,
                                                     const Tensor& bias, const Tensor& running_mean,
                                                     const Tensor& running_var, bool training,
                                                     double momentum, double eps) {
  check_input(input);
  TAEDA_CHECK(training || running_mean.defined(),
              "running_mean must be defined in evaluation mode");
  TAEDA_CHECK(training || running_var.defined(), "running_var must be defined in evaluation mode");
  TAEDA_CHECK_VALUE(running_mean.defined() == running_var.defined(),
                    "running_mean and running_var must either both be None or neither be None");
  check_dtypes(input, {&weight, &bias, &running_mean, &running_var});
  // In training a gradient keeps the statistics and does not read them, so the write below, which
  // counts no version, does no harm. One that a level sees counts: it must not be what is kept.
  const bool is_counted = training && dispatch::num_levels() > 0;
  const auto given = [&](const Tensor& running, double value) {
    return !running.defined() ? unread(input, value) : is_counted ? running.clone() : running;
  };
  auto [out, save_mean, save_invstd, mean, var] = taeda::_native_batch_norm_legit_functional(
      input, weight, bias, given(running_mean, 0), given(running_var, 1), training, momentum, eps);
  if (training && running_mean.defined()) write_statistic(running_mean, mean);
  if (training && running_var.defined()) write_statistic(running_var, var);
  return {out, save_mean, save_invstd};
}

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps, bool) {
  // Without elements there are no statistics, nor need there be channels.
  if (input.sym_numel() == SymInt(0)) {
    Tensor out = input.clone();
    if (weight.defined()) out = out.mul(weight.select(0, 0));
    return bias.defined() ? out.add(bias.select(0, 0)) : out;
  }
  return std::get<0>(taeda::native_batch_norm(input, weight, bias, running_mean, running_var,
                                              training, momentum, eps));
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm_backward_meta(
    const Tensor& grad_out, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
    const Tensor& running_var, const Tensor& save_mean, const Tensor& save_invstd, bool train,
    double, Span<bool> output_mask) {
  check_input(input);
  const Tensor& mean = train ? save_mean : running_mean;
  const Tensor& deviation = train ? save_invstd : running_var;
  const SymInt channels = input.sym_size(1);
  TAEDA_CHECK(grad_out.sym_sizes() == input.sym_sizes() && mean.defined() && deviation.defined() &&
                  mean.sym_numel() == channels && deviation.sym_numel() == channels,
              "native_batch_norm_backward: expected a gradient of ", input.sym_sizes(), " and ",
              channels, " means and deviations, got a gradient of ", grad_out.sym_sizes());
  TAEDA_CHECK(output_mask.size() == 3,
              "native_batch_norm_backward: expected three entries of output_mask, got ",
              output_mask.size());
  const OutSpec parameter(SymIntList({channels}), weight.defined() ? weight.dtype() : mean.dtype(),
                          input.device());
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0]) grad_input = like_input(input).allocate();
  if (output_mask[1]) grad_weight = parameter.allocate();
  if (output_mask[2]) grad_bias = parameter.allocate();
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace taeda::impl
