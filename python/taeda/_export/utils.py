"""PyTorch's path of parts of `taeda.export`: methods as modules, dataclasses as containers."""

from taeda.export._methods import sync_state, wrap_method
from taeda.utils._pytree import register_dataclass as register_dataclass_as_pytree_node

__all__ = ["register_dataclass_as_pytree_node", "sync_state", "wrap_method"]
