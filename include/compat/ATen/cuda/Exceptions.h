// Checks of calls to CUDA and to its libraries; each wants the library's own header.
#pragma once

#include "c10/cuda/CUDAException.h"

#define TORCH_CUDABLAS_CHECK(call)                                                                \
  do {                                                                                            \
    const cublasStatus_t status_ = (call);                                                        \
    TORCH_CHECK(status_ == CUBLAS_STATUS_SUCCESS, "CUDA error: ", cublasGetStatusString(status_), \
                " when calling `" #call "`");                                                     \
  } while (false)
