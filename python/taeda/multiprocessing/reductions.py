"""PyTorch's path of weak references to storages."""

from taeda._C import _StorageWeakRef as StorageWeakRef

__all__ = ["StorageWeakRef"]
