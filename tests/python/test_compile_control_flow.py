"""Loops, scans and maps inside of compiled programs: one graph, with gradients and closures."""

import importlib
import os

import pytest
from compiled_case import is_same
from under_test import NAME, t

operators = f"{NAME}._higher_order_ops"
while_loop = importlib.import_module(f"{operators}.while_loop").while_loop
scan = importlib.import_module(f"{operators}.scan").scan
map_slices = importlib.import_module(f"{operators}.map").map
associative_scan = importlib.import_module(f"{operators}.associative_scan").associative_scan
checkpoint = importlib.import_module(f"{NAME}.utils.checkpoint").checkpoint
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters

BACKENDS = ("eager", "aot_eager", "inductor")
SCALE = t.full((1,), 2.0)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", os.environ.get("TAEDA_COMPILE_STRICT", "1"))
    t.compiler.reset()
    counters.clear()


def counted(x):
    start = (t.zeros((), dtype=t.long), x.clone())
    return while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * 1.5), start)


def bounded(x):
    """The functions take tensors from around them, one of them an operand as well."""

    def is_small(i, z):
        return z.sum() < 20 + 0 * x.sum()

    def step(i, z):
        return i + 1, z * SCALE + x

    return while_loop(is_small, step, (t.tensor(0), x))


def averaged(x):
    return scan(lambda carry, row: (carry * 0.5 + row, carry + row), x[0] * 0, x)


def nested(x):
    def step(carry, rows):
        following = {"sum": carry["sum"] + rows[0]}
        return following, [rows[1] * following["sum"], rows[0] - SCALE]

    return scan(step, {"sum": x[0] * 0}, (x, x.sin()), reverse=True)


def mapped(x):
    return map_slices(lambda row, shift: row.sin() + shift * SCALE, x, x[0])


def combined(x):
    return associative_scan(lambda a, b: a * b + a, x, 0, combine_mode="generic")


def multiplied(x):
    return associative_scan(lambda a, b: a * b, x, 0)


PROGRAMS = (counted, bounded, averaged, nested, mapped, combined, multiplied)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_sizes_that_change(program, backend):
    compiled = t.compile(program, backend=backend, fullgraph=True)
    for size in (2, 3, 4, 5):
        x = t.linspace(0.5, 1.5, 3 * size).reshape(size, 3)
        assert is_same(compiled(x), program(x), is_rounded=True)
    assert counters["stats"]["unique_graphs"] == 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", (averaged, mapped), ids=lambda program: program.__name__)
def test_gradients(program, backend):
    compiled = t.compile(program, backend=backend, fullgraph=True)
    gradients = []
    for function in (program, compiled):
        x = t.linspace(0.5, 1.5, 6).reshape(2, 3).requires_grad_()
        result = function(x)
        last = result[-1] if isinstance(result, tuple) else result
        last.sum().backward()
        gradients.append(x.grad)
    t.testing.assert_close(*gradients)


def test_errors_are_the_programs_own():
    def program(x):
        return while_loop(lambda z: z.sum() < 9, lambda z: (z + 1, z), (x,))

    for function in (program, t.compile(program, backend="eager", fullgraph=True)):
        with pytest.raises(AssertionError, match="same number of elements as carried_inputs"):
            function(t.ones(2, 3))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_cond_on_a_size_is_one_graph_for_both_outcomes(backend):
    def program(x):
        return t.cond(x.shape[0] > 4, lambda x: x + 1, lambda x: x - 1, (x,))

    counters.clear()
    compiled = t.compile(program, backend=backend, dynamic=True, fullgraph=True)
    for size in (3, 4, 5, 7, 2):
        assert t.equal(compiled(t.ones(size)), program(t.ones(size)))
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("limit", [3, 0])
def test_integers_that_a_loop_carries(limit, backend):
    def program(x, n):
        count, x = while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2), (0, x))
        return count, x

    for is_whole in (True, False):
        compiled = t.compile(program, backend=backend, fullgraph=is_whole)
        for n in (limit, limit + 1, limit + 2):
            count, x = compiled(t.ones(2), n)
            assert count == n and type(count) is int
            assert t.equal(x, t.full((2,), 2.0**n))


