"""Compiled graphs give eager's bits, interpreted and native, for all sizes."""

import pytest
from taeda._inductor import compile
from taeda.fx.aot import aot_function
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F


def captured(f, inputs):
    gm = make_fx(f, tracing_mode="symbolic", pre_dispatch=True)(*inputs)
    return compile(gm, inputs, native="never")


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and t.equal(a, b)


X, Y, LONGER = t.randn(6, 10), t.randn(6, 10), t.randn(9, 10)
ROWS = t.tensor([5, 0, 3, 3])

PROGRAMS = {
    "chain": (lambda x: t.relu((x + 1) * 2), [X], [LONGER]),
    "broadcast": (lambda x, y: (x * y[0] + 3).exp().tanh(), [X, Y], [LONGER, LONGER]),
    "variance": (lambda x: ((x - x.mean(0)) ** 2).mean(0), [X], [LONGER]),
    "softmax": (lambda x: F.softmax(x * 3, -1), [X], [LONGER]),
    "log_softmax": (lambda x: F.log_softmax(x, 0), [X], [LONGER]),
    "layer_norm": (lambda x, w: F.layer_norm(x, (10,), w), [X, Y[0]], [LONGER, Y[1]]),
    "views": (lambda x: x.view(2, 3, 10).transpose(0, 1).reshape(-1, 10) + 1, [X], None),
    "bfloat16": (lambda x: (x * 1.7 + x.sum(1, keepdim=True)).relu(), [X.bfloat16()], None),
    "comparison": (lambda x, y: t.where(x > y, x, y).argmax(1), [X, Y], [LONGER, LONGER]),
    "integers": (lambda x: (x.to(t.int8) * 100).sum(0), [X * 5], [LONGER * 5]),
    "product": (lambda x, w: t.relu(x @ w.t() + 1), [X, Y], [LONGER, LONGER]),
    "convolution": (
        lambda x, w: F.relu(F.conv2d(x, w, stride=2, padding=1) + 1).flatten(1),
        [t.randn(2, 3, 9, 9), t.randn(4, 3, 3, 3)],
        [t.randn(3, 3, 13, 13), t.randn(4, 3, 3, 3)],
    ),
    "gather": (lambda x, i: t.gather(x * 2, 0, i) + 1, [X, t.randint(0, 6, (6, 10))], None),
    "index_select": (lambda x, i: t.index_select(x, 0, i).exp(), [X, ROWS], [LONGER, ROWS]),
    "embedding": (lambda w, i: F.embedding(i, w) * 2, [X, ROWS], [LONGER, ROWS]),
    "brackets": (lambda x, i: x[i[:, None], i] * 2, [X, ROWS - 2], [LONGER, ROWS - 4]),
    "constant": (lambda x: x[t.tensor([1, 2])] + x[0], [X], [LONGER]),
    "cat": (lambda x, y: t.cat([x * 2, y[:3], x]).tanh(), [X, Y], [LONGER, LONGER]),
    "cat_of_dtypes": (lambda x, y: t.cat([x, y.long()], 1), [X, Y], [LONGER, LONGER]),
    "pad": (lambda x: F.pad(x + 1, (1, 2, 0, 3), value=2.5) * 2, [X], [LONGER]),
    "negative_pad": (lambda x: F.pad(x, (-1, 2)).exp(), [X], [LONGER]),
    "factories": (lambda x: x + t.full_like(x, 3) + t.ones(10) + t.arange(10), [X], [LONGER]),
    "flip": (lambda x: x.flip(0).exp(), [X], [LONGER]),
    "repeat": (lambda x: x.repeat(2, 3) + 1, [X], [LONGER]),
    "stack": (lambda x, y: t.stack([x, y], 1), [X, Y], [LONGER, LONGER]),
    "size_as_number": (lambda x: x * x.size(0) + x.numel(), [X], [LONGER]),
    "several_results": (lambda x: (x.sum(1), x * 2, x.view(-1)), [X], [LONGER]),
    "scalars": (lambda x: (x.sum() * 2 + 1).exp(), [X / 100], [LONGER / 100]),
    "split": (lambda x: x.split([3, 7], 1)[1] + 1, [X], [LONGER]),
    "diagonal": (lambda x: x.diagonal() + 1, [X], [LONGER]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_eager_bits(name):
    f, first, other = PROGRAMS[name]
    compiled = captured(f, first)
    for _ in range(2):
        for inputs in [first, *([other] if other else [])]:
            want, have = as_list(f(*inputs)), as_list(compiled(*inputs))
            assert len(want) == len(have)
            assert all(same(a, b) for a, b in zip(want, have, strict=True)), compiled.text()
        compiled.compile_native()


ONE_KERNEL = {
    "two": (lambda x: t.relu((x + 1) * 2), [X]),
    "ten": (
        lambda x: (x + 1).mul(2).relu().sub(3).exp().neg().add(1).sigmoid().mul(x).tanh(),
        [X],
    ),
    "softmax": (lambda x: F.softmax(x, -1), [X]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (10,), w, b), [X, Y[0], Y[1]]),
}


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_one_kernel(name):
    f, inputs = ONE_KERNEL[name]
    (plan,) = captured(f, inputs).report()
    assert (plan["kernels"], plan["calls"], plan["arena_bytes"]) == (1, 0, 0)


def test_an_index_out_of_range_raises_eagers_error():
    def f(x, i):
        return x[i] + 1

    compiled = captured(f, [X, ROWS])
    bad = t.tensor([0, 1, 2, 77])
    with pytest.raises(IndexError) as eager:
        f(X, bad)
    for _ in range(2):
        with pytest.raises(IndexError) as raised:
            compiled(X, bad)
        assert str(raised.value) == str(eager.value)
        assert same(compiled(X, ROWS), f(X, ROWS))
        compiled.compile_native()


@pytest.mark.parametrize(
    ("sizes", "f"),
    [
        ((3, 0), lambda x, i: x[i] * 2),
        ((0, 0), lambda x, i: x[:, None][i].sum()),
        ((3, 0), lambda x, i: F.embedding(i, x)),
        ((3, 0), lambda x, i: x.index_select(0, i) + 1),
        ((0, 3), lambda x, i: x.index_add(0, i, t.ones(2, 3))),
    ],
)
def test_an_index_out_of_range_into_no_elements_raises_eagers_error(sizes, f):
    x, bad = t.zeros(sizes), t.tensor([0, 5])
    with pytest.raises((IndexError, RuntimeError)) as eager:
        f(x, bad)
    with pytest.raises(eager.type) as raised:
        t.compile(f, dynamic=True)(x, bad)
    assert str(raised.value) == str(eager.value)


@pytest.mark.parametrize("bad", [[0, 4], [-1, 2]])
def test_a_class_out_of_range_raises_eagers_error(bad):
    def f(i):
        return F.one_hot(i, 4).float() * 2

    good = t.tensor([3, 0])
    compiled = captured(f, [good])
    with pytest.raises(RuntimeError, match="Class values must be") as eager:
        f(t.tensor(bad))
    for _ in range(2):
        with pytest.raises(RuntimeError) as raised:
            compiled(t.tensor(bad))
        assert str(raised.value) == str(eager.value)
        assert same(compiled(good), f(good))
        compiled.compile_native()
    assert compiled.report()[0]["kernels"] == 1


CROSS_ENTROPIES = {
    "mean": lambda x, y, w: F.binary_cross_entropy(x, y),
    "sum": lambda x, y, w: F.binary_cross_entropy(x, y, reduction="sum"),
    "weighted": lambda x, y, w: F.binary_cross_entropy(x, y, w),
    "each": lambda x, y, w: F.binary_cross_entropy(x, y, w, reduction="none") * 2,
}


@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.bfloat16])
@pytest.mark.parametrize("name", CROSS_ENTROPIES)
def test_probabilities_out_of_range_raise_eagers_error(name, dtype):
    f = CROSS_ENTROPIES[name]

    def probabilities(*sizes):
        return [t.rand(*sizes).to(dtype) for _ in range(2)] + [t.rand(sizes[-1]).to(dtype)]

    x, y, w = probabilities(6, 70)
    x[0, :2], y[0, 2:4] = t.tensor([0.0, 1.0]), t.tensor([0.0, 1.0])
    compiled = captured(f, [x, y, w])
    for _ in range(2):
        for good in ([x, y, w], probabilities(90, 300), probabilities(1, 1)):
            assert same(compiled(*good), f(*good))
        for bad in (-0.5, 1.5, float("nan")):
            for which in (0, 1):
                given = [x.clone(), y.clone(), w]
                given[which][3, 5] = bad
                with pytest.raises(RuntimeError, match="between 0 and 1") as eager:
                    f(*given)
                with pytest.raises(RuntimeError) as raised:
                    compiled(*given)
                assert str(raised.value) == str(eager.value)
        compiled.compile_native()


