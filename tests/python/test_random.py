"""Tests of random numbers: moments, reproducibility, independence of strides and threads."""

import math
import os
import subprocess
import sys

import pytest
from under_test import NAME, t


def moments(x):
    x = x.double()
    mean = x.mean().item()
    return mean, ((x - mean) ** 2).mean().item()


@pytest.fixture(autouse=True)
def seeded():
    t.manual_seed(7)


N = 200_000
DISTRIBUTIONS = {
    "rand": (lambda: t.rand(N), 0.5, 1 / 12),
    "randn": (lambda: t.randn(N), 0, 1),
    "randn_double": (lambda: t.randn(N, dtype=t.float64), 0, 1),
    "randn_bfloat16": (lambda: t.randn(N, dtype=t.bfloat16), 0, 1),
    "uniform": (lambda: t.empty(N).uniform_(-3, 5), 1, 64 / 12),
    "normal": (lambda: t.empty(N).normal_(2, 3), 2, 9),
    "normal_tensors": (lambda: t.normal(t.full((N,), 2.0), t.full((N,), 3.0)), 2, 9),
    "bernoulli": (lambda: t.bernoulli(t.full((N,), 0.3)), 0.3, 0.21),
    "bernoulli_p": (lambda: t.empty(N).bernoulli_(0.8), 0.8, 0.16),
    "randint": (lambda: t.randint(-4, 5, (N,)), 0, 60 / 9),
    "random": (lambda: t.empty(N, dtype=t.uint8).random_(), 127.5, 65535 / 12),
    "exponential": (lambda: t.empty(N).exponential_(2), 0.5, 0.25),
    "log_normal": (
        lambda: t.empty(N).log_normal_(0, 0.5),
        math.exp(1 / 8),
        math.exp(1 / 4) * (math.exp(1 / 4) - 1),
    ),
    "geometric": (lambda: t.empty(N).geometric_(0.25), 4, 12),
    "dropout": (lambda: t.dropout(t.ones(N), 0.2, True), 1, 0.25),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_mean_and_variance(name):
    draw, mean, variance = DISTRIBUTIONS[name]
    got_mean, got_variance = moments(draw())
    assert got_mean == pytest.approx(mean, abs=5 * math.sqrt(variance / N))
    assert got_variance == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_same_seed_same_numbers(name):
    draw = DISTRIBUTIONS[name][0]
    t.manual_seed(3)
    first, second = draw(), draw()
    t.manual_seed(3)
    assert t.equal(draw(), first)
    assert not t.equal(first, second)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_threads_do_not_change_the_numbers(name):
    draw = DISTRIBUTIONS[name][0]
    want = draw()
    before = t.get_num_threads()
    t.set_num_threads(1 if before > 1 else 3)
    try:
        t.manual_seed(7)
        assert t.equal(draw(), want)
    finally:
        t.set_num_threads(before)


@pytest.mark.parametrize(
    "fill",
    [
        lambda x: x.uniform_(),
        lambda x: x.normal_(1, 2),
        lambda x: x.bernoulli_(0.5),
        lambda x: x.random_(0, 100),
        lambda x: x.exponential_(),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_strides_do_not_change_the_numbers(fill, dtype):
    if t.__name__ == "torch":
        pytest.skip("PyTorch fills strided tensors in memory order")
    dtype = getattr(t, dtype)
    want = fill(t.empty(33, 47, dtype=dtype))
    t.manual_seed(7)
    strided = t.zeros(47, 66, dtype=dtype).t()[::2]
    assert t.equal(fill(strided), want)


def test_stream_continues_where_the_last_call_ended():
    """Calls take whole counters, so two calls of a multiple of four floats are one call of the sum."""
    if t.__name__ == "torch":
        pytest.skip("defines the stream of this library")
    whole = t.rand(1024)
    t.manual_seed(7)
    assert t.equal(t.cat([t.rand(512), t.rand(512)]), whole)


def test_generators_are_streams_of_their_own():
    g = t.Generator().manual_seed(5)
    a = t.randn(8, generator=g)
    b = t.randn(8)
    t.manual_seed(5)
    assert t.equal(t.randn(8), a)
    assert not t.equal(a, b)
    state = g.get_state()
    c = t.rand(4, generator=g)
    g.set_state(state)
    assert t.equal(t.rand(4, generator=g), c)


def test_permutations_hold_every_number_once():
    p = t.randperm(1000)
    assert sorted(p.tolist()) == list(range(1000)) and p.tolist() != list(range(1000))
    first = t.stack([t.randperm(4)[0] for _ in range(2000)])
    for k in range(4):
        assert (first == k).sum().item() == pytest.approx(500, abs=110)


def test_uniform_stays_below_its_bound():
    for dtype in (t.float32, t.bfloat16, t.float16):
        x = t.empty(100_000, dtype=dtype).uniform_(0, 1)
        assert x.float().max().item() < 1 and x.float().min().item() >= 0


def test_multinomial_follows_the_weights():
    weights = t.tensor([[1.0, 0, 3], [5, 5, 0]])
    drawn = t.multinomial(weights, 10_000, True)
    assert drawn.shape == (2, 10_000)
    assert (drawn[0] == 1).sum().item() == 0 and (drawn[1] == 2).sum().item() == 0
    assert (drawn[0] == 2).sum().item() == pytest.approx(7500, abs=250)
    without = t.multinomial(t.ones(5, 6), 6)
    assert all(sorted(row) == list(range(6)) for row in without.tolist())


def test_dropout_gradient_is_its_mask():
    x = t.ones(1000, requires_grad=True)
    y = t.dropout(x, 0.25, True)
    y.sum().backward()
    assert t.equal(x.grad, y.detach())
    assert t.dropout(x, 0.25, False) is x or t.equal(t.dropout(x, 0.25, False), x)
    z = t.ones(1000)
    assert t.dropout_(z, 0.5, True) is z and sorted(set(z.tolist())) == [0, 2]


@pytest.mark.parametrize(
    ("call", "error", "phrase"),
    [
        (lambda: t.empty(3).uniform_(2, 1), RuntimeError, "from=2 > to=1"),
        (lambda: t.empty(3).normal_(0, -1), RuntimeError, "std >= 0.0"),
        (
            lambda: t.normal(t.zeros(2), t.tensor([1.0, -1])),
            RuntimeError,
            "all elements of std >= 0.0",
        ),
        (lambda: t.empty(3).bernoulli_(2), RuntimeError, "p to be in \\[0, 1\\]"),
        (lambda: t.bernoulli(t.tensor([2.0])), RuntimeError, "p_in >= 0"),
        (lambda: t.randint(5, 2, (3,)), RuntimeError, "'from' to be less than 'to'"),
        (lambda: t.randint(0, 300, (3,), dtype=t.uint8), RuntimeError, "out of bounds"),
        (lambda: t.randn(3, dtype=t.int64), NotImplementedError, "not implemented for 'Long'"),
        (lambda: t.multinomial(t.tensor([1.0, -1]), 1), RuntimeError, "element < 0"),
        (lambda: t.multinomial(t.ones(2), 3), RuntimeError, "without replacement"),
        (lambda: t.dropout(t.zeros(3), 2, True), RuntimeError, "between 0 and 1"),
    ],
)
def test_errors(call, error, phrase):
    with pytest.raises(error, match=phrase):
        call()


def test_integers_from_the_least_one():
    """Bounds that a size cannot be; the range is larger than an int64."""
    least, most = -(2**63), 2**63 - 1
    t.manual_seed(0)
    drawn = t.randint(least, most, (1000,))
    assert (drawn < least // 2).any() and (drawn > most // 2).any()
    assert t.randint(least, least + 1, (3,)).tolist() == [least] * 3
    assert t.randint_like(drawn, least, least + 2).unique().tolist() == [least, least + 1]
    with pytest.raises(RuntimeError, match="'from' to be less than 'to'"):
        t.randint(least + 5, least, (3,))
    with pytest.raises(RuntimeError):
        t.empty(least)


def first_numbers(**variables):
    """The seed and a number of a process that sets none."""
    variables = {**os.environ, **variables}
    code = f"import {NAME} as t; print(t.initial_seed(), t.rand(1).item(), t.Generator().initial_seed())"
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    seed, number, of_new = done.stdout.split()
    assert int(of_new) == 67280421310721
    return int(seed), float(number)


def test_each_process_draws_other_numbers():
    first, second = (first_numbers(TAEDA_SEED="") for _ in range(2))
    assert first[0] != second[0] and first[1] != second[1]


@pytest.mark.skipif(NAME != "taeda", reason="what Taeda adds")
def test_a_variable_seeds_processes():
    first, second = (first_numbers(TAEDA_SEED="12") for _ in range(2))
    assert first == second and first[0] == 12
    with pytest.raises(AssertionError, match="TAEDA_SEED must be an integer of 64 bits, got 'x1'"):
        first_numbers(TAEDA_SEED="x1")


@pytest.mark.parametrize(
    ("dtype", "bounds", "message"),
    [
        (t.float16, (-1e6, 1e6), "from is out of bounds for c10::Half"),
        (t.bfloat16, (0, 1e39), "to is out of bounds for c10::BFloat16"),
        (t.float32, (0, math.inf), "to is out of bounds for float"),
        (t.float32, (-3e38, 3e38), r"uniform_ expects to-from <= std::numeric_limits<Float>::max"),
        (t.float64, (-1e308, 1e308), "which result in to-from to exceed the limit"),
    ],
)
def test_bounds_of_uniform_numbers(dtype, bounds, message):
    with pytest.raises(RuntimeError, match=message):
        t.empty(2, dtype=dtype).uniform_(*bounds)


def test_integers_into_memory_of_another_dtype():
    out = t.empty(4)
    assert t.randperm(4, out=out) is out and sorted(out.tolist()) == [0, 1, 2, 3]
    assert t.randint(5, 6, (4,), out=out) is out and out.tolist() == [5] * 4
    with pytest.raises(RuntimeError, match="dtype Long does not match dtype of out parameter"):
        t.randperm(4, dtype=t.int64, out=out)


def test_ranges_without_an_end_begin_at_a_number_of_the_dtype():
    for dtype in (t.uint8, t.bool):
        with pytest.raises(RuntimeError, match="from is out of bounds for"):
            t.empty(2, dtype=dtype).random_(-5, None)
    with pytest.raises(RuntimeError, match="handles only int64, double, float and bfloat16"):
        t.empty(2, dtype=t.int32).random_(-(2**63), None)
