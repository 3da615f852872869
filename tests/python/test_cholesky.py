"""Cholesky factors, what is solved with them and determinants: blocks, derivatives, edges, errors.

Samples and PyTorch's values of small matrices are tests of the records.
"""

import pytest
from under_test import t

DTYPES = [t.float32, t.float64, t.complex64, t.complex128]
TOLERANCE = {t.float32: 2e-4, t.complex64: 2e-4, t.float64: 1e-11, t.complex128: 1e-11}


def random(*shape, dtype=t.float64):
    generator = t.Generator().manual_seed(sum(shape))
    return t.randn(*shape, dtype=dtype, generator=generator)


def positive(*shape, dtype=t.float64):
    a = random(*shape, dtype=dtype)
    return a @ a.mH / shape[-1] + t.eye(shape[-1], dtype=dtype)


def assert_close(actual, expected, dtype):
    assert actual.shape == expected.shape
    assert (actual - expected).abs().max().item() <= TOLERANCE[dtype]


# ---- factors ----
@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 65, 130])
@pytest.mark.parametrize("upper", [False, True])
def test_the_factor_gives_the_matrix_back(dtype, n, upper):
    a = positive(2, n, n, dtype=dtype)
    factor = t.linalg.cholesky(a, upper=upper)
    assert_close(factor.mH @ factor if upper else factor @ factor.mH, a, dtype)
    assert t.equal(factor, factor.triu() if upper else factor.tril())
    diagonal = factor.diagonal(dim1=-2, dim2=-1)
    assert (diagonal.real > 0).all()
    assert not dtype.is_complex or not diagonal.imag.any()


def test_values():
    a = t.tensor([[4.0, 12, -16], [12, 37, -43], [-16, -43, 98]])
    assert t.linalg.cholesky(a).tolist() == [[2, 0, 0], [6, 1, 0], [-8, 5, 3]]
    assert t.linalg.cholesky(a).stride() == (1, 3)


@pytest.mark.parametrize("upper", [False, True])
def test_one_triangle_is_read(upper):
    a = positive(40, 40)
    other = a.tril(-1) if upper else a.triu(1)
    expected = t.linalg.cholesky(a, upper=upper)
    assert t.equal(t.linalg.cholesky(a - other, upper=upper), expected)


def test_matrices_that_are_not_positive():
    bad = t.diag(t.tensor([1.0, 4, -1]))
    message = (
        r"linalg\.cholesky: The factorization could not be completed because the input is not "
        r"positive-definite \(the leading minor of order 3 is not positive-definite\)"
    )
    with pytest.raises(t.linalg.LinAlgError, match=message):
        t.linalg.cholesky(bad)
    with pytest.raises(t.linalg.LinAlgError, match=r"linalg\.cholesky: \(Batch element 1\): The"):
        t.linalg.cholesky(t.stack([t.eye(3), bad]))
    with pytest.raises(t.linalg.LinAlgError, match=r"linalg\.cholesky_ex: The factorization"):
        t.linalg.cholesky_ex(bad, check_errors=True)
    assert t.linalg.cholesky_ex(t.stack([t.eye(3), bad])).info.tolist() == [0, 3]
    assert t.linalg.cholesky_ex(t.full((2, 2), t.nan)).info.item() == 1
    # Beyond the first block of columns.
    late = t.eye(70)
    late[50, 50] = 0
    assert t.linalg.cholesky_ex(late).info.item() == 51


def test_matrices_without_elements():
    for dtype in (t.float64, t.bfloat16):
        factor, info = t.linalg.cholesky_ex(t.ones(2, 0, 0, dtype=dtype))
        assert factor.shape == (2, 0, 0) and factor.dtype == dtype and info.tolist() == [0, 0]
    assert t.linalg.cholesky(t.ones(0, 3, 3)).shape == (0, 3, 3)


def test_out_may_be_the_argument():
    a = positive(40, 40)
    expected = t.linalg.cholesky(a)
    assert t.linalg.cholesky(a, out=a) is a
    assert t.equal(a, expected)


def test_the_older_name_warns():
    with pytest.warns(UserWarning, match=r"torch\.cholesky is deprecated in favor of"):
        assert t.equal(t.cholesky(t.eye(2)), t.eye(2))
    with pytest.warns(UserWarning, match=r"torch\.triangular_solve is deprecated in favor of"):
        found = t.triangular_solve(t.ones(2, 1), t.tensor([[2.0, 0], [0, 4]]))
    assert found.solution.tolist() == [[0.5], [0.25]]
    assert found.cloned_coefficient.tolist() == [[2, 0], [0, 4]]


# ---- derivatives: of Hermitian matrices, as a change keeps them ----
def hermitian(a):
    return (a + a.mH) / 2 + 3 * t.eye(a.shape[-1], dtype=a.dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [t.float64, t.complex128])
@pytest.mark.parametrize("upper", [False, True])
def test_derivatives_of_factors(dtype, upper):
    a = random(2, 3, 3, dtype=dtype).requires_grad_()

    def factor(a):
        return t.linalg.cholesky(hermitian(a), upper=upper)

    assert t.autograd.gradcheck(factor, a, check_forward_ad=True)
    assert t.autograd.gradgradcheck(factor, a)


