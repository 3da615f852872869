"""Dimensions whose size may change between calls of an exported program."""

import dataclasses
import enum
import re

import taeda
from taeda.export._errors import UserError
from taeda.utils import _pytree as pytree

__all__ = [
    "AdditionalInputs",
    "Constraint",
    "Dim",
    "ShapesCollection",
    "dims",
    "refine_dynamic_shapes_from_suggested_fixes",
]


class _DimHintType(enum.Enum):
    AUTO = enum.auto()
    STATIC = enum.auto()
    DYNAMIC = enum.auto()


@dataclasses.dataclass(frozen=True)
class _DimHint:
    """A size for export to decide; a call adds a range: `Dim.AUTO(min=4, max=16)`."""

    type: _DimHintType
    min: int | None = None
    max: int | None = None

    def __call__(self, min=None, max=None):
        if self.type is _DimHintType.STATIC and (min is not None or max is not None):
            raise ValueError("Cannot specify min/max on a static dimension")
        if (min is not None and min < 0) or (max is not None and max < (min or 0)):
            raise ValueError(f"Cannot create a dimension with inconsistent min={min}, max={max}")
        return _DimHint(self.type, min, max)

    def __repr__(self):
        bounds = ", ".join(f"{k}={v}" for k, v in vars(self).items() if k != "type" and v)
        return f"DimHint({self.type.name}{', ' if bounds else ''}{bounds})"


class Dim:
    """A named size, the same wherever it stands: `Dim("batch", min=1, max=64)`.

    `Dim.AUTO`, `Dim.DYNAMIC` and `Dim.STATIC` leave the range to export, insist that the size is
    not fixed, and fix it.
    """

    AUTO = _DimHint(_DimHintType.AUTO)
    DYNAMIC = _DimHint(_DimHintType.DYNAMIC)
    STATIC = _DimHint(_DimHintType.STATIC)

    def __init__(self, name, *, min=None, max=None):
        lower = 0 if min is None else min
        if max is not None and max <= lower:
            raise AssertionError(f"Cannot create Dim with inconsistent min={lower}, max={max}")
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
                f"Attempted to multiply {scale} with {self.__name__}, where a positive integer was "
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

    def _whole(self, other, verb, relation):
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to {verb} {other} {relation} {self.__name__}, where an integer was "
                "expected. (Only increasing linear operations with integer coefficients are "
                "supported.)"
            )
        return other

    def __add__(self, other):
        return self._derived(1, self._whole(other, "add", "to"))

    __radd__ = __add__

    def __sub__(self, other):
        return self._derived(1, -self._whole(other, "subtract", "from"))

    def __mul__(self, other):
        return self._derived(self._whole(other, "multiply", "with"), 0)

    __rmul__ = __mul__

    def fn(self, root):
        """The size where the root dimension has this one: of `2*n + 1`, 7 for 3."""
        return root * self._scale + self._shift

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


class AdditionalInputs:
    """Further examples for an export: what differs between them and the first one is dynamic.

    additional = AdditionalInputs()
    additional.add((taeda.randn(5, 4),))
    export(model, (taeda.randn(8, 4),), dynamic_shapes=additional)
    """

    def __init__(self):
        self._examples = []

    def add(self, args, kwargs=None):
        """Adds the arguments of another call."""
        if not isinstance(args, tuple):
            raise AssertionError(f"Representation of example inputs must be a tuple, got {args}")
        if kwargs is not None and not isinstance(kwargs, dict):
            raise AssertionError(f"Representation of example kwargs must be a dict, got {kwargs}")
        self._examples.append((args, kwargs or {}))

    def dynamic_shapes(self, m, args, kwargs=None):
        """The `dynamic_shapes` argument of export for these arguments."""
        from taeda.export._names import bound_arguments

        calls = [(args, kwargs or {}), *self._examples]
        first, *others = ([value for _, value in bound_arguments(m, *c)] for c in calls)
        names = [name for name, _ in bound_arguments(m, *calls[0])]
        leaves, spec = pytree.tree_flatten(first)
        columns = [leaves]
        for other in others:
            flat, structure = pytree.tree_flatten(other)
            if structure != spec:
                raise ValueError(
                    f"additional inputs are nested in another way: {structure}, expected {spec}"
                )
            columns.append(flat)
        shapes = [_differences(values) for values in zip(*columns, strict=True)]
        return dict(zip(names, pytree.tree_unflatten(shapes, spec), strict=True))

    def verify(self, ep):
        """Runs the program on all examples."""
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **kwargs)


