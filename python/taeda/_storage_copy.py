"""Copies of storages: `clone`, copy and deepcopy, in which tensors that share memory still do."""

from taeda import _C


def tensor_over(storage, dtype, size, stride, offset):
    """A tensor of this geometry over a storage, which is not made larger for it."""
    nbytes = storage.nbytes()
    tensor = _C.empty(0, dtype=dtype, device=storage.device)
    tensor.set_(storage, offset, size, stride)
    if storage.nbytes() != nbytes:
        raise ValueError(f"size {size} and stride {stride} need more than {nbytes} bytes")
    return tensor


def clone(self):
    """A storage with the same bytes."""
    as_bytes = tensor_over(self, _C.uint8, (self.nbytes(),), (1,), 0)
    return as_bytes.clone().untyped_storage()


def deepcopy(self, memo):
    """One copy for all that are copied together."""
    key = ("storage", self._cdata)
    if key not in memo:
        memo[key] = clone(self)
    return memo[key]


def install(cls):
    """Adds the methods to UntypedStorage."""
    cls.clone = cls.__copy__ = clone
    cls.__deepcopy__ = deepcopy
