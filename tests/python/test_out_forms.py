"""Tests of out=: values, strides, sizes, dtypes and shared memory of operators made of others."""

import warnings

import pytest
from under_test import NAME, t

aten = t.ops.aten
nn = t._C._nn


def numbers(*sizes):
    count = 1
    for s in sizes:
        count *= s
    return (t.arange(count, dtype=t.float64) * 0.7).sin().reshape(sizes)


def call(function, *args, **kwargs):
    """The operator with out= where it is given, and without."""
    return lambda out=None: (
        function(*args, **kwargs) if out is None else function(*args, **kwargs, out=out)
    )


def named(name, *args):
    """An operator whose out form has no function in Python."""
    overloads = getattr(aten, name)
    return lambda out=None: overloads(*args) if out is None else overloads.out(*args, out=out)


A, B = numbers(3, 4), numbers(3, 4).cos()
SQUARE = numbers(4, 4)
V3, V4 = numbers(3), numbers(4)
IMAGE, VOLUME, LINE = numbers(2, 3, 6, 5), numbers(1, 2, 4, 5, 6), numbers(2, 3, 8)
PLACES = t.tensor([1, 7, -1])
FRACTIONS = t.tensor([0.1, 0.5, 0.9], dtype=t.float64)

FLOAT = "Expected out tensor to have dtype double, but got long int instead"
CAST = "result type Double can't be cast to the desired output type Long"
MEANS = "expected dtype double for `output` but got dtype long int"
QUANTILE = r"quantile\(\) out tensor must be same dtype as the input tensor"
NORM = "linalg.norm expected out tensor dtype Double but got: Long"
MATRIX_NORM = "linalg.matrix_norm expected out tensor dtype Double but got: Long"
POWER = "matrix_power: Expected result to be safely castable from Double dtype"
TENSORDOT = "tensordot: Expected the output tensor to have dtype Double"

