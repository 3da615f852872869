"""Graphs around operators whose sizes or numbers only data tells; numbers that change."""

import pytest
from taeda._inductor import compile
from taeda.fx.aot import aot_function
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t


def kernels(gm, inputs):
    return compile(gm, inputs, native="never")


def places(x):
    return (x * 2).nonzero() + 1


def chosen(x):
    picked = t.masked_select(x, x > 0)
    return (picked * 3).sum(), picked.exp()


def scaled_by_a_number(x):
    return x * x.sum().item() + 1


def rows_by_a_number(x):
    n = x.abs().max().long().item()
    t._check(n >= 0)
    return t.zeros(n, 2) + 1


def different_ones(x):
    values, inverse = t.unique(x, return_inverse=True)
    return values * 2, inverse + 1


def twice(x):
    first = (x > 0).nonzero()
    second = (first.sum(1) > 1).nonzero()
    return first * 2, second - 1


PROGRAMS = [places, chosen, scaled_by_a_number, rows_by_a_number, different_ones, twice]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_sizes_that_only_data_tells(program, dynamic):
    compiled = aot_function(program, kernels, dynamic=dynamic)
    for x in (t.tensor([0.0, 1, 2, -1]), t.tensor([3.0, 1, 0, 1]), t.tensor([0.0, 0, 0, 0])):
        have, want = compiled(x), program(x)
        for a, b in zip(t.utils._pytree.tree_leaves(have), t.utils._pytree.tree_leaves(want)):
            assert t.equal(a, b)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_number_that_is_a_size_of_another_input(dynamic):
    def first_rows(x, n):
        count = n.item()
        t._check(count >= 0)
        t._check(count <= x.shape[0])
        return x.narrow(0, 0, count) * 2 + 1

    mode = "symbolic" if dynamic else "fake"
    x = t.randn(6, 2)
    graph = make_fx(first_rows, tracing_mode=mode)(x, t.tensor(3))
    compiled = compile(graph, [x, t.tensor(3)], native="never")
    for count in (3, 5, 0):
        assert t.equal(compiled(x, t.tensor(count)), first_rows(x, t.tensor(count)))


def test_what_a_program_states_of_numbers_is_checked():
    class FirstRows(t.nn.Module):
        def forward(self, x, n):
            count = n.item()
            t._check(count <= x.shape[0])
            return x.narrow(0, 0, count) * 2

    x = t.randn(6, 2)
    graph = t.export.export(FirstRows(), (x, t.tensor(3))).graph_module
    compiled = compile(graph, [x, t.tensor(3)], native="never")
    (got,) = compiled(x, t.tensor(4))
    assert t.equal(got, x[:4] * 2)
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        compiled(x, t.tensor(7))


@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_a_traced_program_states_is_checked(dynamic, needs_grad):
    def first_rows(x, n):
        count = n.item()
        t._check(count >= 0)
        t._check(count <= x.shape[0])
        return x.narrow(0, 0, count) * 2

    compiled = aot_function(first_rows, kernels, dynamic=dynamic)
    x = t.randn(6, 2, requires_grad=needs_grad)
    for count in (3, 6, 0):
        assert t.equal(compiled(x, t.tensor(count)), first_rows(x, t.tensor(count)))
    for count in (7, -1, 100000):
        with pytest.raises(RuntimeError, match="Runtime assertion failed"):
            compiled(x, t.tensor(count))


def test_parts_at_places_from_data():
    compiled = aot_function(t.tensor_split, kernels)
    x = t.randn(6)
    for places in ([2, 4], [0, 6], [5, 3]):
        parts = compiled(x, t.tensor(places)), t.tensor_split(x, t.tensor(places))
        assert all(t.equal(a, b) for a, b in zip(*parts, strict=True))


def test_sizes_below_zero_are_refused():
    def zeros(n):
        count = n.item()
        t._check(count >= 0)
        return t.zeros(count) + 1

    compiled = aot_function(zeros, kernels)
    assert compiled(t.tensor(2)).shape == (2,)
    with pytest.raises(RuntimeError, match=r"u\d >= 0"):
        compiled(t.tensor(-1))


def test_gradients_through_them():
    def f(x):
        return t.masked_select(x.sin(), x > 0).exp().sum()

    compiled = aot_function(f, kernels)
    for values in ([1.0, -1, 2], [3.0, 4, -5]):
        x = t.tensor(values, requires_grad=True)
        assert t.equal(compiled(x), f(x))
        assert t.equal(*(t.autograd.grad(g(x), x)[0] for g in (compiled, f)))


def test_what_lies_between_is_fused():
    x = t.tensor([0.0, 1, 2])
    graph = make_fx(lambda v: (v.sin() * 2 + 1).nonzero() * 3 - 1, tracing_mode="symbolic")(x)
    compiled = compile(graph, [x], native="never")
    assert [(plan["kernels"], plan["called"]) for plan in compiled.report()] == [(1, []), (1, [])]
    assert t.equal(compiled(x), (x.sin() * 2 + 1).nonzero() * 3 - 1)


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_tensors_on_meta(mode):
    def f(x, y):
        return x[1:].sin() @ x[1:].t(), y * 2 + 1

    def inputs(n):
        return t.ones(n, 4, device="meta"), t.randn(n)

    compiled = compile(make_fx(f, tracing_mode=mode)(*inputs(3)), inputs(3), native="never")
    for n in (3,) if mode == "fake" else (3, 5):
        x, y = inputs(n)
        (on_meta, real), want = compiled(x, y), f(x, y)
        assert on_meta.device.type == "meta" and on_meta.shape == want[0].shape
        assert t.equal(real, want[1])
    assert [plan["kernels"] for plan in compiled.report()] == [1]


