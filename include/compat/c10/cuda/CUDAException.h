// Checks of CUDA calls.
#pragma once

#include <cuda_runtime.h>

#include "c10/util/Exception.h"

#define C10_CUDA_CHECK(call)                                                        \
  do {                                                                              \
    const cudaError_t error_ = (call);                                              \
    TORCH_CHECK(error_ == cudaSuccess, "CUDA error: ", cudaGetErrorString(error_)); \
  } while (false)
// For destructors: the error is taken off the runtime, and goes nowhere.
#define C10_CUDA_IGNORE_ERROR(call)                                   \
  do {                                                                \
    if ((call) != cudaSuccess) static_cast<void>(cudaGetLastError()); \
  } while (false)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)
