"""TensorType: tensors with sizes as annotations, some of them unknown (Dyn)."""

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """A tensor of these sizes: TensorType((2, Dyn)), or TensorType[2, Dyn]."""

    def __init__(self, dim):
        self.__origin__ = TensorType
        self.__args__ = dim

    @property
    def dims(self):
        return self.__args__

    def __class_getitem__(cls, dims):
        return cls(dims if isinstance(dims, tuple) else (dims,))

    def __repr__(self):
        return f"TensorType[{self.dims}]"

    def __eq__(self, other):
        return isinstance(other, TensorType) and list(self.dims) == list(other.dims)

    def __hash__(self):
        return hash(tuple(self.dims))


class _DynType:
    """A size or a type of which nothing is known."""

    __name__ = "_DynType"

    def __eq__(self, other):
        return isinstance(other, _DynType)

    def __hash__(self):
        return hash(_DynType)

    def __repr__(self):
        return "Dyn"


Dyn = _DynType()


def is_consistent(t1, t2):
    """Whether one value may have both types."""
    if t1 in (t2, Dyn) or t2 == Dyn:
        return True
    return _agree(t1, t2, is_consistent)


def is_more_precise(t1, t2):
    """Whether all that is known by `t2` is known by `t1`."""
    if t1 == t2 or t2 == Dyn:
        return True
    return _agree(t1, t2, is_more_precise)


def _agree(t1, t2, relation):
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return False
    return len(t1.dims) == len(t2.dims) and all(map(relation, t1.dims, t2.dims))
