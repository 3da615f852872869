"""Dimensions whose size may change between calls of an exported program."""

import dataclasses
import enum

import taeda

__all__ = ["Constraint", "Dim", "ShapesCollection", "dims"]


class _DimHint(enum.Enum):
    """What export finds out by itself."""

    AUTO = enum.auto()
    STATIC = enum.auto()
    DYNAMIC = enum.auto()


class Dim:
    """A named size, the same wherever it stands: `Dim("batch", min=1, max=64)`.

    `Dim.AUTO`, `Dim.DYNAMIC` and `Dim.STATIC` leave the range to export, insist that the size is
    not fixed, and fix it.
    """

    AUTO = _DimHint.AUTO
    DYNAMIC = _DimHint.DYNAMIC
    STATIC = _DimHint.STATIC

    def __init__(self, name, *, min=None, max=None):
        lower = 0 if min is None else min
        if max is not None and max <= lower:
            raise ValueError(f"Cannot create Dim with inconsistent min={lower}, max={max}")
        if not name.isidentifier():
            raise ValueError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.min = lower
        self.max = float("inf") if max is None else max
        self.root, self._scale, self._shift = self, 1, 0

    def _derived(self, scale, shift):
        derived = object.__new__(Dim)
        derived.root = self.root
        derived._scale, derived._shift = self._scale * scale, self._shift * scale + shift
        if derived._scale < 1:
            raise NotImplementedError(
                f"Attempted to multiply {self.__name__} by {scale}, where a positive integer was "
                "expected. (Only increasing linear operations with integer coefficients are "
                "supported.)"
            )
        derived.min = self.root.min * derived._scale + derived._shift
        derived.max = self.root.max * derived._scale + derived._shift
        text = self.root.__name__
        text = text if derived._scale == 1 else f"{derived._scale}*{text}"
        if derived._shift:
            text += f" {'+' if derived._shift > 0 else '-'} {abs(derived._shift)}"
        derived.__name__ = text
        return derived

    @staticmethod
    def _whole(other, verb):
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to {verb} {other}, where an integer was expected. (Only increasing "
                "linear operations with integer coefficients are supported.)"
            )
        return other

    def __add__(self, other):
        return self._derived(1, self._whole(other, "add"))

    __radd__ = __add__

    def __sub__(self, other):
        return self._derived(1, -self._whole(other, "subtract"))

    def __mul__(self, other):
        return self._derived(self._whole(other, "multiply by"), 0)

    __rmul__ = __mul__

    def __repr__(self):
        return f"Dim('{self.__name__}', min={self.min}, max={self.max})"


def dims(*names, min=None, max=None):
    """A tuple of dimensions: `batch, length = dims("batch", "length")`."""
    return tuple(Dim(name, min=min, max=max) for name in names)


@dataclasses.dataclass
class Constraint:
    """A dimension of a tensor and the range it must take."""

    t_id: int
    dim: int
    lower: int
    upper: float


class ShapesCollection:
    """Dynamic shapes by tensor: `shapes[x] = {0: batch}`; `dynamic_shapes(...)` gives the tree."""

    def __init__(self):
        self._shapes = {}

    def __setitem__(self, t, shape):
        if not isinstance(t, (taeda.Tensor, int)):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        known = self._shapes.get(id(t))
        if known is not None and known[1] != shape:
            raise AssertionError(
                f"Shapes assigned to tensor do not match! Expected {known[1]}, got {shape}"
            )
        self._shapes[id(t)] = (t, shape)

    def __getitem__(self, t):
        if id(t) not in self._shapes:
            self._shapes[id(t)] = (t, {})
        return self._shapes[id(t)][1]

    def __len__(self):
        return len(self._shapes)

    def dynamic_shapes(self, m, args, kwargs=None):
        """The `dynamic_shapes` argument of export for these arguments."""
        from taeda.export._names import bound_arguments
        from taeda.utils import _pytree as pytree

        used = set()

        def shape_of(leaf):
            used.add(id(leaf))
            return self._shapes[id(leaf)][1] if id(leaf) in self._shapes else None

        pairs = bound_arguments(m, args, kwargs or {})
        tree = {name: pytree.tree_map(shape_of, value) for name, value in pairs}
        missing = [t for key, (t, _) in self._shapes.items() if key not in used]
        if missing:
            raise ValueError(f"Some assigned shapes were not found in args: {len(missing)} tensors")
        return tree
