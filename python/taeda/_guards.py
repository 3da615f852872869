"""Sources, the names of what guards are about, and the fake mode that a program runs under."""

import taeda
from taeda.fx.symbolic.sources import ChainedSource, Source
from taeda.utils import _pytree as pytree

__all__ = ["ChainedSource", "Source", "detect_fake_mode"]


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
