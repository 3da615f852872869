"""PyTorch's path of backends that run graphs as they are, and of what explain tells."""

from taeda.compiler._backends import aot_eager, aot_eager_decomp_partition, eager
from taeda.compiler._explain import ExplainOutput

__all__ = ["ExplainOutput", "aot_eager", "aot_eager_decomp_partition", "eager"]