# The call, and what it says where out holds integers.
CASES = {
    "addr": (call(t.addr, A, V3, V4), CAST),
    "addr scaled": (call(t.addr, A, V3, V4, beta=2, alpha=3), CAST),
    "addr of the product alone": (call(t.addr, A, V3, V4, beta=0, alpha=3), CAST),
    "diag of a vector": (call(t.diag, V4, 1), "diag: result type Double can't be cast"),
    "diag of a matrix": (call(t.diag, A, -1), FLOAT),
    "trace": (named("trace", A), FLOAT),
    "kron": (call(t.kron, A, V3), CAST),
    "vecdot": (call(t.linalg.vecdot, A, B, dim=0), "Expected out of dtype"),
    "vecdot of vectors": (call(t.linalg.vecdot, V4, V4.cos()), "Expected out of dtype"),
    "multi_dot": (
        call(t.linalg.multi_dot, [A, SQUARE, B.T]),
        r"multi_dot\(\): expected out tensor to have dtype double but got long int",
    ),
    "multi_dot of two": (call(t.linalg.multi_dot, [A, SQUARE]), "expected out tensor"),
    "multi_dot to a vector": (call(t.linalg.multi_dot, [V3, A, SQUARE]), "expected out tensor"),
    "multi_dot to a number": (call(t.linalg.multi_dot, [V3, A, V4]), "expected out tensor"),
    "matrix_power 0": (call(t.linalg.matrix_power, SQUARE, 0), POWER),
    "matrix_power 1": (call(t.linalg.matrix_power, SQUARE, 1), POWER),
    "matrix_power 2": (call(t.linalg.matrix_power, SQUARE, 2), POWER),
    "matrix_power 3": (call(t.linalg.matrix_power, SQUARE, 3), POWER),
    "matrix_power 6": (call(t.linalg.matrix_power, SQUARE, 6), POWER),
    "matrix_power of two": (call(t.linalg.matrix_power, numbers(2, 3, 3), 4), POWER),
    "norm": (call(t.norm, A, 2, 1), FLOAT),
    "norm 3": (call(t.norm, A, 3, 0, True), FLOAT),
    "vector_norm 0": (call(t.linalg.vector_norm, A, 0, 1), FLOAT),
    "vector_norm 1": (call(t.linalg.vector_norm, A, 1, 1), FLOAT),
    "vector_norm 2": (call(t.linalg.vector_norm, A), FLOAT),
    "vector_norm inf": (call(t.linalg.vector_norm, A, float("inf"), 0, True), FLOAT),
    "vector_norm -inf": (call(t.linalg.vector_norm, A, -float("inf"), (0, 1)), FLOAT),
    "linalg.norm": (call(t.linalg.norm, A, 2, 1), NORM),
    "linalg.norm of matrices": (call(t.linalg.norm, A, 1), NORM),
    "linalg.norm by name": (call(t.linalg.norm, A, "fro", (0, 1), True), NORM),
    "matrix_norm 1": (call(t.linalg.matrix_norm, numbers(2, 3, 4), 1), MATRIX_NORM),
    "matrix_norm -inf": (
        call(t.linalg.matrix_norm, numbers(2, 3, 4), -float("inf"), (0, 2), True),
        MATRIX_NORM,
    ),
    "matrix_norm fro": (call(t.linalg.matrix_norm, numbers(2, 3, 4)), MATRIX_NORM),
    "quantile": (call(t.quantile, A, FRACTIONS, 1), QUANTILE),
    "quantile of a number": (call(t.quantile, A, 0.3, 0, True), QUANTILE),
    "quantile of all": (call(t.quantile, A, FRACTIONS, None, True), QUANTILE),
    "quantile below": (call(t.quantile, A, FRACTIONS, 0, interpolation="lower"), QUANTILE),
    "nanquantile": (call(t.nanquantile, A, FRACTIONS, 1, interpolation="midpoint"), QUANTILE),
    "put": (named("put", A, PLACES, V3), FLOAT),
    "put adding": (named("put", A, PLACES, V3, True), FLOAT),
    "_chunk_cat": (named("_chunk_cat", [A, B], 1, 3), "input types can't be cast"),
    "adaptive_avg_pool2d": (call(nn.adaptive_avg_pool2d, IMAGE, (2, 3)), MEANS),
    "adaptive_avg_pool2d to one": (call(nn.adaptive_avg_pool2d, IMAGE, (1, 1)), MEANS),
    "adaptive_avg_pool3d": (call(nn.adaptive_avg_pool3d, VOLUME, (2, 3, 1)), MEANS),
    "avg_pool1d": (named("avg_pool1d", LINE, [3], [2], [1]), FLOAT),
    "adaptive_avg_pool1d": (named("adaptive_avg_pool1d", LINE, [3]), FLOAT),
    "mvlgamma": (call(t.mvlgamma, A + 4, 3), "mvlgamma: result type Double can't be cast"),
    "diff": (call(t.diff, A), CAST),
    "diff twice": (call(t.diff, A, 2, 0, V4.view(1, 4)), CAST),
    "diff of all": (call(t.diff, A, 9, 0), CAST),
    "no diff": (call(t.diff, A, 0), "expected scalar_type Double but found Long"),
    "inner": (call(t.inner, A, numbers(2, 4)), TENSORDOT),
    "inner with a number": (call(t.inner, A, numbers()), CAST),
    "tensordot": (call(t.tensordot, numbers(2, 3, 4), B, ([1], [0])), TENSORDOT),
    "tensordot to a matrix": (call(t.tensordot, A, SQUARE, 1), TENSORDOT),
    "tensordot to a number": (call(t.tensordot, A, B, 2), TENSORDOT),
}
SILENT = {"adaptive_avg_pool2d", "adaptive_avg_pool2d to one", "adaptive_avg_pool3d"}
NAMES = sorted(CASES)


