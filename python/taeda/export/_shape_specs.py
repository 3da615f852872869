"""The `dynamic_shapes` of an export as plain data, which files can hold, and back.

{"x": (2 * batch, 4)}  <->  DynamicShapesSpec(
    dynamic_shapes=(["2*batch", 4],), dims={"batch": RootDim(min=0, max=None, derived=["2*batch"])})
"""

import dataclasses

import taeda
from taeda.export._dynamic_inputs import dims_of_leaf, shapes_of_value
from taeda.export._errors import UserError
from taeda.export.dynamic_shapes import Dim, _DimHint, read_derived
from taeda.utils import _pytree as pytree

_HINTS = {f"_DimHint.{hint.type.name}": hint for hint in (Dim.AUTO, Dim.DYNAMIC, Dim.STATIC)}


@dataclasses.dataclass
class RootDim:
    """A dimension; `derived` are the texts of those that follow from it."""

    min: int
    max: int | None
    derived: list


@dataclasses.dataclass
class DynamicShapesSpec:
    """The shapes in the structure of the arguments, a list of sizes per tensor."""

    dynamic_shapes: object
    dims: dict


def _dump_dynamic_shapes(dynamic_shapes, args, kwargs=None, to_dict=False):
    """The shapes as a DynamicShapesSpec, or as the dict of one.

    args, kwargs: the arguments of the export, which tell tensors from sizes.
    """
    values = [*args, *(kwargs or {}).values()]
    if dynamic_shapes is None:
        shapes = [None] * len(values)
    else:
        is_dict = isinstance(dynamic_shapes, dict)
        shapes = list(dynamic_shapes.values() if is_dict else dynamic_shapes)
    if len(shapes) != len(values):
        raise UserError(
            "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs` "
            f"has {len(values)} elements, but `dynamic_shapes` has {len(shapes)} elements"
        )
    dims = {}
    written = tuple(
        _written(f"inputs[{i}]", value, shape, dims)
        for i, (value, shape) in enumerate(zip(values, shapes, strict=True))
    )
    ordered = {
        name: RootDim(root.min, None if root.max == float("inf") else root.max, sorted(derived))
        for name, (root, derived) in sorted(dims.items())
    }
    spec = DynamicShapesSpec(None if dynamic_shapes is None else written, ordered)
    return dataclasses.asdict(spec) if to_dict else spec


def _written(name, value, shape, dims):
    leaves, structure = pytree.tree_flatten(value)
    parts = shapes_of_value(name, value, shape)
    texts = [_leaf(name, leaf, part, dims) for leaf, part in zip(leaves, parts, strict=True)]
    return pytree.tree_unflatten(texts, structure)


def _leaf(name, leaf, shape, dims):
    if isinstance(leaf, taeda.Tensor):
        by_dim = dims_of_leaf(name, leaf, shape)
        return [_text(by_dim.get(i, Dim.STATIC), dims) for i in range(leaf.dim())]
    return None if shape is None else _text(shape, dims)


def _text(dim, dims):
    if isinstance(dim, Dim):
        _, derived = dims.setdefault(dim.root.__name__, (dim.root, set()))
        if dim is not dim.root:
            derived.add(dim.__name__)
        return dim.__name__
    if dim is None:
        dim = Dim.STATIC
    if not isinstance(dim, _DimHint):
        return dim
    if (dim.min, dim.max) != (None, None):
        raise UserError(f"{dim} has bounds of its own; write a named Dim instead")
    return f"_DimHint.{dim.type.name}"


def _load_dynamic_shapes(spec, from_dict=False):
    """The shapes that a DynamicShapesSpec, or the dict of one, describes."""
    if from_dict:
        if not isinstance(spec, dict) or set(spec) != {"dynamic_shapes", "dims"}:
            raise UserError(f"expected a dict with dynamic_shapes and dims, got {spec!r}")
        roots = {name: RootDim(**fields) for name, fields in spec["dims"].items()}
        spec = DynamicShapesSpec(spec["dynamic_shapes"], roots)
    dims = {name: Dim(name, min=d.min, max=d.max) for name, d in spec.dims.items()}
    for name, root in spec.dims.items():
        dims |= {text: read_derived(text, {name: dims[name]}.get) for text in root.derived}
    return pytree.tree_map(lambda leaf: _read(leaf, dims), spec.dynamic_shapes)


def _read(leaf, dims):
    if not isinstance(leaf, str):
        return leaf
    if leaf not in dims and leaf not in _HINTS:
        raise UserError(f"unknown dimension {leaf!r}: the spec has {list(dims)}")
    return dims[leaf] if leaf in dims else _HINTS[leaf]
