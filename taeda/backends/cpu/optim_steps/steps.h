// Steps of optimizers as functions over contiguous memory: one row is a parameter, its gradient and
// its states.
#pragma once

#include <cstdint>

namespace taeda::cpu {

// How weight decay acts: on the gradient (`g + factor * p`) or on the parameter (`factor * p`).
enum class Decay : uint8_t { None, OfGradient, OfParameter };

// The numbers of one row's step. What a step has no use for stays as it is.
struct StepNumbers {
  double grad_scale = 1;
  double decay = 0;
  double size = 0;  // of the step, with its sign
  double beta1 = 0, beta2 = 0;
  double correction = 1;  // of the root of the mean of squares
  double reciprocal = 1;  // of the correction
  double eps = 0;
  double momentum = 0, dampening = 0;
  Decay decay_form = Decay::None;
  bool has_grad_scale = false;
  bool is_maximized = false;
  bool has_state = false;  // one operand more; Adam: the running maximum; SGD: the momentum
  bool is_nesterov = false;
  bool is_first = false;
  bool is_usual = false;  // and `reciprocal`: the step finds out
};

// Operands of a row: the parameter, the gradient, then states.
constexpr int kMaxStepOperands = 5;

// Runs a step over `n` elements of one type; all operands but the gradient are changed, and the
// gradient where it has a scale.
using StepFn = void (*)(char* const* operands, int64_t n, const StepNumbers& numbers);

// The functions of one instruction set: float, double.
struct StepFns {
  StepFn adam[2], sgd[2], adagrad[2];
};
// Those of this machine.
const StepFns& step_fns();

}  // namespace taeda::cpu
