// STD_TORCH_CHECK, STD_CUDA_CHECK and their relatives.
#pragma once

#include "c10/util/Exception.h"

#if defined(USE_CUDA) || defined(__CUDACC__)
#  include "c10/cuda/CUDAException.h"
#  define STD_CUDA_CHECK(call) C10_CUDA_CHECK(call)
#  define STD_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()
#endif
