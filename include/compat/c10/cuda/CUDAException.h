// Checks of CUDA's results.
#pragma once

#include <cuda_runtime.h>

#include "c10/util/Exception.h"

#define C10_CUDA_CHECK(call)                                                                    \
  do {                                                                                          \
    const cudaError_t cuda_result_ = (call);                                                    \
    TORCH_CHECK(cuda_result_ == cudaSuccess, "CUDA error: ", cudaGetErrorString(cuda_result_)); \
  } while (false)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)
