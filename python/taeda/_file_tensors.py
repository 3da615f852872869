"""Tensors whose memory is a file."""

from taeda import _C


def from_file(
    filename,
    shared=None,
    size=0,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """A vector of `size` numbers whose memory is a file.

    Writes to a shared one reach the file, which is made, or made longer, where it is needed.
    """
    dtype = _C.get_default_dtype() if dtype is None else dtype
    if device is not None and _C.device(device).type != "cpu":
        raise RuntimeError(f"from_file: memory of files is the CPU's, not that of {device}")
    storage = _C.UntypedStorage.from_file(filename, bool(shared), size * dtype.itemsize)
    tensor = _C._tensor_over(storage, dtype, 0, (size,), (1,))
    return tensor.requires_grad_() if requires_grad else tensor
