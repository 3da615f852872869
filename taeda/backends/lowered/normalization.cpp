// Softmax, layer norm, batch norm and their gradients as kernels over rows.
#include "taeda/backends/lowered/normalization_declarations.h"

#include <cmath>

#include "taeda/backends/lowered/rows.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::lowered {

namespace {

uint64_t bit_of(const Tensor& t, int64_t dim) { return dim_bitset({dim}, t.dim(), true); }

// Rows along `dim` of tensors of one shape.
Rows lines(std::string_view name, Span<const Tensor*> tensors, int64_t dim) {
  std::vector<IntVec> strides;
  for (const Tensor* t : tensors) strides.push_back(IntVec(t->strides()));
  Rows rows(name, tensors[0]->device(), tensors[0]->sizes(), bit_of(*tensors[0], dim),
            std::move(strides));
  rows.launch.compute_in(kernel::compute_type(tensors[0]->dtype()));
  return rows;
}

void softmax(bool is_log, const Tensor& self, int64_t dim, Tensor& out) {
  if (self.numel() == 0) return;
  const Tensor* const tensors[] = {&self, &out};
  Rows rows = lines(is_log ? "log_softmax" : "softmax", tensors, dim);
  const int x = rows.operand(self, 0), y = rows.operand(out, 1);
  rows.launch.run([&](KernelBuilder& k) {
    const Sym value = k.load(x);
    k.loop(rows.kept, [&] {
      const Sym largest = k.reduce("max", rows.reduced, {value})[0];
      const Sym sum = k.reduce("sum", rows.reduced, {exp(value - largest)})[0];
      const Sym result =
          is_log ? value - largest - log(sum) : exp(value - largest) * (Sym(1) / sum);
      k.loop(rows.reduced, [&] { k.store(y, result); });
    });
  });
}

void softmax_backward(bool is_log, const Tensor& grad, const Tensor& output, int64_t dim,
                      Tensor& out) {
  if (grad.numel() == 0) return;
  const Tensor* const tensors[] = {&grad, &output, &out};
  Rows rows = lines(is_log ? "log_softmax_backward" : "softmax_backward", tensors, dim);
  const int g = rows.operand(grad, 0), y = rows.operand(output, 1), to = rows.operand(out, 2);
  rows.launch.run([&](KernelBuilder& k) {
    const Sym grad_value = k.load(g), value = k.load(y);
    k.loop(rows.kept, [&] {
      const Sym sum = k.reduce("sum", rows.reduced, {is_log ? grad_value : grad_value * value})[0];
      const Sym result = is_log ? grad_value - exp(value) * sum : value * (grad_value - sum);
      k.loop(rows.reduced, [&] { k.store(to, result); });
    });
  });
}

// ---- layer norm ----
// The bits of the last `count` of `ndim` dimensions.
uint64_t trailing(int64_t ndim, size_t count) {
  return ((uint64_t{1} << count) - 1) << (ndim - static_cast<int64_t>(count));
}

// Strides of a tensor over some dimensions in all of them, 0 in the others.
IntVec spread_strides(const Tensor& t, int64_t ndim, uint64_t bits) {
  IntVec strides(static_cast<size_t>(ndim), 0);
  if (!t.defined()) return strides;
  size_t next = 0;
  for (int64_t d = 0; d < ndim; ++d)
    if (bits >> d & 1) strides[d] = t.strides()[next++];
  return strides;
}

// What layer norm and its gradients have in common: rows over the last dimensions, statistics over
// the first ones.
struct LayerShape {
  int64_t ndim;
  uint64_t row, outer;

