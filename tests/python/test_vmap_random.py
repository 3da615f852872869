"""vmap over random operators: refused, drawn once for all examples, or drawn for each."""

import pytest

import taeda
from taeda.func import vmap

F = taeda.nn.functional
SAME_BATCHED = "Vmap does not currently support same randomness with a batched tensor input"


@pytest.fixture(autouse=True)
def seed():
    taeda.manual_seed(0)


def is_drawn_once(x):
    return all(taeda.equal(x[0], row) for row in x)


def is_drawn_apart(x):
    return not any(taeda.equal(x[0], row) for row in x[1:])


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: x + taeda.randn(2),
        lambda x: taeda.randperm(4),
        lambda x: taeda.multinomial(x, 1),
        lambda x: taeda.multinomial(taeda.ones(4), 1),
        lambda x: F.dropout(x),
        lambda x: F.alpha_dropout(x, training=True),
        lambda x: x.clone().normal_(),
    ],
)
def test_random_operators_need_a_choice(draw):
    with pytest.raises(
        RuntimeError, match="called random operation while in randomness error mode"
    ):
        vmap(draw)(taeda.ones(3, 2))


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: x * 0 + taeda.randn(64),
        lambda x: taeda.rand_like(x),
        lambda x: taeda.randperm(64),
        lambda x: taeda.multinomial(taeda.ones(64), 8) + 0 * x[:8],
        lambda x: F.dropout(x),
        lambda x: F.alpha_dropout(x, training=True),
        lambda x: F.dropout1d(x.view(2, 8, 4)),
        lambda x: x.clone().normal_(),
        lambda x: x.clone().bernoulli_(taeda.full((64,), 0.5)),
    ],
)
def test_same_randomness_draws_once(draw):
    got = vmap(draw, randomness="same")(taeda.ones(3, 64))
    line = got[0].flatten()
    assert is_drawn_once(got) and not taeda.equal(line, line.flip(0))


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: taeda.randn(64),
        lambda x: x.clone().normal_(),
        lambda x: taeda.bernoulli(x / 2),
        lambda x: taeda.normal(x, taeda.ones(2, 1)),
        lambda x: x.repeat(2, 1).bernoulli_(taeda.full((64,), 0.5)),
        lambda x: taeda.ones(2, 1).expand(2, 64).clone().mul(x).bernoulli_(x / 2),
        lambda x: taeda.randperm(64),
        lambda x: taeda.randperm(64, generator=taeda.Generator().manual_seed(1)),
        lambda x: taeda.multinomial(x, 8),
        lambda x: taeda.multinomial(taeda.ones(64), 8),
        lambda x: taeda.multinomial(taeda.ones(2, 64), 8),
        lambda x: taeda.multinomial(x.view(2, 32), 8),
        lambda x: F.dropout(x),
        lambda x: F.dropout(taeda.ones(64)),
        lambda x: F.alpha_dropout(taeda.ones(64), training=True),
        lambda x: F.dropout1d(taeda.ones(4, 16, 1)),
    ],
)
def test_different_randomness_draws_for_each_example(draw):
    assert is_drawn_apart(vmap(draw, randomness="different")(taeda.ones(3, 64)))


def test_permutations_of_examples_are_drawn_in_order():
    got = vmap(lambda x: taeda.randperm(10), randomness="different")(taeda.ones(3))
    taeda.manual_seed(0)
    assert taeda.equal(got, taeda.stack([taeda.randperm(10) for _ in range(3)]))


def test_permutations_of_no_examples():
    got = vmap(lambda x: taeda.randperm(10), randomness="different")(taeda.ones(0))
    assert got.shape == (0, 10) and got.dtype == taeda.int64


def test_rows_of_examples_are_drawn_as_rows_of_one_call():
    weights = taeda.rand(3, 2, 16)
    taeda.manual_seed(0)
    got = vmap(lambda p: taeda.multinomial(p, 4), in_dims=1, randomness="different")(
        weights.movedim(0, 1)
    )
    taeda.manual_seed(0)
    assert taeda.equal(got, taeda.multinomial(weights.view(6, 16), 4).view(3, 2, 4))


@pytest.mark.parametrize(
    "draw", [lambda x: F.dropout(x, training=False), lambda x: F.dropout(x, 1.0)]
)
def test_what_draws_nothing_needs_no_choice(draw):
    x = taeda.ones(3, 4)
    assert taeda.equal(vmap(draw)(x), draw(x))


def test_same_dropout_keeps_the_examples():
    x = taeda.arange(1.0, 193).view(3, 64)
    got = vmap(lambda v: F.dropout(v, 0.75), randomness="same")(x)
    kept = got[0] != 0
    assert 0 < kept.sum() < 64 and taeda.equal(got, x * kept * 4)


@pytest.mark.parametrize(
    ("draw", "in_dims"),
    [
        (lambda x, y: taeda.multinomial(x, 1), (0, 0)),
        (lambda x, y: taeda.bernoulli(x), (0, 0)),
        (lambda x, y: taeda.normal(x, y), (None, 0)),
        (lambda x, y: x.clone().bernoulli_(y), (0, 0)),
        (lambda x, y: x.bernoulli_(y), (None, 0)),
    ],
)
def test_one_draw_of_different_arguments_is_refused(draw, in_dims):
    with pytest.raises(RuntimeError, match=SAME_BATCHED):
        vmap(draw, in_dims, randomness="same")(taeda.rand(3, 3), taeda.rand(3, 3))


def test_draws_of_examples_do_not_fit_into_one_tensor():
    x = taeda.ones(4)
    with pytest.raises(RuntimeError, match="Cannot ask for different inplace randomness"):
        vmap(lambda y: x.normal_(), randomness="different")(taeda.ones(3))
    with pytest.raises(RuntimeError, match="`other` in extra_args that has more elements"):
        vmap(lambda p: x.bernoulli_(p), randomness="different")(taeda.rand(3, 4))


@pytest.mark.parametrize("chunk_size", [1, 2, 5])
def test_chunks_share_one_draw(chunk_size):
    def draw(x):
        return taeda.rand(()) + taeda.randn(4)

    got = vmap(draw, randomness="same", chunk_size=chunk_size)(taeda.ones(5))
    assert is_drawn_once(got)


def test_chunks_draw_apart():
    got = vmap(lambda x: taeda.rand(4), randomness="different", chunk_size=2)(taeda.ones(5))
    assert is_drawn_apart(got)