def test_a_loop_of_an_integer_alone():
    def program(x):
        (count,) = while_loop(lambda i: i < 5, lambda i: (i + 2,), (0,))
        return x + count

    compiled = t.compile(program, backend="eager", fullgraph=True)
    assert t.equal(compiled(t.ones(2)), t.full((2,), 7.0))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_cond_on_a_size_with_results_of_two_shapes(backend):
    def program(x):
        return t.cond(x.shape[0] > 4, lambda x: x.sum(), lambda x: x - 1, (x,)) * 2

    compiled = t.compile(program, backend=backend, dynamic=True)
    for size in (3, 5, 7, 2):
        assert t.equal(compiled(t.ones(size)), program(t.ones(size)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_functions_of_cond_read_sizes(backend):
    def program(x):
        n = x.size(0)
        y = t.cond(x.sum() > 6, lambda x: x * x.shape[0], lambda x: x + n, (x,))
        return y, y / n

    compiled = t.compile(program, backend=backend, dynamic=True, fullgraph=True)
    for size in (3, 4, 5, 9):
        t.testing.assert_close(compiled(t.ones(size)), program(t.ones(size)))
    assert counters["stats"]["unique_graphs"] == 1


def chosen(x):
    return t.cond(x.sum() > 0, lambda x: x.sin() * x, lambda x: x.cos(), (x,))


def inside(function):
    """A gradient that the program takes itself, of which its own gradient is made."""

    def program(x):
        z = x.detach().requires_grad_()
        (gradient,) = t.autograd.grad(function(z).sum(), z, create_graph=True)
        return x * gradient

    return program


@pytest.mark.sampled(5)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize(
    "function", [chosen, averaged, mapped, multiplied], ids=lambda function: function.__name__
)
def test_gradients_of_gradients(function, is_inside, backend):
    def first(x):
        results = function(x)
        return results[-1] if isinstance(results, tuple) else results

    program = inside(first) if is_inside else first
    gradients = []
    for run in (program, t.compile(program, backend=backend)):
        x = t.linspace(0.5, 1.5, 6).reshape(2, 3).requires_grad_()
        (gradient,) = t.autograd.grad(run(x).pow(2).sum(), x, create_graph=True)
        if not is_inside:
            (gradient,) = t.autograd.grad(gradient.pow(2).sum(), x)
        gradients.append(gradient.detach())
    t.testing.assert_close(*gradients)


class Scaled(t.autograd.Function):
    """Its gradient is ten times that of its operators."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor, x.sin()

    @staticmethod
    def backward(ctx, grad, of_sine):
        return 10 * ctx.factor * grad + of_sine * ctx.saved_tensors[0], None


def without_gradient(x):
    with t.no_grad():
        y = x * x
    return y * x


def hooked(x):
    y = x * 2
    if y.requires_grad:
        y.register_hook(lambda grad: grad * 100)
    return y * x


STEPS = {
    "detach": lambda x: x.detach() * x,
    "no_grad": without_gradient,
    "function": lambda x: sum(Scaled.apply(x, 3)) * x,
    "function_alone": lambda x: Scaled.apply(x, 3)[0],
    "function_of_outside": lambda x: Scaled.apply(x, SCALE.sum().item())[0] + x,
    "hook": hooked,
    "nested": lambda x: t.cond(x.sum() > 1, lambda y: Scaled.apply(y, 2)[0], lambda y: y * 1, (x,)),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "call",
    [
        lambda step, x: t.cond(x.sum() > 0, step, lambda y: y * 3, (x,)),
        lambda step, x: map_slices(step, t.stack([x, x * 2])),
        lambda step, x: while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, 0.1 * step(y)), (t.zeros(()), x)
        )[1],
        lambda step, x: scan(lambda c, y: (step(c) + y, c * y), x.clone(), t.stack([x, x * 2]))[1],
    ],
    ids=["cond", "map", "while_loop", "scan"],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_functions_keep_from_gradients(backend, call, step):
    """Functions with derivatives of their own and scopes without gradients count inside."""

    def program(x):
        return call(STEPS[step], x)

    gradients, values = [], []
    compiled = t.compile(program, backend=backend, fullgraph=step not in ("hook", "nested"))
    for run in (program, compiled):
        x = t.tensor([0.5, 0.7, 0.9], requires_grad=True)
        result = run(x)
        result.sum().backward()
        gradients.append(x.grad)
        values.append(result.detach())
        with t.no_grad():
            values.append(run(x.detach()))
    t.testing.assert_close(*gradients)
    t.testing.assert_close(values[:2], values[2:])


NUMBERS = {
    "cond": lambda x, s: t.cond(x.max() > 5, lambda v: v * s, lambda v: v + s, (x,)),
    "map": lambda x, s: map_slices(lambda v: v * s, x),
    "scan": lambda x, s: scan(lambda c, v: (c * s + v, c + v), t.zeros(()), x),
    "while_loop": lambda x, s: while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, v * s), (t.tensor(0), x)
    ),
    "checkpoint": lambda x, s: checkpoint(lambda v: (v * s).sin(), x, use_reentrant=False),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    "read", [lambda x: x.sum().item(), lambda x: x.numel() + x.long().sum().item()]
)
def test_a_number_that_data_tells_inside_of_a_region(name, backend, read):
    def program(x):
        return NUMBERS[name](x, read(x))

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for n in (3, 4, 6):
        x = t.linspace(-1, 1, n)
        assert is_same(compiled(x), program(x), is_rounded=True)


PARTLY_USED = {
    "scan's results": lambda x, h, w: scan(lambda c, v: (c * w + v, (v * w).clone()), h, x)[1],
    "scan's carry": lambda x, h, w: scan(lambda c, v: (c * 1.5, v * w), h, x)[0],
    "scan's chain": lambda x, h, w: scan(
        lambda c, v: ((c[1] * 1.5, c[1] + v * w), c[0].clone()), (t.zeros(()), h), x
    )[1],
    "one of a map": lambda x, h, w: map_slices(lambda v, w, h: (v * w, v * h), x, w, h)[0],
    "one of a cond": lambda x, h, w: t.cond(
        x.sum() > 0, lambda x, h, w: (x * w, x * h), lambda x, h, w: (x + w, x - h), (x, h, w)
    )[0],
    "one of a loop": lambda x, h, w: while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * w, b + 1), (t.tensor(0), x, h)
    )[1],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PARTLY_USED)
def test_what_no_used_result_is_made_of_has_no_gradient(name, backend):
    def gradients(function):
        given = [t.ones(size, requires_grad=True) for size in ((4,), (), ())]
        function(*given).sum().backward()
        return [x.grad for x in given]

    plain = gradients(PARTLY_USED[name])
    assert any(grad is None for grad in plain) or name == "scan's chain"
    assert is_same(gradients(t.compile(PARTLY_USED[name], backend=backend)), plain)