def _differences(values):
    """The dynamic dimensions of a leaf that has had these values."""
    first = values[0]
    if all(isinstance(v, taeda.Tensor) for v in values):
        if len({v.dim() for v in values}) > 1:
            raise ValueError(
                "The following inputs were found to have differing ranks, so they cannot be "
                f"marked as dynamic: {[tuple(v.shape) for v in values]}"
            )
        sizes = zip(*(v.shape for v in values), strict=True)
        return tuple(Dim.DYNAMIC if len(set(each)) > 1 else None for each in sizes)
    if all(type(v) is int for v in values):
        return Dim.DYNAMIC if len(set(values)) > 1 else None
    if any(type(v) is not type(first) or v != first for v in values):
        raise ValueError(
            "The following inputs were found to have differing values, so they cannot be marked "
            f"as dynamic: {list(values)}"
        )
    return None


# ---- suggestions of an error ----
_FIX = re.compile(r"\s*(\w+) = (.+?)\s*$")
_RANGE = re.compile(r"Dim\('(\w+)'(?:, min=(\d+))?(?:, max=(\w+))?\)")
# Sizes that follow from another dimension: n, 2*n, n + 1, 2*n - 3.
_DERIVED = re.compile(r"(?:(\d+)\*)?([A-Za-z_]\w*)(?: ([+-]) (\d+))?")


def refine_dynamic_shapes_from_suggested_fixes(msg, dynamic_shapes):
    """The shapes with the fixes that the message of a failed export suggests put in.

    msg: the text of the error. UserError where it suggests none.
    """
    parts = msg.split("Suggested fixes:")
    if len(parts) < 2:
        raise UserError("the message suggests no fixes: it has no line `Suggested fixes:`")
    texts = {}
    for line in parts[-1].strip("\n").splitlines():
        match = _FIX.match(line)
        if match is None:
            break
        texts[match[1]] = match[2]
    dims = {d.root.__name__: d.root for d in _dims_in(dynamic_shapes)}
    return _replaced(dynamic_shapes, _Fixes(texts, dims))


def read_derived(text, dim_named):
    """The dimension that a text such as `2*n + 1` means; None for other texts, unknown roots.

    dim_named: a function from the name of the root to it, or None.
    """
    match = _DERIVED.fullmatch(text)
    root = None if match is None else dim_named(match[2])
    if root is None:
        return None
    scaled = root * int(match[1]) if match[1] else root
    return scaled + int(match[3] + match[4]) if match[3] else scaled


class _Fixes:
    """New dimensions by the names of old ones, each made once."""

    def __init__(self, texts, dims):
        self._texts, self._dims, self._made = texts, dims, {}

    def of(self, name):
        """The dimension after the fix: a Dim, an integer, or the old Dim."""
        if name not in self._made:
            self._made[name] = None  # what depends on itself is nothing
            text = self._texts.get(name)
            self._made[name] = self._dims.get(name) if text is None else self._read(name, text)
        return self._made[name]

    def _read(self, name, text):
        if text.isdigit():
            return int(text)
        if match := _RANGE.fullmatch(text):
            limits = {"min": match[2], "max": match[3]}
            return Dim(match[1], **{k: int(v) for k, v in limits.items() if v and v.isdigit()})
        dim = read_derived(text, lambda root: None if root == name else self.of(root))
        if dim is None:
            raise UserError(f"cannot read the suggested fix `{name} = {text}`")
        return dim


def _dims_in(shapes):
    if isinstance(shapes, Dim):
        yield shapes
    elif isinstance(shapes, dict):
        for part in shapes.values():
            yield from _dims_in(part)
    elif isinstance(shapes, (list, tuple)):
        for part in shapes:
            yield from _dims_in(part)


def _replaced(shapes, fixes):
    if isinstance(shapes, Dim):
        root = fixes.of(shapes.root.__name__)
        return root if shapes is shapes.root else shapes.fn(root)
    if isinstance(shapes, dict):
        return {key: _replaced(part, fixes) for key, part in shapes.items()}
    if isinstance(shapes, (list, tuple)):
        parts = [_replaced(part, fixes) for part in shapes]
        return type(shapes)(*parts) if hasattr(shapes, "_fields") else type(shapes)(parts)
    return shapes
