// torch::stable::accelerator: scopes in which a device is the current one.
#pragma once

#include "torch/csrc/stable/tensor.h"

#if defined(USE_CUDA) || defined(__CUDACC__)
#  include "c10/cuda/CUDAGuard.h"
namespace torch::stable::accelerator {
using DeviceGuard = ::c10::cuda::OptionalCUDAGuard;
}
#endif
