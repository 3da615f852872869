"""Draws by rejection: PyTorch's numbers with the engine `mt19937`, and their laws with both."""

import pytest
from under_test import NAME, t

D = t.distributions

# What PyTorch 2.13 draws in float64 from the seed 11.
DRAWS = {
    "gamma": (
        lambda x: t._standard_gamma(x(0.3, 0.9, 1, 2.5, 40)),
        [
            1.2467646672741282,
            0.24184651609366087,
            0.8885546987423915,
            2.9598981464933676,
            49.89245253127961,
        ],
    ),
    "poisson": (
        lambda x: t.poisson(x(0, 0.5, 9, 10, 200, 1e5)),
        [0.0, 0.0, 12.0, 5.0, 232.0, 100546.0],
    ),
    "binomial": (
        lambda x: t.binomial(x(0, 5, 20, 100, 1000, 1e6), x(0.5, 0.3, 0.9, 0.5, 0.02, 0.7)),
        [0.0, 1.0, 17.0, 45.0, 25.0, 699706.0],
    ),
    "dirichlet": (
        lambda x: t._sample_dirichlet(x(0.2, 1, 7)),
        [0.09562607006091199, 0.016626306912112483, 0.8877476230269757],
    ),
    "Gamma": (
        lambda x: D.Gamma(x(0.5, 3), x(2, 0.5)).sample((2,)),
        [0.9279153807940489, 2.720290869988475, 0.5192084962375703, 7.075089807088187],
    ),
    "Beta": (
        lambda x: D.Beta(x(0.5, 3), x(2, 0.5)).sample((2,)),
        [0.7286262413039967, 0.9824131815633207, 0.0017805371180356151, 0.9785622855472792],
    ),
    "Dirichlet": (
        lambda x: D.Dirichlet(x(0.5, 3, 1)).sample((2,)),
        [
            0.4407213084899715,
            0.32300632592939466,
            0.23627236558063383,
            0.009106675436623123,
            0.9223295568351726,
            0.06856376772820431,
        ],
    ),
    "Chi2": (
        lambda x: D.Chi2(x(1, 8)).sample(),
        [3.7116615231761956, 4.171532899994222],
    ),
    "StudentT": (
        lambda x: D.StudentT(x(1, 8)).sample((2,)),
        [0.978868549519149, 1.7879193706659962, -0.45257896570353673, -1.4796926640951187],
    ),
    "FisherSnedecor": (
        lambda x: D.FisherSnedecor(x(1, 8), x(4, 3)).sample(),
        [3.4364925226232756, 0.4315520336240426],
    ),
    "Poisson": (
        lambda x: D.Poisson(x(3, 30)).sample((3,)),
        [4.0, 23.0, 2.0, 34.0, 1.0, 42.0],
    ),
    "Binomial": (
        lambda x: D.Binomial(50, x(0.1, 0.6)).sample((3,)),
        [6.0, 34.0, 6.0, 23.0, 10.0, 29.0],
    ),
    "NegativeBinomial": (
        lambda x: D.NegativeBinomial(7.0, x(0.1, 0.6)).sample((3,)),
        [1.0, 13.0, 1.0, 14.0, 0.0, 6.0],
    ),
    "VonMises": (
        lambda x: D.VonMises(x(0.5, -2), x(0.1, 6)).sample((3,)),
        [
            -2.9179937766565267,
            -1.7015411093789932,
            -0.6340299516236882,
            -2.6746226835783458,
            -1.9218385794261796,
            -2.101033116835868,
        ],
    ),
    "InverseGamma": (
        lambda x: D.InverseGamma(x(0.5, 3), x(2, 0.5)).sample((2,)),
        [1.077684475004893, 0.3676077477715597, 1.9260085442485473, 0.14134096206074287],
    ),
    "Multinomial": (
        lambda x: D.Multinomial(9, x(0.1, 0.6, 0.3)).sample(),
        [0.0, 7.0, 2.0],
    ),
}


