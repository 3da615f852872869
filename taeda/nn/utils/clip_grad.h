// Gradients kept within bounds, in place.
#pragma once

#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::nn::utils {

// Scales all gradients so that their norm together is `max_norm` at most; the norm as it was.
TAEDA_API double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                                 double norm_type = 2.0, bool error_if_nonfinite = false);
inline double clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2.0,
                              bool error_if_nonfinite = false) {
  return clip_grad_norm_(std::vector<Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite);
}

// Keeps every element between -clip_value and clip_value.
TAEDA_API void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
inline void clip_grad_value_(const Tensor& parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{parameter}, clip_value);
}

}  // namespace taeda::nn::utils
