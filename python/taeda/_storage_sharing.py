"""Methods of storages and tensors for memory that several processes see."""

from taeda import _C
from taeda._C import _multiprocessing


def _is_by_name():
    from taeda.multiprocessing import get_sharing_strategy

    return get_sharing_strategy() == "file_system"


def is_shared(self):
    """Whether other processes can see the bytes; those of a CUDA device they always can."""
    return self.device.type == "cuda" or _multiprocessing.is_shared(self)


def share_memory_(self):
    """Moves the bytes to shared memory, for every tensor over them; returns the storage."""
    if self.device.type != "cpu":
        return self
    if _is_by_name():
        _multiprocessing.share_name(self)
    else:
        _multiprocessing.share_descriptor(self)
    return self


def new_shared(cls, size, *, device="cpu"):
    """A storage of zeros in shared memory."""
    if _C.device(device).type != "cpu":
        raise NotImplementedError(f"shared memory lies on the CPU: got {device!r}")
    return _multiprocessing.new_shared(size, _is_by_name())


def install(cls):
    """Adds the methods to UntypedStorage."""
    cls.is_shared = is_shared
    cls.share_memory_ = share_memory_
    cls._new_shared = classmethod(new_shared)