def test_gradients_of_probabilities():
    def f(x, y, w):
        return F.binary_cross_entropy(x.sigmoid(), y, w)

    x = t.randn(6, 70).requires_grad_()
    y, w = t.rand(6, 70), t.rand(70)
    compiled = captured(f, [x, y, w])
    assert not compiled.report()[0]["called"]
    for _ in range(2):
        want, have = t.autograd.grad(f(x, y, w), x), t.autograd.grad(compiled(x, y, w), x)
        assert same(have[0], want[0])
        compiled.compile_native()


DIVISIONS = {
    "floor_divide": lambda x, y: (x * 3) // y + 1,
    "remainder": lambda x, y: x % y * 2,
    "fmod": lambda x, y: t.fmod(x, y) + 1,
    "trunc": lambda x, y: t.div(x, y, rounding_mode="trunc"),
    "sum": lambda x, y: (x // y).sum(),
    "scan": lambda x, y: (x // y).cumsum(0),
    "masked_read": lambda x, y: F.pad(t.cat([x // y, x]), (2, 3)),
    "truth": lambda x, y: x // (y > 0),
    "unread": lambda x, y: t.where(y > 0, x // y, x),
}


@pytest.mark.parametrize("dtype", [t.int64, t.int32, t.uint8])
@pytest.mark.parametrize("name", DIVISIONS)
def test_integers_divided_by_zero_raise_eagers_error(name, dtype):
    f = DIVISIONS[name]
    x, y = t.arange(40).to(dtype) % 9 + 1, t.arange(40).to(dtype) % 7 + 1
    compiled = captured(f, [x, y])
    zero = y.clone()
    zero[38] = 0
    assert same(compiled(x, y), f(x, y))
    before = x.clone()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, zero)
    assert t.equal(x, before) and zero[38] == 0
    assert same(compiled(x, y), f(x, y))
    assert compiled.report()[0]["kernels"] == 1


def test_native_kernels_find_zero_divisors():
    def f(x, y):
        return (x + 1) // y

    x, y = t.arange(40), t.arange(40) + 1
    compiled = captured(f, [x, y])
    compiled.compile_native()
    assert same(compiled(x, y), f(x, y))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, y - 7)


def test_a_choice_between_constant_masks_compiles():
    def f(x):
        return t.diagonal_scatter(t.full_like(x, True), t.zeros_like(x.diagonal()))

    x = t.zeros(7, 16, dtype=t.bool)
    compiled = compile(make_fx(f, tracing_mode="symbolic")(x), [x], native="only", check=True)
    assert same(compiled(x), f(x))


def test_a_constant_divisor_is_not_checked():
    compiled = captured(lambda x: x // 3, [t.arange(4)])
    assert "index " not in compiled.text()
    never = captured(lambda x: x.to(t.int64) // 0, [t.ones(3)])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        never(t.ones(3))


@pytest.mark.parametrize("f", [lambda x: x.amax(0) + 1, lambda x: x.argmax(0), lambda x: x.max()])
def test_no_elements_where_the_trace_had_some(f):
    compiled, nothing = captured(f, [X]), t.zeros(0, 10)
    with pytest.raises((IndexError, RuntimeError)) as eager:
        f(nothing)
    with pytest.raises(eager.type) as raised:
        compiled(nothing)
    assert str(raised.value) == str(eager.value)
    assert same(compiled(LONGER), f(LONGER))


def test_a_value_read_at_an_index_that_others_computed_in_place():
    def f(x, i):
        above = x + t.ones_like(x)
        below = (above < x.half()).angle()
        return above.nan_to_num(), below[i]

    x, i = t.arange(5.0).reshape(5, 1, 1).requires_grad_(), t.tensor([4, 0, 1])
    for a, b in zip(captured(f, [x, i])(x, i), f(x, i), strict=True):
        assert same(a, b)
    compiled = captured(lambda x, i: (x - x.sign())[i], [X, ROWS])
    assert same(compiled(X, ROWS), (X - X.sign())[ROWS])
    assert compiled.report()[0]["kernels"] == 1


def test_an_empty_part_of_a_flipped_dimension():
    x = t.randn(1)
    compiled = compile(make_fx(lambda x: x.flip(0)[1:] * 2)(x), [x], native="never")
    assert compiled(x).shape == (0,)


def test_planes_behind_a_convolution_are_one_axis():
    # Strides of its result count sizes as at least 1, which is no matter for an index.
    def f(x, w, b):
        y = F.conv2d(x, w, stride=2)
        return F.relu(y + b[:, None, None]), y.sum((0, 2, 3))

    inputs = [t.randn(2, 3, 13, 13), t.randn(5, 3, 3, 3), t.randn(5)]
    compiled = captured(f, inputs)
    loops = [line for line in compiled.text().splitlines() if line.lstrip().startswith("loop")]
    assert [line.count("<") for line in loops] == [1, 2]  # channels; images and places
    longer = [t.randn(3, 3, 21, 21), *inputs[1:]]
    for given in (inputs, longer):
        for a, b in zip(compiled(*given), f(*given), strict=True):
            assert same(a, b)


def test_inputs_of_another_kind_are_refused():
    compiled = captured(lambda x: x + 1, [X])
    with pytest.raises(RuntimeError, match="traced as a 2-dimensional one"):
        compiled(X[0])
    with pytest.raises(RuntimeError, match="traced as"):
        compiled(X.double())
    with pytest.raises(TypeError, match="1 inputs was given 2"):
        compiled(X, X)


def leaf(*sizes):
    return t.randn(*sizes).requires_grad_()


def mlp(x, w, b, v, y):
    return F.mse_loss(F.linear(F.gelu(F.linear(x, w, b)), v), y)


TRAINING = {
    "mlp": (
        mlp,
        [t.randn(6, 10), leaf(32, 10), leaf(32), leaf(3, 32), t.randn(6, 3)],
        [t.randn(9, 10), leaf(32, 10), leaf(32), leaf(3, 32), t.randn(9, 3)],
    ),
    "tanh": (lambda x: t.tanh(x * 2), [leaf(5, 7)], [leaf(8, 7)]),
    "layer_norm": (
        lambda x, w, b: (F.layer_norm(x, (10,), w, b) * 3).relu(),
        [leaf(6, 10), leaf(10), leaf(10)],
        [leaf(7, 10), leaf(10), leaf(10)],
    ),
    "attention": (
        lambda q, k, v: F.softmax((q @ k.transpose(-1, -2)).tanh() / 4, -1) @ v,
        [leaf(2, 6, 8), leaf(2, 6, 8), leaf(2, 6, 8)],
        [leaf(3, 5, 8), leaf(3, 5, 8), leaf(3, 5, 8)],
    ),
    "embedding": (lambda w, i: F.embedding(i, w).exp(), [leaf(6, 10), ROWS], [leaf(8, 10), ROWS]),
    "cat": (lambda x, y: t.cat([x, y]).sin(), [leaf(2, 3), leaf(4, 3)], [leaf(5, 3), leaf(6, 3)]),
}


def gradients(results, inputs):
    total = sum(r.sum() for r in results)
    return t.autograd.grad(total, [x for x in inputs if x.requires_grad])


@pytest.mark.parametrize("name", TRAINING)
def test_gradients(name):
    f, first, other = TRAINING[name]
    compiled = captured(f, first)
    assert len(compiled.report()) == 2
    for _ in range(2):
        for inputs in [first, other]:
            want, have = as_list(f(*inputs)), as_list(compiled(*inputs))
            assert all(same(a, b) for a, b in zip(want, have, strict=True))
            pairs = zip(gradients(want, inputs), gradients(have, inputs), strict=True)
            assert all(same(a, b) for a, b in pairs), compiled.text()
        compiled.compile_native()


def test_the_gradient_of_a_slice_to_the_end_of_a_size_with_an_offset():
    def f(x):
        return (x * x).unfold(0, 2, 1).flatten()[-1:].sum()

    x, longer = t.randn(5, requires_grad=True), t.randn(9, requires_grad=True)
    compiled = captured(f, [x])
    for one in (x, longer):
        assert t.equal(t.autograd.grad(compiled(one), one)[0], t.autograd.grad(f(one), one)[0])


def test_a_conjugate_that_the_backward_gets():
    def f(x, y):
        return x.repeat_interleave(2, -2).conj() * y

    x = t.randn(7, 3, dtype=t.complex64).requires_grad_()
    y = t.randn(3, dtype=t.float64).requires_grad_()
    compiled = captured(f, [x, y])
    grad = t.randn(14, 3, dtype=t.complex128)
    got = t.autograd.grad(compiled(x, y), [x, y], grad)
    for a, b in zip(got, t.autograd.grad(f(x, y), [x, y], grad), strict=True):
        assert same(a, b)


@pytest.mark.parametrize(
    "f",
    [lambda z: z * 2j, lambda z: z / (1 + 2j), lambda z: (z.real * 1j).exp() + z],
    ids=["times", "over", "exp"],
)
def test_gradients_of_complex_numbers(f):
    z = t.randn(5, dtype=t.complex64).requires_grad_()
    grad = t.randn(5, 2)
    (wanted,) = t.autograd.grad(t.view_as_real(f(z)), z, grad)
    compiled = captured(lambda z: t.view_as_real(f(z)), [z])
    assert same(t.autograd.grad(compiled(z), z, grad)[0], wanted)


def test_called_operators_give_flagged_results():
    with t.library._scoped_library("flagged", "DEF") as library:
        library.define("both(Tensor x) -> (Tensor, Tensor)")

        def both(x):
            return x.clone().conj(), t._neg_view(x.clone())

        library.impl("both", both, "CompositeExplicitAutograd")
        t.library.register_fake("flagged::both", both, lib=library)

        def f(x):
            conjugate, negative = t.ops.flagged.both(x)
            return conjugate, negative, t.view_as_real(conjugate * 2), negative[1:] * 2

        x = t.randn(4, dtype=t.complex64)
        for found, wanted in zip(captured(f, [x])(x), f(x), strict=True):
            assert same(found, wanted)
            assert (found.is_conj(), found.is_neg()) == (wanted.is_conj(), wanted.is_neg())


def test_backward_runs_again_and_frees():
    x = leaf(4, 4)
    y = captured(lambda x: (x.sin() * x).sum(), [x])(x)
    (first,) = t.autograd.grad(y, x, retain_graph=True)
    (second,) = t.autograd.grad(y, x)
    assert same(first, second)
    with pytest.raises(RuntimeError, match="second time"):
        t.autograd.grad(y, x)


def test_of_equal_bytes_the_last_value_is_saved():
    x, w, v = leaf(5, 4), leaf(4, 8), leaf(8, 3)
    text = captured(lambda x, w, v: t.relu(x @ w) @ v, [x, w, v]).text()
    assert "saved relu: 160 bytes" in text and "computed again" not in text


def test_the_partition_names_what_is_saved():
    f, first, _ = TRAINING["mlp"]
    text = captured(f, first).text()
    assert "saved addmm" in text
    assert "computed again gelu" in text


def test_several_threads():
    from concurrent.futures import ThreadPoolExecutor

    compiled = captured(lambda x: F.softmax(x @ x.t(), -1), [X])
    inputs = [t.randn(n, 10) for n in range(2, 40)]
    want = [F.softmax(x @ x.t(), -1) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        have = list(pool.map(compiled, inputs))
    assert all(same(a, b) for a, b in zip(want, have, strict=True))


def test_native_kernels_come_in_the_background():
    gm = make_fx(lambda x: F.softmax(x * 2, -1), tracing_mode="symbolic")(X)
    compiled = compile(gm, [X])
    want = F.softmax(X * 2, -1)
    while compiled.report()[0]["native"] == 0:
        assert same(compiled(X), want)
    assert same(compiled(X), want)
    with pytest.raises(ValueError, match="background"):
        compile(gm, [X], native="sometimes")


def test_without_a_compiler_kernels_stay_interpreted(monkeypatch, recwarn):
    monkeypatch.setenv("TAEDA_CXX", "/nonexistent/compiler")
    gm = make_fx(lambda x: (x * 2.125).exp(), tracing_mode="symbolic")(X)
    compiled = compile(gm, [X])
    while not any("stay interpreted" in str(w.message) for w in recwarn.list):
        assert same(compiled(X), (X * 2.125).exp())
    assert compiled.report()[0]["native"] == 0
    with pytest.raises(RuntimeError, match="compiler"):
        compile(gm, [X], native="wait")


def test_results_are_tensors_of_their_own():
    compiled = captured(lambda x: (x * 2, (x + 1).view(-1), x), [X])
    results = compiled(X)
    assert not any(r._is_view() for r in results)
    results[0].mul_(3)
    results[1].zero_()
    assert same(results[0], X * 2 * 3)
    assert same(compiled(X)[1], (X + 1).view(-1))


def test_writes_to_results_have_gradients():
    x, y = leaf(5, 7), leaf(5, 7)
    compiled = captured(lambda x, y: (x * y, x.sin()), [x, y])

    def use(a, b):
        a.mul_(3)
        b[0].add_(a[0])
        return (a * b).sum()

    want = t.autograd.grad(use(x * y, x.sin()), [x, y])
    have = t.autograd.grad(use(*compiled(x, y)), [x, y])
    assert all(same(a, b) for a, b in zip(want, have, strict=True))


def test_many_sizes_one_after_another():
    compiled = captured(lambda x: F.softmax(x @ x.t(), -1) + x.sum(), [X])
    for n in [*range(2, 40), 3, 39]:
        x = t.randn(n, 10)
        assert same(compiled(x), F.softmax(x @ x.t(), -1) + x.sum())


def test_a_run_allocates_its_arena_and_its_outputs():
    x = t.randn(64, 100)
    compiled = captured(lambda x: (F.softmax(x, 0).sum(1), x.flip(0) * 2), [x])
    compiled(x)
    assert compiled.report()[0]["arena_bytes"] > 0
    before = t._C._dispatch._allocator_stats()["num_allocs"]
    results = compiled(x)
    after = t._C._dispatch._allocator_stats()["num_allocs"]
    assert after - before == 3
    assert same(results[1], x.flip(0) * 2)


def test_tensors_without_memory_of_their_own():
    compiled = captured(lambda x: (x * 2).sin(), [X])
    vmapped = t.vmap(lambda x: compiled(x))(t.stack([X, X]))
    assert same(vmapped, (t.stack([X, X]) * 2).sin())
    c = t.randn(4, 4, dtype=t.complex64)
    compiled = captured(lambda x: x + 1, [c])
    assert same(compiled(c.conj()), c.conj() + 1)
    assert same(compiled(c.conj().imag + c), c.conj().imag + c + 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z.real + 1,
        lambda z: z.imag * 2,
        lambda z: z.conj(),
        lambda z: z.conj().sin().real,
        lambda z: z.mul_(2) + 1,
    ],
)
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("sign", [t.conj, lambda z: t._neg_view(z.conj())])
def test_conjugate_and_negative_inputs(f, dynamic, sign):
    made = t.randn(4, dtype=t.complex64), t.randn(4, dtype=t.complex64)
    compiled = aot_function(
        f, lambda gm, inputs: compile(gm, inputs, native="never"), dynamic=dynamic
    )
    for z in made:
        x, y = sign(z.clone()), sign(z.clone())
        assert same(compiled(x), f(y)) and same(x, y)


def test_inputs_that_share_memory_in_the_trace():
    def f(x, y):
        return x.t() + 1, y.reshape(-1) * 2

    compiled = captured(f, [X, X[1:]])
    for inputs in ([X, X[1:]], [X, Y[1:]]):
        want, have = f(*inputs), compiled(*inputs)
        assert all(same(a, b) for a, b in zip(want, have, strict=True))


def test_tangents_of_results_that_share_memory():
    def f(x):
        y = x.flip(0)
        return y, y.unfold(0, 2, 1), y.expand(2, 16)

    x = leaf(16)
    grads = [t.randn(16), t.randn(15, 2), t.randn(2, 16)]
    (want,) = t.autograd.grad(f(x), x, grads)
    (have,) = t.autograd.grad(captured(f, [x])(x), x, grads)
    assert t.allclose(want, have)


@pytest.mark.parametrize("works", [False, True])
def test_long_chains_of_views_of_other_sizes(works):
    """Each place is written into the next one, which must not make it longer without end."""

    def f(x):
        for _ in range(100):
            x = x.permute(1, 0).reshape(8, 8).t().reshape(4, 16)
            x = x.relu() * 1.01 if works else x
        return x + 1

    x = t.randn(4, 16)
    compiled = compile(make_fx(f, pre_dispatch=True)(x), [x], native="never")
    assert t.equal(compiled(x), f(x))
    assert compiled.report()[0]["kernels"] < 100


def slopes(f, x):
    x = x.clone().requires_grad_()
    result = f(x)
    (grad,) = t.autograd.grad((result * result).sum(), x)
    return result.detach(), grad


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.roll(2, 0) + 1,
        lambda x: x.roll((1, -7), (0, 1)) + 1,
        lambda x: x.squeeze() * 2,
        lambda x: F.group_norm(x[None], 1),
        lambda x: F.max_pool1d(x[None, None].flatten(2), 3, 1, 1),
        lambda x: x[::2].sum(0),
        lambda x: x.diagonal() * x.size(0),
    ],
)
def test_sizes_below_those_that_symbols_stand_for(f):
    compiled = captured(f, [t.randn(5, 4, requires_grad=True)])
    for sizes in [(5, 4), (0, 4), (1, 4), (4, 1), (0, 0), (1, 7), (1, 1), (1, 9), (6, 6)]:
        x = t.randn(*sizes)
        try:
            want = slopes(f, x)
        except (RuntimeError, ValueError):
            continue  # an operator of its own does not take it
        for a, b in zip(want, slopes(compiled, x), strict=True):
            assert a.shape == b.shape, sizes
            assert t.allclose(a, b), sizes


def test_small_sizes_are_compiled_once_for_each_of_their_places():
    compiled = captured(lambda x: x.exp() + 1, [X])
    for sizes in [(6, 10), (1, 10), (1, 7), (1, 3), (4, 1), (5, 1), (0, 3), (0, 4)]:
        x = t.randn(*sizes)
        assert t.equal(compiled(x), x.exp() + 1)
    assert len(compiled.report()) == 4


@pytest.mark.parametrize("dynamic", [False, True])
def test_classes_of_an_empty_dimension_raise_eagers_error(dynamic):
    def f(x, y):
        return F.cross_entropy(x * 2, y)

    compiled = t.compile(f, dynamic=dynamic)
    for x in [t.randn(3, 4), t.randn(3, 0)]:
        for y in [t.tensor([0, 1, 3]), t.full((3,), -100)]:
            try:
                want = f(x, y)
            except IndexError as error:
                with pytest.raises(IndexError, match=str(error)):
                    compiled(x, y)
            else:
                assert t.allclose(compiled(x, y), want, equal_nan=True)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("observations", [0, 1, 2, 5])
@pytest.mark.parametrize("weights", [{}, {"fweights": [2, 1, 1, 3, 1]}, {"aweights": [0.5] * 5}])
def test_covariances_of_few_observations(observations, weights):
    weights = {name: t.tensor(w)[:observations] for name, w in weights.items()}
    if weights and observations == 0:
        pytest.skip("such weights have no sum")

    def f(x):
        return t.cov(x, correction=2, **weights)

    x = t.randn(3, observations)
    for g in (t.compile(f), t.compile(f, dynamic=True), lambda x: t.vmap(f)(x[None])[0]):
        assert t.allclose(g(x), f(x), equal_nan=True)


# Note [Functions apart]
def test_a_kernel_of_many_functions_has_each_once():
    def waves(x, y):
        for _ in range(12):
            x = (x.sin() + x.erf().mul(y)).tanh() * 0.7
            y = (y.exp() - y.cos().abs().pow(1.3)).clamp(-2, 2)
        return x, y.sum(0)

    inputs = [t.randn(6, 100), t.randn(6, 100, dtype=t.float64)]
    compiled = compile(make_fx(waves)(*inputs), inputs, native="wait", check=True)
    assert all(map(same, compiled(*inputs), waves(*inputs)))
    source = compiled.source()
    for name in ("sin", "erf", "tanh", "exp", "cos", "pow"):
        assert source.count(f" td_{name}(") == 1 and source.count(f"_td_{name}(") > 12


def test_a_kernel_of_many_draws_has_each_once():
    def noise(x):
        for _ in range(6):
            x = F.dropout(x + t.randn_like(x), 0.2)
        return x, t.rand(100, dtype=t.float64) + t.randn(100, dtype=t.float64)

    x = t.randn(100)
    compiled = compile(make_fx(noise)(x), [x], native="wait", check=True)
    t.manual_seed(3)
    want = noise(x)
    t.manual_seed(3)
    assert all(map(same, compiled(x), want))
