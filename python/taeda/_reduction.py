"""What pickles keep of a tensor: a function of `_rebuild` and its arguments."""

import warnings
from collections import OrderedDict

from taeda import _C, _rebuild


def reduced(tensor):
    """The pair for a tensor without its class and attributes."""
    from taeda.serialization._settings import _serialization_tls

    if tensor.device.type == "meta" and not _C._is_memoryless(tensor):
        if _serialization_tls.skip_data:
            warnings.warn(
                "Serializing tensors on the meta device under skip_data context manager is a no-op",
                stacklevel=4,
            )
        geometry = (tuple(tensor.size()), tensor.stride())
        return (
            _rebuild._rebuild_meta_tensor_no_storage,
            (tensor.dtype, *geometry, tensor.requires_grad),
        )
    if _C._is_memoryless(tensor):
        return _rebuild._rebuild_wrapper_subclass, (
            type(tensor),
            tensor.dtype,
            tuple(tensor.size()),
            tensor.stride(),
            tensor.storage_offset(),
            tensor.layout,
            tensor.device,
            tensor.requires_grad,
        )
    return reduced_with_storage(tensor)


def reduced_with_storage(tensor):
    """The pair for a tensor whose storage is kept."""
    from taeda.storage import TypedStorage, has_storage_type

    storage = tensor.untyped_storage()
    is_typed = has_storage_type(tensor.dtype)
    if _C._fx.is_fake(tensor):
        storage._fake_device = tensor.device
    if is_typed:
        storage = TypedStorage(wrap_storage=storage, dtype=tensor.dtype, _internal=True)
    args = (
        storage,
        tensor.storage_offset(),
        tuple(tensor.size()),
        tensor.stride(),
        tensor.requires_grad,
        OrderedDict(),  # the hooks, which PyTorch no longer keeps
    )
    flags = {}
    if tensor.is_conj():
        flags["conj"] = True
    if tensor.is_neg():
        flags["neg"] = True
    if not is_typed:
        args += (tensor.dtype,)
    if flags:
        args += (flags,)
    return _rebuild._rebuild_tensor_v2 if is_typed else _rebuild._rebuild_tensor_v3, args
