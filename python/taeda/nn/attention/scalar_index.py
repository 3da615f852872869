"""Indexing by scalar tensors that reads them where they are, for masks that vmap batches."""

import taeda
from taeda.overrides import TorchFunctionMode
from taeda.utils._pytree import tree_leaves


class TransformGetItemToIndex(TorchFunctionMode):
    """Inside, `x[i, j]` with tensors alone gathers; scalars among them are not made numbers."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is taeda.Tensor.__getitem__:
            indices = tree_leaves(args[1])
            if all(isinstance(index, taeda.Tensor) for index in indices):
                return taeda.ops.aten.index(args[0], indices)
        return func(*args, **(kwargs or {}))
