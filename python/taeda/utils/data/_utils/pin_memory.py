"""Batches in memory that a device reads directly."""

import collections.abc

from taeda import _C
from taeda.utils.data._utils.collate import map_elements


def pin_memory(data, device=None):
    """The same batch with its tensors pinned; objects with a `pin_memory` are asked for it."""
    if isinstance(data, _C.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, tuple) and not hasattr(data, "_fields"):
        return type(data)(pin_memory(item, device) for item in data)
    if isinstance(data, (collections.abc.Mapping, collections.abc.Sequence)) and not isinstance(
        data, (str, bytes)
    ):
        return map_elements(data, lambda item: pin_memory(item, device))
    return data
