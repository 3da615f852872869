"""Generators whose engine is a Mersenne twister draw PyTorch's numbers."""

import os
import pickle
import subprocess
import sys

import pytest

import taeda

SIZES = [1, 15, 16, 17, 100, 10_000]
FLOATS = ["float32", "float64", "bfloat16"]
# Calls that fill a tensor x with a generator g.
FLOAT_FILLS = [
    "x.uniform_(generator=g)",
    "x.uniform_(-1.3, 2.7, generator=g)",
    "x.normal_(generator=g)",
    "x.normal_(0.7, 2.5, generator=g)",
    "x.exponential_(1.7, generator=g)",
    "x.cauchy_(0.5, 2.0, generator=g)",
    "x.log_normal_(0.2, 0.5, generator=g)",
]
FILLS = [
    "x.random_(generator=g)",
    "x.random_(200, generator=g)",
    "x.random_(3, 100, generator=g)",
    "x.bernoulli_(0.3, generator=g)",
    "x.geometric_(0.2, generator=g)",
]
CALLS = [
    "t.rand(40, generator=g)",
    "t.randn(40, generator=g)",
    "t.randn(5, generator=g)",
    "t.randint(-5, 9, (40,), generator=g)",
    "t.randint(2**40, (40,), generator=g)",
    "t.empty(20, dtype=t.int64).random_(-(2**63), None, generator=g)",
    "t.randperm(40, generator=g)",
    "t.bernoulli(t.linspace(0, 1, 40), generator=g)",
    "t.bernoulli(t.linspace(0, 1, 40, dtype=t.float64), generator=g)",
    "t.normal(t.arange(40.0), 2.0, generator=g)",
    "t.multinomial(t.arange(1.0, 9.0), 30, True, generator=g)",
    "t.multinomial(t.arange(1.0, 9.0), 5, generator=g)",
    "t.multinomial(t.arange(1.0, 9.0).repeat(3, 1), 1, generator=g)",
]


@pytest.fixture
def default_engine():
    """The default engine is set back, and the default generator with it."""
    state = taeda.get_rng_state()
    yield
    taeda.random.set_default_engine("philox")
    taeda.set_rng_state(state)


def twister(seed=0):
    return taeda.Generator(engine="mt19937").manual_seed(seed)


def beside(torch, text, *, seed, make=None):
    """The value of an expression in both libraries, as tensors of PyTorch."""
    results = []
    for lib, g in ((torch, torch.Generator()), (taeda, twister())):
        g.manual_seed(seed)
        x = make(lib) if make else None
        value = eval(text, {"t": lib, "g": g, "x": x})
        results.append(value if lib is torch else torch.from_dlpack(value))
        # Both have drawn as many words.
        results[-1] = results[-1].clone(), g.get_state().tolist()
    return results


def assert_same_draw(torch, text, is_close=False, **options):
    (want, want_state), (got, got_state) = beside(torch, text, **options)
    assert got.dtype == want.dtype and got_state == want_state
    if is_close:
        torch.testing.assert_close(got, want, rtol=2e-5, atol=2e-6)
    else:
        assert torch.equal(got, want)


@pytest.mark.parametrize("text", FLOAT_FILLS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES)
def test_fills_of_floats_are_pytorchs(torch, text, dtype, size):
    # Logarithms and sines of float32 are those of other libraries.
    is_close = "normal_" in text or "cauchy" in text or "exponential" in text
    make = lambda lib: lib.empty(size, dtype=getattr(lib, dtype))
    if dtype == "bfloat16" and is_close:
        (want, _), (got, _) = beside(torch, text, seed=size, make=make)
        torch.testing.assert_close(got, want, rtol=1e-2, atol=1e-6)
    else:
        assert_same_draw(torch, text, is_close, seed=size, make=make)


@pytest.mark.parametrize("text", FILLS)
@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "int32", "uint8"])
@pytest.mark.parametrize("size", [1, 17, 1000])
def test_fills_of_any_type_are_pytorchs(torch, text, dtype, size):
    make = lambda lib: lib.empty(size, dtype=getattr(lib, dtype))
    assert_same_draw(torch, text, seed=size, make=make)


@pytest.mark.parametrize("start", [-(2**63), 1 - 2**63, -5])
@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
def test_ranges_without_an_end_are_pytorchs(torch, start, dtype):
    make = lambda lib: lib.empty(20, dtype=getattr(lib, dtype))
    assert_same_draw(torch, f"x.random_({start}, None, generator=g)", seed=3, make=make)


