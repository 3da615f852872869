"""PassManager: runs passes in an order that constraints allow, until nothing changes."""

import inspect
import logging
from functools import wraps
from queue import Queue

from taeda.fx.graph_module import GraphModule
from taeda.fx.passes.infra.pass_base import PassResult
from taeda.nn import Module

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

logger = logging.getLogger(__name__)


def pass_result_wrapper(fn):
    """The pass, returning a PassResult; one that returns nothing counts as having changed it."""
    if fn is None:
        return None

    @wraps(fn)
    def wrapped(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        if isinstance(result, Module):
            return PassResult(result, True)
        raise TypeError(f"a pass returns a PassResult, a module or None, got {type(result)}")

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this, that):
    """A constraint: in a list of passes `that` does not stand before `this`."""

    def depends_on(a, b):
        return a != that or b != this

    return depends_on


class PassManager:
    """Runs `passes` up to `steps` times, in an order that agrees with `constraints`.

    Each constraint `f(a, b)` says whether pass a may run before pass b.
    """

    def __init__(
        self,
        passes=None,
        constraints=None,
        steps=None,
        run_checks_after_each_pass=False,
        suppress_check_failures=False,
    ):
        self.passes = passes or []
        self.constraints = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass):
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        self.constraints.append(constraint)
        self._validated = False

    def add_checks(self, check):
        """A function of the module that raises where something is wrong."""
        if (
            list(inspect.signature(check).parameters) != ["module"]
            and len(inspect.signature(check).parameters) != 1
        ):
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def check(self, module):
        """What runs after passes; see add_checks."""

    def validate_constraints(self):
        """Raises RuntimeError where the order breaks a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            for i, first in enumerate(self.passes):
                for second in self.passes[i + 1 :]:
                    if not constraint(first, second):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {first} before {second} "
                            f"but found {first} at index {i} and {second} at index "
                            f"{self.passes.index(second)} in pass list."
                        )
        self._validated = True

    def solve_constraints(self):
        """Sorts the passes so that all constraints hold."""
        self.passes = _sorted_passes(self.passes, self.constraints)
        self._validated = True

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        overall = False
        for _ in range(self.steps):
            modified = False
            for number, fn in enumerate(self.passes):
                module, changed = self._run(fn, number, module)
                modified = modified or changed
                if self.run_checks_after_each_pass:
                    self.check(module)
            overall = overall or modified
            if not modified:
                break
        return PassResult(module, overall)

    def _run(self, fn, number, module):
        name = fn.__name__ if inspect.isfunction(fn) else type(fn).__name__
        try:
            result = fn(module)
        except Exception as error:
            earlier = [
                p.__name__ if inspect.isfunction(p) else type(p).__name__
                for p in self.passes[:number]
            ]
            raise Exception(
                f"An error occurred when running the '{name}' pass after the following passes: "
                f"{earlier}"
            ) from error
        if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
            raise TypeError(
                f"The result of the pass {name} should be type PassResult. Please wrap it with "
                "pass_result_wrapper()"
            )
        if isinstance(result.graph_module, GraphModule):
            result.graph_module.recompile()
        return result.graph_module, result.modified


def _sorted_passes(passes, constraints):
    if not constraints:
        return passes
    # after[a]: the passes that must not run before a.
    after = {p: [] for p in passes}
    waiting = dict.fromkeys(passes, 0)
    for first in passes:
        for second in passes:
            if first is not second and not all(c(first, second) for c in constraints):
                after[second].append(first)
                waiting[first] += 1
    ready = Queue()
    for p in passes:
        if waiting[p] == 0:
            ready.put(p)
    order = []
    while not ready.empty():
        done = ready.get()
        order.append(done)
        for p in after[done]:
            waiting[p] -= 1
            if waiting[p] == 0:
                ready.put(p)
    stuck = [p for p in passes if waiting[p]]
    if stuck:
        raise RuntimeError(f"Circular dependency detected within the following passes: {stuck}")
    return order
