"""Lists of tensors as one vector and back, for programs that exchange many tensors at once."""

import collections

from taeda import _C


def _flatten_dense_tensors(tensors):
    """The elements of all tensors in one vector."""
    return _C._nn.flatten_dense_tensors(tensors)


def _unflatten_dense_tensors(flat, tensors):
    """Views of a vector in the shapes of `tensors`."""
    return _C._nn.unflatten_dense_tensors(flat, tensors)


def _take_tensors(tensors, size_limit):
    """Lists of tensors of one type, each of at most `size_limit` bytes or of one tensor.

    The lists of a type keep the order of `tensors`.
    """
    groups = collections.defaultdict(list)
    sizes = collections.Counter()
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        if sizes[kind] and sizes[kind] + size > size_limit:
            yield groups[kind]
            groups[kind], sizes[kind] = [], 0
        groups[kind].append(tensor)
        sizes[kind] += size
    yield from filter(None, groups.values())
