"""Jacobians of a function by finite differences and by differentiation, and their comparison.

A Jacobian here has a row for each element of an input and a column for each element of an output.
Complex numbers count as pairs of reals: an output is compared part by part, and with respect to a
complex input a row holds d/dx + 1j d/dy, which is what backward mode calls the gradient.
"""

import warnings
from collections import namedtuple

from taeda import _C
from taeda.autograd.gradcheck import GradcheckError, as_tuple, is_differentiable

Tolerance = namedtuple("Tolerance", "eps atol rtol nondet")

REAL, IMAGINARY = "real", "imaginary"


def check_arguments(args):
    """Checks that the inputs can be differentiated: no shared elements, preferably double."""
    for position, arg in enumerate(args):
        if not is_differentiable(arg):
            continue
        if arg.dtype not in (_C.float64, _C.complex128):
            warnings.warn(
                f"Input #{position} requires gradient and is not a double precision floating "
                "point or complex. This check will likely fail if all the inputs are not of "
                "double precision floating point or complex. ",
                stacklevel=3,
            )
        if any(stride == 0 and size > 1 for stride, size in zip(arg.stride(), arg.size())):
            raise RuntimeError(
                f"The {position}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
    if not any(map(is_differentiable, args)):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


class Case:
    """A function, the arguments it is checked at, and its results there."""

    def __init__(self, func, args, tolerance):
        self.func, self.args, self.tolerance = func, args, tolerance
        self.inputs = [arg for arg in args if is_differentiable(arg)]
        self.results = as_tuple(func(*args))
        self.compared = [i for i, r in enumerate(self.results) if is_differentiable(r)]
        self.outputs = [self.results[i] for i in self.compared]

    def values(self, positions):
        """The function's results at these positions, computed anew."""
        results = as_tuple(self.func(*self.args))
        return [results[i].detach().clone() for i in positions]

    def checked_positions(self):
        """Positions of the differentiable results, or of all numbers where there are none."""
        is_number = [r.is_floating_point() or r.is_complex() for r in self.results]
        return self.compared or [i for i, is_one in enumerate(is_number) if is_one]

    def check_constant(self):
        """Results without gradients must not depend on the inputs."""
        for x in self.inputs:
            for part in parts(x):
                for jacobian in numerical_jacobians(self, x, part):
                    if jacobian.ne(0).any():
                        raise GradcheckError("Numerical gradient for function expected to be zero")


def parts(tensor):
    """The parts of a number, in the order in which they are checked."""
    return (IMAGINARY, REAL) if tensor.is_complex() else (REAL,)


def part_of(tensor, part):
    """One part of a tensor's numbers; a real tensor is its own real part."""
    if not tensor.is_complex():
        return tensor
    return tensor.resolve_conj().real if part is REAL else tensor.resolve_conj().imag


def unit(tensor, part):
    """1 or 1j, of the tensor's kind."""
    return 1j if part is IMAGINARY else 1


def directions(x):
    """The unit vectors of the space of `x`, each of the shape of `x`."""
    for i in range(x.numel()):
        direction = _C.zeros(x.numel(), dtype=x.dtype, device=x.device)
        direction[i] = 1
        yield direction.view(x.size())


# ---- numerical ----


def numerical_derivative(case, x, direction):
    """For every checked result, d result / d x along the direction, flat."""
    positions, eps = case.checked_positions(), case.tolerance.eps
    # `data` has a version of its own, so that graphs recorded before stay valid.
    memory, start = x.data, x.detach().clone()
    try:
        memory.copy_(start - direction * eps)
        below = case.values(positions)
        memory.copy_(start + direction * eps)
        above = case.values(positions)
    finally:
        memory.copy_(start)
    for a, b in zip(below, above):
        _check_same_kind(a, b, eps)
    return [((b - a) / (2 * eps)).reshape(-1) for a, b in zip(below, above)]


def _check_same_kind(a, b, eps):
    for kind, values in (("shape", (a.shape, b.shape)), ("dtype", (a.dtype, b.dtype))):
        if values[0] != values[1]:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {kind} when inputs are "
                f"perturbed by {eps}, but got: {kind}s {values[0]} and {values[1]}."
            )


def numerical_jacobians(case, x, part):
    """For every checked result its Jacobian with respect to one part of `x`."""
    step = unit(x, part)
    rows = [numerical_derivative(case, x, direction * step) for direction in directions(x)]
    if not rows:
        shapes = [(0, case.results[i].numel()) for i in case.checked_positions()]
        return [_C.zeros(shape, dtype=x.dtype) for shape in shapes]
    return [_C.stack(column) for column in zip(*rows)]


def numerical_gradients(case, x, part):
    """For every checked result the Jacobian of one of its parts, complex for a complex `x`."""
    by_part = {p: [part_of(j, part) for j in numerical_jacobians(case, x, p)] for p in parts(x)}
    if not x.is_complex():
        return by_part[REAL]
    return [re + 1j * im for re, im in zip(by_part[REAL], by_part[IMAGINARY])]


# ---- backward mode ----


