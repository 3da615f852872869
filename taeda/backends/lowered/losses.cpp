// Losses over classes, and the mean of squared differences.
#include <cmath>
#include <limits>

#include "taeda/backends/lowered/indexed.h"
#include "taeda/backends/lowered/loss_declarations.h"
#include "taeda/backends/lowered/rows.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/loss/class_scores.h"
#include "taeda/ops/shape.h"

namespace taeda::lowered {

namespace {

using impl::kMean;
using impl::kNone;

uint64_t all_bits(const Tensor& t) { return dim_bitset({}, t.dim(), true); }

// The target of a position: its class as an index, and whether it counts.
struct Target {
  SymMask is_counted;
  const Expr* symbol;
};

Target target_at(KernelBuilder& k, int operand, Sym ignored, const Expr* classes) {
  const Sym value = k.cast(k.load(operand), Type::I64);
  const SymMask is_counted = value != ignored;
  const Sym zero = Sym::from_id(k.graph().constant_int(0, Type::I64));
  return {is_counted, k.indirect(where(is_counted, value, zero), classes, false)};
}

void check_float(DType dtype) {
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(dtype) && !is_float8(dtype),
                              "\"nll_loss_out_frame\" not implemented for '", dtype, "'");
}

// Refuses targets that are neither a class nor ignored; nothing is written before. Ignored ones are
// place 0 of the check and classes follow, so that there is a place where there is no class.
void check_targets(const Tensor& target, int64_t classes, int64_t ignored) {
  if (target.numel() == 0) return;
  const Tensor at = with_dim(target);
  Launch launch("check_targets", target.device());
  launch.compute_in(Type::I64);
  const std::vector<int> axes = launch.axes(at.sizes());
  const int t = launch.operand(at, at.strides()), none = launch.number(Scalar(ignored), Type::I64),
            extent = launch.param(classes + 1);
  launch.on_bad_index([](int, int64_t bad) { refuse_target(bad > 0 ? bad - 1 : bad); });
  launch.run([&](KernelBuilder& k) {
    const auto number = [&](int64_t n) {
      return Sym::from_id(k.graph().constant_int(n, Type::I64));
    };
    const Sym value = k.cast(k.load(t), Type::I64);
    const Sym place = where(value < number(0), value, value + number(1));
    const Sym checked = where(value != launch.uniform(k, none), place, number(0));
    const Expr* symbol = k.indirect(checked, launch.param(k, extent), false);
    k.loop(axes, [&] { k.check(symbol); });
  });
}

// Where there are no classes, all targets are ignored: every loss is zero, and so is their weight.
void fill_without_classes(int64_t reduction, Tensor& output, Tensor& weight) {
  weight.fill_(Scalar(0));
  output.fill_(Scalar(reduction == kMean ? std::nan("") : 0.0));
}

// What both kernels of nll_loss read beside their operands.
class ClassNumbers {
 public:
  ClassNumbers(Launch& launch, const ClassScores& scores, const Tensor& weight, int64_t ignored)
      : launch_(launch),
        none_(launch.number(Scalar(ignored), Type::I64)),
        classes_(launch.param(scores.classes)),
        step_(launch.param(scores.step)),
        weight_step_(launch.param(weight.defined() ? weight.strides()[0] : 0)) {}

  Target target(KernelBuilder& k, int operand) const {
    return target_at(k, operand, launch_.uniform(k, none_), launch_.param(k, classes_));
  }
  // Where the score and the weight of a target's class stand.
  Coordinates score(KernelBuilder& k, const Target& at) const { return place(k, at, step_); }
  Coordinates weight(KernelBuilder& k, const Target& at) const {
    return place(k, at, weight_step_);
  }

 private:
  Coordinates place(KernelBuilder& k, const Target& at, int step) const {
    return {{}, k.pool().mul(launch_.param(k, step), at.symbol)};
  }

