"""A function of slices, for each of them: `map(f, xs, *args)`."""

from taeda import _C
from taeda.autograd.function import Function
from taeda.func.batching import vmap
from taeda.fx.control_flow._capture import TRACER, ControlFlow, closed_graphs, record
from taeda.fx.control_flow._derivatives import (
    is_differentiable,
    jvp_of,
    keep,
    kept,
    result_tangents,
    scatter,
    split_at,
    tangents_of,
    vjp_of,
)
from taeda.fx.control_flow._functions import (
    FlatFunction,
    batched_slices,
    is_unknown,
    repeated,
)
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
    flat = FlatFunction("map", f, spec)
    results = map_impl(flat, given[: len(leaves)], given[len(leaves) :])
    return tree_unflatten(results, flat.out_spec)


@map_impl.py_impl("CompositeExplicitAutograd")
def _run(f, xs, pos_args):
    if is_unknown(xs[0]):
        # All slices look the same, and their number may be a symbol.
        result = _tensors(f(*(x.select(0, 0) for x in xs), *pos_args))
        return tuple(repeated(y, xs[0].shape[0]) for y in result)
    results = []
    for i in range(xs[0].shape[0]):
        results.append(_tensors(f(*(x.select(0, i) for x in xs), *pos_args)))
    return tuple(_C.stack(column) for column in zip(*results))


def _tensors(results):
    leaves = tree_leaves(results)
    if not all(isinstance(y, _Tensor) for y in leaves):
        raise RuntimeError(
            "map: Expected all leaves to be of torch.Tensor type, but f returned "
            f"{[type(y) for y in leaves]}"
        )
    return leaves


# ---- as one call ----
@map_impl.py_impl(TRACER)
def _record(tracer, f, xs, pos_args):
    result = map_impl(f, xs, pos_args)
    named = zip(map_impl.graph_names, (f,))
    return record(tracer, map_impl, named, lambda a: (a, list(xs), list(pos_args)), result)


class _Map(Function):
    """The operator with a gradient: a map of the function's own."""

    @staticmethod
    def forward(f, num_xs, *operands):
        return map_impl(f, operands[:num_xs], operands[num_xs:])

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.f, ctx.num_xs, *operands = inputs
        keep(ctx, operands, output)

    @staticmethod
    def backward(ctx, *grads):
        operands = kept(ctx)
        xs, pos_args = operands[: ctx.num_xs], operands[ctx.num_xs :]
        sizes = len(xs), len(grads), len(pos_args)
        vjp = vjp_of(ctx.f, len(operands))

        def step(*args):
            slices, cotangents, given = split_at(args, sizes)
            return vjp(*slices, *given, *cotangents)

        found = map_impl(step, (*xs, *grads), pos_args)
        num_mapped = sum(is_differentiable(x) for x in xs)
        of_xs = scatter(found[:num_mapped], xs)
        of_args = scatter([g.sum(0) for g in found[num_mapped:]], pos_args)
        return (None, None, *of_xs, *of_args)

    @staticmethod
    def jvp(ctx, *tangents):
        operands = kept(ctx)
        xs, pos_args = operands[: ctx.num_xs], operands[ctx.num_xs :]
        of_xs = tangents_of(tangents[2:], xs)
        of_args = tangents_of(tangents[2 + len(xs) :], pos_args)
        sizes = [len(part) for part in (xs, of_xs, pos_args, of_args)]
        jvp = jvp_of(ctx.f, len(operands))

        def step(*args):
            slices, moved, given, of_given = split_at(args, sizes)
            return jvp(*slices, *given, *moved, *of_given)

        return result_tangents(ctx, map_impl(step, (*xs, *of_xs), (*pos_args, *of_args)))

    @staticmethod
    def vmap(info, in_dims, f, num_xs, *operands):
        of_xs, of_args = in_dims[2 : 2 + num_xs], in_dims[2 + num_xs :]
        xs, of_slices = batched_slices(operands[:num_xs], of_xs)
        over_batch = vmap(f, in_dims=(*of_slices, *of_args), randomness=info.randomness)
        return map_impl(over_batch, xs, operands[num_xs:]), 1


@map_impl.py_autograd_impl
def _with_gradient(f, xs, pos_args):
    return _Map.apply(f, len(xs), *xs, *pos_args)
