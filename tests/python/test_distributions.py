"""Distributions beside what PyTorch's said; draws beside their moments; misuse."""

import json
import math
import pathlib

import distribution_cases
import pytest
from under_test import NAME, t

D = t.distributions
GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden/distributions.json").read_text())
CASES = distribution_cases.cases(t)
IDS = [f"{i}-{name}" for i, (name, _, _) in enumerate(CASES)]


def assert_same(ours, theirs, place=""):
    """Equal texts, close numbers."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), place
        for key, value in theirs.items():
            assert_same(ours[key], value, f"{place}/{key}")
    elif isinstance(theirs, list):
        assert isinstance(ours, list) and len(ours) == len(theirs), place
        for i, value in enumerate(theirs):
            assert_same(ours[i], value, f"{place}/{i}")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=3e-6, abs=1e-9), place
    else:
        assert ours == theirs, place


@pytest.mark.parametrize("place", range(len(CASES)), ids=IDS)
def test_facts(place):
    ours = json.loads(json.dumps(distribution_cases.facts(t, *CASES[place])))
    theirs = dict(GOLDEN["facts"][place])
    if CASES[place][0] == "VonMises":  # PyTorch's Bessel functions have seven digits
        for name in ("log_prob", "variance", "stddev"):
            assert ours.pop(name) == pytest.approx(theirs.pop(name), rel=1e-5), name
        (_, seen), (_, expected) = ours.pop("expanded"), theirs.pop("expanded")
        assert seen[2] == pytest.approx(expected[2], rel=1e-5)
    assert_same(ours, theirs, IDS[place])


@pytest.mark.parametrize("place", range(len(CASES)), ids=IDS)
def test_gradients(place):
    ours = distribution_cases.gradients(t, *CASES[place])
    if CASES[place][0] == "VonMises":
        assert ours["value"] == pytest.approx(GOLDEN["gradients"][place]["value"])
        assert ours["concentration"] == pytest.approx(
            GOLDEN["gradients"][place]["concentration"], abs=1e-5
        )
        return
    theirs = dict(GOLDEN["gradients"][place])
    if CASES[place][0] == "Wishart" and "scale_tril" in theirs:
        # PyTorch's gradient of cholesky_solve has numbers for the triangle that is not read.
        theirs["scale_tril"] = t.tensor(theirs["scale_tril"], dtype=t.float64).tril().tolist()
    assert_same(ours, theirs, IDS[place])


def test_divergences():
    ours, theirs = distribution_cases.divergences(t), dict(GOLDEN["divergences"])
    assert sum(value != "not implemented" for value in ours.values()) > 150
    wisharts = [i for i, (name, _, _) in enumerate(CASES) if name == "Wishart"]
    for pair in (f"{i} {j}" for i in wisharts for j in wisharts):
        del ours[pair], theirs[pair]  # PyTorch adds up the batch; see below
    assert_same(ours, theirs)


def test_divergence_of_wisharts():
    """The formula in closed form, per pair of a batch."""
    f64 = t.float64
    v = t.stack([t.eye(2, dtype=f64), t.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=f64)])
    w, n, m = v.flip(0) * 1.5, t.tensor([3.5, 4.0], dtype=f64), t.tensor([5.0, 2.5], dtype=f64)
    ratio = t.linalg.solve(w, v)
    digamma = t.digamma(n / 2) + t.digamma(n / 2 - 0.5)
    expected = (
        -m / 2 * t.logdet(ratio)
        + n / 2 * (ratio.diagonal(dim1=-2, dim2=-1).sum(-1) - 2)
        + t.mvlgamma(m / 2, 2)
        - t.mvlgamma(n / 2, 2)
        + (n - m) / 2 * digamma
    )
    found = D.kl_divergence(D.Wishart(n, v), D.Wishart(m, w))
    assert t.allclose(found, expected)


def test_draws_of_vectors_and_matrices():
    """Means and covariances of many draws; gradients reach the factor."""
    t.manual_seed(0)
    factor = t.tensor([[1.0, 0.0], [0.6, 0.8]], requires_grad=True)
    thin, diagonal = t.tensor([[0.5], [-1.0]]), t.tensor([0.3, 0.7])
    loc = t.tensor([1.0, -2.0])
    for made in (
        D.MultivariateNormal(loc, scale_tril=factor),
        D.MultivariateNormal(loc, precision_matrix=t.tensor([[2.0, 0.5], [0.5, 1.0]])),
        D.LowRankMultivariateNormal(loc, thin, diagonal),
    ):
        draws = made.rsample((20000,))
        assert t.allclose(draws.mean(0), loc, atol=0.05)
        assert t.allclose(draws.T.cov(), made.covariance_matrix, atol=0.05)
    draws = D.MultivariateNormal(loc, scale_tril=factor).rsample((3,))
    draws.sum().backward()
    assert factor.grad.any()
    wishart = D.Wishart(t.tensor(6.0), scale_tril=factor.detach())
    draws = wishart.rsample((20000,))
    assert t.allclose(draws.mean(0), wishart.mean, atol=0.2)
    assert t.allclose(draws.var(0), wishart.variance, rtol=0.1)
    correlations = D.LKJCholesky(3, 2.0).sample((20000,))
    correlations = correlations @ correlations.mT
    # Each correlation is Beta(concentration - 1 + dim / 2) on [-1, 1].
    assert correlations[:, 0, 1].var().item() == pytest.approx(1 / (2 * 2.5 + 1), rel=0.05)
    assert correlations[:, 1, 2].var().item() == pytest.approx(1 / (2 * 2.5 + 1), rel=0.05)


def test_transforms():
    assert_same(distribution_cases.transformed(t), GOLDEN["transforms"])


def drawn():
    """Distributions and how far beyond four standard errors a heavy tail may go."""
    f = t.tensor
    return [
        D.Gamma(f([0.3, 1.0, 5.0, 100.0]), f([1.0, 2.0, 0.5, 3.0])),
        D.Beta(f([0.5, 2.0]), f([0.5, 5.0])),
        D.Dirichlet(f([0.5, 2.0, 3.0])),
        D.Poisson(f([0.1, 3.0, 9.9, 10.5, 200.0])),
        D.Binomial(f([5.0, 40.0, 200.0, 30.0]), f([0.3, 0.5, 0.9, 0.01])),
        D.NegativeBinomial(f([4.0, 20.0]), f([0.5, 0.7])),
        D.Multinomial(10, f([0.2, 0.8])),
        D.Geometric(f(0.2)),
        D.StudentT(f([9.0, 30.0])),
        D.FisherSnedecor(f(5.0), f(20.0)),
        D.Weibull(f(2.0), f(1.5)),
        D.Kumaraswamy(f(2.0), f(3.0)),
        D.Gumbel(f(0.1), f(0.4)),
        D.ContinuousBernoulli(f([0.3, 0.5])),
        D.GeneralizedPareto(f(0.0), f(1.0), f([0.0, -0.3, 0.1])),
        D.MixtureSameFamily(D.Categorical(f([0.3, 0.7])), D.Normal(f([-2.0, 1.0]), f([1.0, 0.5]))),
    ]


@pytest.mark.parametrize("place", range(len(drawn())))
def test_draws_have_the_moments(place):
    t.manual_seed(place)
    made, count = drawn()[place], 40_000
    draws = made.sample((count,)).double()
    error = (made.variance / count).sqrt()
    assert ((draws.mean(0) - made.mean).abs() < 4 * error).all()
    assert ((draws.var(0) / made.variance - 1).abs() < 0.12).all()
    if not made.support.is_discrete:
        assert made.support.check(draws.to(made.mean.dtype)).all()


@pytest.mark.parametrize(
    "made", [lambda: D.Poisson(t.tensor(12.0)), lambda: D.Binomial(200, t.tensor(0.9))]
)
def test_counts_have_their_probabilities(made):
    t.manual_seed(5)
    made, count = made(), 200_000
    draws = made.sample((count,)).long()
    seen = t.bincount(draws).double()
    expected = made.log_prob(t.arange(seen.numel()).float()).exp().double() * count
    likely = expected > 30
    square = ((seen - expected) ** 2 / expected)[likely].mean()
    assert square < 2


def test_von_mises_draws_lie_around_their_angle():
    t.manual_seed(1)
    draws = D.VonMises(t.tensor(3.0), t.tensor(4.0)).sample((20_000,)).double()
    assert draws.min() >= -math.pi and draws.max() <= math.pi
    assert t.atan2(draws.sin().mean(), draws.cos().mean()).item() == pytest.approx(3.0, abs=0.02)
    assert t.cos(draws - 3).mean().item() == pytest.approx(0.8635, abs=0.01)  # I1(4) / I0(4)


@pytest.mark.parametrize("shape", [0.2, 1.0, 7.0, 29.0, 31.0, 200.0])
def test_gamma_draws_have_gradients(shape):
    """E[x^2] = a^2 + a: the mean of the draws' gradients is its derivative."""
    t.manual_seed(0)
    a = t.full((20_000,), shape, dtype=t.float64, requires_grad=True)
    D.Gamma(a, 1.0).rsample().pow(2).sum().backward()
    assert a.grad.mean().item() == pytest.approx(2 * shape + 1, rel=0.08)


