"""Compiled writes to memory that tensors share: what eager refuses, warns of and does."""

import warnings

import pytest
from compiled_case import is_same, outcome
from taeda._inductor.compile_fx import compile_fx
from under_test import t

BACKENDS = {"eager": {}, "inductor": {"options": {"native": "never"}}}
both = pytest.mark.parametrize("backend", BACKENDS)


def as_plainly(program, backend, sizes=(12, 16, 20, 12), args=lambda n: (t.arange(float(n)),)):
    compiled = t.compile(program, backend=backend, **BACKENDS[backend])
    for n in sizes:
        expected, got = outcome(program, args(n)), outcome(compiled, args(n))
        assert expected[0] == got[0], (expected, got)
        is_raised = expected[0] == "raised"  # from a frame of the compiler, perhaps: no line
        parts = slice(1, 3) if is_raised else slice(1, None)
        assert is_same(got[parts], expected[parts], True), (n, expected, got)
        assert is_same(got[-1], expected[-1], True)  # the argument


REFUSED = {
    "add_": lambda x: x[1:].add_(x[:-1]),
    "mul_": lambda x: x[2:].mul_(x[:-2]),
    "+=": lambda x: x[1:].__iadd__(x[:-1]),
    "assignment": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "lerp_": lambda x: x[1:].lerp_(x[:-1], 0.5),
    "addcmul_": lambda x: x[1:].addcmul_(x[:-1], x[:-1]),
    "out=": lambda x: t.add(x[:-1], 1, out=x[1:]),
    "index_add_": lambda x: x[1:].index_add_(0, t.tensor([0, 1]), x[:2]),
    "scatter_": lambda x: x[1:].scatter_(0, t.tensor([0, 1]), x[:2]),
    "expanded": lambda x: x[:1].expand(x.shape[0]).add_(2.0),
}


@both
@pytest.mark.parametrize("name", REFUSED)
def test_parts_of_one_memory_that_meet_are_refused(name, backend):
    with pytest.raises(RuntimeError, match="single memory location"):
        REFUSED[name](t.arange(12.0))
    as_plainly(REFUSED[name], backend)


@both
@pytest.mark.parametrize(
    "program",
    [
        lambda x: x[:4].add_(x[4:8]),
        lambda x: x[: x.shape[0] // 2].add_(x[x.shape[0] // 2 :]),
        lambda x: x[1:].add_(x[1:]),
        lambda x: x[::2].add_(x[1::2]),
        lambda x: x.view(4, -1)[0].add_(x.view(4, -1)[1]),
    ],
)
def test_parts_of_one_memory_that_lie_apart(program, backend):
    as_plainly(program, backend)


@both
@pytest.mark.parametrize(
    "program",
    [
        lambda x: x[:1].expand(x.shape[0]).fill_(2.0),
        lambda x: x[:1].expand(3).zero_(),
        lambda x: x[:1].expand(3).masked_fill_(t.tensor([False, True, False]), 1.0),
        lambda x: x[:1].expand(3).index_fill_(0, t.tensor([1]), 1.0),
        lambda x: x[:1].expand(3).__setitem__(t.tensor([2]), 1.0),
    ],
)
def test_elements_that_share_memory_are_filled(program, backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        as_plainly(program, backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_arguments_become_larger(backend):
    def program(x, like):
        x.resize_(4).fill_(3)
        y = x + 1
        part = y[:1]
        y.resize_(9).zero_()
        return x * 2, like.resize_as_(x).fill_(1), y, part

    compiled = t.compile(program, backend=backend)
    for n in (2, 8, 3):
        pairs = [(t.ones(n), t.ones(0)) for _ in range(2)]
        for one, other in zip(compiled(*pairs[0]), program(*pairs[1]), strict=True):
            assert one.equal(other)
        assert all(a.equal(b) for a, b in zip(*pairs, strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
def test_elements_that_share_memory_are_warned_of_once_per_call(backend):
    def program(x):
        return x[:1].expand(3).masked_fill_(t.tensor([True, False, True]), 1.0)

    compiled = t.compile(program, backend=backend, **BACKENDS[backend])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            compiled(t.arange(4.0))
    assert len(told) == 3


@both
def test_a_call_that_resizes_its_out(backend):
    buffer = t.empty(0)

    def program(x):
        t.mul(x, 2, out=buffer)
        return buffer + 1

    as_plainly(program, backend, sizes=(3, 3, 3))
    assert buffer.shape == (3,)


@both
def test_truth_values_of_numbers_that_change_as_factors(backend):
    def program(x, v):
        return x * (v > 1) + (v < 2) * x

    compiled = t.compile(program, backend=backend, **BACKENDS[backend])
    for v in (0.5, 1.5, 2.5, 0.25, 3.5):
        assert is_same(compiled(t.ones(2), v), program(t.ones(2), v))


def test_statistics_of_a_norm_are_written_to():
    """A later call in which a tensor is the memory of the statistics sees them moved."""
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return compile_fx(gm, inputs)

    def f(x, mean, var, y):
        return t.nn.functional.batch_norm(x, mean, var, training=True), y * 2

    compiled = t.compile(f, backend=backend)
    x = t.arange(12.0).reshape(4, 3)
    for is_shared in (False, True, False, True):
        seen = []
        for call in (f, compiled):
            mean, var = t.zeros(3), t.ones(3)
            y = mean.view(3) if is_shared else t.zeros(3)
            seen.append((*call(x, mean, var, y), mean, var))
        assert is_same(*seen, True), seen
    assert len(graphs) == 2  # one for each way to share memory