def test_gradients_on_meta():
    model = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Linear(8, 2)).to("meta")
    t.compile(model, fullgraph=True)(t.ones(3, 4, device="meta")).sum().backward()
    for p in model.parameters():
        assert p.grad.device.type == "meta" and p.grad.shape == p.shape


def test_a_result_that_is_a_list_among_others():
    @t.library.custom_op("segments::parts", mutates_args=())
    def parts(x: t.Tensor) -> tuple[t.Tensor, list[t.Tensor], int]:
        return x + 1, [x * 2, x * 3], 7

    @parts.register_fake
    def _(x):
        return t.empty_like(x), [t.empty_like(x) for _ in range(2)], 7

    def f(x):
        first, (second, third), number = parts(x.sin())
        return first * 2, second.exp(), third, number

    x = t.randn(3)
    have, want = t.compile(f, fullgraph=True)(x), f(x)
    assert all(t.equal(a, b) for a, b in zip(have[:3], want[:3], strict=True))
    assert have[3] == 7


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.max(),
        lambda x: x.amin(0) * 2,
        lambda x: x.argmax() + 1,
        lambda x: x.aminmax()[0],
        lambda x: x.median(0)[0],
        lambda x: x[0] * 2,
        lambda x: x[-1].exp(),
        lambda x: x.unfold(0, 2, 1) + 1,
        lambda x: t.nn.functional.max_pool1d(x[None], 2),
    ],
)
@pytest.mark.parametrize("kind", ["kernels", "compile"])
def test_what_needs_elements_is_an_error_where_data_tells_that_there_are_none(f, kind):
    def picked(x):
        return f(x[x > 0])

    run = aot_function(picked, kernels) if kind == "kernels" else t.compile(picked, fullgraph=True)
    x = t.tensor([1.0, 3.0, -1.0, 2.0])
    assert t.equal(run(x), picked(x))
    errors = []
    for g in (picked, run):
        with pytest.raises((RuntimeError, IndexError)) as error:
            g(-x.abs())
        errors.append(str(error.value))
    if kind == "compile":
        assert errors[0] == errors[1]


@pytest.mark.filterwarnings("ignore:cov")
def test_covariance_of_observations_that_data_tells():
    def picked(x):
        return t.cov(x[x > 0])

    run = aot_function(picked, kernels)
    for x in (t.tensor([1.0, 3.0, -1.0, 2.0]), -t.ones(4)):
        assert t.allclose(run(x), picked(x), equal_nan=True)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[:3] * 2,
        lambda x: x[-2:].exp(),
        lambda x: x[: x.shape[0] // 2].sum() + x[x.shape[0] // 2 :].prod(),
        lambda x: t.cdist(x[:, None], x[:, None] * 2).sum(),
    ],
)
def test_gradients_of_parts_of_what_data_tells(f):
    def picked(x):
        return f(x[x > 0])

    run = aot_function(picked, kernels, dynamic=True)
    for values in ([1.0, 3.0, -1.0, 2.0, 0.5], [-1.0, 2.0], [-1.0, -3.0], [4.0, 3.0, 2.0, 1.0]):
        x = t.tensor(values, requires_grad=True)
        have, want = (t.autograd.grad(g(x).sum(), x)[0] for g in (run, picked))
        assert t.allclose(have, want)


@pytest.mark.parametrize(
    "f, good, bad",
    [
        (lambda x, n: x[:, n + 2 :].amax(1), 1, 3),
        (lambda x, n: x[:, :n].max() * 2, 2, 0),
        (lambda x, n: x[:, n:].argmax(1), -2, 5),
        (lambda x, n: x[0, n:][0] + 1, 4, 5),
        (lambda x, n: x[:, n:].unfold(1, 3, 1) + 1, 2, 3),
        (lambda x, n: x[:, n:].sin() + t.arange(3), 2, 1),
    ],
)
@pytest.mark.parametrize("backend", ["inductor", "aot_eager", "kernels"])
def test_what_is_asked_of_a_part_at_places_from_data(f, good, bad, backend):
    def part(x, place):
        return f(x, place.item())

    t._dynamo.reset()
    run = (
        aot_function(part, kernels)
        if backend == "kernels"
        else t.compile(part, backend=backend, fullgraph=True)
    )
    x = t.arange(10.0).reshape(2, 5)
    assert t.equal(run(x, t.tensor(good)), part(x, t.tensor(good)))
    for g in (part, run):
        with pytest.raises((RuntimeError, IndexError)):
            g(x, t.tensor(bad))


@pytest.mark.parametrize(
    "f", [lambda x, n: x[:, :n], lambda x, n: x[:, n:], lambda x, n: x[:, n:-1]]
)
@pytest.mark.parametrize("traced", [2, -1])
def test_writes_to_a_part_at_places_from_data(f, traced):
    def written(x, place):
        y = x.sin()
        f(y, place.item()).mul_(2)
        return y

    run = aot_function(written, kernels)
    x = t.randn(2, 5)
    for place in (traced, 3, -2, 0, 9, -9):
        assert t.equal(run(x, t.tensor(place)), written(x, t.tensor(place)))


@pytest.mark.parametrize("backend", ["inductor", "aot_eager"])
def test_a_length_of_data_that_another_operand_fixes(backend):
    """What is traced as a constant, since it has to equal one, is asked of every run."""

    def f(x, i):
        return x.clone()[:, : i.item()] + t.ones(2, 3)

    x = t.arange(10.0).view(2, 5)
    compiled = t.compile(f, fullgraph=True, backend=backend)
    for length in (3, 1, 3):
        assert t.equal(compiled(x, t.tensor(length)), f(x, t.tensor(length)))
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        compiled(x, t.tensor(2))