def test_a_gradient_is_symmetric():
    a = positive(4, 4).requires_grad_()
    t.linalg.cholesky(a).sum().backward()
    assert t.allclose(a.grad, a.grad.mT)


# ---- equations ----
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_equations(dtype, upper):
    a = positive(70, 70, dtype=dtype)
    b = random(3, 70, 2, dtype=dtype)
    factor = t.linalg.cholesky(a, upper=upper)
    assert_close(a @ t.cholesky_solve(b, factor, upper), b, dtype)
    inverse = t.cholesky_inverse(factor, upper)
    assert_close(a @ inverse, t.eye(70, dtype=dtype), dtype)
    out = t.empty_like(inverse)
    assert t.cholesky_inverse(factor, upper, out=out) is out and t.equal(out, inverse)


def test_a_singular_factor_has_no_inverse():
    factor = t.diag(t.tensor([1.0, 0, 2]))
    with pytest.raises(
        t.linalg.LinAlgError,
        match="cholesky_inverse: The diagonal element 2 is zero, the inversion could not be",
    ):
        t.cholesky_inverse(factor)
    with pytest.raises(t.linalg.LinAlgError, match=r"\(Batch element 1\): The diagonal element 2"):
        t.cholesky_inverse(t.stack([t.eye(3), factor]))


# ---- determinants ----
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 3, 40])
def test_determinants(dtype, n):
    a = random(n, n, dtype=dtype) / n**0.5
    p, lower, upper = t.lu_unpack(*t.linalg.lu_factor(a))
    product = upper.diagonal().prod()
    swapped = sum(
        int(row > later)
        for i, row in enumerate(p.real.argmax(1).tolist())
        for later in p.real.argmax(1).tolist()[i + 1 :]
    )
    sign, logabsdet = t.linalg.slogdet(a)
    assert logabsdet.dtype == a.real.dtype
    assert t.allclose(sign * logabsdet.exp(), product * (-1) ** swapped, rtol=1e-4)
    assert t.equal(t.slogdet(a).logabsdet, logabsdet)


def test_determinants_at_the_edges():
    assert [x.item() for x in t.linalg.slogdet(t.zeros(2, 2))] == [0, -t.inf]
    assert [x.item() for x in t.linalg.slogdet(t.ones(0, 0))] == [1, 0]
    assert t.logdet(t.diag(t.tensor([1.0, -1]))).isnan()
    assert t.logdet(2 * t.eye(2)).item() == pytest.approx(1.3862943)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 3, 40])
def test_determinants_and_inverses(dtype, n):
    a = random(2, n, n, dtype=dtype) / n**0.5
    sign, logabsdet = t.linalg.slogdet(a)
    assert t.allclose(t.linalg.det(a), sign * logabsdet.exp(), rtol=1e-4)
    assert t.equal(t.det(a), a.det()) and t.equal(t.det(a), t.linalg.det(a))
    inverse, info = t.linalg.inv_ex(a)
    assert t.allclose(a @ inverse, t.eye(n, dtype=dtype).expand(2, n, n), atol=1e-2)
    assert info.tolist() == [0, 0]
    for same in (t.linalg.inv(a), t.inverse(a), a.inverse()):
        assert t.equal(same, inverse)
    out = t.empty(0, dtype=dtype)
    assert t.linalg.inv(a, out=out) is out and t.equal(out, inverse)
    out = t.empty(0, dtype=dtype)
    assert t.linalg.det(a, out=out) is out and t.equal(out, t.linalg.det(a))


def test_singular_matrices():
    a = t.tensor([[1.0, 2], [2, 4]], dtype=t.float64, requires_grad=True)
    t.linalg.det(a).backward()  # the adjugate, transposed
    assert t.allclose(a.grad, t.tensor([[4.0, -2], [-2, 1]], dtype=t.float64))
    tiny = (a.detach() * 1e-12).requires_grad_()
    t.linalg.det(tiny).backward()
    assert t.allclose(tiny.grad * 1e12, a.grad)
    nothing = t.zeros(3, 3, requires_grad=True)
    t.det(nothing).backward()
    assert nothing.grad.abs().max() < 1e-6
    assert t.linalg.inv_ex(a).info.item() == 2
    message = "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed"
    with pytest.raises(t.linalg.LinAlgError, match=message):
        t.linalg.inv(a)
    with pytest.raises(t.linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\)"):
        t.inverse(t.stack([t.eye(2, dtype=t.float64), a]))
    assert t.linalg.det(t.ones(0, 0)).item() == 1 and t.linalg.inv(t.ones(0, 0)).shape == (0, 0)


# ---- mapped and compiled ----
def test_mapped_factors():
    a = positive(4, 3, 3)
    assert t.allclose(t.vmap(t.linalg.cholesky)(a), t.linalg.cholesky(a))
    b = random(3, 2)
    mapped = t.vmap(t.cholesky_solve, (None, 0))(b, t.linalg.cholesky(a))
    assert t.allclose(mapped, t.linalg.solve(a, b))
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        t.vmap(t.linalg.cholesky)(t.ones(2, 2))


def test_compiled_factors_still_raise():
    factor = t.compile(lambda a: t.linalg.cholesky(a) * 2)
    a = positive(3, 3)
    assert t.allclose(factor(a), t.linalg.cholesky(a) * 2)
    with pytest.raises(t.linalg.LinAlgError):
        factor(-a)
