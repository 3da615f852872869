"""Kullback-Leibler divergences: how far a distribution p is from q.

KL(p || q) = -H(p) - E_p[log q]. Pairs of one family have their own formulas; of others most follow
from the mean of log q, which needs a few moments of p alone.
"""

import functools
import math
import warnings

import taeda
from taeda.distributions.bernoulli import Bernoulli
from taeda.distributions.beta import Beta
from taeda.distributions.binomial import Binomial
from taeda.distributions.categorical import Categorical
from taeda.distributions.cauchy import Cauchy
from taeda.distributions.continuous_bernoulli import ContinuousBernoulli
from taeda.distributions.dirichlet import Dirichlet
from taeda.distributions.distribution import Distribution
from taeda.distributions.exp_family import ExponentialFamily
from taeda.distributions.exponential import Exponential
from taeda.distributions.gamma import Gamma
from taeda.distributions.geometric import Geometric
from taeda.distributions.gumbel import Gumbel
from taeda.distributions.half_normal import HalfNormal
from taeda.distributions.independent import Independent
from taeda.distributions.laplace import Laplace
from taeda.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from taeda.distributions.multivariate_normal import MultivariateNormal
from taeda.distributions.normal import Normal
from taeda.distributions.one_hot_categorical import OneHotCategorical
from taeda.distributions.pareto import Pareto
from taeda.distributions.poisson import Poisson
from taeda.distributions.transformed_distribution import TransformedDistribution
from taeda.distributions.uniform import Uniform
from taeda.distributions.utils import _sum_rightmost, euler_constant
from taeda.nn import functional as F

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY = {}
_KL_MEMOIZE = {}