  const Launch& launch_;
  int none_, classes_, step_, weight_step_;
};

void nll_forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignored, Tensor& output, Tensor& total_weight) {
  check_float(self.dtype());
  const ClassScores scores(self, target);
  check_targets(target, scores.classes, ignored);
  if (scores.classes == 0) return fill_without_classes(reduction, output, total_weight);
  const bool is_each = reduction == kNone;
  const Type type = kernel::compute_type(self.dtype());
  const IntVec zero(static_cast<size_t>(target.dim()), 0);
  Rows rows("nll_loss", self.device(), target.sizes(), is_each ? 0 : all_bits(target),
            {target_strides(output, target), IntVec(target.strides()), scores.strides, zero, zero});
  Launch& launch = rows.launch;
  launch.compute_in(type);
  launch.fact(reduction);
  launch.fact(weight.defined());
  launch.fact(self.dim());
  // Where nothing is summed, only the one row of a vector of scores tells its weight.
  const bool has_total = !is_each || self.dim() == 1;
  if (!has_total) total_weight.fill_(Scalar(0));
  if (is_each && target.numel() == 0) return;
  const int y = rows.operand(output, 0), t = rows.operand(target, 1), x = rows.operand(self, 2),
            total = has_total ? rows.operand(total_weight, 3) : -1,
            w = weight.defined() ? rows.operand(weight, 4) : -1;
  const ClassNumbers numbers(launch, scores, weight, ignored);
  launch.run([&](KernelBuilder& k) {
    const Target at = numbers.target(k, t);
    const Sym one = Sym::from_id(k.graph().constant(1, type)),
              nothing = Sym::from_id(k.graph().constant(0, type));
    const Sym scale =
        where(at.is_counted, w >= 0 ? k.load(w, numbers.weight(k, at)) : one, nothing);
    const Sym loss = where(at.is_counted, -(scale * k.load(x, numbers.score(k, at))), nothing);
    k.loop(rows.kept, [&] {
      if (is_each) {
        k.store(y, loss);
        if (has_total) k.store(total, scale);
        return;
      }
      const Sym sum = k.reduce("sum", rows.reduced, {loss})[0];
      const Sym weights = k.reduce("sum", rows.reduced, {scale})[0];
      k.store(total, weights);
      k.store(y, reduction == kMean ? sum / weights : sum);
    });
  });
}

void nll_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                  const Tensor& weight, int64_t reduction, int64_t ignored,
                  const Tensor& total_weight, Tensor& out) {
  check_float(self.dtype());
  const ClassScores scores(out, target);
  check_targets(target, scores.classes, ignored);
  check_nll_gradient(grad_output, target, reduction);
  out.fill_(Scalar(0));
  if (target.numel() == 0 || out.numel() == 0) return;
  const Type type = kernel::compute_type(self.dtype());
  Launch launch("nll_loss_backward", self.device());
  launch.compute_in(type);
  launch.fact(reduction);
  launch.fact(weight.defined());
  const std::vector<int> axes = launch.axes(target.sizes());
  const IntVec zero(axes.size(), 0);
  const int y = launch.operand(out, scores.strides), t = launch.operand(target, target.strides()),
            g = launch.operand(grad_output, target_strides(grad_output, target));
  const int w = weight.defined() ? launch.operand(weight, zero) : -1,
            total = reduction == kMean ? launch.operand(total_weight, zero) : -1;
  const ClassNumbers numbers(launch, scores, weight, ignored);
  launch.run([&](KernelBuilder& k) {
    const Target at = numbers.target(k, t);
    Sym value = -k.load(g);
    if (w >= 0) value = value * k.load(w, numbers.weight(k, at));
    if (total >= 0) value = value / k.load(total);
    k.loop(axes, [&] { k.store_if(at.is_counted, y, value, numbers.score(k, at)); });
  });
}

}  // namespace

void nll_loss_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                      int64_t reduction, SymInt ignore_index, Tensor& output,
                      Tensor& total_weight) {
  nll_forward(self, target, weight, reduction, ignore_index.expect_int(), output, total_weight);
}
void nll_loss2d_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                        int64_t reduction, SymInt ignore_index, Tensor& output,
                        Tensor& total_weight) {
  nll_forward(self, target, weight, reduction, ignore_index.expect_int(), output, total_weight);
}
void nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                       const Tensor& weight, int64_t reduction, SymInt ignore_index,
                       const Tensor& total_weight, Tensor& out) {
  nll_backward(grad_output, self, target, weight, reduction, ignore_index.expect_int(),
               total_weight, out);
}
void nll_loss2d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                         const Tensor& weight, int64_t reduction, SymInt ignore_index,
                         const Tensor& total_weight, Tensor& out) {
  nll_backward(grad_output, self, target, weight, reduction, ignore_index.expect_int(),
               total_weight, out);
}

