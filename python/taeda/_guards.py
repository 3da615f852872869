"""Sources, the names of what guards are about, and the fake mode that a program runs under."""

from dataclasses import dataclass

import taeda
from taeda.utils import _pytree as pytree

__all__ = ["ChainedSource", "Source", "detect_fake_mode"]


class Source:
    """Where a value came from; `name` is the expression that finds it."""

    @property
    def name(self):
        raise NotImplementedError

    def is_ephemeral(self):
        """Whether the value is gone once the program has run."""
        return False


@dataclass(frozen=True)
class ChainedSource(Source):
    """A part of another value."""

    base: Source


def detect_fake_mode(inputs=None):
    """The fake mode that is active, or that of the tensors among the inputs; None without one.

    More than one is an error.
    """
    from taeda._subclasses.fake_tensor import FakeTensorMode, maybe_get_fake_mode
    from taeda.utils._python_dispatch import _get_current_dispatch_mode_stack

    active = reversed(_get_current_dispatch_mode_stack())
    found = [(m, "active fake mode") for m in active if isinstance(m, FakeTensorMode)]
    for i, leaf in enumerate(pytree.tree_leaves(inputs)):
        if isinstance(leaf, taeda.Tensor) and (mode := maybe_get_fake_mode(leaf)) is not None:
            found.append((mode, f"fake tensor input {i}"))
    for mode, where in found:
        if mode is not found[0][0]:
            raise AssertionError(
                f"fake mode ({found[0][0]}) from {found[0][1]} doesn't match mode ({mode}) from "
                f"{where}"
            )
    return found[0][0] if found else None
