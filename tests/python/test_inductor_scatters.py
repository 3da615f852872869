"""Elements that are added up at places which a tensor names, in kernels: eager's bits and order."""

import pytest
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t

A = t.ops.aten


def numbers(*sizes, dtype=t.float32):
    return t.randn(*sizes).to(dtype)


def places(limit, *sizes):
    return t.randint(0, limit, sizes)


def pooled_gradient(grad, x):
    indices = A.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1])[1]
    return A.max_pool2d_with_indices_backward(
        grad, x, [3, 3], [2, 2], [1, 1], [1, 1], False, indices
    )


# The program, its inputs, and how many kernels it has.
PROGRAMS = {
    "rows": (
        lambda g, i: A.embedding_dense_backward(g * 2, i, 50, -1, False) + 1,
        lambda dtype: [numbers(4, 32, 70, dtype=dtype), places(50, 4, 32)],
        2,
    ),
    "rows_without_one": (
        lambda g, i: A.embedding_dense_backward(g, i, 50, 3, False),
        lambda dtype: [numbers(4, 32, 7, dtype=dtype), places(50, 4, 32)],
        1,
    ),
    "rows_by_their_number": (
        lambda g, i: A.embedding_dense_backward(g, i, 20, 3, True),
        lambda dtype: [numbers(64, 7, dtype=dtype), places(20, 64)],
        3,
    ),
    "rows_of_one": (  # in the order of the indices, which lie transposed
        lambda g, i: A.embedding_dense_backward(g, i, 9, -1, False),
        lambda dtype: [numbers(32, 4, 1, dtype=dtype), places(9, 4, 32).t()],
        1,
    ),
    "along_the_middle": (
        lambda x, i, s: x.relu().scatter_add(1, i, s * 2),
        lambda dtype: [
            numbers(4, 6, 5, dtype=dtype),
            places(6, 4, 9, 5),
            numbers(4, 9, 5, dtype=dtype),
        ],
        1,
    ),
    "along_the_last": (
        lambda x, i, s: x.scatter_add(-1, i, s).exp(),
        lambda dtype: [numbers(4, 5, dtype=dtype), places(5, 3, 40), numbers(4, 40, dtype=dtype)],
        2,
    ),
    "brackets": (
        lambda x, i, v: t.index_put(x, [None, i - 6], v, True),
        lambda dtype: [
            numbers(4, 6, 5, dtype=dtype),
            places(12, 30),
            numbers(4, 30, 1, dtype=dtype),
        ],
        1,
    ),
    "brackets_apart": (
        lambda x, i, j, v: t.index_put(x, [i, None, j], v, True),
        lambda dtype: [
            numbers(4, 6, 5, dtype=dtype),
            places(4, 7, 30),
            places(5, 30),
            numbers(6, dtype=dtype),
        ],
        1,
    ),
    "gradient_of_brackets": (
        lambda x, i: x[i],
        lambda dtype: [numbers(6, 5, dtype=dtype).requires_grad_(), places(6, 40)],
        1,
    ),
    "windows": (
        pooled_gradient,
        lambda dtype: [numbers(2, 3, 7, 8, dtype=dtype), numbers(2, 3, 13, 15, dtype=dtype)],
        None,  # half types are added up in float
    ),
}


def run(f, inputs):
    inputs = [v.detach().requires_grad_(v.requires_grad) for v in inputs]
    result = f(*inputs)
    leaves = [v for v in inputs if v.requires_grad]
    return [result, *(t.autograd.grad(result.exp().sum(), leaves) if leaves else [])]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", ["real", "symbolic"])
@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.bfloat16], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_eagers_bits(name, dtype, mode):
    t.manual_seed(3)
    f, make, kernels = PROGRAMS[name]
    inputs = make(dtype)
    wanted = run(f, inputs)
    compiled = compile(
        make_fx(f, tracing_mode=mode, pre_dispatch=True)(*inputs), inputs, native="never"
    )
    reports = compiled.report()
    assert not [n for r in reports for n in r["fallbacks"]]
    if kernels is not None:
        # Sums of 16-bit numbers are kept in float until all are there.
        kernels += dtype == t.bfloat16 and name == "along_the_middle"
        assert reports[-1]["kernels"] == kernels, compiled.text()
    for _ in range(2):
        for got, want in zip(run(compiled, inputs), wanted, strict=True):
            assert t.equal(got, want) and got.stride() == want.stride()
        compiled.compile_native()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_order_is_that_of_updates_whatever_the_threads(threads):
    before = t.get_num_threads()
    grad, index = t.randn(3000, 130), t.randint(0, 3, (3000,))
    compiled = compile(
        make_fx(lambda g, i: A.embedding_dense_backward(g, i, 3, -1, False))(grad, index),
        [grad, index],
        native="wait",
    )
    want = A.embedding_dense_backward(grad, index, 3, -1, False)
    try:
        t.set_num_threads(threads)
        assert t.equal(compiled(grad, index), want)
    finally:
        t.set_num_threads(before)


def test_a_place_out_of_range_raises_eagers_error_and_writes_nothing():
    def f(x, i, s):
        return x.scatter_add(0, i, s)

    x, index, source = t.zeros(4), t.tensor([0, 1]), t.ones(2)
    compiled = compile(
        make_fx(f, tracing_mode="symbolic")(x, index, source), [x, index, source], native="never"
    )
    for bad in (t.tensor([1, 4]), t.tensor([-1, 0])):
        with pytest.raises(RuntimeError) as eager:
            f(x, bad, source)
        for _ in range(2):
            with pytest.raises(RuntimeError) as raised:
                compiled(x, bad, source)
            assert str(raised.value) == str(eager.value)
            compiled.compile_native()
    assert t.equal(x, t.zeros(4))