@pytest.fixture
def twister():
    if NAME != "taeda":
        yield
        return
    engine = t.random.get_default_engine()
    t.random.set_default_engine("mt19937")
    yield
    t.random.set_default_engine(engine)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_pytorchs(name, dtype, twister):
    draw, expected = DRAWS[name]
    dtype = getattr(t, dtype)
    t.manual_seed(11)
    drawn = draw(lambda *values: t.tensor(values, dtype=dtype))
    assert drawn.dtype == dtype
    rtol = 1e-9 if dtype == t.float64 else 3e-6
    t.testing.assert_close(
        drawn.double().flatten(), t.tensor(expected, dtype=t.float64), rtol=rtol, atol=0
    )


LAWS = {
    "gamma": (lambda n: t._standard_gamma(t.full((n,), 0.4)), 0.4, 0.4),
    "large gamma": (lambda n: t._standard_gamma(t.full((n,), 9.0)), 9, 9),
    "few events": (lambda n: t.poisson(t.full((n,), 2.5)), 2.5, 2.5),
    "many events": (lambda n: t.poisson(t.full((n,), 60.0)), 60, 60),
    "few tries": (lambda n: t.binomial(t.full((n,), 12.0), t.full((n,), 0.3)), 3.6, 2.52),
    "many tries": (lambda n: t.binomial(t.full((n,), 90.0), t.full((n,), 0.8)), 72, 14.4),
}


@pytest.mark.parametrize("name", LAWS)
def test_means_and_variances(name):
    draw, mean, variance = LAWS[name]
    t.manual_seed(0)
    drawn = draw(40_000)
    assert drawn.mean().item() == pytest.approx(mean, rel=0.03)
    assert drawn.var().item() == pytest.approx(variance, rel=0.06)


@pytest.mark.skipif(NAME != "taeda", reason="about Taeda's own stream")
def test_an_element_draws_the_same_whatever_is_drawn_beside_it():
    rates = t.tensor([3.0, 50.0, 7.0])
    whole = t.poisson(rates, t.Generator().manual_seed(3))
    other = t.poisson(t.tensor([90.0, 50.0, 0.1]), t.Generator().manual_seed(3))
    assert whole[1] == other[1]
    threads = t.get_num_threads()
    large = t.full((5000,), 30.0)
    first = t.poisson(large, t.Generator().manual_seed(3))
    t.set_num_threads(1)
    assert t.equal(t.poisson(large, t.Generator().manual_seed(3)), first)
    t.set_num_threads(threads)


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="invalid Poisson rate, expected rate to be non-neg"):
        t.poisson(t.tensor([-1.0]))
    with pytest.raises((NotImplementedError, RuntimeError), match="not implemented for 'Half'"):
        t._standard_gamma(t.ones(2, dtype=t.float16))
    with pytest.raises(ValueError, match="binomial only supports floating-point dtypes for count"):
        t.binomial(t.ones(2, dtype=t.int64), t.ones(2))


def test_gradients_of_draws():
    shape = t.tensor([0.5, 3.0, 50.0], dtype=t.float64, requires_grad=True)
    drawn = t._standard_gamma(shape)
    drawn.sum().backward()
    slopes = t._standard_gamma_grad(shape.detach(), drawn.detach())
    assert t.equal(shape.grad, slopes) and (slopes > 0).all()
    # d/da E[x_0 ^ 2] of a Dirichlet variable, by its draws and by its formula.
    a = t.tensor([2.0, 3.0], dtype=t.float64, requires_grad=True)
    D.Dirichlet(a).rsample((40_000,))[:, 0].pow(2).mean().backward()
    b = a.detach().requires_grad_()
    total = b.sum()
    (b[0] * (b[0] + 1) / (total * (total + 1))).backward()
    t.testing.assert_close(a.grad, b.grad, rtol=0.05, atol=1e-3)
