// torch::autograd::grad and backward, and forward mode.
#pragma once

#include <tuple>

#include "taeda/autograd/forward.h"
#include "torch/csrc/autograd/custom_function.h"

// Levels are unsigned in PyTorch. There is one at a time.
namespace taeda::autograd::forward_ad {
inline uint64_t enter_dual_level() { return static_cast<uint64_t>(autograd::enter_dual_level()); }
inline void exit_dual_level(uint64_t level) {
  autograd::exit_dual_level(static_cast<int64_t>(level));
}
}  // namespace taeda::autograd::forward_ad

namespace taeda {
// A view of `primal` with a tangent.
inline Tensor _make_dual(const Tensor& primal, const Tensor& tangent, int64_t) {
  return autograd::make_dual(primal, tangent);
}
// Both parts; the tangent is undefined where there is none.
inline std::tuple<Tensor, Tensor> _unpack_dual(const Tensor& dual, int64_t) {
  return {autograd::primal_of(dual), autograd::tangent_of(dual)};
}
}  // namespace taeda