@pytest.mark.parametrize("text", [*FLOAT_FILLS, *FILLS])
@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.empty(5, 7).T,
        lambda lib: lib.empty(5, 14)[:, ::2],
        lambda lib: lib.empty(2, 3, 4, 5).permute(0, 3, 1, 2),
        lambda lib: lib.empty(40)[::3],
    ],
    ids=["transposed", "sliced", "channels_last", "strided"],
)
def test_memory_is_filled_in_its_own_order(torch, text, make):
    assert_same_draw(torch, text, "normal_" in text, seed=3, make=make)


@pytest.mark.parametrize("text", CALLS)
def test_draws_are_pytorchs(torch, text):
    assert_same_draw(torch, text, "randn" in text or "normal" in text, seed=11)


def test_normal_numbers_come_in_pairs(torch):
    for g, lib in ((torch.Generator(), torch), (twister(), taeda)):
        g.manual_seed(1)
        pair = [lib.randn(1, generator=g, dtype=lib.float64).item() for _ in range(3)]
        drawn = pair if lib is torch else (pair, drawn)  # noqa: F821
    assert drawn[0] == pytest.approx(drawn[1], rel=1e-14)


def test_states_travel_between_the_libraries(torch):
    theirs = torch.Generator().manual_seed(5)
    torch.randn(3, generator=theirs)
    ours = twister()
    ours.set_state(taeda.from_dlpack(theirs.get_state()))
    assert ours.initial_seed() == 5
    assert taeda.rand(4, generator=ours).tolist() == torch.rand(4, generator=theirs).tolist()


def test_the_default_generator_is_pytorchs(torch, default_engine):
    taeda.random.set_default_engine("mt19937")
    taeda.manual_seed(3), torch.manual_seed(3)
    for draw in (
        lambda t: t.rand(5),
        lambda t: t.nn.functional.dropout(t.ones(20), 0.4),
        lambda t: t.nn.functional.rrelu(t.linspace(-1, 1, 20), training=True),
        lambda t: t.nn.init.kaiming_uniform_(t.empty(3, 4)),
        lambda t: t.nn.Linear(3, 2).weight.detach(),
    ):
        torch.testing.assert_close(torch.from_dlpack(draw(taeda)), draw(torch))


def test_philox_stays_the_default():
    assert taeda.random.get_default_engine() == taeda.default_generator.engine == "philox"
    assert taeda.Generator().engine == "philox"


def test_a_new_default_starts_the_stream_of_the_seed(default_engine):
    taeda.manual_seed(8)
    taeda.rand(3)
    taeda.random.set_default_engine("mt19937")
    assert taeda.default_generator.engine == taeda.Generator().engine == "mt19937"
    assert taeda.initial_seed() == 8
    assert taeda.rand(4).tolist() == taeda.rand(4, generator=twister(8)).tolist()


def test_scopes_and_states_set_a_twister_back(default_engine):
    taeda.random.set_default_engine("mt19937")
    taeda.manual_seed(2)
    with taeda.random.fork_rng():
        inside = taeda.randn(3)
    state = taeda.get_rng_state()
    assert state.numel() == 5056 and taeda.randn(3).equal(inside)
    taeda.set_rng_state(state)
    assert taeda.randn(3).equal(inside)


def test_copies_of_a_twister_go_on_alike():
    g = twister(4)
    taeda.randn(1, generator=g)
    copies = [g.clone_state(), pickle.loads(pickle.dumps(g))]
    expected = taeda.randn(3, generator=g)
    for copy in copies:
        assert copy.engine == "mt19937" and taeda.randn(3, generator=copy).equal(expected)


def test_seeds_start_a_twister_anew():
    g = twister(4)
    first = taeda.rand(3, generator=g)
    assert taeda.rand(3, generator=g.manual_seed(4)).equal(first)
    assert g.seed() == g.initial_seed() != 4


def test_a_twister_has_no_offset():
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        twister().get_offset()


@pytest.mark.parametrize(
    "call", [taeda.random.set_default_engine, lambda e: taeda.Generator(engine=e)]
)
def test_other_engines_are_refused(call):
    with pytest.raises(ValueError, match="unknown random engine: got 'dice'"):
        call("dice")


def test_the_environment_names_the_first_engine():
    text = (
        "import taeda; taeda.manual_seed(6); print(taeda.Generator().engine, taeda.rand(1).item())"
    )
    environment = {**os.environ, "TAEDA_RANDOM_ENGINE": "mt19937"}
    out = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == ["mt19937", str(taeda.rand(1, generator=twister(6)).item())]
