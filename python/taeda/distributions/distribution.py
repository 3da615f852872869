"""The base class of distributions."""

import warnings

import taeda
from taeda.distributions import constraints
from taeda.distributions.utils import broadcast_all, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """Random variables: `batch_shape` independent ones, each a tensor of `event_shape`.

    A class of parameters that broadcast calls `_set_parameters`; `expand` and `repr` then know
    them. Parameters and values are checked unless `validate_args` is False.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape = taeda.Size(batch_shape)
        self._event_shape = taeda.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. "
                "Please set `arg_constraints = {}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(
                getattr(type(self), name, None), lazy_property
            ):
                continue  # follows from another parameter
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} "
                    f"({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    def _set_parameters(self, validate_args, **parameters):
        """Keeps parameters as tensors of one shape, the batch's."""
        tensors = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, tensors, strict=True))
        Distribution.__init__(self, tensors[0].size(), validate_args=validate_args)

    def _expand_parameters(self, cls, batch_shape, instance):
        """A distribution of the same class whose parameters have another batch shape."""
        new = self._get_checked_instance(cls, instance)
        batch_shape = taeda.Size(batch_shape)
        for name in self.arg_constraints:
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(batch_shape))
        return self._finish_expanding(new, batch_shape)

    def _library_class(self):
        """The class of this package that the object is of; a user's class may derive from it."""
        package = Distribution.__module__.rpartition(".")[0]
        return next(cls for cls in type(self).__mro__ if cls.__module__.startswith(package))

    def _finish_expanding(self, new, batch_shape):
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def expand(self, batch_shape, _instance=None):
        """The same distribution with a larger batch shape; parameters are not copied."""
        raise NotImplementedError

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    @property
    def arg_constraints(self):
        """Names of parameters and the constraints they must satisfy."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self):
        raise NotImplementedError

    @property
    def mode(self):
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        raise NotImplementedError

    @property
    def stddev(self):
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """`sample_shape` draws of each variable."""
        with taeda.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws that are differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample(taeda.Size((n,)))

    def log_prob(self, value):
        raise NotImplementedError

    def cdf(self, value):
        raise NotImplementedError

    def icdf(self, value):
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete variable, along a new first dimension."""
        raise NotImplementedError

    def entropy(self):
        raise NotImplementedError

    def perplexity(self):
        return taeda.exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        return taeda.Size(tuple(sample_shape) + self._batch_shape + self._event_shape)

    def _enumerated(self, values, expand):
        """Values as `enumerate_support` gives them."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    def _validate_sample(self, value):
        if not isinstance(value, taeda.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        if value.size()[value.dim() - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.size()} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for ours, theirs in zip(reversed(value.size()), reversed(expected), strict=False):
            if ours != 1 and theirs != 1 and ours != theirs:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable "
                "sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                "Expected value argument "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) "
                f"of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def _checked(self, value):
        """The value, which must lie in the support where values are checked."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self):
        kept = {name: self.__dict__.get(name) for name in self.arg_constraints}
        shown = ", ".join(
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in kept.items()
            if value is not None
        )
        return f"{self.__class__.__name__}({shown})"
