"""What control-flow operators do with the functions they take: flat calls, checks, gradients."""

from taeda import _C
from taeda.autograd.grad_mode import enable_grad
from taeda.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

_Tensor = _C.Tensor


class FlatFunction:
    """A function of nested arguments as one of their leaves that returns a flat tuple.

    `out_spec` tells, after a call, how the results were nested.
    """

    def __init__(self, fn, in_spec):
        self.fn = fn
        self.in_spec = in_spec
        self.out_spec = None

    def __call__(self, *leaves):
        results, self.out_spec = tree_flatten(self.fn(*tree_unflatten(leaves, self.in_spec)))
        return tuple(results)


def check_operands(operands):
    """Leaves of operands are tensors and integers."""
    allowed = (_Tensor, int)
    if not all(isinstance(o, allowed) for o in operands):
        raise AssertionError(
            f"{operands} can only be of {allowed} but got {tuple(type(o) for o in operands)}"
        )


def _differences(a, b):
    if isinstance(a, _Tensor) != isinstance(b, _Tensor):
        return [f"type: {a} vs {b}"]
    if not isinstance(a, _Tensor):
        return [] if isinstance(a, int) and isinstance(b, int) else [f"type: {a} vs {b}"]
    named = [("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)]
    found = [f"'{name}: {x} vs {y}'" for name, x, y in named if x != y]
    return found + ["device"] * (a.device != b.device)


def check_same_metadata(lhs, rhs, lhs_name, rhs_name):
    """Raises unless two flat lists agree in length and in shapes, dtypes and devices."""
    if len(lhs) != len(rhs):
        raise RuntimeError(
            f"Expected {lhs_name} and {rhs_name} to have same number of outputs but got "
            f"lhs:{list(lhs)} and rhs:{list(rhs)}"
        )
    lines = []
    for i, (a, b) in enumerate(zip(lhs, rhs)):
        if found := _differences(a, b):
            lines.append(f"pair[{i}] differ in {', '.join(found)}, where lhs is {a} and rhs is {b}")
    if lines:
        raise RuntimeError(
            f"Expected {lhs_name} and {rhs_name} to have same metadata but found:\n"
            + "\n".join(lines)
        )


def is_unknown(value):
    """Whether there are no numbers to look at: a fake or a meta tensor."""
    return isinstance(value, _Tensor) and not _C._has_values(value)


def repeated(value, count):
    """What stacking `count` tensors like this one looks like."""
    return value.expand((count, *value.shape)).clone()


def is_batched(pred):
    """Whether a predicate differs between the examples of a vmap."""
    return isinstance(pred, _Tensor) and _C._is_batched(pred)


def is_differentiable(value):
    """Whether a value may have a gradient."""
    return isinstance(value, _Tensor) and (value.is_floating_point() or value.is_complex())


def vjp_of(fn, num_operands):
    """(*operands, *cotangents) -> the gradients of those operands that may have one.

    `fn` is computed again for it. Operands that it does not use get zeros. Where gradients are
    recorded, those of the result are too.
    """

    def backward(*args):
        is_recorded = _C.is_grad_enabled()
        operands, cotangents = args[:num_operands], args[num_operands:]
        with enable_grad():
            inputs = [_as_input(o, is_recorded) for o in operands]
            results = tree_leaves(fn(*inputs))
        pairs = [
            (r, c)
            for r, c in zip(results, cotangents)
            if isinstance(r, _Tensor) and r.requires_grad and c is not None
        ]
        wanted = [x for x in inputs if is_differentiable(x)]
        return _gradients(pairs, wanted, is_recorded)

    return backward


def _as_input(value, keeps_history):
    """Something of its own to differentiate by."""
    if not is_differentiable(value):
        return value
    if keeps_history and value.requires_grad:
        return value.view_as(value)
    return value.detach().requires_grad_()


def scatter(gradients, operands):
    """Gradients as vjp_of gives them, with None for operands that have none."""
    given = iter(gradients)
    return [next(given) if is_differentiable(o) else None for o in operands]


def _gradients(pairs, wanted, is_recorded):
    from taeda.autograd import grad

    found = [None] * len(wanted)
    if pairs and wanted:
        results, cotangents = zip(*pairs)
        found = grad(results, wanted, cotangents, allow_unused=True, create_graph=is_recorded)
    return tuple(_C.zeros_like(x) if g is None else g for x, g in zip(wanted, found))