  LayerShape(const Tensor& input, SymIntList normalized)
      : ndim(input.dim()),
        row(trailing(ndim, normalized.size())),
        outer(((uint64_t{1} << ndim) - 1) & ~row) {}
  IntVec statistic(const Tensor& t) const {
    // Statistics keep the normalized dimensions with one element each.
    IntVec strides(t.strides());
    for (int64_t d = 0; d < ndim; ++d)
      if (row >> d & 1) strides[d] = 0;
    return strides;
  }
};

// sum / count over the row.
Sym mean_of(KernelBuilder& k, const std::vector<int>& axes, Sym value, Sym count) {
  return k.reduce("sum", axes, {value})[0] / count;
}

void layer_norm_input_grad(const LayerShape& shape, const Tensor& grad, const Tensor& input,
                           const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                           const Tensor& out) {
  Rows rows("layer_norm_backward", input.device(), input.sizes(), shape.row,
            {IntVec(out.strides()), IntVec(grad.strides()), IntVec(input.strides()),
             shape.statistic(mean), shape.statistic(rstd),
             spread_strides(weight, shape.ndim, shape.row)});
  const Type type = kernel::compute_type(input.dtype());
  rows.launch.compute_in(type);
  const int length = rows.launch.number(Scalar(rows.length()), type);
  const int to = rows.operand(out, 0), g = rows.operand(grad, 1), x = rows.operand(input, 2),
            m = rows.operand(mean, 3), s = rows.operand(rstd, 4);
  rows.launch.fact(weight.defined());
  const int w = weight.defined() ? rows.operand(weight, 5) : -1;
  rows.launch.run([&](KernelBuilder& k) {
    const Sym scale = k.cast(k.load(s), type);
    const Sym normalized = (k.cast(k.load(x), type) - k.cast(k.load(m), type)) * scale;
    Sym h = k.cast(k.load(g), type);
    if (w >= 0) h = h * k.cast(k.load(w), type);
    k.loop(rows.kept, [&] {
      const Sym count = rows.launch.uniform(k, length);
      const Sym a = mean_of(k, rows.reduced, h, count);
      const Sym b = mean_of(k, rows.reduced, h * normalized, count);
      k.loop(rows.reduced, [&] { k.store(to, scale * (h - a - normalized * b)); });
    });
  });
}

// The sum over the first dimensions of grad, or of its product with the normalized input.
void layer_norm_affine_grad(const LayerShape& shape, const Tensor& grad, const Tensor& input,
                            const Tensor& mean, const Tensor& rstd, bool is_weight,
                            const Tensor& out) {
  Rows rows(is_weight ? "layer_norm_weight_grad" : "layer_norm_bias_grad", input.device(),
            input.sizes(), shape.outer,
            {spread_strides(out, shape.ndim, shape.row), IntVec(grad.strides()),
             IntVec(input.strides()), shape.statistic(mean), shape.statistic(rstd)});
  const Type type = kernel::compute_type(input.dtype());
  rows.launch.compute_in(type);
  const int to = rows.operand(out, 0), g = rows.operand(grad, 1);
  const int x = is_weight ? rows.operand(input, 2) : -1, m = is_weight ? rows.operand(mean, 3) : -1,
            s = is_weight ? rows.operand(rstd, 4) : -1;
  rows.launch.run([&](KernelBuilder& k) {
    Sym value = k.cast(k.load(g), type);
    if (is_weight)
      value =
          value * ((k.cast(k.load(x), type) - k.cast(k.load(m), type)) * k.cast(k.load(s), type));
    k.loop(rows.kept, [&] { k.store(to, k.reduce("sum", rows.reduced, {value})[0]); });
  });
}

// ---- batch norm ----
constexpr int64_t kChannel = 1;

IntVec channel_strides(const Tensor& t, int64_t ndim) {
  return spread_strides(t, ndim, uint64_t{1} << kChannel);
}
uint64_t all_but_channel(int64_t ndim) {
  return ((uint64_t{1} << ndim) - 1) & ~(uint64_t{1} << kChannel);
}

}  // namespace

void _softmax(const Tensor& self, int64_t dim, bool, Tensor& out) {
  softmax(false, self, dim, out);
}
void _log_softmax(const Tensor& self, int64_t dim, bool, Tensor& out) {
  softmax(true, self, dim, out);
}
void _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                            Tensor& out) {
  softmax_backward(false, grad_output, output, dim, out);
}
void _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType,
                                Tensor& out) {
  softmax_backward(true, grad_output, output, dim, out);
}

