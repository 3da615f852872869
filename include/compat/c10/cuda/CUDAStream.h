// The stream an extension launches its kernels on.
#pragma once

#include <cuda_runtime.h>

#include "ATen/core_names.h"
#include "c10/cuda/CUDAException.h"

namespace c10::cuda {

class CUDAStream {
 public:
  explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream() const { return stream_; }
  operator cudaStream_t() const { return stream_; }
  void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_;
};

// CUDA's legacy default stream, which is ordered with the work of every other blocking stream, so a
// launch on it sees all earlier work, on whatever stream.
inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) { return CUDAStream(cudaStreamLegacy); }
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { return CUDAStream(cudaStreamLegacy); }

}  // namespace c10::cuda
