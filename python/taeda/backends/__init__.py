"""What the kernels underneath can do, and the switches PyTorch's programs set."""

from taeda.backends import cpu, cuda, cudnn, mps, openmp

__all__ = ["cpu", "cuda", "cudnn", "mps", "openmp"]
