// at::native::cpu_fallback: the CPU in place of a device's missing kernel.
#pragma once

#include "ATen/Operators.h"
#include "taeda/backends/device_kernels.h"
#include "torch/library.h"

namespace at::native {

// Runs the operator on copies of its arguments in host memory. Views of the device's tensors are
// copies then, which `error_on_views` refuses in PyTorch; here views never need a kernel.
inline void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                         [[maybe_unused]] bool error_on_views = false) {
  ::taeda::devices::run_on_cpu(op.target(), ::taeda::KeySet(), *stack, nullptr);
}

}  // namespace at::native
