// nll_loss and nll_loss2d on the CPU.
#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/backends/cpu/loss/targets.h"
#include "taeda/backends/cpu/loss_declarations.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/class_scores.h"

namespace taeda::cpu {

void check_targets(const Tensor& target, int64_t classes, int64_t ignored) {
  const IntVec strides[1] = {IntVec(target.strides())};
  const auto* data = static_cast<const int64_t*>(target.data());
  for_positions(target.sizes(), strides, 0, target.numel(), [&](int64_t, const int64_t* at) {
    const int64_t t = data[at[0]];
    if (t != ignored && (t < 0 || t >= classes)) refuse_target(t);
  });
}

namespace {

template <class F>
void visit_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float: return f(float{});
    case DType::Double: return f(double{});
    case DType::Half: return f(Half{});
    case DType::BFloat16: return f(BFloat16{});
    default:
      fail(ErrorKind::NotImplemented, "\"nll_loss_out_frame\" not implemented for '", dtype, "'");
  }
}

template <class T>
double weight_of(const Tensor& weight, int64_t k) {
  return weight.defined()
             ? static_cast<double>(static_cast<const T*>(weight.data())[k * weight.strides()[0]])
             : 1.0;
}

void forward(const Tensor& self, const Tensor& given_target, const Tensor& weight,
             int64_t reduction, int64_t ignored, Tensor& output, Tensor& total_weight) {
  const Tensor target = int64_index(given_target);
  const ClassScores scores(self, target);
  check_targets(target, scores.classes, ignored);
  const bool is_each = reduction == impl::kNone;
  // Where nothing is summed, only the one row of a vector of scores tells its weight.
  const bool has_total = !is_each || self.dim() == 1;
  const IntVec strides[3] = {IntVec(target.strides()), scores.strides,
                             target_strides(output, target)};
  visit_float(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto* classes = static_cast<const int64_t*>(target.data());
    const T* values = static_cast<const T*>(self.data());
    T* out = static_cast<T*>(output.data());
    const auto piece = [&](int64_t first, int64_t last, LossSum* each) {
      for_positions(target.sizes(), strides, first, last, [&](int64_t p, const int64_t* at) {
        const int64_t k = classes[at[0]];
        const double w = k == ignored ? 0 : weight_of<T>(weight, k);
        const double loss =
            k == ignored ? 0 : -w * static_cast<double>(values[at[1] + k * scores.step]);
        if (is_each) out[at[2]] = static_cast<T>(loss);
        each[p - first] = {loss, w};
      });
    };
    const LossSum sum = sum_positions(target.numel(), piece);
    *static_cast<T*>(total_weight.data()) = static_cast<T>(has_total ? sum.weight : 0.0);
    if (!is_each)
      *out = static_cast<T>(reduction == impl::kMean ? sum.loss / sum.weight : sum.loss);
  });
}

void backward(const Tensor& grad_output, const Tensor& self, const Tensor& given_target,
              const Tensor& weight, int64_t reduction, int64_t ignored, const Tensor& total_weight,
              Tensor& out) {
  const Tensor target = int64_index(given_target);
  const ClassScores scores(out, target);
  check_targets(target, scores.classes, ignored);
  check_nll_gradient(grad_output, target, reduction);
  out.fill_(Scalar(0));
  const IntVec strides[3] = {IntVec(target.strides()), scores.strides,
                             target_strides(grad_output, target)};
  visit_float(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto* classes = static_cast<const int64_t*>(target.data());
    const T* grads = static_cast<const T*>(grad_output.data());
    T* to = static_cast<T*>(out.data());
    const double divisor = reduction == impl::kMean
                               ? static_cast<double>(*static_cast<const T*>(total_weight.data()))
                               : 1.0;
    parallel_for(0, target.numel(), 16384, [&](int64_t first, int64_t last) {
      for_positions(target.sizes(), strides, first, last, [&](int64_t, const int64_t* at) {
        const int64_t k = classes[at[0]];
        if (k != ignored)
          to[at[1] + k * scores.step] = static_cast<T>(-weight_of<T>(weight, k) *
                                                       static_cast<double>(grads[at[2]]) / divisor);
      });
    });
  });
}

}  // namespace

void nll_loss_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                      int64_t reduction, SymInt ignore_index, Tensor& output,
                      Tensor& total_weight) {
  forward(self, target, weight, reduction, ignore_index.expect_int(), output, total_weight);
}
void nll_loss2d_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                        int64_t reduction, SymInt ignore_index, Tensor& output,
                        Tensor& total_weight) {
  forward(self, target, weight, reduction, ignore_index.expect_int(), output, total_weight);
}
void nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                       const Tensor& weight, int64_t reduction, SymInt ignore_index,
                       const Tensor& total_weight, Tensor& out) {
  backward(grad_output, self, target, weight, reduction, ignore_index.expect_int(), total_weight,
           out);
}
void nll_loss2d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                         const Tensor& weight, int64_t reduction, SymInt ignore_index,
                         const Tensor& total_weight, Tensor& out) {
  backward(grad_output, self, target, weight, reduction, ignore_index.expect_int(), total_weight,
           out);
}

}  // namespace taeda::cpu
