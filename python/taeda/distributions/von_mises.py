"""The von Mises distribution: angles."""

import math

import taeda
from taeda.distributions import constraints
from taeda.distributions.distribution import Distribution

__all__ = ["VonMises"]


def _propose(concentration, spread):
    """Best and Fisher's proposal, a wrapped Cauchy variable, and whether it is accepted."""
    shape = (3, *concentration.shape)
    u1, u2, u3 = taeda.rand(shape, dtype=taeda.float64, device=concentration.device).unbind()
    z = taeda.cos(math.pi * u1)
    f = (1 + spread * z) / (spread + z)
    c = concentration * (spread - f)
    is_accepted = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
    return (u3 - 0.5).sign() * f.clamp(-1, 1).acos(), is_accepted


class VonMises(Distribution):
    """Angles around `loc`, the closer the larger `concentration`; all are in radians."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self._set_parameters(validate_args, loc=loc, concentration=concentration)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(VonMises, batch_shape, _instance)

    def log_prob(self, value):
        value = self._checked(value)
        log_bessel = taeda.special.i0e(self.concentration).log() + self.concentration
        return self.concentration * taeda.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    @taeda.no_grad()
    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        kappa = self.concentration.double().expand(shape)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        spread = taeda.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
        # Rounds draw for all angles, as PyTorch's do, and the last accepted one of each stays.
        angle, is_done = taeda.zeros_like(kappa), taeda.zeros_like(kappa, dtype=taeda.bool)
        while not is_done.all():
            proposed, is_accepted = _propose(kappa, spread)
            angle = taeda.where(is_accepted, proposed, angle)
            is_done = is_done | is_accepted
        angle = (angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
        return angle.to(self.loc.dtype)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        """That of the circle: 1 less the mean length."""
        bessel = taeda.special
        return 1 - bessel.i1e(self.concentration) / bessel.i0e(self.concentration)
