// What all forms of an optimizer's step ask of their arguments.
#pragma once

#include "taeda/ops/lists.h"

namespace taeda::optim_steps {

// Rows of one floating dtype; `kernel` is the name of PyTorch's function.
template <class... Lists>
void check_dtypes(const char* kernel, TensorList params, const Lists&... lists) {
  for (size_t i = 0; i < params.size(); ++i) {
    const DType dtype = params[i].dtype();
    TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(dtype) && !is_float8(dtype), "\"", kernel,
                                "\" not implemented for '", dtype, "'");
    for (const TensorList list : {TensorList(lists)...})
      TAEDA_CHECK(list.empty() || list[i].dtype() == dtype, "expected scalar type ", dtype,
                  " but found ", list[i].dtype());
  }
}

inline void check_adam(TensorList params, TensorList grads, TensorList exp_avgs,
                       TensorList exp_avg_sqs, TensorList max_exp_avg_sqs, TensorList steps,
                       bool amsgrad) {
  check_lists(params, grads, exp_avgs, exp_avg_sqs, steps);
  if (amsgrad) check_lists(params, max_exp_avg_sqs);
  check_dtypes("fused_adam_kernel", params, grads, exp_avgs, exp_avg_sqs,
               amsgrad ? max_exp_avg_sqs : TensorList());
}

inline void check_sgd(TensorList params, TensorList grads, TensorList buffers, double momentum) {
  check_lists(params, grads);
  if (momentum == 0)
    TAEDA_CHECK(buffers.empty(),
                "Expected momentum_buffer_list.empty() to be true, but got false.");
  else
    TAEDA_CHECK(buffers.size() == params.size(),
                "Expected momentum_buffer_list.size() == n_tensors to be true, but got false.");
  if (!buffers.empty()) check_lists(params, buffers);
  check_dtypes("fused_sgd_kernel", params, grads, buffers);
}

inline void check_adagrad(TensorList params, TensorList grads, TensorList sums, TensorList steps) {
  check_lists(params, grads, sums, steps);
  check_dtypes("fused_adagrad_kernel", params, grads, sums);
}

// Whether a gradient was infinite or not a number, of which `found_inf` tells if it is given.
inline bool is_skipped(const Tensor& found_inf) {
  return found_inf.defined() && found_inf.item().to_double() == 1;
}

}  // namespace taeda::optim_steps
