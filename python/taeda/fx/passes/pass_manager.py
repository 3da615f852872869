"""The older PassManager, over plain functions of modules."""

import inspect
import logging
from functools import wraps

__all__ = [
    "PassManager",
    "inplace_wrapper",
    "log_hook",
    "loop_pass",
    "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]

logger = logging.getLogger(__name__)


def inplace_wrapper(fn):
    """A pass that changes its module and returns nothing, made to return the module."""

    @wraps(fn)
    def wrapped(gm):
        fn(gm)
        return gm

    return wrapped


def log_hook(fn, level=logging.INFO):
    """A pass that also logs its result."""

    @wraps(fn)
    def wrapped(gm):
        result = fn(gm)
        logger.log(level, "Ran pass %s\t Return value: %s", fn.__name__, result)
        return result

    return wrapped


def loop_pass(base_pass, n_iter=None, predicate=None):
    """A pass that runs `n_iter` times, or while `predicate` of the result holds."""
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @wraps(base_pass)
    def repeated(source):
        output = source
        if n_iter is not None and n_iter > 0:
            for _ in range(n_iter):
                output = base_pass(output)
        elif predicate is not None:
            while predicate(output):
                output = base_pass(output)
        else:
            raise RuntimeError(
                f"loop_pass must be given positive int n_iter (given {n_iter}) xor predicate"
            )
        return output

    return repeated


def _validate_pass_schedule_constraint(constraint, passes):
    for i, first in enumerate(passes):
        for j, second in enumerate(passes[i + 1 :], i + 1):
            if not constraint(first, second):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {first} before {second} but "
                    f"found {first} at index {i} and {second} at index{j} in pass list."
                )


def this_before_that_pass_constraint(this, that):
    """A constraint: `that` does not stand before `this`."""
    return lambda a, b: a != that or b != this


def these_before_those_pass_constraint(these, those):
    """A constraint on wrapped passes: compared by the function inside."""

    def depends_on(a, b):
        return inspect.unwrap(a) != those or inspect.unwrap(b) != these

    return depends_on


class PassManager:
    """Runs functions of a module one after the other."""

    def __init__(self, passes=None, constraints=None):
        self.passes = passes or []
        self.constraints = constraints or []
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes):
        return cls(passes)

    def add_pass(self, _pass):
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes):
        """Drops the passes with these names."""
        self.passes = [p for p in self.passes if p.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target, _replacement):
        """Puts another pass in the place of one."""
        self.passes = [_replacement if p.__name__ == _target.__name__ else p for p in self.passes]
        self._validated = False

    def validate(self):
        """Raises RuntimeError where the order breaks a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def __call__(self, source):
        self.validate()
        for _pass in self.passes:
            source = _pass(source)
        return source
