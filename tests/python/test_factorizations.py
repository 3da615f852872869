"""Factors of matrices, equations and the exponential: sizes beyond a block, layouts, edges, errors.

Samples, derivatives and PyTorch's values of small matrices are tests of the records.
"""

import pytest
from under_test import t

DTYPES = [t.float32, t.float64, t.complex64, t.complex128]
TOLERANCE = {t.float32: 2e-4, t.complex64: 2e-4, t.float64: 1e-11, t.complex128: 1e-11}
# Below, at and beyond the blocks that the kernels cut matrices into.
SHAPES = [(1, 1), (31, 31), (33, 32), (32, 33), (100, 70), (70, 100), (130, 130)]


def random(*shape, dtype=t.float64):
    generator = t.Generator().manual_seed(sum(shape))
    return t.randn(*shape, dtype=dtype, generator=generator)


def assert_close(actual, expected, dtype):
    assert actual.shape == expected.shape
    assert (actual - expected).abs().max().item() <= TOLERANCE[dtype] if actual.numel() else True


# ---- QR ----
@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_gives_the_matrix_back(dtype, shape, mode):
    a = random(*shape, dtype=dtype)
    q, r = t.linalg.qr(a, mode)
    assert_close(q @ r, a, dtype)
    assert_close(q.mH @ q, t.eye(q.shape[1], dtype=dtype), dtype)
    assert t.equal(r, r.triu())


@pytest.mark.parametrize("dtype", DTYPES)
def test_diagonal_of_r_has_the_signs_of_lapack(dtype):
    r = t.linalg.qr(t.eye(3, dtype=dtype) * 2 + t.ones(3, 3, dtype=dtype))[1]
    assert (r.diagonal().real < 0)[:2].all()
    # One element has nothing below it to reflect.
    assert t.linalg.qr(t.ones(1, 1, dtype=dtype))[1].item() == 1


def test_qr_values():
    q, r = t.linalg.qr(t.tensor([[1.0, 2], [3, 4], [5, 6]], dtype=t.float64))
    expected_r = [[-5.916079783099615, -7.437357441610947], [0, 0.828078671210825]]
    assert t.allclose(r, t.tensor(expected_r, dtype=t.float64))
    expected_q = [[-0.169031, 0.897085], [-0.507093, 0.276026], [-0.845154, -0.345033]]
    assert t.allclose(q, t.tensor(expected_q, dtype=t.float64), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_qr_of_huge_and_tiny_numbers(scale):
    a = random(40, 3)
    r = t.linalg.qr(a * scale, "r")[1]
    assert t.allclose(r / scale, t.linalg.qr(a)[1])


def test_zero_columns_are_not_reflected():
    a, tau = t.geqrf(t.zeros(3, 2))
    assert not a.any() and not tau.any()


def test_nan_stays_nan():
    q, r = t.linalg.qr(t.tensor([[1.0, 2], [float("nan"), 4]]))
    assert q.isnan().all() and r[0].isnan().all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (70, 70), (100, 40)])
def test_householder_product_is_its_decomposition(dtype, shape):
    a, tau = t.geqrf(random(*shape, dtype=dtype))
    q = t.linalg.householder_product(a, tau)
    v = a.tril(-1) + t.eye(*shape, dtype=dtype)
    expected = t.eye(shape[0], dtype=dtype)
    for i in range(shape[1]):
        expected = expected - tau[i] * (expected @ v[:, i : i + 1]) @ v[:, i : i + 1].mH
    assert_close(q, expected[:, : shape[1]], dtype)
    assert t.equal(t.orgqr(a, tau), q)


def test_results_lie_column_after_column():
    q, r = t.linalg.qr(t.ones(2, 4, 3))
    assert (q.stride(), r.stride()) == ((12, 1, 4), (9, 1, 3))
    assert t.linalg.solve(t.eye(3), t.ones(3, 2)).stride() == (1, 3)
    assert t.linalg.solve_triangular(t.eye(3), t.ones(3, 2), upper=True).stride() == (1, 3)
    assert t.linalg.matrix_exp(t.eye(3).T).stride() == (3, 1)


