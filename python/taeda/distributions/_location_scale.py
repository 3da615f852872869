"""Distributions on the real line of one shape, moved by `loc` and stretched by `scale`."""

from taeda.distributions import constraints
from taeda.distributions.distribution import Distribution


class LocationScale(Distribution):
    """The most likely value is `loc`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self._set_parameters(validate_args, loc=loc, scale=scale)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(self._library_class(), batch_shape, _instance)

    @property
    def mode(self):
        return self.loc

    def _deviation(self, value):
        """A value that was checked, in units of the scale."""
        return (self._checked(value) - self.loc) / self.scale
