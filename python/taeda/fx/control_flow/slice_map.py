"""A function of slices, for each of them: `map(f, xs, *args)`."""

from taeda import _C
from taeda.fx.control_flow._capture import ControlFlow, closed_graphs
from taeda.fx.control_flow._functions import FlatFunction
from taeda.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["map", "map_impl"]

_Tensor = _C.Tensor


class MapImpl(ControlFlow):
    """`map_impl(f, xs, pos_args)`: the results of `f(*slices, *pos_args)`, stacked."""

    graph_names = ("body_graph",)

    def __init__(self):
        super().__init__("map_impl")

    def __call__(self, f, xs, pos_args, /):
        return super().__call__(f, tuple(xs), tuple(pos_args))

    def closed(self, tracer, f, xs, pos_args):
        operands = (*(x.select(0, 0) for x in xs), *pos_args)
        (graph,), captured = closed_graphs(tracer, (f,), operands)
        return graph, xs, (*pos_args, *captured)


map_impl = MapImpl()


def map(f, xs, *args):
    """Stacks `f(x, *args)` for the slices `x` of `xs` along their first dimensions.

    `xs`, `args` and what `f` returns may be nested.
    """
    leaves = tree_leaves(xs)
    if not all(isinstance(x, _Tensor) for x in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    shapes = [x.shape for x in leaves]
    if shapes[0][0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(shape[0] != shapes[0][0] for shape in shapes):
        raise RuntimeError(
            f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}."
        )
    given, spec = tree_flatten((xs, *args))
    flat = _Mapped("map", f, spec)
    results = map_impl(flat, given[: len(leaves)], given[len(leaves) :])
    return tree_unflatten(results, flat.out_spec)


class _Mapped(FlatFunction):
    def call(self, *leaves):
        results = super().call(*leaves)
        if not all(isinstance(y, _Tensor) for y in results):
            raise RuntimeError(
                "map: Expected all leaves to be of torch.Tensor type, but f returned "
                f"{[type(y) for y in results]}"
            )
        return results