# ---- equations ----
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n, columns", [(1, 1), (64, 3), (65, 70), (150, 1)])
@pytest.mark.parametrize("left", [True, False])
def test_solve(dtype, n, columns, left):
    a = random(n, n, dtype=dtype) + 3 * t.eye(n, dtype=dtype)
    b = random(*((n, columns) if left else (columns, n)), dtype=dtype)
    x = t.linalg.solve(a, b, left=left)
    assert_close((a @ x if left else x @ a) / n, b / n, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("unitriangular", [True, False])
def test_solve_triangular(dtype, upper, left, unitriangular):
    n = 90
    a = random(n, n, dtype=dtype) / n
    a = a + 2 * t.eye(n, dtype=dtype)
    b = random(n, n, dtype=dtype).mT
    x = t.linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unitriangular)
    part = a.triu() if upper else a.tril()
    if unitriangular:
        part = part - t.diag(part.diagonal()) + t.eye(n, dtype=dtype)
    assert_close(part @ x if left else x @ part, b, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_lu_gives_the_matrix_back(dtype, shape):
    a = random(2, *shape, dtype=dtype)
    factors, pivots = t.linalg.lu_factor(a)
    p, lower, upper = t.lu_unpack(factors, pivots)
    assert_close(p @ lower @ upper, a, dtype)
    # Complex pivots are the largest by the sum of their parts' magnitudes.
    assert lower.abs().max().item() <= (1.4143 if dtype.is_complex else 1)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solve(left, adjoint):
    a, b = random(5, 5, dtype=t.complex128), random(2, 5, 5, dtype=t.complex128)
    x = t.linalg.lu_solve(*t.linalg.lu_factor(a), b, left=left, adjoint=adjoint)
    matrix = a.mH if adjoint else a
    assert_close(matrix @ x if left else x @ matrix, b, t.complex128)


def test_singular_matrices():
    with pytest.raises(t.linalg.LinAlgError, match="The solver failed because the input matrix is"):
        t.linalg.solve(t.zeros(3, 3), t.ones(3))
    batch = t.stack([t.eye(3), t.zeros(3, 3)])
    with pytest.raises(
        t.linalg.LinAlgError, match=r"torch\.linalg\.solve: \(Batch element 1\): The"
    ):
        t.linalg.solve(batch, t.ones(2, 3))
    with pytest.raises(t.linalg.LinAlgError, match=r"torch\.linalg\.solve_ex: The solver failed"):
        t.linalg.solve_ex(t.zeros(3, 3), t.ones(3), check_errors=True)
    assert issubclass(t.linalg.LinAlgError, RuntimeError)
    assert t.linalg.solve_ex(batch, t.ones(2, 3)).info.tolist() == [0, 1]
    assert t.linalg.lu_factor_ex(t.tensor([[1.0, 2], [2, 4]])).info.item() == 2


def test_vectors_and_batches_on_the_right():
    a, vectors = random(2, 3, 3), random(2, 3)
    x = t.linalg.solve(a, vectors)
    assert t.allclose((a @ x.unsqueeze(-1)).squeeze(-1), vectors)
    assert t.linalg.solve(a, vectors[0]).shape == (2, 3)
    # As many rows as batches of vectors, but another size: a matrix for every A.
    assert t.linalg.solve(a, random(3, 4)).shape == (2, 3, 4)


@pytest.mark.parametrize("dtype", [t.float64, t.bfloat16])
def test_matrices_without_elements(dtype):
    none = t.ones(2, 0, 0, dtype=dtype)
    assert t.linalg.solve(none, t.ones(2, 0, 3, dtype=dtype)).shape == (2, 0, 3)
    factors, pivots, info = t.linalg.lu_factor_ex(t.ones(0, 2, dtype=dtype))
    assert factors.shape == (0, 2) and pivots.shape == (0,) and info.item() == 0
    assert t.linalg.qr(t.ones(3, 0), "complete")[0].equal(t.eye(3))
    assert t.linalg.householder_product(t.ones(3, 2), t.ones(0)).equal(t.eye(3, 2))
    assert t.matrix_exp(none).shape == (2, 0, 0)


def test_out_may_be_an_argument():
    a, b = random(4, 4), random(4, 4)
    expected = t.linalg.solve(a, b)
    assert t.linalg.solve(a.clone(), b.clone(), out=b) is b and t.allclose(b, expected)
    triangle = random(4, 4)
    expected = t.linalg.solve_triangular(triangle, triangle, upper=False)
    t.linalg.solve_triangular(triangle, triangle, upper=False, out=triangle)
    assert t.allclose(triangle, expected)


# ---- the exponential ----
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [0, 1e-9, 0.1, 1, 8])
def test_exponential_of_a_diagonal(dtype, scale):
    d = t.linspace(-scale, scale, 5).to(dtype)
    exp = t.linalg.matrix_exp(t.diag(d))
    assert ((exp - t.diag(d.exp())).abs() <= TOLERANCE[dtype] * d.exp().abs().max()).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponential_of_a_rotation(dtype):
    turn = t.tensor([[0, -30.0], [30.0, 0]], dtype=dtype)
    c, s = t.cos(t.tensor(30.0, dtype=dtype)), t.sin(t.tensor(30.0, dtype=dtype))
    expected = t.stack([t.stack([c, -s]), t.stack([s, c])])
    assert_close(t.matrix_exp(turn), expected, dtype)


