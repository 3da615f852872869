"""Draws by rejection: gamma, Poisson and binomial variables, many at a time.

Each round draws a proposal for all variables that have none accepted yet; some rounds accept nearly
all. The draws of a variable so depend on how many others are drawn with it, and differ from
PyTorch's.
"""

import math

import taeda
from taeda.autograd import Function

_SERIES_UP_TO = 30.0  # shapes above use the expansion of quantiles


def fill_by_rejection(propose, result, parameters):
    """Fills `result` with values of `propose(*parameters)`, which gives values and acceptance."""
    pending = taeda.arange(result.numel(), device=result.device)
    while pending.numel():
        values, is_accepted = propose(*(p[pending] for p in parameters))
        result[pending[is_accepted]] = values[is_accepted].to(result.dtype)
        pending = pending[~is_accepted]
    return result


def _propose_gamma(shape):
    """Marsaglia and Tsang's squeeze for shapes of at least 1."""
    d = shape - 1 / 3
    normal = taeda.randn_like(shape)
    v = (1 + normal / (9 * d).sqrt()) ** 3
    uniform = taeda.rand_like(shape)
    is_positive = v > 0
    bound = 0.5 * normal**2 + d * (1 - v + v.clamp(min=1e-300).log())
    return d * v, is_positive & ((1 - uniform).log() < bound)


def _draw_gamma(concentration):
    shape = concentration.double()
    flat = shape.flatten()
    is_small = flat < 1
    draws = fill_by_rejection(
        _propose_gamma, taeda.empty_like(flat), (taeda.where(is_small, flat + 1, flat),)
    )
    # A variable of shape a is one of shape a + 1 times u^(1/a).
    boost = (1 - taeda.rand_like(flat)).log() / flat
    draws = taeda.where(is_small, draws * boost.exp(), draws).view(shape.shape)
    tiny = taeda.finfo(concentration.dtype).tiny
    return draws.to(concentration.dtype).clamp(min=tiny)


def _slope_by_series(a, x):
    """dx/da at fixed probability, by the series P(a, x) = x^a e^-x sum x^n / Gamma(a + n + 1)."""
    log_x = x.log()
    highest = x.max().item()
    weight, digamma = 1 / a, taeda.digamma(a + 1)
    total = weight * (log_x - digamma)
    for n in range(1, int(highest + 12 * math.sqrt(highest) + 40)):
        order = a + n
        weight = weight * x / order
        digamma = digamma + 1 / order
        total = total + weight * (log_x - digamma)
    return -x * total  # over the density x^(a-1) e^-x / Gamma(a)


def _slope_by_expansion(a, x):
    """dx/da of the quantile's expansion in 1/sqrt(a) at a fixed normal quantile z."""
    root = a.sqrt()
    # z from the cube root's near normality, then one step of Newton on the expansion itself.
    z = 3 * root * ((x / a) ** (1 / 3) - 1 + 1 / (9 * a))
    for _ in range(3):
        value, by_z, _ = _quantile(a, root, z)
        z = z - (value - x) / by_z
    return _quantile(a, root, z)[2]


def _quantile(a, root, z):
    """The gamma quantile by Cornish and Fisher's expansion, with its derivatives by z and by a."""
    coefficients = (
        (z**2 - 1) / 3,
        (z**3 - 7 * z) / 36,
        (-3 * z**4 - 7 * z**2 + 16) / 810,
        (9 * z**5 + 256 * z**3 - 433 * z) / 38880,
    )
    by_z_coefficients = (
        2 * z / 3,
        (3 * z**2 - 7) / 36,
        (-12 * z**3 - 14 * z) / 810,
        (45 * z**4 + 768 * z**2 - 433) / 38880,
    )
    value, by_z, by_a = a + z * root, root, 1 + z / (2 * root)
    for power, (c, c_by_z) in enumerate(zip(coefficients, by_z_coefficients, strict=True)):
        scale = root ** (-power)
        value = value + c * scale
        by_z = by_z + c_by_z * scale
        by_a = by_a - 0.5 * power * c * scale / a
    return value, by_z, by_a


