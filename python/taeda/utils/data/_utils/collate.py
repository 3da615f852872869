"""Collating: a list of samples becomes a batch of the same structure.

`collate` follows the first sample: what `default_collate_fn_map` knows is joined by its function,
and containers are joined element by element.
"""

import collections.abc
import copy
import re

from taeda import _C

np_str_obj_array_pattern = re.compile(r"[SaUO]")

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _with_elements(original, keys, values, plain):
    """A container as the original with other elements; `plain` where its class cannot make one."""
    mutable = (collections.abc.MutableMapping, collections.abc.MutableSequence)
    try:
        if isinstance(original, mutable):
            # It may have more than elements: a copy keeps that.
            clone = copy.copy(original)
            for key, value in zip(keys, values, strict=True):
                clone[key] = value
            return clone
        return type(original)(plain)
    except TypeError:
        return plain


def _with_mapped(original, make):
    made = {key: make(key) for key in original}
    return _with_elements(original, made.keys(), made.values(), made)


def _with_listed(original, made):
    return _with_elements(original, range(len(made)), made, made)


def map_elements(container, function):
    """A mapping or a sequence with `function` of each element, of the same class where it can."""
    if isinstance(container, collections.abc.Mapping):
        return _with_mapped(container, lambda key: function(container[key]))
    if isinstance(container, tuple) and hasattr(container, "_fields"):  # a named tuple
        return type(container)(*(function(item) for item in container))
    return _with_listed(container, [function(item) for item in container])


def _is_numpy(cls):
    return cls.__module__ == "numpy" and cls.__name__ not in ("str_", "string_")


def default_convert(data):
    """Arrays and scalars of NumPy as tensors, also inside containers; the rest as it is."""
    cls = type(data)
    if isinstance(data, _C.Tensor):
        return data
    if _is_numpy(cls):
        if cls.__name__ == "ndarray" and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return _C.as_tensor(data)
    if isinstance(data, tuple) and not hasattr(data, "_fields"):
        return [default_convert(item) for item in data]
    if isinstance(data, (collections.abc.Mapping, collections.abc.Sequence)) and not isinstance(
        data, (str, bytes)
    ):
        return map_elements(data, default_convert)
    return data


def collate(batch, *, collate_fn_map=None):
    """Joins samples: by the function of their class in the map, or element by element."""
    first = batch[0]
    cls = type(first)
    if collate_fn_map is not None:
        if cls in collate_fn_map:
            return collate_fn_map[cls](batch, collate_fn_map=collate_fn_map)
        for known in collate_fn_map:
            if isinstance(first, known):
                return collate_fn_map[known](batch, collate_fn_map=collate_fn_map)

    def join(samples):
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, collections.abc.Mapping):
        return _with_mapped(first, lambda key: join([sample[key] for sample in batch]))
    if isinstance(first, tuple) and hasattr(first, "_fields"):  # a named tuple
        return cls(*(join(samples) for samples in zip(*batch, strict=False)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [join(samples) for samples in zip(*batch, strict=False)]
        return columns if isinstance(first, tuple) else _with_listed(first, columns)
    raise TypeError(default_collate_err_msg_format.format(cls))


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """The tensors stacked; in a worker process, straight into shared memory."""
    from taeda.utils.data._utils import worker

    first = batch[0]
    kind = "nested" if first.is_nested else "sparse" if first.layout is not _C.strided else None
    if kind:
        raise RuntimeError(
            f"Batches of {kind} tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    if worker.get_worker_info() is None or first.requires_grad or first.device.type != "cpu":
        return _C.stack(batch, 0)
    out = worker.empty_shared((len(batch), *first.size()), first.dtype)
    return _C.stack(batch, 0, out=out)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """The arrays as tensors, stacked."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([_C.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """A tensor of the scalars."""
    return _C.as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    """A float64 tensor of the numbers."""
    return _C.tensor(batch, dtype=_C.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """A tensor of the numbers."""
    return _C.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """The list itself."""
    return batch


default_collate_fn_map = {_C.Tensor: collate_tensor_fn}


try:
    import numpy
except ImportError:
    pass
else:
    default_collate_fn_map[numpy.ndarray] = collate_numpy_array_fn
    scalars = (numpy.bool_, numpy.number, numpy.object_)
    default_collate_fn_map[scalars] = collate_numpy_scalar_fn
default_collate_fn_map[float] = collate_float_fn
default_collate_fn_map[int] = collate_int_fn
default_collate_fn_map[str] = collate_str_fn
default_collate_fn_map[bytes] = collate_str_fn


def default_collate(batch):
    """A batch of samples: tensors, arrays and numbers become tensors with one dimension more.

    Mappings, sequences and named tuples keep their structure; strings become lists.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