def test_exponential_of_nilpotent_and_infinite_matrices():
    assert t.matrix_exp(t.tensor([[0.0, 3], [0, 0]])).tolist() == [[1, 3], [0, 1]]
    assert t.matrix_exp(t.tensor([[float("inf"), 1], [0, 1]])).isnan().all()
    assert t.matrix_exp(t.ones(2, 2, dtype=t.bfloat16)).dtype == t.bfloat16


# ---- compiled and mapped ----
def test_compiled_solutions_still_raise():
    solve = t.compile(lambda a, b: t.linalg.solve(a, b) * 2)
    a, b = random(3, 3), random(3, 2)
    assert t.allclose(solve(a, b), t.linalg.solve(a, b) * 2)
    with pytest.raises(t.linalg.LinAlgError):
        solve(t.zeros(3, 3, dtype=t.float64), b)


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)])
def test_mapped_solutions(in_dims):
    a = random(4, 3, 3) if in_dims[0] == 0 else random(3, 3)
    b = random(4, 3) if in_dims[1] == 0 else random(3)
    mapped = t.vmap(t.linalg.solve, in_dims)(a, b)
    rows = [
        t.linalg.solve(a[i] if in_dims[0] == 0 else a, b[i] if in_dims[1] == 0 else b)
        for i in range(4)
    ]
    assert t.allclose(mapped, t.stack(rows))


@pytest.mark.parametrize(
    "function",
    [
        t.geqrf,
        t.linalg.qr,
        t.linalg.lu_factor_ex,
        t.linalg.matrix_exp,
        lambda x: t.linalg.householder_product(x, x),
        lambda x: t.linalg.solve(x, x),
        lambda x: t.linalg.solve_triangular(x, x, upper=True),
    ],
)
def test_a_batch_of_vectors_is_no_matrix(function):
    with pytest.raises(RuntimeError, match=r"at least 2 dimensions|2 or more dimensions"):
        t.vmap(function)(t.ones(2, 2))


# ---- negative powers ----
@pytest.mark.parametrize(
    ("power", "expected"),
    [(-1, [[1, -1], [-1, 2]]), (-2, [[2, -3], [-3, 5]]), (-3, [[5, -8], [-8, 13]])],
)
def test_negative_powers_are_those_of_the_inverse(power, expected):
    a, want = t.tensor([[2.0, 1.0], [1.0, 1.0]]), t.tensor(expected, dtype=t.float32)
    out = t.empty(0)
    made = [t.linalg.matrix_power(a, power), t.matrix_power(a.expand(3, 2, 2), power)[1]]
    made.append(t.linalg.matrix_power(a, power, out=out))
    assert all(t.allclose(one, want, atol=1e-5) for one in made) and made[-1] is out


def test_negative_powers_of_a_singular_matrix_are_refused():
    with pytest.raises(RuntimeError, match=r"linalg\.inv: The diagonal element 1 is zero"):
        t.linalg.matrix_power(t.zeros(2, 2), -2)
