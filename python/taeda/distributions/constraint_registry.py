"""Transforms from unconstrained numbers to the values of a constraint.

`biject_to(constraint)` is one to one; `transform_to(constraint)` may be a simpler one.
"""

from taeda.distributions import constraints, transforms
from taeda.distributions.utils import is_number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Factories of transforms by the class of a constraint."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Of a constraint or its class; a decorator where no factory is given."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, constraints.Constraint)):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, "
                f"but got {constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint):
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            ) from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register_both(*kinds):
    def register(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_register_both(constraints.real)
def _to_real(constraint):
    return transforms.identity_transform


@_register_both(constraints.positive, constraints.nonnegative)
def _to_greater(constraint):
    if is_number(constraint.lower_bound) and constraint.lower_bound == 0:
        return transforms.ExpTransform()
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_register_both(constraints.less_than)
def _to_less(constraint):
    shift = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_register_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if is_number(low) and is_number(high) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    stretch = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), stretch])


@_register_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(
    constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform()
)
for matrices in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(matrices, lambda constraint: transforms.PositiveDefiniteTransform())


def _register_containers(registry):
    @registry.register(constraints.independent)
    def _to_independent(constraint):
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def _to_cat(constraint):
        parts = [registry(part) for part in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def _to_stack(constraint):
        parts = [registry(part) for part in constraint.cseq]
        return transforms.StackTransform(parts, constraint.dim)


_register_containers(biject_to)
_register_containers(transform_to)