def register_kl(type_p, type_q):
    """Makes a function the divergence of two classes, and of those derived from them."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _is_narrower(ours, theirs):
    """Whether a pair of classes counts before another one, the first class deciding first."""
    for a, b in zip(ours, theirs, strict=True):
        if a is not b:
            return issubclass(a, b)
    return False


def _dispatch_kl(type_p, type_q):
    """The function of the narrowest pair; warns where p's and q's classes say different ones."""
    pairs = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not pairs:
        return None
    by_p = functools.reduce(lambda a, b: b if _is_narrower(b, a) else a, pairs)
    by_q = functools.reduce(lambda a, b: b if _is_narrower(b[::-1], a[::-1]) else a, pairs)
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p, q):
    """KL(p || q), of the shape of the batches; NotImplementedError for an unknown pair."""
    kinds = type(p), type(q)
    if kinds not in _KL_MEMOIZE:
        _KL_MEMOIZE[kinds] = _dispatch_kl(*kinds)
    function = _KL_MEMOIZE[kinds]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {kinds[0].__name__} "
            f"and q type {kinds[1].__name__}"
        )
    return function(p, q)


# Pairs of one family.


@register_kl(ExponentialFamily, ExponentialFamily)
def _exp_family(p, q):
    """The Bregman divergence of the normalizers."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot "
            "be computed using Bregman divergences"
        )
    ours = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    normalizer = p._log_normalizer(*ours)
    slopes = taeda.autograd.grad(normalizer.sum(), ours, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, slope in zip(ours, q._natural_params, slopes, strict=True):
        term = (other - mine) * slope
        result = result - _sum_rightmost(term, term.dim() - result.dim())
    return result


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    ones = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    ones = taeda.where(q.probs == 0, math.inf, ones)
    ones = taeda.where(p.probs == 0, 0.0, ones)
    zeros = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    zeros = taeda.where(q.probs == 1, math.inf, zeros)
    return ones + taeda.where(p.probs == 1, 0.0, zeros)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    ours, theirs = p.concentration, q.concentration
    total = ours.sum(-1)
    weights = taeda.digamma(ours) - taeda.digamma(total).unsqueeze(-1)
    return (
        total.lgamma()
        - theirs.sum(-1).lgamma()
        - (ours.lgamma() - theirs.lgamma()).sum(-1)
        + ((ours - theirs) * weights).sum(-1)
    )


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    per_try = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return taeda.where(p.total_count > q.total_count, math.inf, p.total_count * per_try)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    parts = p.probs * (p.logits - q.logits)
    parts = taeda.where(q.probs == 0, math.inf, parts)
    return taeda.where(p.probs == 0, 0.0, parts).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    return (
        q.concentration * (p.rate / q.rate).log()
        + q.concentration.lgamma()
        - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - taeda.log1p(-q.probs) / p.probs - q.logits


@register_kl(Normal, Normal)
def _normal(p, q):
    spread = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (spread + distance - 1 - spread.log())


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot "
            "be computed"
        )
    spread = sum(q._whitened_square(factor) for factor in p._covariance_factors())
    distance = q._mahalanobis(q.loc - p.loc)
    log_ratio = q._log_determinant - p._log_determinant
    return 0.5 * (log_ratio + spread + distance - p.event_shape[0])


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    apart = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return apart - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = ((1 + ratio).lgamma() - shift).exp()
    return -ratio.log() + shift + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return taeda.where(p.scale < q.scale, math.inf, result)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return taeda.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    ours = p._cont_bern_log_norm() + taeda.log1p(-p.probs)
    theirs = q._cont_bern_log_norm() + taeda.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + ours - theirs


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    """One transform for both changes nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# What p must tell for the mean of log q.


def _mean_of_x_log_x(high, low):
    """The integral of log between two points, over their distance."""
    high_part, low_part = taeda.xlogy(high, high), taeda.xlogy(low, low)
    return (high_part - low_part) / (high - low) - 1


@functools.singledispatch
def _mean_log(p):
    """E_p[log x]"""
    raise NotImplementedError


@_mean_log.register
def _(p: Beta):
    total = p.concentration1 + p.concentration0
    return p.concentration1.digamma() - total.digamma()


@_mean_log.register
def _(p: Exponential):
    return -p.rate.log() - euler_constant


@_mean_log.register
def _(p: Pareto):
    return p.scale.log() + p.alpha.reciprocal()


@_mean_log.register
def _(p: Uniform):
    return _mean_of_x_log_x(p.high, p.low)


@functools.singledispatch
def _mean_exp(p, t):
    """E_p[exp(-t x)]"""
    raise NotImplementedError


@_mean_exp.register
def _(p: Exponential, t):
    return p.rate / (p.rate + t)


@_mean_exp.register
def _(p: Gamma, t):
    return (1 + t / p.rate).pow(-p.concentration)


@_mean_exp.register
def _(p: Normal, t):
    return (0.5 * (t * p.scale).pow(2) - t * p.loc).exp()


@_mean_exp.register
def _(p: Uniform, t):
    return ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low))


def _where_inside(p, low, high, result):
    """The result where a uniform p lies between two ends, else infinity."""
    is_outside = (p.low < low) | (p.high > high)
    return taeda.where(is_outside, math.inf, result)


def _register_pairs(kinds, q):
    def register(function):
        for kind in kinds:
            register_kl(kind, q)(function)
        return function

    return register


@_register_pairs((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform), Normal)
def _to_normal(p, q):
    square = p.variance + (p.mean - q.loc).pow(2)
    log_height = (q.scale * math.sqrt(2 * math.pi)).log()
    return -p.entropy() + log_height + 0.5 * square / q.scale.pow(2)


@register_kl(Pareto, Normal)
def _pareto_to_normal(p, q):
    return taeda.where(p.alpha <= 2, math.inf, _to_normal(p, q))


@_register_pairs((Beta, ContinuousBernoulli, Gamma), Exponential)
def _to_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Pareto, Exponential)
def _pareto_to_exponential(p, q):
    return taeda.where(p.alpha <= 1, math.inf, _to_exponential(p, q))


@register_kl(Uniform, Exponential)
def _uniform_to_exponential(p, q):
    return _where_inside(p, 0, math.inf, _to_exponential(p, q))


@_register_pairs((Beta, Exponential), Gamma)
def _to_gamma(p, q):
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + normalizer - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean


@register_kl(Pareto, Gamma)
def _pareto_to_gamma(p, q):
    return taeda.where(p.alpha <= 1, math.inf, _to_gamma(p, q))


@register_kl(Uniform, Gamma)
def _uniform_to_gamma(p, q):
    return _where_inside(p, 0, math.inf, _to_gamma(p, q))


@_register_pairs((Exponential, Gamma, Normal, Uniform), Gumbel)
def _to_gumbel(p, q):
    tail = (q.loc / q.scale).exp() * _mean_exp(p, q.scale.reciprocal())
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + tail


@register_kl(Normal, Laplace)
def _normal_to_laplace(p, q):
    deviation = (p.loc - q.loc) / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * (-0.5 * deviation.pow(2)).exp()
    distance = near + (p.loc - q.loc) * taeda.erf(math.sqrt(0.5) * deviation)
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Uniform, Beta)
def _uniform_to_beta(p, q):
    above = _mean_of_x_log_x(1 - p.low, 1 - p.high)
    normalizer = q._log_normalizer(q.concentration1, q.concentration0)
    logs = (q.concentration1 - 1) * _mean_log(p) + (q.concentration0 - 1) * above
    return _where_inside(p, 0, 1, -p.entropy() + normalizer - logs)


@register_kl(Uniform, Pareto)
def _uniform_to_pareto(p, q):
    normalizer = q.alpha.log() + q.alpha * q.scale.log()
    result = -p.entropy() - normalizer + (q.alpha + 1) * _mean_log(p)
    return _where_inside(p, q.scale, math.inf, result)


@register_kl(Beta, ContinuousBernoulli)
def _to_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - taeda.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_to_continuous_bernoulli(p, q):
    return _where_inside(p, 0, 1, _to_continuous_bernoulli(p, q))


@_register_pairs((Beta, ContinuousBernoulli), Uniform)
def _to_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    return taeda.where((q.low > 0) | (q.high < 1), math.inf, result)


@register_kl(Bernoulli, Poisson)
def _bernoulli_to_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _infinite(p, q):
    """p has values that q never takes."""
    return taeda.full_like(p.mean, math.inf)


_register_pairs((Beta, ContinuousBernoulli, Exponential, Gamma), Pareto)(_infinite)
for _q in (Beta, ContinuousBernoulli, Uniform):
    _register_pairs((Exponential, Gamma, Gumbel, Laplace, Normal, Pareto), _q)(_infinite)
for _q in (Exponential, Gamma, Pareto):
    _register_pairs((Gumbel, Laplace, Normal), _q)(_infinite)
_register_pairs((Poisson,), Bernoulli)(_infinite)
_register_pairs((Poisson,), Binomial)(_infinite)
del _q
