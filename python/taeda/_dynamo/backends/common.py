"""PyTorch's path of backends that get graphs of operators, traced with their gradients."""

from taeda.compiler._backends import aot_autograd, fake_tensor_unsupported

__all__ = ["aot_autograd", "fake_tensor_unsupported"]