@pytest.mark.skipif(NAME != "taeda", reason="about Taeda's own function")
def test_gamma_slopes_are_those_of_the_quantile():
    """dx/da = -(dP/da) / (dP/dx), with P's derivatives by differences."""
    a = t.tensor([0.1, 0.5, 2.0, 12.0, 40.0, 300.0], dtype=t.float64)
    x = a * t.tensor([0.3, 1.7, 0.5, 1.2, 0.9, 1.05], dtype=t.float64)
    step = 1e-4 * a
    by_a = (t.special.gammainc(a + step, x) - t.special.gammainc(a - step, x)) / (2 * step)
    density = ((a - 1) * x.log() - x - a.lgamma()).exp()
    assert t.allclose(t._standard_gamma_grad(a, x), -by_a / density, rtol=1e-4)


def test_reparametrized_draws_have_gradients():
    for made in (
        lambda p: D.Normal(p, 1.0),
        lambda p: D.Beta(p + 1, 2.0),
        lambda p: D.Dirichlet(t.stack([p + 1, p + 2], -1)),
        lambda p: D.StudentT(p + 3),
        lambda p: D.RelaxedBernoulli(t.tensor(0.5), logits=p),
        lambda p: D.RelaxedOneHotCategorical(t.tensor(0.5), logits=t.stack([p, -p], -1)),
        lambda p: D.OneHotCategoricalStraightThrough(logits=t.stack([p, -p], -1)),
        lambda p: D.TransformedDistribution(D.Normal(p, 1.0), [D.TanhTransform()]),
    ):
        p = t.tensor([0.2, 0.5], requires_grad=True)
        sample = made(p).rsample((4,))
        weights = t.arange(sample.numel()).view(sample.shape).float()
        (sample * weights).sum().backward()
        assert p.grad.abs().sum() > 0 and p.grad.isfinite().all()


