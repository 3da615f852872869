"""Which fake mode is active, which one made a tensor, and scopes without any."""

import contextlib

import taeda
from taeda._C import _fx
from taeda.fx.fake.tensors import FakeTensorMode
from taeda.utils._python_dispatch import (
    _disable_current_modes,
    _get_current_dispatch_mode_stack,
    _push_mode,
    is_traceable_wrapper_subclass,
)
from taeda.utils._pytree import tree_leaves

__all__ = [
    "detect_fake_mode",
    "get_plain_tensors",
    "in_kernel_invocation_manager",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


@contextlib.contextmanager
def in_kernel_invocation_manager(fake_mode):
    """A scope in which fake tensors are the meta tensors that kernels see."""
    _fx._enter_fake_kernel()
    try:
        yield
    finally:
        _fx._exit_fake_kernel()


def get_plain_tensors(subclass, *, out):
    """Adds the tensors that a wrapper subclass is made of to `out`, and gives it."""
    if not is_traceable_wrapper_subclass(subclass):
        out.append(subclass)
        return out
    for name in subclass.__tensor_flatten__()[0]:
        get_plain_tensors(getattr(subclass, name), out=out)
    return out


def is_fake(x):
    """Whether a value is a fake tensor, or a wrapper or functional tensor around one."""
    if is_traceable_wrapper_subclass(x):
        return all(is_fake(t) for t in get_plain_tensors(x, out=[]))
    return _fx.is_fake(x)


def maybe_get_fake_mode(t):
    """The mode of a fake tensor, or of those in a wrapper; None for others."""
    if is_traceable_wrapper_subclass(t):
        modes = {_fx.fake_mode_of(inner) for inner in get_plain_tensors(t, out=[])}
        return modes.pop() if len(modes) == 1 else None
    return _fx.fake_mode_of(t) if isinstance(t, taeda.Tensor) else None


@contextlib.contextmanager
def unset_fake_temporarily():
    """A scope in which no fake mode is active; gives the one that is off, or None."""
    with _disable_current_modes() as modes:
        others = [m for m in reversed(modes) if not isinstance(m, FakeTensorMode)]
        fakes = [m for m in modes if isinstance(m, FakeTensorMode)]
        for mode in others:
            _push_mode(mode)
        try:
            yield fakes[0] if fakes else None
        finally:
            for _ in others:
                taeda._C._pop_torch_dispatch_stack()


def detect_fake_mode(inputs=None):
    """The fake mode that is active, or that of the tensors among the inputs; None without one.

    More than one is an error.
    """
    active = reversed(_get_current_dispatch_mode_stack())
    found = [(m, "active fake mode") for m in active if isinstance(m, FakeTensorMode)]
    for i, leaf in enumerate(tree_leaves(inputs)):
        if isinstance(leaf, taeda.Tensor) and (mode := maybe_get_fake_mode(leaf)) is not None:
            found.append((mode, f"fake tensor input {i}"))
    for mode, where in found:
        if mode is not found[0][0]:
            raise AssertionError(
                f"fake mode ({found[0][0]}) from {found[0][1]} doesn't match mode ({mode}) from "
                f"{where}"
            )
    return found[0][0] if found else None
