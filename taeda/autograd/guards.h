// Scopes that turn recording off and on, by the names of PyTorch's C++ interface.
//
//   { NoGradGuard no_grad; w -= 0.1 * w.grad(); }
#pragma once

#include "taeda/autograd/grad_mode.h"
#include "taeda/core/tensor.h"

namespace taeda {

using NoGradGuard = autograd::NoGrad;
using AutoGradMode = autograd::GradMode;
using autograd::GradMode;

// New tensors take no part in autograd, for good, until the end of the scope.
class InferenceMode {
 public:
  explicit InferenceMode(bool on = true) : was_on_(is_inference_mode()), grad_(!on) {
    set_inference_mode(on);
  }
  ~InferenceMode() { set_inference_mode(was_on_); }
  InferenceMode(const InferenceMode&) = delete;
  static bool is_enabled() { return is_inference_mode(); }

 private:
  bool was_on_;
  autograd::GradMode grad_;
};

}  // namespace taeda
