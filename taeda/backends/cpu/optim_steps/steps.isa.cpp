// Steps of optimizers in one instruction set, made of the bodies of the operators that they stand
// for: results equal those of one operator after another, bit for bit.
#include <limits>
#include <type_traits>

#include "taeda/backends/cpu/optim_steps/steps.h"
#include "taeda/kernel/vec.h"
#include "taeda/ops/arithmetic/bodies.h"
#include "taeda/ops/math/bodies.h"
#include "taeda/ops/selection/bodies.h"

namespace taeda::cpu {
namespace {

using namespace bodies;
using kernel::Uniform;
using kernel::Vec;

// The gradient that a step goes by: unscaled, with its sign and the decay of weights.
template <class V>
TD_FN V gradient(V& grad, V& param, const StepNumbers& c) {
  if (c.has_grad_scale) grad = Div::apply<V>(grad, V(c.grad_scale));
  V g = c.is_maximized ? -grad : grad;
  if (c.decay_form == Decay::OfGradient) g = Add::apply<V>(g, param, Uniform<V>(V(c.decay)));
  if (c.decay_form == Decay::OfParameter) param = Mul::apply<V>(param, V(c.decay));
  return g;
}

// A root over a number in [2^-40, 1], rounded as the division is: the product with the reciprocal,
// then its remainder (Markstein 1990). The unit that divides also takes roots and is what Adam's
// step waits for.
template <class V>
TD_FN V over(V root, V divisor, V reciprocal) {
#if defined(__FMA__) || defined(__aarch64__)
  const V product = root * reciprocal;
  const V quotient = fma(fma(-product, divisor, root), reciprocal, product);
  return where(root == V(std::numeric_limits<double>::infinity()), root, quotient);
#else
  return root / divisor;
#endif
}

struct Adam {
  static constexpr int kOperands = 4;

  // Parameter, gradient, mean, mean of squares, its running maximum.
  template <class V>
  TD_FN static void apply(V* x, const StepNumbers& c) {
    const V g = gradient(x[1], x[0], c);
    const V weight(1 - c.beta1);
    x[2] = c.is_usual ? x[2] + weight * (g - x[2]) : Lerp::apply<V>(x[2], g, Uniform<V>(weight));
    x[3] = Addcmul::apply<V>(Mul::apply<V>(x[3], V(c.beta2)), g, g, Uniform<V>(V(1 - c.beta2)));
    V squares = x[3];
    if (c.has_state) squares = x[4] = ClampMin::apply<V>(x[4], x[3]);
    V root = Sqrt::apply<V>(squares);
    const V correction(c.correction);
    root = c.is_usual ? over(root, correction, V(c.reciprocal)) : Div::apply<V>(root, correction);
    x[0] = Addcdiv::apply<V>(x[0], x[2], root + V(c.eps), Uniform<V>(V(c.size)));
  }
};

struct Sgd {
  static constexpr int kOperands = 2;

  // Parameter, gradient, momentum.
  template <class V>
  TD_FN static void apply(V* x, const StepNumbers& c) {
    V g = gradient(x[1], x[0], c);
    if (c.has_state) {
      const V grown = Mul::apply<V>(x[2], V(c.momentum));
      x[2] = c.is_first ? g : Add::apply<V>(grown, g, Uniform<V>(V(1 - c.dampening)));
      g = c.is_nesterov ? Add::apply<V>(g, x[2], Uniform<V>(V(c.momentum))) : x[2];
    }
    x[0] = Add::apply<V>(x[0], g, Uniform<V>(V(c.size)));
  }
};

struct Adagrad {
  static constexpr int kOperands = 3;

  // Parameter, gradient, sum of squares.
  template <class V>
  TD_FN static void apply(V* x, const StepNumbers& c) {
    const V g = gradient(x[1], x[0], c);
    x[2] = Addcmul::apply<V>(x[2], g, g, Uniform<V>(V(1.0)));
    x[0] = Addcdiv::apply<V>(x[0], g, Sqrt::apply<V>(x[2]) + V(c.eps), Uniform<V>(V(c.size)));
  }
};

// Most steps: gradients as they are, decay of the parameter if any, numbers of an ordinary size.
bool is_usual(const StepNumbers& c) {
  return !c.has_grad_scale && !c.is_maximized && c.decay_form != Decay::OfGradient &&
         c.beta1 > 0.5 && c.beta1 < 1 && c.correction >= 0x1p-40 && c.correction <= 1;
}

// kIsUsual: the loop has no branches.
template <class Step, class T, int kUsed, bool kIsUsual>
void run_operands(char* const* operands, int64_t n, const StepNumbers& given) {
  using V = Vec<T>;
  StepNumbers c = given;  // a copy that no store may change
  c.has_state = kUsed > Step::kOperands;
  c.is_usual = kIsUsual;
  if constexpr (kIsUsual) {
    if (c.decay_form == Decay::None) c.decay = 1;
    c.decay_form = Decay::OfParameter;
    c.has_grad_scale = c.is_maximized = false;
    c.reciprocal = T(1) / T(c.correction);
  }
  T* at[kUsed];
  for (int k = 0; k < kUsed; ++k) at[k] = reinterpret_cast<T*>(operands[k]);
  int64_t i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) {
    V x[kMaxStepOperands];
#pragma GCC unroll 5
    for (int k = 0; k < kUsed; ++k) x[k] = V::load(at[k] + i);
    Step::template apply<V>(x, c);
#pragma GCC unroll 5
    for (int k = 0; k < kUsed; ++k)
      if (k != 1 || c.has_grad_scale) x[k].store(at[k] + i);
  }
  if (i == n) return;
  V x[kMaxStepOperands];
  for (int k = 0; k < kUsed; ++k) x[k] = V::load_tail(at[k] + i, n - i);
  Step::template apply<V>(x, c);
  for (int k = 0; k < kUsed; ++k)
    if (k != 1 || c.has_grad_scale) x[k].store_tail(at[k] + i, n - i);
}

template <class Step, class T>
void run_step(char* const* operands, int64_t n, const StepNumbers& numbers) {
  constexpr int kLeast = Step::kOperands;
  if (numbers.has_state)
    run_operands<Step, T, kLeast + 1, false>(operands, n, numbers);
  else if (std::is_same_v<Step, Adam> && is_usual(numbers))
    run_operands<Step, T, kLeast, true>(operands, n, numbers);
  else
    run_operands<Step, T, kLeast, false>(operands, n, numbers);
}

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
extern const StepFns TAEDA_JOIN(step_fns_, TAEDA_ISA);
constinit const StepFns TAEDA_JOIN(step_fns_, TAEDA_ISA) = {
    {&run_step<Adam, float>, &run_step<Adam, double>},
    {&run_step<Sgd, float>, &run_step<Sgd, double>},
    {&run_step<Adagrad, float>, &run_step<Adagrad, double>}};

}  // namespace taeda::cpu
