// What all forms of an optimizer's step ask of their arguments.
#pragma once

#include "taeda/ops/lists.h"

namespace taeda::optim_steps {

inline void check_adam(TensorList params, TensorList grads, TensorList exp_avgs,
                       TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList steps,
                       bool amsgrad) {
  check_lists(params, grads, exp_avgs, exp_avg_sqs, steps);
  if (amsgrad) check_lists(params, max_exp_avg_sqs);
}

inline void check_sgd(TensorList params, TensorList grads, TensorList buffers) {
  check_lists(params, grads);
  if (!buffers.empty()) check_lists(params, buffers);
}

inline void check_adagrad(TensorList params, TensorList grads, TensorList sums, TensorList steps) {
  check_lists(params, grads, sums, steps);
}

// Whether a gradient was infinite or not a number, of which `found_inf` tells if it is given.
inline bool is_skipped(const Tensor& found_inf) {
  return found_inf.defined() && found_inf.item().to_double() == 1;
}

}  // namespace taeda::optim_steps
