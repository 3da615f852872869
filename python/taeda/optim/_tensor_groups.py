"""Lists of tensors cut into groups that one operator over lists can take."""

from taeda import _C

# Lists are cut at this many elements: what a step computes on the way stays in the cache, and
# its memory does not grow with the model. A larger tensor is a list of its own.
_MOST_ELEMENTS = 1 << 18


class TensorList:
    """Tensors that are changed together: its methods are the operators over lists.

    An update rule written for a tensor runs on a list of them as it is: `x.mul_(2)` calls
    `_foreach_mul_`.
    """

    def __init__(self, tensors):
        self.tensors = tensors

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        operator = getattr(_C, f"_foreach_{name}")

        def method(self, *args, **kwargs):
            result = operator(self.tensors, *map(_tensors_of, args), **kwargs)
            return self if name.endswith("_") else TensorList(result)

        setattr(TensorList, name, method)
        return method.__get__(self)

    def __neg__(self):
        return self.neg()

    def __mul__(self, other):
        return self.mul(other)

    def __truediv__(self, other):
        return self.div(other)

    def item(self):
        """The number that all these tensors hold."""
        return self.tensors[0].item()


def _tensors_of(argument):
    return argument.tensors if isinstance(argument, TensorList) else argument


def apply(function, *args):
    """The function of tensors, or of the tensors of lists one by one."""
    if not isinstance(args[0], TensorList):
        return function(*args)
    return TensorList([function(*row) for row in zip(*(arg.tensors for arg in args))])


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """The lists, cut by the device and dtype of the first one's tensors.

    `{(device, dtype): (lists, indices)}`; an empty list stays empty, None goes along.
    """
    groups = {}
    for i, tensor in enumerate(tensorlistlist[0]):
        key = (tensor.device, tensor.dtype)
        if key not in groups:
            groups[key] = ([[] for _ in tensorlistlist], [])
        lists, indices = groups[key]
        for target, source in zip(lists, tensorlistlist):
            if source:
                target.append(source[i])
        if with_indices:
            indices.append(i)
    return groups


def alike(params, keys):
    """Indices of the parameters in groups with equal keys, device and dtype, cut by size."""
    groups = {}
    for i, (param, key) in enumerate(zip(params, keys)):
        groups.setdefault((param.device, param.dtype, key), []).append(i)
    for indices in groups.values():
        yield from _cut(indices, params)


def _cut(indices, params):
    """The indices in pieces of at most `_MOST_ELEMENTS` elements, or of one parameter."""
    piece, elements = [], 0
    for i in indices:
        numel = params[i].numel()
        if piece and elements + numel > _MOST_ELEMENTS:
            yield piece
            piece, elements = [], 0
        piece.append(i)
        elements += numel
    if piece:
        yield piece
