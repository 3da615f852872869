// The few functions of PyTorch's C interface that stable extensions call by themselves.
#pragma once

#include <cstdint>

#include "c10/util/Exception.h"

using AOTITorchError = int32_t;
inline constexpr AOTITorchError AOTI_TORCH_SUCCESS = 0, AOTI_TORCH_FAILURE = 1;

#define TORCH_ERROR_CODE_CHECK(call) TORCH_CHECK((call) == AOTI_TORCH_SUCCESS, #call " failed")

#if defined(USE_CUDA) || defined(__CUDACC__)
#  include "c10/cuda/CUDAStream.h"
inline AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device, void** stream) {
  *stream = c10::cuda::getCurrentCUDAStream(static_cast<int8_t>(device)).stream();
  return AOTI_TORCH_SUCCESS;
}
#endif
