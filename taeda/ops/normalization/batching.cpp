// Batching rules of layer, batch and group normalization and of rms_norm.
#include "taeda/ops/normalization/batching.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::batch {

std::tuple<Batched, Batched, Batched> native_layer_norm(const Batched& input,
                                                        SymIntList normalized_shape,
                                                        const Batched& weight, const Batched& bias,
                                                        double eps) {
  const Tensor x = input.front();
  if (!weight.is_batched() && !bias.is_batched()) {
    auto [out, mean, rstd] =
        taeda::native_layer_norm(x, normalized_shape, weight.value, bias.value, eps);
    return {Batched(out, 0), Batched(mean, 0), Batched(rstd, 0)};
  }
  auto [plain, mean, rstd] = taeda::native_layer_norm(x, normalized_shape, Tensor(), Tensor(), eps);
  Tensor out = plain;
  if (weight.defined()) out = out.mul(weight.front_aligned(input.rank()));
  if (bias.defined()) out = out.add(bias.front_aligned(input.rank()));
  const int64_t dim = input.is_batched() ? 0 : -1;
  return {Batched(out, 0), Batched(mean, dim), Batched(rstd, dim)};
}

// The channels of all examples side by side.
std::tuple<Batched, Batched, Batched, Batched, Batched> _native_batch_norm_legit_functional(
    const Batched& input, const Batched& weight, const Batched& bias, const Batched& running_mean,
    const Batched& running_var, bool training, double momentum, double eps) {
  if (!input.is_batched() && !running_mean.is_batched() && !running_var.is_batched()) {
    // Statistics of one input, whatever it is scaled by.
    const auto [plain, save_mean, save_invstd, mean, var] =
        taeda::_native_batch_norm_legit_functional(input.value, Tensor(), Tensor(),
                                                   running_mean.value, running_var.value, training,
                                                   momentum, eps);
    const auto along_channels = [&](const Batched& t) {
      SymIntVec sizes(static_cast<size_t>(input.rank()) + 1, SymInt(1));
      sizes[0] = batch_context().size;
      sizes[2] = input.value.sym_size(1);
      return t.front_expanded(batch_context().size).reshape(sizes);
    };
    Tensor out = plain.unsqueeze(0);
    if (weight.defined()) out = out.mul(along_channels(weight));
    if (bias.defined()) out = out.add(along_channels(bias));
    return {Batched(out.to(input.value.dtype()), 0), Batched(save_mean, -1),
            Batched(save_invstd, -1), Batched(mean, -1), Batched(var, -1)};
  }
  const SymInt& size = batch_context().size;
  const Tensor x = input.front_expanded(size).movedim(0, 1);
  const auto channels = [&](const Batched& t) {
    return t.defined() ? t.front_expanded(size).reshape({SymInt(-1)}) : Tensor();
  };
  const auto [out, save_mean, save_invstd, mean, var] = taeda::_native_batch_norm_legit_functional(
      x.flatten(1, 2), channels(weight), channels(bias), channels(running_mean),
      channels(running_var), training, momentum, eps);
  const auto examples = [&](const Tensor& t, const SymInt& n) {
    return Batched(t.reshape({size, n}), 0);
  };
  const SymInt count = x.sym_size(2), saved = training ? count : SymInt(0);
  return {Batched(out.reshape(x.sym_sizes()), 1), examples(save_mean, saved),
          examples(save_invstd, saved), examples(mean, count), examples(var, count)};
}

// The examples of all batches one after another.
std::tuple<Batched, Batched, Batched> native_group_norm(const Batched& input, const Batched& weight,
                                                        const Batched& bias, SymInt N, SymInt C,
                                                        SymInt HxW, int64_t group, double eps) {
  const SymInt& size = batch_context().size;
  const bool is_shared = !weight.is_batched() && !bias.is_batched();
  const Tensor x = input.front_expanded(size);
  const auto [plain, mean, rstd] =
      taeda::native_group_norm(x.flatten(0, 1), is_shared ? weight.value : Tensor(),
                               is_shared ? bias.value : Tensor(), size * N, C, HxW, group, eps);
  Tensor out = plain.reshape(x.sym_sizes());
  if (!is_shared) {
    const auto along_channels = [&](const Batched& t) {
      SymIntVec sizes(static_cast<size_t>(x.dim()), SymInt(1));
      sizes[0] = size;
      sizes[2] = C;
      return t.front_expanded(size).reshape(SymIntList(sizes));
    };
    if (weight.defined()) out = out.mul(along_channels(weight));
    if (bias.defined()) out = out.add(along_channels(bias));
    out = out.to(x.dtype());
  }
  const auto examples = [&](const Tensor& t) {
    return Batched(t.reshape({size, N, SymInt(group)}), 0);
  };
  return {Batched(out, 0), examples(mean), examples(rstd)};
}

std::tuple<Batched, Batched> _fused_rms_norm(const Batched& input, SymIntList normalized_shape,
                                             const Batched& weight, std::optional<double> eps) {
  const Tensor x = input.front();
  if (!weight.is_batched()) {
    const auto [out, rstd] = taeda::_fused_rms_norm(x, normalized_shape, weight.value, eps);
    return {Batched(out, 0), Batched(rstd, 0)};
  }
  const auto [plain, rstd] = taeda::_fused_rms_norm(x, normalized_shape, Tensor(), eps);
  const Tensor out = plain.mul(weight.front_aligned(input.rank()));
  return {Batched(out.to(x.dtype()), 0), Batched(rstd, input.is_batched() ? 0 : -1)};
}

}  // namespace taeda::batch
