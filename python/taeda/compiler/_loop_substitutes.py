"""What captures enter in place of loops and scans: their functions become graphs.

A function is captured once, on tensors that stand for those of any step, and is called with others.
What the plain operator refuses, and loops that carry integers, are breaks: it says why.
"""

import taeda
from taeda._C._dynamo import as_operator, capture_body
from taeda.compiler import graph_break
from taeda.fx.control_flow import loop, parallel_scan, sequential_scan, slice_map
from taeda.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["SUBSTITUTES"]

_Tensor = taeda.Tensor


def _are_tensors(leaves):
    return all(isinstance(leaf, _Tensor) for leaf in leaves)


def _capture(function, examples):
    """(graph, what it takes besides, numbers of its arguments), and (leaves, spec) of its result.

    A number is that of the example, or -1 for the next of what the graph takes besides.
    """
    # Another tensor than those that the function finds around it.
    places = [x.clone() for x in examples]

    def flat(*leaves):
        return tree_flatten(function(*leaves))

    body, taken, (results, spec), _ = capture_body(flat, tuple(places), {})
    roles = tuple(
        next((i for i, place in enumerate(places) if place is value), -1) for value in taken
    )
    others = tuple(value for value, role in zip(taken, roles) if role < 0)
    return (body, others, roles), results, spec


def _function_of(captured):
    body, others, roles = captured

    def call(*leaves):
        rest = iter(others)
        return tuple(body(*(next(rest) if role < 0 else leaves[role] for role in roles)))

    return call


# ---- while_loop ----
def _while_loop(cond_fn, body_fn, carried_inputs):
    leaves, spec = tree_flatten(tuple(carried_inputs))
    if not _are_tensors(leaves):
        graph_break()

    def condition(*leaves):
        return cond_fn(*tree_unflatten(leaves, spec))

    def step(*leaves):
        return tuple(body_fn(*tree_unflatten(leaves, spec)))

    condition, (*truth,), _ = _capture(condition, leaves)
    step, _, step_spec = _capture(step, leaves)
    if len(truth) != 1 or not _are_tensors(truth) or step_spec != spec:
        graph_break()
    results = as_operator(_call_while_loop, (condition, step, tuple(leaves)), {})
    return tree_unflatten(results, spec)


def _call_while_loop(condition, step, carried):
    is_on = _function_of(condition)
    return loop.while_loop(lambda *leaves: is_on(*leaves)[0], _function_of(step), carried)


# ---- map ----
def _map(f, xs, *args):
    leaves, _ = tree_flatten(xs)
    given, spec = tree_flatten((xs, *args))
    rest = given[len(leaves) :]
    if not leaves or not _are_tensors(given) or any(x.ndim == 0 for x in leaves):
        graph_break()

    def call(*leaves):
        return f(*tree_unflatten(leaves, spec))

    call, results, out_spec = _capture(call, [*(x.select(0, 0) for x in leaves), *rest])
    if not _are_tensors(results):
        graph_break()
    stacked = as_operator(_call_map, (call, tuple(leaves), tuple(rest)), {})
    return tree_unflatten(stacked, out_spec)


def _call_map(call, leaves, rest):
    call = _function_of(call)
    return slice_map.map(lambda slices, *rest: call(*slices, *rest), leaves, *rest)


# ---- scan ----
def _scan(combine_fn, init, xs, *, dim=0, reverse=False):
    carried, init_spec = tree_flatten(init)
    leaves, xs_spec = tree_flatten(xs)
    if not carried or not leaves or not _are_tensors([*carried, *leaves]):
        graph_break()
    count = len(carried)

    def combine(*leaves):
        carry = tree_unflatten(leaves[:count], init_spec)
        following, out = combine_fn(carry, tree_unflatten(leaves[count:], xs_spec))
        return following, out

    examples = [*carried, *(x.select(dim, 0) for x in leaves)]
    combine, results, spec = _capture(combine, examples)
    carry_spec, out_spec = spec.children_specs
    if carry_spec != init_spec or not _are_tensors(results):
        graph_break()
    settings = {"dim": dim, "reverse": reverse}
    found = as_operator(_call_scan, (combine, tuple(carried), tuple(leaves)), settings)
    return tree_unflatten(found[:count], init_spec), tree_unflatten(found[count:], out_spec)


def _call_scan(combine, carried, leaves, *, dim, reverse):
    combine, count = _function_of(combine), len(carried)

    def flat(carry, slices):
        results = combine(*carry, *slices)
        return results[:count], results[count:]

    carry, outs = sequential_scan.scan(flat, carried, leaves, dim=dim, reverse=reverse)
    return (*carry, *outs)


# ---- associative_scan ----
def _associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    leaves, spec = tree_flatten(xs)
    if not leaves or not _are_tensors(leaves):
        graph_break()
    count = len(leaves)

    def combine(*leaves):
        return combine_fn(
            tree_unflatten(leaves[:count], spec), tree_unflatten(leaves[count:], spec)
        )

    slices = [x.select(dim, 0) for x in leaves]
    combine, results, out_spec = _capture(combine, [*slices, *slices])
    if out_spec != spec or not _are_tensors(results):
        graph_break()
    settings = {"reverse": reverse, "combine_mode": combine_mode}
    found = as_operator(_call_associative_scan, (combine, tuple(leaves), dim), settings)
    return tree_unflatten(found, spec)


def _call_associative_scan(combine, leaves, dim, **settings):
    combine = _function_of(combine)
    return parallel_scan.associative_scan(
        lambda lhs, rhs: combine(*lhs, *rhs), leaves, dim, **settings
    )


SUBSTITUTES = {
    loop.while_loop: _while_loop,
    slice_map.map: _map,
    sequential_scan.scan: _scan,
    parallel_scan.associative_scan: _associative_scan,
}
