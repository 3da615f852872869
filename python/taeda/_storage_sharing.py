"""Methods of storages and tensors for memory that several processes see."""

from taeda import _C
from taeda._C import _multiprocessing


def _is_by_name():
    from taeda.multiprocessing import get_sharing_strategy

    return get_sharing_strategy() == "file_system"


def is_shared(self):
    """Whether other processes can see the bytes; those of a CUDA device they always can."""
    return self.device.type == "cuda" or _multiprocessing.is_shared(self)


def _check_on_cpu(self, name):
    if self.device.type != "cpu":
        raise RuntimeError(f"{name}: only available on CPU, got a storage on {self.device}")


def _share_fd_cpu_(self):
    """(descriptor, bytes) of the memory, which is moved to where other processes see it."""
    _check_on_cpu(self, "_share_fd_cpu_")
    return _multiprocessing.share_descriptor(self)


def _share_filename_cpu_(self):
    """The name of the memory, which is moved to where other processes see it."""
    _check_on_cpu(self, "_share_filename_cpu_")
    return _multiprocessing.share_name(self)


def share_memory_(self):
    """Moves the bytes to shared memory, for every tensor over them; returns the storage."""
    if self.device.type == "cuda":
        return self
    _check_on_cpu(self, "share_memory_")
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
    cls._share_fd_cpu_ = _share_fd_cpu_
    cls._share_filename_cpu_ = _share_filename_cpu_
    cls.share_memory_ = share_memory_
    cls._new_shared = classmethod(new_shared)
