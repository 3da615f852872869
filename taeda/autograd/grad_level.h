// Starting and ending the levels of grad and jvp; see dispatch/levels.h.
#pragma once

#include <cstdint>

#include "taeda/core/tensor.h"

namespace taeda::autograd {

// Sets inference mode until the end of the scope.
class InferenceMode {
 public:
  explicit InferenceMode(bool on) : saved_(is_inference_mode()) {
    if (on != saved_) set_inference_mode(on);
  }
  ~InferenceMode() {
    if (saved_ != is_inference_mode()) set_inference_mode(saved_);
  }
  InferenceMode(const InferenceMode&) = delete;

 private:
  bool saved_;
};

// Recording is on inside, whatever holds outside (inference mode, say); the outside's modes come
// back with exit.
TAEDA_API uint64_t enter_grad_level();
TAEDA_API uint64_t enter_jvp_level();
TAEDA_API void exit_level(uint64_t id);
// The value as a tensor of that level, which autograd can follow even if the value was made in
// inference mode.
TAEDA_API Tensor wrap_at_level(const Tensor& value, uint64_t id);
// Throws if a transform is active: a tensor marked there by a user's function would belong to no
// level.
TAEDA_API void check_outside_levels(const char* method);

}  // namespace taeda::autograd