def equal(value, expected):
    return value.shape == expected.shape and t.allclose(value, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_values_go_into_out(name):
    run = CASES[name][0]
    expected = run()
    out = t.full_like(expected, float("nan"))
    memory = out.data_ptr()
    assert run(out) is out and out.data_ptr() == memory
    assert equal(out, expected)


@pytest.mark.parametrize("name", NAMES)
def test_out_keeps_its_strides(name):
    run = CASES[name][0]
    expected = run()
    wide = t.full([2 * s for s in expected.shape], float("nan"), dtype=expected.dtype)
    out = wide[tuple(slice(None, None, 2) for _ in expected.shape)]
    strides = out.stride()
    run(out)
    assert out.stride() == strides and equal(out, expected)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_out_gets_the_size(name):
    run = CASES[name][0]
    expected = run()
    out = t.empty(0, dtype=expected.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(out)
    assert equal(out, expected)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in SILENT])
def test_another_size_is_changed_with_a_warning(name):
    run = CASES[name][0]
    expected = run()
    out = t.ones(7, 1, dtype=expected.dtype)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run(out)
    assert any("An output with one or more elements was resized" in str(w.message) for w in told)
    assert equal(out, expected)


@pytest.mark.parametrize("name", NAMES)
def test_integers_cannot_hold_the_result(name):
    run, phrase = CASES[name]
    with pytest.raises((RuntimeError, TypeError), match=phrase):
        run(t.empty(run().shape, dtype=t.int64))


# Made apart: the input may be in the same memory. A copy of the input, then the call.
APART = {
    "trace": (SQUARE, lambda x: named("trace", x)),
    "diag of a matrix": (A, lambda x: call(t.diag, x)),
    "diag of a vector": (V4, lambda x: call(t.diag, x)),
    "linalg.norm": (A, lambda x: call(t.linalg.norm, x, 2, 1)),
    "linalg.norm of matrices": (A, lambda x: call(t.linalg.norm, x, 1)),
    "matrix_norm": (A, lambda x: call(t.linalg.matrix_norm, x)),
    "vector_norm": (A, lambda x: call(t.linalg.vector_norm, x, 2, 1)),
    "quantile": (A, lambda x: call(t.quantile, x, 0.3, 1)),
    "put": (A, lambda x: named("put", x, PLACES, V3)),
    "avg_pool1d": (LINE, lambda x: named("avg_pool1d", x, [3])),
    "adaptive_avg_pool1d": (LINE, lambda x: named("adaptive_avg_pool1d", x, [3])),
    "mvlgamma": (A + 4, lambda x: call(t.mvlgamma, x, 2)),
    "inner": (SQUARE, lambda x: call(t.inner, x, SQUARE)),
    "tensordot": (SQUARE, lambda x: call(t.tensordot, x, SQUARE, 1)),
}


@pytest.mark.parametrize("name", sorted(n for n in APART if n != "diag of a vector"))
def test_out_may_be_a_part_of_the_input(name):
    values, make = APART[name]
    expected = make(values)()
    x = values.clone()
    out = x.view(-1)[: expected.numel()].view(expected.shape)
    make(x)(out)
    assert equal(out, expected)


@pytest.mark.parametrize("name", ["trace", "linalg.norm", "matrix_norm", "put", "mvlgamma"])
@pytest.mark.filterwarnings("ignore:An output with one or more")
def test_out_may_be_the_input(name):
    values, make = APART[name]
    expected = make(values)()
    x = values.clone()
    make(x)(x)
    assert equal(x, expected)


# Written at once: only where out is the input itself, element by element, or shares nothing.
AT_ONCE = {
    "addr": (SQUARE, lambda x: call(t.addr, SQUARE, x[0], x[1])),
    "kron": (SQUARE, lambda x: call(t.kron, x, numbers(1, 1))),
    "diff": (SQUARE, lambda x: call(t.diff, x, dim=0)),
    "_chunk_cat": (SQUARE, lambda x: named("_chunk_cat", [x[:2]], 0, 2)),
}


@pytest.mark.parametrize("name", sorted(AT_ONCE))
def test_a_part_of_the_input_is_refused(name):
    values, make = AT_ONCE[name]
    shape = make(values)().shape
    memory = t.zeros(40, dtype=t.float64)
    x = memory[1:17].view(4, 4).copy_(values)
    count = 1
    for s in shape:
        count *= s
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to"):
        make(x)(memory[2 : 2 + count].view(shape))