def test_seeds_repeat_draws():
    made = D.Gamma(t.tensor([0.5, 3.0]), 1.0)
    t.manual_seed(3)
    first = made.sample((7,))
    t.manual_seed(3)
    assert t.equal(first, made.sample((7,)))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: D.Normal(0.0, -1.0), "Expected parameter scale .Tensor of shape .* of distrib"),
        (lambda: D.Normal("a", 1.0), "Input arguments must all be instances of Number"),
        (lambda: D.Bernoulli(), "Either `probs` or `logits` must be specified, but not both"),
        (lambda: D.Categorical(t.tensor(1.0)), "`probs` parameter must be at least one-dimens"),
        (lambda: D.Categorical(t.tensor([-1.0, 2.0])), "to satisfy the constraint Simplex"),
        (lambda: D.Normal(0.0, 1.0).log_prob(1.0), "The value argument to log_prob must be a T"),
        (lambda: D.Uniform(0.0, 1.0).log_prob(t.tensor(2.0)), "to be within the support"),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "Expected reinterpreted_batch_ndims <= "),
        (lambda: D.Geometric(t.tensor([0.0])), "to be positive but found invalid values"),
        (lambda: D.Dirichlet(t.tensor(1.0)), "must be at least one-dimensional"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), 3), "transforms must be a Transf"),
        (lambda: D.ExpTransform(cache_size=2), "cache_size must be 0 or 1"),
        (lambda: D.MultivariateNormal(t.zeros(2)), "Exactly one of covariance_matrix or prec"),
        (lambda: D.MultivariateNormal(t.zeros(2), -t.eye(2)), "constraint PositiveDefinite"),
        (lambda: D.MultivariateNormal(t.zeros(2), t.ones(2)), "must be at least two-dimensional"),
        (
            lambda: D.LowRankMultivariateNormal(t.zeros(2), t.ones(3, 1), t.ones(2)),
            "cov_factor must be a batch of matrices with shape 2 x m",
        ),
        (lambda: D.Wishart(1.0, t.eye(3)), "expected to be greater than ndim - 1 = 2"),
        (lambda: D.Multinomial(-1, t.ones(2)), "constraint IntegerGreaterThan.lower_bound=0"),
        (lambda: D.LKJCholesky(1), "greater than or equal to 2. Found dim=1"),
        (
            lambda: D.MixtureSameFamily(D.Categorical(t.ones(3)), D.Normal(t.zeros(2), 1.0)),
            "does not equal `component_distribution.batch_shape",
        ),
        (
            lambda: D.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3)),
            "Value is not broadcastable with batch_shape.event_shape",
        ),
    ],
)
def test_misuse(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_unchecked_values_pass():
    made = D.Uniform(0.0, 1.0, validate_args=False)
    assert made.log_prob(t.tensor(2.0)).item() == -math.inf


def test_a_divergence_of_ones_own():
    class Mine(D.Normal):
        def expand(self, batch_shape, _instance=None):
            raise NotImplementedError

    @D.register_kl(Mine, D.Normal)
    def divergence(p, q):
        return t.tensor(7.0)

    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)) == 7
    assert D.kl_divergence(D.Normal(0.0, 1.0), Mine(0.0, 1.0)) == 0
    with pytest.raises(NotImplementedError, match="is implemented for p type Poisson and q type"):
        D.kl_divergence(D.Poisson(1.0), D.Cauchy(0.0, 1.0))


def test_cached_transforms_remember():
    transform = D.TanhTransform(cache_size=1)
    x = t.tensor([30.0])
    y = transform(x)
    assert transform.inv(y) is x
    assert not t.isfinite(D.TanhTransform().inv(y)).all()


def test_a_policy_of_two_dimensions():
    made = D.Independent(D.Normal(t.zeros(3, 2), t.ones(2)), 1)
    assert (made.batch_shape, made.event_shape) == ((3,), (2,))
    assert made.log_prob(t.zeros(3, 2)).tolist() == pytest.approx([-math.log(2 * math.pi)] * 3)
    assert D.kl_divergence(made, made).tolist() == [0] * 3


def test_semidefinite_matrices():
    constraint = D.constraints.positive_semidefinite
    v = t.tensor([[1.0], [2.0], [-3.0]])
    cases = t.stack(
        [v @ v.T, t.zeros(3, 3), t.eye(3), -t.eye(3), t.diag(t.tensor([1.0, 0, -0.01]))]
    )
    assert constraint.check(cases).tolist() == [True, True, True, False, False]
    assert not constraint.check(t.tensor([[1.0, 2.0], [0.0, 1.0]]))
