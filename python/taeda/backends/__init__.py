"""Capabilities of the kernels, and the switches that PyTorch's programs set."""

from taeda.backends import cpu, cuda, cudnn, mha, mps, openmp

__all__ = ["cpu", "cuda", "cudnn", "mha", "mps", "openmp"]
