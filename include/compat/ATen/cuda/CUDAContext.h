// The stream and the device's properties, for launches of kernels.
#pragma once

#include "ATen/cuda/Exceptions.h"
#include "c10/cuda/CUDAStream.h"

namespace at::cuda {

using ::c10::cuda::CUDAStream;
using ::c10::cuda::getCurrentCUDAStream;
using ::c10::cuda::getDefaultCUDAStream;

inline bool is_available() {
  int count = 0;
  const bool is_ok = cudaGetDeviceCount(&count) == cudaSuccess;
  if (!is_ok) static_cast<void>(cudaGetLastError());
  return is_ok && count > 0;
}

// Read once for each device, kept for the life of the process.
inline cudaDeviceProp* getDeviceProperties(DeviceIndex index) {
  static cudaDeviceProp* known[64]{};
  TORCH_CHECK(index >= 0 && index < 64, "device index ", static_cast<int>(index), " out of range");
  if (!known[index]) {
    auto* found = new cudaDeviceProp;
    C10_CUDA_CHECK(cudaGetDeviceProperties(found, index));
    known[index] = found;
  }
  return known[index];
}
inline cudaDeviceProp* getCurrentDeviceProperties() {
  int device = 0;
  C10_CUDA_CHECK(cudaGetDevice(&device));
  return getDeviceProperties(static_cast<DeviceIndex>(device));
}

}  // namespace at::cuda