void native_layer_norm(const Tensor& input, SymIntList normalized_shape, const Tensor& weight,
                       const Tensor& bias, double eps, Tensor& out0, Tensor& out1, Tensor& out2) {
  if (out1.numel() == 0) return;
  const LayerShape shape(input, normalized_shape);
  Rows rows("layer_norm", input.device(), input.sizes(), shape.row,
            {IntVec(out0.strides()), IntVec(input.strides()), shape.statistic(out1),
             shape.statistic(out2), spread_strides(weight, shape.ndim, shape.row),
             spread_strides(bias, shape.ndim, shape.row)});
  const Type type = kernel::compute_type(input.dtype());
  rows.launch.compute_in(type);
  const int length = rows.launch.number(Scalar(rows.length()), type),
            epsilon = rows.launch.number(Scalar(eps), type);
  const int to = rows.operand(out0, 0), x = rows.operand(input, 1), mean = rows.operand(out1, 2),
            rstd = rows.operand(out2, 3);
  rows.launch.fact(weight.defined());
  rows.launch.fact(bias.defined());
  const int w = weight.defined() ? rows.operand(weight, 4) : -1;
  const int b = bias.defined() ? rows.operand(bias, 5) : -1;
  rows.launch.run([&](KernelBuilder& k) {
    const Sym value = k.load(x);
    k.loop(rows.kept, [&] {
      const Sym count = rows.launch.uniform(k, length);
      const Sym center = mean_of(k, rows.reduced, value, count);
      const Sym deviation = value - center;
      const Sym variance = mean_of(k, rows.reduced, deviation * deviation, count);
      const Sym scale = Sym(1) / sqrt(variance + rows.launch.uniform(k, epsilon));
      Sym result = deviation * scale;
      if (w >= 0) result = result * k.cast(k.load(w), type);
      if (b >= 0) result = result + k.cast(k.load(b), type);
      k.loop(rows.reduced, [&] { k.store(to, result); });
      k.store(mean, center);
      k.store(rstd, scale);
    });
  });
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(
    const Tensor& grad_out, const Tensor& input, SymIntList normalized_shape, const Tensor& mean,
    const Tensor& rstd, const Tensor& weight, const Tensor& bias, Span<bool> output_mask) {
  auto results = impl::native_layer_norm_backward_meta(grad_out, input, normalized_shape, mean,
                                                       rstd, weight, bias, output_mask);
  auto& [grad_input, grad_weight, grad_bias] = results;
  const LayerShape shape(input, normalized_shape);
  if (grad_input.defined() && grad_input.numel() > 0)
    layer_norm_input_grad(shape, grad_out, input, mean, rstd, weight, grad_input);
  if (grad_weight.defined() && grad_weight.numel() > 0)
    layer_norm_affine_grad(shape, grad_out, input, mean, rstd, true, grad_weight);
  if (grad_bias.defined() && grad_bias.numel() > 0)
    layer_norm_affine_grad(shape, grad_out, input, mean, rstd, false, grad_bias);
  return results;
}

void _native_batch_norm_legit_functional(const Tensor& input, const Tensor& weight,
                                         const Tensor& bias, const Tensor& running_mean,
                                         const Tensor& running_var, bool training, double momentum,
                                         double eps, Tensor& out0, Tensor& out1, Tensor& out2,
                                         Tensor& running_mean_out, Tensor& running_var_out) {
  const int64_t ndim = input.dim();
  if (input.numel() == 0 || input.size(kChannel) == 0) {
    if (running_mean.defined()) running_mean_out.copy_(running_mean);
    if (running_var.defined()) running_var_out.copy_(running_var);
    if (training) {
      const double nan = std::nan("");
      out1.fill_(Scalar(nan));
      out2.fill_(Scalar(nan));
    }
    return;
  }
  Rows rows(
      "batch_norm", input.device(), input.sizes(), all_but_channel(ndim),
      {IntVec(out0.strides()), IntVec(input.strides()), channel_strides(out1, ndim),
       channel_strides(out2, ndim), channel_strides(weight, ndim), channel_strides(bias, ndim),
       channel_strides(running_mean, ndim), channel_strides(running_var, ndim),
       channel_strides(running_mean_out, ndim), channel_strides(running_var_out, ndim)});
  const Type type = kernel::compute_type(input.dtype());
  Launch& launch = rows.launch;
  launch.compute_in(type);
  launch.fact(training);
  const double count = static_cast<double>(rows.length());
  const int length = launch.number(Scalar(count), type), epsilon = launch.number(Scalar(eps), type),
            toward = launch.number(Scalar(momentum), type),
            stay = launch.number(Scalar(1 - momentum), type),
            factor = launch.number(Scalar(count / std::max(count - 1, 1.0)), type);
  const int to = rows.operand(out0, 0), x = rows.operand(input, 1);
  const auto optional = [&](const Tensor& t, int place) {
    launch.fact(t.defined());
    return t.defined() ? rows.operand(t, place) : -1;
  };
  const int saved_mean = training ? rows.operand(out1, 2) : -1,
            saved_rstd = training ? rows.operand(out2, 3) : -1;
  const int w = optional(weight, 4), b = optional(bias, 5), old_mean = optional(running_mean, 6),
            old_var = optional(running_var, 7);
  const int new_mean = running_mean.defined() ? rows.operand(running_mean_out, 8) : -1,
            new_var = running_var.defined() ? rows.operand(running_var_out, 9) : -1;
  launch.run([&](KernelBuilder& k) {
    const Sym value = k.cast(k.load(x), type);
    const auto channel = [&](int operand, double otherwise) {
      return operand >= 0 ? k.cast(k.load(operand), type)
                          : Sym::from_id(k.graph().constant(otherwise, type));
    };
    k.loop(rows.kept, [&] {
      Sym mean = channel(old_mean, 0), variance = channel(old_var, 1);
      Sym moved_mean = mean, moved_var = variance;
      if (training) {
        const Sym n = launch.uniform(k, length), old = mean, old_variance = variance;
        mean = mean_of(k, rows.reduced, value, n);
        variance = mean_of(k, rows.reduced, (value - mean) * (value - mean), n);
        moved_mean = launch.uniform(k, stay) * old + launch.uniform(k, toward) * mean;
        moved_var = launch.uniform(k, stay) * old_variance +
                    launch.uniform(k, toward) * (variance * launch.uniform(k, factor));
      }
      const Sym rstd = Sym(1) / sqrt(variance + launch.uniform(k, epsilon));
      const Sym result = (value - mean) * (channel(w, 1) * rstd) + channel(b, 0);
      k.loop(rows.reduced, [&] { k.store(to, result); });
      if (new_mean >= 0) k.store(new_mean, moved_mean);
      if (new_var >= 0) k.store(new_var, moved_var);
      if (!training) return;
      k.store(saved_mean, mean);
      k.store(saved_rstd, rstd);
    });
  });
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm_backward(
    const Tensor& grad_out, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
    const Tensor& running_var, const Tensor& save_mean, const Tensor& save_invstd, bool train,
    double eps, Span<bool> output_mask) {
  auto results =
      impl::native_batch_norm_backward_meta(grad_out, input, weight, running_mean, running_var,
                                            save_mean, save_invstd, train, eps, output_mask);
  auto& [grad_input, grad_weight, grad_bias] = results;
  const int64_t ndim = input.dim();
  if (input.numel() == 0) {
    for (Tensor* t : {&grad_weight, &grad_bias})
      if (t->defined()) t->fill_(Scalar(0));
    return results;
  }
  const Tensor& means = train ? save_mean : running_mean;
  const Tensor& scales = train ? save_invstd : running_var;
  const auto full = [](const Tensor& t) { return t.defined() ? IntVec(t.strides()) : IntVec(); };
  std::vector<IntVec> strides{full(grad_input),
                              IntVec(grad_out.strides()),
                              IntVec(input.strides()),
                              channel_strides(means, ndim),
                              channel_strides(scales, ndim),
                              channel_strides(weight, ndim),
                              channel_strides(grad_weight, ndim),
                              channel_strides(grad_bias, ndim)};
  if (strides[0].empty()) strides[0] = IntVec(input.strides());
  Rows rows("batch_norm_backward", input.device(), input.sizes(), all_but_channel(ndim),
            std::move(strides));
  const Type type = kernel::compute_type(input.dtype());
  Launch& launch = rows.launch;
  launch.compute_in(type);
  launch.fact(train);
  const int length = launch.number(Scalar(rows.length()), type),
            epsilon = launch.number(Scalar(eps), type);
  const int g = rows.operand(grad_out, 1), x = rows.operand(input, 2);
  const auto optional = [&](const Tensor& t, int place) {
    launch.fact(t.defined());
    return t.defined() ? rows.operand(t, place) : -1;
  };
  const int m = optional(means, 3), s = optional(scales, 4), w = optional(weight, 5);
  const int to = optional(grad_input, 0), to_weight = optional(grad_weight, 6),
            to_bias = optional(grad_bias, 7);
  if (to < 0 && to_weight < 0 && to_bias < 0) return results;
  launch.run([&](KernelBuilder& k) {
    const auto channel = [&](int operand, double otherwise) {
      return operand >= 0 ? k.cast(k.load(operand), type)
                          : Sym::from_id(k.graph().constant(otherwise, type));
    };
    const Sym grad = k.cast(k.load(g), type);
    const Sym mean = channel(m, 0), given = channel(s, 1);
    const Sym rstd = train ? given : Sym(1) / sqrt(given + launch.uniform(k, epsilon));
    const Sym deviation = k.cast(k.load(x), type) - mean;
    k.loop(rows.kept, [&] {
      const Sym sum = k.reduce("sum", rows.reduced, {grad})[0];
      const Sym product = k.reduce("sum", rows.reduced, {grad * deviation})[0];
      const Sym n = launch.uniform(k, length);
      Sym result = grad;
      if (train) result = grad - sum / n - deviation * (product * rstd * rstd / n);
      if (to >= 0) k.loop(rows.reduced, [&] { k.store(to, result * (channel(w, 1) * rstd)); });
      if (to_weight >= 0) k.store(to_weight, product * rstd);
      if (to_bias >= 0) k.store(to_bias, sum);
    });
  });
  return results;
}

}  // namespace taeda::lowered