def test_no_updates_leave_what_is_there():
    def f(x, i, s):
        return x.scatter_add(0, i, s)

    inputs = [t.randn(4), t.tensor([0, 3]), t.randn(2)]
    compiled = compile(make_fx(f, tracing_mode="symbolic")(*inputs), inputs, native="never")
    none = [inputs[0], t.zeros(0, dtype=t.int64), t.zeros(0)]
    assert t.equal(f(*none), inputs[0])
    for _ in range(2):
        assert t.equal(compiled(*none), inputs[0])
        compiled.compile_native()


def test_rounded_division_is_part_of_kernels():
    def f(x, y):
        floor = t.div(x, y, rounding_mode="floor")
        return floor + t.div(x, y, rounding_mode="trunc") + t.div(x, y, rounding_mode=None)

    x, y = t.randn(40) * 9, t.randn(40)
    compiled = compile(make_fx(f)(x, y), [x, y], native="never")
    (report,) = compiled.report()
    assert (report["kernels"], report["called"]) == (1, [])
    assert t.equal(compiled(x, y), f(x, y))


def test_indices_of_parts_that_are_not_read(monkeypatch):
    """Behind its part of a joined tensor an index is no index."""
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")

    def f(x):
        back = t.arange(x.size(0)).flip(0)[:, None].expand(x.shape)
        turned = x.gather(0, back)
        return t.cat([turned, turned[:1]])

    x = t.randn(3, 4)
    compiled = compile(make_fx(f, tracing_mode="symbolic")(x), [x], native="never")
    for rows in (3, 2, 5):
        x = t.randn(rows, 4)
        assert t.equal(compiled(x), f(x))
    assert compiled.report()[0]["runs_by_eager"] == 0


@pytest.mark.parametrize("op", ["index_add", "index_copy"])
@pytest.mark.parametrize("makes_gradients", [False, True])
def test_slices_are_not_counted_from_the_end(op, makes_gradients):
    def f(x, index, source):
        return getattr(x, op)(0, index, source) * 2

    x = t.randn(5, 3, requires_grad=makes_gradients)
    inputs = [x, t.tensor([0, 1, 3]), t.randn(3, 3)]
    compiled = compile(make_fx(f, pre_dispatch=True)(*inputs), inputs, native="never")
    assert t.equal(compiled(*inputs), f(*inputs))
    inputs[1] = t.tensor([0, -1, 3])
    with pytest.raises(Exception) as eager:
        f(*inputs)
    with pytest.raises(type(eager.value), match="out of bounds") as got:
        compiled(*inputs)
    assert str(got.value) == str(eager.value)


@pytest.mark.parametrize("dtype", [t.float32, t.bfloat16, t.float16, t.int64, t.float64])
@pytest.mark.parametrize("alpha", [1, 3, 0.3])
@pytest.mark.parametrize("places_dtype", [t.int32, t.int64])
def test_slices_that_are_added(dtype, alpha, places_dtype):
    if isinstance(alpha, float) and not dtype.is_floating_point:
        pytest.skip("integers have no such multiple")

    def f(x, index, source):
        return x.index_add(1, index, source, alpha=alpha)

    inputs = [
        (t.randn(6, 9, 4) * 9).to(dtype),
        places(9, 30).to(places_dtype),
        (t.randn(6, 30, 4) * 9).to(dtype),
    ]
    compiled = compile(make_fx(f, pre_dispatch=True)(*inputs), inputs, native="never")
    assert compiled.report()[0]["called"] == []
    assert t.equal(compiled(*inputs), f(*inputs))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [5, 1])
def test_indices_of_loops_without_elements(rows):
    """An index that is the same for all elements is none where there are none."""

    def f(x):
        part = x[1:1]
        back = t.arange(part.size(0)).flip(0)[:, None].expand(part.shape)
        return part.gather(0, back).sum(), x + 1

    x = t.randn(rows, 3)
    compiled = compile(make_fx(f)(x), [x], native="never")
    assert all(map(t.equal, compiled(x), f(x)))
    compiled.compile_native()
    assert all(map(t.equal, compiled.check()(x), f(x)))
    assert compiled.report()[0]["runs_by_eager"] == 0


NUMBERS = ["float32", "float64", "bfloat16", "float16", "int64", "int32", "uint8", "complex64"]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_interpreted_updates_meet_in_eagers_order(dtype):
    """Places repeat, along a tile and from tile to tile; each update rounds by itself."""
    dtype = getattr(t, dtype)

    def f(x, i, s, rows):
        return x.scatter_add(1, i, s), x.index_add(0, rows, s[:40]), x.gather(1, i) * 2

    x, s = (t.randn(9, 700) * 20).to(dtype), (t.randn(50, 700) * 20).to(dtype)
    i, rows = t.randint(0, 700, (9, 600)), t.randint(0, 9, (40,))
    inputs = [x, i, s, rows]
    want = f(*inputs)
    compiled = compile(make_fx(f)(*inputs), inputs, native="never")
    for a, b in zip(compiled(*inputs), want, strict=True):
        assert t.equal(a, b)