def backward_jacobian(case, output, part, check_dtypes, seeds=None):
    """The Jacobians of one part of an output with respect to every input, row vectors joined.

    `seeds` are the cotangents, by default one for each element. Everything is computed twice:
    the difference tells whether backward is deterministic.
    """
    seeds = list(directions(output)) if seeds is None else seeds
    seeds = [seed * unit(output, part) for seed in seeds]
    first, second = (_gradient_rows(case, output, seeds, check_dtypes) for _ in range(2))
    for a, b in zip(first, second):
        if a.numel() and (a - b).abs().max() > case.tolerance.nondet:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and "
                "grad_output multiple times gives different values, although analytical gradient "
                f"matches numerical gradient.The tolerance for nondeterminism was "
                f"{case.tolerance.nondet}."
            )
    return first


def _gradient_rows(case, output, seeds, check_dtypes):
    from taeda.autograd import grad

    columns = [[] for _ in case.inputs]
    for seed in seeds:
        found = grad(output, case.inputs, seed, retain_graph=True, allow_unused=True)
        for column, gradient, x in zip(columns, found, case.inputs):
            if gradient is None:
                gradient = _C.zeros_like(x)
            if gradient.size() != x.size():
                raise GradcheckError("Analytical gradient has incorrect size")
            if check_dtypes and gradient.dtype != x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            column.append(gradient.detach().clone().to(x.dtype).reshape(-1))
    return [
        _C.stack(column, 1) if column else _C.zeros((x.numel(), 0), dtype=x.dtype)
        for column, x in zip(columns, case.inputs)
    ]


# ---- forward mode ----


def forward_derivative(case, x, tangent, check_dtypes):
    """For every differentiable output its tangent, flat; that of inputs other than `x` is zero."""
    from taeda.autograd import forward_ad

    with forward_ad.dual_level():
        args = [_dual(arg, tangent if arg is x else None) for arg in case.args]
        results = as_tuple(case.func(*args))
        found = []
        for position in case.compared:
            primal, result = forward_ad.unpack_dual(results[position])
            if result is None:
                result = _C.zeros_like(primal)
            if check_dtypes and result.is_complex() != primal.is_complex():
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            found.append(result.detach().clone().reshape(-1))
    return found


def _dual(arg, tangent):
    from taeda.autograd import forward_ad

    if not is_differentiable(arg):
        return arg
    arg = arg.detach()
    return forward_ad.make_dual(arg, _C.zeros_like(arg) if tangent is None else tangent)


def forward_jacobians(case, x, part, check_dtypes):
    """For every differentiable output its Jacobian with respect to one part of `x`."""
    step = unit(x, part)
    rows = [forward_derivative(case, x, d * step, check_dtypes) for d in directions(x)]
    return [_C.stack(column) for column in zip(*rows)]


# ---- comparison ----


def is_close(a, n, rtol, atol):
    """Whether two Jacobians agree, compared in the type that holds both."""
    dtype = _C.promote_types(a.dtype, n.dtype)
    return _C.allclose(a.to(dtype), n.to(dtype), rtol, atol)


def mismatch(analytical, numerical, output, x, is_complex, part, is_forward):
    """The message for two Jacobians that differ; `output` and `x` are positions."""
    element = "inputs" if is_forward else "outputs"
    prefix = f"While considering the {part} part of complex {element} only, " if is_complex else ""
    mode = "computed with forward mode " if is_forward else ""
    return (
        f"{prefix}Jacobian {mode}mismatch for output {output} with respect to input {x},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


def check_backward(case, is_fast, check_dtypes):
    """Backward mode against finite differences, for all outputs and inputs."""
    if not case.outputs:
        case.check_constant()
    elif is_fast:
        from taeda.autograd._projection_check import check_backward_projections

        check_backward_projections(case, check_dtypes)
    else:
        for part in (IMAGINARY, REAL):
            _check_backward_part(case, part, check_dtypes)


def _check_backward_part(case, part, check_dtypes):
    if not any(part in parts(output) for output in case.outputs):
        return
    numerical = [numerical_gradients(case, x, part) for x in case.inputs]
    for i, output in enumerate(case.outputs):
        if part not in parts(output):
            continue
        analytical = backward_jacobian(case, output, part, check_dtypes)
        for j, a in enumerate(analytical):
            n = numerical[j][i]
            if not is_close(a, n, case.tolerance.rtol, case.tolerance.atol):
                raise GradcheckError(mismatch(a, n, i, j, output.is_complex(), part, False))


def check_forward(case, is_fast, check_dtypes):
    """Forward mode against finite differences, for all outputs and inputs."""
    if not case.outputs:
        case.check_constant()
        return
    if is_fast:
        from taeda.autograd._projection_check import check_forward_projections

        check_forward_projections(case, check_dtypes)
        return
    for j, x in enumerate(case.inputs):
        for part in parts(x) if x.numel() else ():
            numerical = numerical_jacobians(case, x, part)
            analytical = forward_jacobians(case, x, part, check_dtypes)
            for i, (a, n) in enumerate(zip(analytical, numerical)):
                if not is_close(a, n, case.tolerance.rtol, case.tolerance.atol):
                    raise GradcheckError(mismatch(a, n, i, j, x.is_complex(), part, True))