def test_addr_into_its_input():
    x = A.clone()
    expected = t.addr(A, V3, V4, beta=2, alpha=3)
    assert equal(t.addr(x, V3, V4, beta=2, alpha=3, out=x), expected)
    assert equal(A.clone().addr_(V3, V4, beta=2, alpha=3), expected)


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch rounds each product")
def test_addr_of_16_bit_numbers_is_rounded_once():
    x, v, w = (numbers(*s).to(t.bfloat16) for s in ((3, 4), (3,), (4,)))
    exact = 2 * x.double() + 3 * v.double().unsqueeze(1) * w.double()
    expected = exact.to(t.bfloat16)
    out = t.empty(3, 4, dtype=t.bfloat16)
    assert t.equal(t.addr(x, v, w, beta=2, alpha=3, out=out), expected)
    assert t.equal(t.addr(x, v, w, beta=2, alpha=3), expected)


def test_addr_of_truth_values():
    x = t.tensor([[True, False], [False, False]])
    v, w = t.tensor([False, True]), t.tensor([True, False])
    expected = [[True, False], [True, False]]
    assert t.addr(x, v, w, out=t.empty(2, 2, dtype=t.bool)).tolist() == expected
    assert t.addr(x, v, w, beta=False).tolist() == [[False, False], [True, False]]
    assert t.addr(x, v, w, alpha=False).tolist() == x.tolist()


def test_results_go_into_wider_numbers():
    x, v = A.float(), V3.float()
    for run in (lambda o: t.addr(x, v, V4.float(), out=o), lambda o: t.kron(x, v, out=o)):
        out = run(t.empty(0, dtype=t.float64))
        assert out.dtype == t.float64 and t.equal(out.float().double(), out)


def test_put_refuses_positions_outside_of_strided_memory():
    x = numbers(4, 3).T
    for place in (12, -13):
        with pytest.raises(IndexError):
            x.put_(t.tensor([place]), t.ones(1, dtype=t.float64))


def test_gradients_pass_through_copied_results():
    x = A.clone().requires_grad_()
    out = t.empty(0, dtype=t.float64)
    t.linalg.norm(x, 2, 1, out=out)
    out.sum().backward()
    assert t.allclose(x.grad, A / A.norm(2, 1, True))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        t.kron(x, x, out=t.empty(0, dtype=t.float64))


COPIES = {
    "alias_copy": (),
    "as_strided_copy": ((2, 2), (1, 1)),
    "detach_copy": (),
    "diagonal_copy": (),
    "expand_copy": ((2, 3, 4),),
    "permute_copy": ((1, 0),),
    "select_copy": (0, 1),
    "slice_copy": (0, 1, 2),
    "squeeze_copy": (0,),
    "t_copy": (),
    "transpose_copy": (0, 1),
    "unfold_copy": (0, 2, 1),
    "unsqueeze_copy": (0,),
    "view_copy": ((4, 3),),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_views_are_written_to_out(name):
    function, args = getattr(t, name), COPIES[name]
    wanted = function(A, *args)
    out = t.empty(0, dtype=t.float64)
    assert function(A, *args, out=out) is out and t.equal(out, wanted)
    turned = t.empty(wanted.shape[::-1], dtype=t.float64).permute(*range(wanted.dim())[::-1])
    strides = turned.stride()
    assert t.equal(function(A, *args, out=turned), wanted) and turned.stride() == strides
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        assert t.equal(function(A, *args, out=t.empty(7, dtype=t.float64)), wanted)
    with pytest.raises(RuntimeError, match=FLOAT):
        function(A, *args, out=t.empty(wanted.shape, dtype=t.int64))
    own = A.clone()
    assert t.equal(function(own, *args, out=own), wanted)


def test_parts_are_copied():
    parts = t.split_copy(A, 2)
    assert [part.shape for part in parts] == [(2, 4), (1, 4)]
    assert t.equal(t.cat(parts), A) and parts[0].data_ptr() != A.data_ptr()
