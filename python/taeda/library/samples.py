"""Sample arguments of an operator: copies, snapshots, and the tensors among them."""

import taeda
from taeda.utils._pytree import tree_flatten


class Snapshot:
    """A tensor's values and version at a time."""

    def __init__(self, tensor):
        self.values = tensor.detach().clone()
        self.version = tensor._version

    def holds_for(self, tensor):
        return tensor.shape == self.values.shape and taeda.equal(
            tensor.detach().nan_to_num(), self.values.nan_to_num()
        )


def snapshot(value):
    return Snapshot(value) if isinstance(value, taeda.Tensor) else value


def plain_copy(value):
    return _copied(value) if isinstance(value, taeda.Tensor) else value


def copy_with_grad(value):
    if not isinstance(value, taeda.Tensor):
        return value
    return _copied(value).requires_grad_(value.requires_grad)


def _copied(tensor):
    """The same values with the same strides."""
    copy = taeda.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    return copy.copy_(tensor.detach()) if 0 not in tensor.stride() else tensor.detach().clone()


def tensors_in(tree):
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, taeda.Tensor)]


def by_name(schema, args, kwargs):
    positional = [a.name for a in schema.arguments if not a.kwarg_only]
    return {**dict(zip(positional, args)), **kwargs}


def share_memory(first, second):
    storages = {t.untyped_storage().data_ptr() for t in tensors_in(first)} - {0}
    return any(t.untyped_storage().data_ptr() in storages for t in tensors_in(second))


def shared_storages(arguments, results):
    """(number of the argument, number of the result) of tensors with the same memory."""
    places = [t.untyped_storage()._cdata for t in tensors_in(arguments)]
    return [
        (i, j)
        for j, result in enumerate(tensors_in(results))
        for i, place in enumerate(places)
        if result.untyped_storage()._cdata == place
    ]