// Rows are normalized first; what is summed over them is small.
void _fused_cross_entropy(const Tensor& self, const Tensor& target, int64_t reduction,
                          SymInt ignore_index, Tensor& output, Tensor& norms, Tensor& count) {
  const int64_t classes = self.sizes()[1], ignored = ignore_index.expect_int();
  check_targets(target, classes, ignored);
  if (classes == 0) {
    norms.fill_(Scalar(-std::numeric_limits<double>::infinity()));
    return fill_without_classes(reduction, output, count);
  }
  const Type type = kernel::compute_type(self.dtype());
  Tensor losses = reduction == kNone ? output : taeda::empty_like(self.select(1, SymInt(0)));
  Rows rows("cross_entropy", self.device(), self.sizes(), 0b10,
            {{losses.strides()[0], 0},
             IntVec(self.strides()),
             {target.strides()[0], 0},
             {norms.strides()[0], 0},
             {norms.strides()[0], 0},
             {self.strides()[0], 0}});
  Launch& launch = rows.launch;
  launch.compute_in(type);
  if (self.sizes()[0] > 0) {
    const int y = rows.operand(losses, 0), x = rows.operand(self, 1), t = rows.operand(target, 2),
              largests = rows.operand(norms.select(1, SymInt(0)), 3),
              log_sums = rows.operand(norms.select(1, SymInt(1)), 4), row = rows.operand(self, 5);
    const int none = launch.number(Scalar(ignored), Type::I64), extent = launch.param(classes),
              step = launch.param(self.strides()[1]);
    launch.run([&](KernelBuilder& k) {
      const Sym value = k.load(x);
      const Target at = target_at(k, t, launch.uniform(k, none), launch.param(k, extent));
      const Sym chosen = k.load(row, {{}, k.pool().mul(launch.param(k, step), at.symbol)});
      k.loop(rows.kept, [&] {
        const Sym largest = k.reduce("max", rows.reduced, {value})[0];
        const Sym sum = k.reduce("sum", rows.reduced, {exp(value - largest)})[0];
        const Sym log_sum = log(sum), nothing = Sym::from_id(k.graph().constant(0, type));
        k.store(y, where(at.is_counted, largest - chosen + log_sum, nothing));
        k.store(largests, largest);
        k.store(log_sums, log_sum);
      });
    });
  }
  const Tensor counted = target.ne(Scalar(ignored)).sum(DType::Int64);
  count.copy_(counted);
  if (reduction == kNone) return;
  const Tensor total = losses.sum();
  output.copy_(reduction == kMean ? total.div(count) : total);
}

void _fused_cross_entropy_backward(const Tensor& grad_output, const Tensor& self,
                                   const Tensor& target, int64_t reduction, SymInt ignore_index,
                                   const Tensor& norms, const Tensor& count, Tensor& out) {
  const int64_t classes = self.sizes()[1], ignored = ignore_index.expect_int();
  check_targets(target, classes, ignored);
  TAEDA_CHECK(norms.numel() == 2 * self.sizes()[0] && norms.is_contiguous() &&
                  norms.dtype() == self.dtype() && grad_output.dtype() == self.dtype() &&
                  count.dtype() == self.dtype(),
              "_fused_cross_entropy_backward: norms, count and gradients are not the operator's");
  if (out.numel() == 0) return;
  const Type type = kernel::compute_type(self.dtype());
  Launch launch("cross_entropy_backward", self.device());
  launch.compute_in(type);
  launch.fact(reduction);
  const int i = launch.axis(self.sizes()[0]), j = launch.axis(classes);
  const IntVec zero{0, 0};
  const int y = launch.operand(out, out.strides()), x = launch.operand(self, self.strides()),
            t = launch.operand(target, {target.strides()[0], 0}),
            n = launch.operand(norms, {norms.strides()[0], 0}),
            g = launch.operand(grad_output, {grad_output.dim() ? grad_output.strides()[0] : 0, 0}),
            total = reduction == kMean ? launch.operand(count, zero) : -1;
  const int none = launch.number(Scalar(ignored), Type::I64),
            next = launch.param(norms.strides()[1]);
  launch.run([&](KernelBuilder& k) {
    const Sym wanted = k.cast(k.load(t), Type::I64);
    const Expr* column = k.extent(j)->is_constant(1) ? k.integer(0) : k.var(j);
    const Sym nothing = Sym::from_id(k.graph().constant(0, type));
    Sym scale = k.load(g);
    if (total >= 0) scale = scale / k.load(total);
    const Sym log_sum = k.load(n, {{}, launch.param(k, next)});
    const Sym soft = exp(k.load(x) - k.load(n) - log_sum) * scale;
    const Sym value = soft - where(wanted == k.index(column), scale, nothing);
    k.loop({i, j}, [&] { k.store(y, where(wanted != launch.uniform(k, none), value, nothing)); });
  });
}

void _reduced_squared_difference(const Tensor& self, const Tensor& target, bool mean, Tensor& out) {
  const IntVec shape(as_int(broadcast_shapes(self.sym_sizes(), target.sym_sizes())));
  const uint64_t bits = (uint64_t{1} << shape.size()) - 1;
  Rows rows(
      "squared_difference", out.device(), shape, bits,
      {IntVec(shape.size(), 0), broadcast_strides(self, shape), broadcast_strides(target, shape)});
  const Type type = kernel::compute_type(out.dtype());
  rows.launch.compute_in(type);
  rows.launch.fact(mean);
  const int y = rows.operand(out, 0), a = rows.operand(self, 1), b = rows.operand(target, 2);
  const int length = rows.launch.number(Scalar(static_cast<double>(rows.length())), type);
  rows.launch.run([&](KernelBuilder& k) {
    const Sym difference = k.cast(k.load(a), type) - k.cast(k.load(b), type);
    k.loop(rows.kept, [&] {
      const Sym sum = k.reduce("sum", rows.reduced, {difference * difference})[0];
      k.store(y, mean ? sum / rows.launch.uniform(k, length) : sum);
    });
  });
}

}  // namespace taeda::lowered
