"""How tensors and storages travel between processes: as handles of shared memory.

Python's multiprocessing pickles with a ForkingPickler, and asks these functions what to write.
"""

import os
import threading
from multiprocessing import reduction
from multiprocessing.util import register_after_fork

from taeda import _C
from taeda._C import _multiprocessing
from taeda._C import _StorageWeakRef as StorageWeakRef
from taeda._storage_copy import tensor_over
from taeda.utils.hooks import warn_if_has_hooks

__all__ = ["StorageWeakRef", "init_reductions", "reduce_storage", "reduce_tensor"]


class SharedCache(dict):
    """Storages by their handles, weakly: what comes twice, or comes back, is one storage."""

    def __init__(self):
        super().__init__()
        self.limit = 128
        self._after_fork()
        register_after_fork(self, SharedCache._after_fork)

    def _after_fork(self):
        self.lock = threading.Lock()

    def get(self, key):
        """The storage of a handle; None where there is none, or none any more."""
        with self.lock:
            found = super().get(key)
        return None if found is None else found._lock()

    def __setitem__(self, key, storage):
        with self.lock:
            super().__setitem__(key, StorageWeakRef(storage))
            if len(self) > self.limit:
                self._forget_the_dead()

    def _forget_the_dead(self):
        for key in [key for key, reference in self.items() if reference.expired()]:
            del self[key]
        self.limit = max(128, 2 * len(self))


shared_cache = SharedCache()


def fd_id(fd):
    """What tells the file of a descriptor from every other."""
    status = os.fstat(fd)
    return status.st_ino, status.st_dev


def rebuild_storage_fd(descriptor, size):
    fd = descriptor.detach()
    try:
        key = fd_id(fd)
        storage = shared_cache.get(key)
        if storage is None:
            storage = _multiprocessing.open_descriptor(fd, size)
            shared_cache[key] = storage
        return storage
    finally:
        os.close(fd)


def rebuild_storage_filename(name, size):
    storage = shared_cache.get(name)
    if storage is None:
        storage = _multiprocessing.open_name(name, size)
        shared_cache[name] = storage
    else:
        _multiprocessing.drop_name(storage)
    return storage


def reduce_storage(storage):
    """A storage on the CPU, moved to shared memory by the present strategy."""
    from taeda.multiprocessing import get_sharing_strategy

    if storage.device.type != "cpu":
        kind = {"cuda": "CUDA"}.get(storage.device.type, storage.device.type)
        raise RuntimeError(f"Cannot pickle {kind} storage; try pickling a {kind} tensor instead")
    if get_sharing_strategy() == "file_system":
        name, size = _multiprocessing.send_name(storage)
        shared_cache[name] = storage
        return rebuild_storage_filename, (name, size)
    fd, size = _multiprocessing.share_descriptor(storage)
    shared_cache[fd_id(fd)] = storage
    return rebuild_storage_fd, (reduction.DupFd(fd), size)


def _as_class(cls, tensor, requires_grad):
    if cls is _C.Tensor:
        return tensor.requires_grad_() if requires_grad else tensor
    # A Parameter: one of integers must be told in the call that it has no gradient.
    return cls(tensor, requires_grad=requires_grad)


def rebuild_tensor(cls, storage, metadata):
    """A tensor over a storage that other tensors, here and elsewhere, may lie over too."""
    dtype, size, stride, offset, is_conj, is_neg, requires_grad = metadata
    tensor = tensor_over(storage, dtype, size, stride, offset)
    if is_conj:
        tensor = tensor.conj()
    if is_neg:
        tensor = tensor._neg_view()
    return _as_class(cls, tensor, requires_grad)


def rebuild_meta_tensor(cls, size, stride, dtype, requires_grad):
    tensor = _C.empty_strided(size, stride, dtype=dtype, device="meta")
    return _as_class(cls, tensor, requires_grad)


def metadata_of(tensor):
    """What rebuild_tensor needs beside the storage."""
    return (
        tensor.dtype,
        tuple(tensor.size()),
        tensor.stride(),
        tensor.storage_offset(),
        tensor.is_conj(),
        tensor.is_neg(),
        tensor.requires_grad,
    )


def check_can_travel(tensor):
    """A graph of derivatives stays in its process; leaves travel, with their requires_grad."""
    if _C._wrapper_info(tensor) is not None:
        raise RuntimeError(
            "a tensor inside a function transform (vmap, grad, jvp) cannot be sent to another "
            "process; send it before or after the transformed function"
        )
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, "
            "since autograd does not support crossing process boundaries.  "
            "If you just want to transfer the data, call detach() on the tensor "
            "before serializing (e.g., putting it on the queue)."
        )
    if tensor.requires_grad:
        warn_if_has_hooks(tensor)


def reduce_tensor(tensor):
    """A tensor or a Parameter: its storage and its geometry, without gradient and hooks."""
    check_can_travel(tensor)
    if tensor.is_meta:
        size, stride = tuple(tensor.size()), tensor.stride()
        return rebuild_meta_tensor, (
            type(tensor),
            size,
            stride,
            tensor.dtype,
            tensor.requires_grad,
        )
    if tensor.device.type != "cpu":
        raise NotImplementedError(
            f"tensors on the device {str(tensor.device)!r} cannot be sent to another process; "
            "send `tensor.cpu()`"
        )
    return rebuild_tensor, (type(tensor), tensor.untyped_storage(), metadata_of(tensor))


def rebuild_typed_storage(storage, dtype):
    from taeda.storage import TypedStorage

    return TypedStorage(wrap_storage=storage, dtype=dtype)


def reduce_typed_storage(storage):
    return rebuild_typed_storage, (storage._untyped_storage, storage.dtype)


def init_reductions():
    """Tells every ForkingPickler of this process."""
    from taeda.nn import Parameter
    from taeda.storage import TypedStorage

    reduction.register(_C.Tensor, reduce_tensor)
    reduction.register(Parameter, reduce_tensor)
    reduction.register(_C.UntypedStorage, reduce_storage)
    reduction.register(TypedStorage, reduce_typed_storage)
