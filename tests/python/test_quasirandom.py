"""Sobol' sequences: PyTorch's points, their evenness, and an engine that goes on where it was."""

import copy

import pytest
from under_test import NAME, t

SobolEngine = pytest.importorskip(f"{NAME}.quasirandom").SobolEngine


def test_the_first_points_of_five_dimensions():
    points = SobolEngine(5).draw(5)
    assert points.dtype == t.float32
    assert points.tolist() == [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.5, 0.5, 0.5, 0.5],
        [0.75, 0.25, 0.25, 0.25, 0.75],
        [0.25, 0.75, 0.75, 0.75, 0.25],
        [0.375, 0.375, 0.625, 0.875, 0.375],
    ]


def test_the_last_dimensions():
    engine = SobolEngine(SobolEngine.MAXDIM)
    numbers = engine.sobolstate[-1] >> t.arange(29, -1, -1)
    assert numbers[:18].tolist() == [
        *(1, 1, 7, 11, 15, 7, 37, 239, 337, 245, 1557, 3681, 7357, 9639),
        *(27367, 26869, 114603, 86317),
    ]
    # Number j is odd and less than 2^(j + 1): every digit counts once.
    all_numbers = engine.sobolstate >> t.arange(29, -1, -1)
    assert (all_numbers % 2 == 1).all() and (all_numbers < 2 << t.arange(30)).all()


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 7, 300])
def test_each_coordinate_visits_each_interval_once(dimension, scramble):
    points = SobolEngine(dimension, scramble=scramble, seed=3).draw(256, dtype=t.float64)
    places = (points * 256).long().sort(0).values
    assert t.equal(places, t.arange(256)[:, None].expand(-1, dimension))


@pytest.mark.parametrize("scramble", [False, True])
def test_points_do_not_depend_on_how_many_are_drawn_at_once(scramble):
    def engine():
        return SobolEngine(3, scramble=scramble, seed=1)

    whole = engine().draw(100, dtype=t.float64)
    parts = engine()
    drawn = t.cat([parts.draw(n, dtype=t.float64) for n in (1, 2, 30, 1, 64, 2)])
    # The first point is of the default dtype in PyTorch.
    assert t.equal(drawn[1:], whole[1:]) and t.allclose(drawn[0], whole[0])
    late = engine().fast_forward(37)
    assert t.equal(late.draw(63, dtype=t.float64), whole[37:])
    assert late.num_generated == 100 and t.equal(late.reset().draw(100), whole.float())
    again = copy.deepcopy(parts)
    assert t.equal(again.draw(4), parts.draw(4))


def test_a_seed_repeats_a_scrambling():
    first = SobolEngine(4, scramble=True, seed=8).draw(16)
    assert t.equal(first, SobolEngine(4, scramble=True, seed=8).draw(16))
    assert not t.equal(first, SobolEngine(4, scramble=True, seed=9).draw(16))
    assert 0 <= first.min() and first.max() <= 1


def test_powers_of_two_stay_balanced():
    engine = SobolEngine(2)
    assert engine.draw_base2(3).shape == (8, 2)
    with pytest.raises(ValueError, match=r"n=8\+2\*\*2=12. If you still want to do this"):
        engine.draw_base2(2)
    assert engine.draw_base2(3).shape == (8, 2)


def test_results_in_a_tensor_of_the_caller():
    out = t.empty(0)
    engine = SobolEngine(3)
    assert engine.draw(4, out=out) is out and out.shape == (4, 3)
    assert engine.draw(1).shape == (1, 3)


def test_refusals():
    for dimension in (0, -1, SobolEngine.MAXDIM + 1):
        with pytest.raises(ValueError, match=r"Supported range of dimensionality .* \[1, 21201\]"):
            SobolEngine(dimension)
    with pytest.raises((NotImplementedError, RuntimeError), match="not implemented for"):
        SobolEngine(2).draw(3, dtype=t.int64)


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch reads beyond its numbers")
def test_a_sequence_ends():
    engine = SobolEngine(1).fast_forward((1 << 30) - 2)
    assert engine.draw(2).shape == (2, 1)
    with pytest.raises(ValueError, match=r"has 2\*\*30 points"):
        engine.draw(1)
    with pytest.raises(ValueError, match=r"has 2\*\*30 points"):
        engine.fast_forward(1)


def test_printed_form():
    assert repr(SobolEngine(3)) == "SobolEngine(dimension=3)"
    assert repr(SobolEngine(3, True, 5)) == "SobolEngine(dimension=3, scramble=True, seed=5)"


@pytest.mark.parametrize("dimension", [1, 40, 21201])
@pytest.mark.parametrize("scramble", [False, True])
def test_all_points_are_those_of_pytorch(torch, dimension, scramble):
    if scramble and dimension > 1000:
        pytest.skip("PyTorch scrambles it for a minute")
    engine = t.random.get_default_engine()
    t.random.set_default_engine("mt19937")
    try:
        ours = SobolEngine(dimension, scramble, seed=2)
    finally:
        t.random.set_default_engine(engine)
    theirs = torch.quasirandom.SobolEngine(dimension, scramble, seed=2)
    assert ours.sobolstate.tolist() == theirs.sobolstate.tolist()
    assert ours.shift.tolist() == theirs.shift.tolist()
    for n in (1, 20, 3):
        assert ours.draw(n).tolist() == theirs.draw(n).tolist()
        assert ours.quasi.tolist() == theirs.quasi.tolist()
