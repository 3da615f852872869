"""A CUDA kernel built just in time and run, where there is a GPU."""

import pathlib
import shutil

import pytest
from taeda.utils import cpp_extension

import taeda

has_gpu = any(pathlib.Path("/dev").glob("nvidia[0-9]*"))
has_nvcc = shutil.which("nvcc") or (cpp_extension.CUDA_HOME and True)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_gpu, reason="there is no NVIDIA GPU here"),
    pytest.mark.skipif(not has_nvcc, reason="there is no nvcc here"),
]

KERNEL = """
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>

__global__ void scale_kernel(int64_t n, const float* x, float k, float* out) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = k * x[i];
}

// Through memory of the device and back.
torch::Tensor scale_on_device(torch::Tensor x, double k) {
  TORCH_CHECK(x.scalar_type() == at::kFloat, "expected float32, got ", x.scalar_type());
  const at::Tensor in = x.contiguous();
  at::Tensor out = at::empty_like(in);
  const size_t bytes = in.numel() * sizeof(float);
  float *a = nullptr, *b = nullptr;
  C10_CUDA_CHECK(cudaMalloc(&a, bytes));
  C10_CUDA_CHECK(cudaMalloc(&b, bytes));
  C10_CUDA_CHECK(cudaMemcpy(a, in.data_ptr<float>(), bytes, cudaMemcpyHostToDevice));
  scale_kernel<<<(in.numel() + 255) / 256, 256>>>(in.numel(), a, float(k), b);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  C10_CUDA_CHECK(cudaMemcpy(out.data_ptr<float>(), b, bytes, cudaMemcpyDeviceToHost));
  cudaFree(a);
  cudaFree(b);
  return out;
}
"""


def test_a_kernel_runs(tmp_path):
    module = cpp_extension.load_inline(
        "scale_on_device_extension",
        cpp_sources=["torch::Tensor scale_on_device(torch::Tensor x, double k);"],
        cuda_sources=[KERNEL],
        functions=["scale_on_device"],
        build_directory=str(tmp_path),
    )
    x = taeda.randn(1000, 3).t()
    assert taeda.equal(module.scale_on_device(x, 3.0), x * 3)
    with pytest.raises(RuntimeError, match="expected float32"):
        module.scale_on_device(x.double(), 3.0)
