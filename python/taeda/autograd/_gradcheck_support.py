"""Checks of gradcheck beside right values: zero, missing and batched gradients."""

import warnings

from taeda import _C
from taeda.autograd.function import Function
from taeda.autograd.gradcheck import GradcheckError, as_tuple, is_differentiable

_BATCHED = "gradcheck or gradgradcheck failed while testing batched gradient computation."
_BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD."
)
_UNDEFINED_HINT = 'call this function with "check_undefined_grad=False" to disable the feature'


def check_zero_gradients(case, masked):
    """Gradients for zero are zero, and are of the kind of their inputs."""
    from taeda.autograd import grad

    if not case.outputs:
        return
    seeds = [_C.zeros_like(output) for output in case.outputs]
    found = grad(case.outputs, case.inputs, seeds, retain_graph=True, allow_unused=True)
    for gradient, x in zip(found, case.inputs):
        if gradient is None:
            continue
        is_zero = gradient.abs().le(1e-8).all() if masked else gradient.eq(0).all()
        if not is_zero:
            raise GradcheckError("backward not multiplied by grad_output")
        for kind, ours, theirs in (
            ("type", gradient.dtype, x.dtype),
            ("device", gradient.device, x.device),
            ("size", gradient.size(), x.size()),
        ):
            if ours != theirs:
                raise GradcheckError(f"grad is incorrect {kind}")


class _Undefine(Function):
    """Passes its input on, and no gradient back."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return None


def check_undefined_gradients(case):
    """Missing gradients of outputs count as zeros: of all outputs, and of each one alone."""
    if not case.outputs:
        return
    count = len(case.outputs)
    choices = [set(range(count))] + ([{i} for i in range(count)] if count > 1 else [])
    for undefined in choices:
        outputs = [r for r in as_tuple(case.func(*case.args)) if is_differentiable(r)]
        chosen = [_Undefine.apply(o) if i in undefined else o for i, o in enumerate(outputs)]
        _check_undefined(chosen, case.inputs)


def _check_undefined(outputs, inputs):
    from taeda.autograd import grad

    seeds = [_C.zeros_like(output) for output in outputs]
    try:
        found = grad(outputs, inputs, seeds, allow_unused=True)
    except RuntimeError as error:
        _warn_of_check()
        raise GradcheckError(
            "Expected backward function to handle undefined output grads."
        ) from error
    if any(g is not None and not g.eq(0).all() for g in found):
        _warn_of_check()
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are "
            "undefined or zero."
        )


def _warn_of_check():
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, "
        f"you can {_UNDEFINED_HINT}",
        stacklevel=4,
    )


def check_undefined_tangents(case):
    """A missing tangent counts as zeros, whatever tangents the other inputs have."""
    for skipped, x in enumerate(case.inputs):
        others = [_C.rand_like(y) for y in case.inputs]
        zeros, nothing = list(others), list(others)
        zeros[skipped], nothing[skipped] = _C.zeros_like(x), None
        with_zeros, without = _tangents(case, zeros), _tangents(case, nothing)
        for i, (a, b) in enumerate(zip(with_zeros, without)):
            if a is not None and b is not None and not _C.allclose(a, b):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {i} when input: {x} has "
                    f"an undefined tangent value.  Got: {a} but expected: {b}"
                )


def _tangents(case, tangents):
    """The outputs' tangents for one tangent or None for each input."""
    from taeda.autograd import forward_ad

    remaining = iter(tangents)
    with forward_ad.dual_level():
        args = []
        for arg in case.args:
            if is_differentiable(arg):
                tangent, arg = next(remaining), arg.detach()
                arg = arg if tangent is None else forward_ad.make_dual(arg, tangent)
            args.append(arg)
        results = as_tuple(case.func(*args))
        return [forward_ad.unpack_dual(results[i])[1] for i in case.compared]


def check_batched_gradients(case):
    """Gradients of a batch of cotangents by vmap equal those of each alone."""
    from taeda import vmap
    from taeda.autograd import grad

    for i, output in enumerate(case.outputs):

        def gradients(seed, output=output):
            found = grad(output, case.inputs, seed, retain_graph=True, allow_unused=True)
            return tuple(_C.zeros_like(x) if g is None else g for g, x in zip(found, case.inputs))

        seeds = _C.stack([_C.randn_like(output) for _ in range(2)])
        _compare_batched(vmap, gradients, seeds, _BATCHED, lambda j, i=i: (i, j))


def check_batched_tangents(case):
    """Tangents for a batch of directions by vmap equal those of each alone."""
    from taeda import vmap

    for j, x in enumerate(case.inputs):

        def tangents(direction, x=x):
            found = _tangents(case, [direction if y is x else None for y in case.inputs])
            pairs = zip(found, case.outputs)
            return tuple(_C.zeros_like(output) if f is None else f for f, output in pairs)

        directions = _C.stack([_C.randn_like(x) for _ in range(2)])
        _compare_batched(vmap, tangents, directions, _BATCHED_FORWARD, lambda i, j=j: (i, j))


def _compare_batched(vmap, function, batch, text, positions):
    rows = [function(item) for item in batch.unbind()]
    expected = [_C.stack(column) for column in zip(*rows)]
    try:
        found = vmap(function)(batch)
    except RuntimeError as error:
        raise GradcheckError(
            f"While computing batched gradients, got: {error}\n\n{text}"
        ) from error
    for k, (got, wanted) in enumerate(zip(found, expected)):
        if not _C.allclose(got, wanted):
            output, x = positions(k)
            raise GradcheckError(
                f"For output {output} and input {x}:\n\n{text}\n\nGot:\n{got}\n\n"
                f"Expected:\n{wanted}"
            )