def gamma_slope(concentration, sample):
    """The derivative of a gamma variable by its shape, at fixed probability."""
    a, x = concentration.double().flatten(), sample.double().flatten()
    result = taeda.empty_like(a)
    is_small = a <= _SERIES_UP_TO
    if is_small.any():
        result[is_small] = _slope_by_series(a[is_small], x[is_small])
    if not is_small.all():
        result[~is_small] = _slope_by_expansion(a[~is_small], x[~is_small])
    return result.view(sample.shape).to(sample.dtype)


class _StandardGamma(Function):
    @staticmethod
    def forward(ctx, concentration):
        sample = _draw_gamma(concentration)
        ctx.save_for_backward(concentration, sample)
        return sample

    @staticmethod
    def backward(ctx, grad):
        concentration, sample = ctx.saved_tensors
        return grad * gamma_slope(concentration, sample)


def standard_gamma(concentration):
    """Gamma variables of rate 1, differentiable by their shape."""
    return _StandardGamma.apply(concentration)


def _count_by_inversion(first, ratio):
    """Counts whose probabilities are p_0 = `first`, p_k = p_{k-1} * ratio(k)."""
    left = taeda.rand_like(first)
    probability, count = first, taeda.zeros_like(first)
    k = 0
    is_open = left > probability
    while is_open.any() and k < 200:
        left = taeda.where(is_open, left - probability, left)
        k += 1
        probability = probability * ratio(k)
        count = count + is_open
        is_open = is_open & (left > probability)
    return count


def _propose_poisson(rate):
    """Hoermann's transformed rejection (PTRS) for rates of at least 10."""
    b = 0.931 + 2.53 * rate.sqrt()
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    u, v = taeda.rand_like(rate) - 0.5, 1 - taeda.rand_like(rate)
    us = 0.5 - u.abs()
    k = ((2 * a / us + b) * u + rate + 0.43).floor()
    left = v.log() + inverse_alpha.log() - (a / us**2 + b).log()
    right = -rate + k * rate.log() - taeda.lgamma(k.clamp(min=0) + 1)
    return k, (k >= 0) & (us > 0) & (left <= right)


def poisson(rate):
    """Poisson variables of the given rates."""
    flat = rate.double().flatten()
    result = taeda.zeros_like(flat)
    is_small = flat < 10
    small = flat[is_small]
    result[is_small] = _count_by_inversion((-small).exp(), lambda k: small / k)
    large = flat[~is_small]
    result[~is_small] = fill_by_rejection(_propose_poisson, taeda.empty_like(large), (large,))
    return result.view(rate.shape).to(rate.dtype)


def _propose_binomial(n, p):
    """Hoermann's transformed rejection (BTRS) for n * p of at least 10 and p up to 1/2."""
    spread = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    mode = ((n + 1) * p).floor()
    u, v = taeda.rand_like(p) - 0.5, 1 - taeda.rand_like(p)
    us = 0.5 - u.abs()
    k = ((2 * a / us + b) * u + n * p + 0.5).floor()
    is_inside = (k >= 0) & (k <= n) & (us > 0)
    k = taeda.where(is_inside, k, mode)
    odds = (p / (1 - p)).log()
    height = (
        taeda.lgamma(mode + 1)
        + taeda.lgamma(n - mode + 1)
        - taeda.lgamma(k + 1)
        - taeda.lgamma(n - k + 1)
        + (k - mode) * odds
    )
    return k, is_inside & ((v * alpha / (a / us**2 + b)).log() <= height)


def binomial(count, prob):
    """Numbers of successes in `count` tries of probability `prob`."""
    n, p = count.double().flatten(), prob.double().flatten()
    is_flipped = p > 0.5
    p = taeda.where(is_flipped, 1 - p, p)
    result = taeda.zeros_like(p)
    is_small = n * p < 10
    few, rare = n[is_small], p[is_small]
    result[is_small] = _count_by_inversion(
        (few * taeda.log1p(-rare)).exp(),
        lambda k: ((few - k + 1) / k * (rare / (1 - rare))).clamp(min=0),
    )
    parameters = (n[~is_small], p[~is_small])
    drawn = fill_by_rejection(_propose_binomial, taeda.empty_like(parameters[0]), parameters)
    result[~is_small] = drawn
    result = taeda.where(is_flipped, n - result, result)
    return result.view(prob.shape).to(prob.dtype)
