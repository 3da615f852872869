// Scopes in which a CUDA device is the current one.
#pragma once

#include "c10/core/DeviceGuard.h"
#include "c10/cuda/CUDAStream.h"

namespace c10::cuda {

// Does nothing without a device, or without an index of one.
class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) {
    if (device && device->is_cuda() && device->has_index()) set_index(device->index());
  }
  explicit OptionalCUDAGuard(DeviceIndex index) { set_index(index); }
  ~OptionalCUDAGuard() {
    if (saved_ >= 0) C10_CUDA_IGNORE_ERROR(cudaSetDevice(saved_));
  }
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;

  void set_device(Device device) {
    if (device.has_index()) set_index(device.index());
  }
  void set_index(DeviceIndex index) {
    if (saved_ < 0) C10_CUDA_CHECK(cudaGetDevice(&saved_));
    C10_CUDA_CHECK(cudaSetDevice(index));
  }

 private:
  int saved_ = -1;
};

class CUDAGuard : public OptionalCUDAGuard {
 public:
  explicit CUDAGuard(Device device) : OptionalCUDAGuard(std::optional<Device>(device)) {}
  explicit CUDAGuard(DeviceIndex index) : OptionalCUDAGuard(index) {}
};

}  // namespace c10::cuda

namespace at::cuda {
using ::c10::cuda::CUDAGuard;
using ::c10::cuda::OptionalCUDAGuard;
}  // namespace at::cuda
