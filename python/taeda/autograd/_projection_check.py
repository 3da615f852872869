"""The fast mode of gradcheck: one random projection of each Jacobian in place of its entries.

With random unit vectors v over an output and u over an input, v J u computed by one vector-Jacobian
product and one finite difference agree only if the Jacobians do, save for unlikely chance.
"""

from taeda import _C
from taeda.autograd import _jacobian_check as full
from taeda.autograd.gradcheck import GradcheckError

_SLOW_PASSES = """
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

Call gradcheck or gradgradcheck with `fast_mode=False` to compare every entry.
""".strip()


def _real(dtype):
    return {_C.complex128: _C.float64, _C.complex64: _C.float32}.get(dtype, dtype)


def _random_vector(tensor, generator):
    """A real vector of length 1 with positive entries, one per element of the tensor."""
    vector = _C.rand(tensor.numel(), generator=generator, dtype=_C.float64)
    vector = vector / vector.square().sum().sqrt()
    return vector.to(_real(tensor.dtype)).to(tensor.device)


class _Vectors:
    """The random vectors of a check: two for each input (its parts), one for each output."""

    def __init__(self, case):
        generator = _C.Generator()  # the user's random stream stays as it is
        generator.manual_seed(0x7AEDA)
        self.inputs = [
            {part: _random_vector(x, generator) for part in (full.REAL, full.IMAGINARY)}
            for x in case.inputs
        ]
        self.outputs = [_random_vector(output, generator) for output in case.outputs]


def _direction(x, vector, part):
    return vector.to(x.dtype).view(x.size()) * full.unit(x, part)


def _numerical_products(case, x, vectors):
    """For every output J u, a part of the input at a time."""
    return {
        part: full.numerical_derivative(case, x, _direction(x, vectors[part], part))
        for part in full.parts(x)
    }


def check_backward_projections(case, check_dtypes):
    """v J u by backward mode against v (J u) by finite differences."""
    vectors = _Vectors(case)
    numerical = [_numerical_products(case, x, u) for x, u in zip(case.inputs, vectors.inputs)]
    for part in (full.IMAGINARY, full.REAL):
        for i, (output, v) in enumerate(zip(case.outputs, vectors.outputs)):
            if part not in full.parts(output):
                continue
            seed = [v.to(output.dtype).view(output.size())]
            rows = full.backward_jacobian(case, output, part, check_dtypes, seed)
            for j, (x, row) in enumerate(zip(case.inputs, rows)):
                u = vectors.inputs[j]
                ours, theirs, total = 0, 0, 0
                for p in full.parts(x):
                    step = full.unit(x, p)
                    ours = ours + step * full.part_of(row[:, 0], p).dot(u[p])
                    product = full.part_of(numerical[j][p][i], part)
                    theirs = theirs + step * product.to(v.dtype).dot(v)
                    total += u[p].sum().item()
                _compare(case, ours, theirs, total * v.sum().item(), i, j, part, check_dtypes)


def _compare(case, analytical, numerical, scale, i, j, part, check_dtypes):
    """Each entry may be wrong by atol, so that a projection may be by atol times its weights."""
    rtol, atol = case.tolerance.rtol, case.tolerance.atol
    if full.is_close(analytical, numerical, rtol, atol * scale):
        return
    output = case.outputs[i]
    a = full.backward_jacobian(case, output, part, check_dtypes)[j]
    n = full.numerical_gradients(case, case.inputs[j], part)[i]
    text = full.mismatch(analytical, numerical, i, j, output.is_complex(), part, False)
    raise GradcheckError(text + _entry_by_entry(case, a, n))


def check_forward_projections(case, check_dtypes):
    """J u by forward mode against finite differences."""
    vectors = _Vectors(case)
    rtol, atol = case.tolerance.rtol, case.tolerance.atol
    for j, x in enumerate(case.inputs):
        for part in full.parts(x):
            u = vectors.inputs[j][part]
            direction = _direction(x, u, part)
            numerical = full.numerical_derivative(case, x, direction)
            analytical = full.forward_derivative(case, x, direction, check_dtypes)
            for i, (a, n) in enumerate(zip(analytical, numerical)):
                if full.is_close(a, n, rtol, atol * u.sum().item()):
                    continue
                text = full.mismatch(a, n, i, j, x.is_complex(), part, True)
                whole = full.forward_jacobians(case, x, part, check_dtypes)[i]
                expected = full.numerical_jacobians(case, x, part)[i]
                raise GradcheckError(text + _entry_by_entry(case, whole, expected))


def _entry_by_entry(case, analytical, numerical):
    """The Jacobians whose projections differ, and whether the full comparison would pass."""
    worst = (analytical - numerical).abs().max()
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
        "in fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
        f"Numerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
        f"The max per-element difference (slow mode) is: {worst}.\n"
    )
    is_close = full.is_close(analytical, numerical, case.tolerance.rtol, case.tolerance.atol)
    return text + (_SLOW_PASSES if is_close else "")
