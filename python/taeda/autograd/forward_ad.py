"""Forward mode by dual numbers: tensors that carry a tangent through all that follows from them."""

from collections import namedtuple

from taeda import _C

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_current_level = -1


def enter_dual_level():
    """Starts a level; tangents exist until it is left. `dual_level()` is the safer form."""
    global _current_level
    level = _C._enter_dual_level()
    _current_level = level
    return level


def exit_dual_level(*, level=None):
    """Ends the level and drops all tangents made in it."""
    global _current_level
    if level is None:
        level = _current_level
    if level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    _C._exit_dual_level(level)
    _current_level = level - 1


def _need_level(level):
    if level is None:
        level = _current_level
    return level


def make_dual(tensor, tangent, *, level=None):
    """A tensor with these values and that tangent; it shares memory with `tensor`."""
    if _need_level(level) < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(
                f"Expected {'primal' if name == 'tensor' else name} to be floating point or "
                "complex, "
                f"but got: {value.dtype}"
            )
    return _C._make_dual(tensor, tangent)


class UnpackedDualTensor(namedtuple("UnpackedDualTensor", ["primal", "tangent"])):
    """The result of `unpack_dual`: the values, and the tangent or None."""


def unpack_dual(tensor, *, level=None):
    """The values and the tangent of a dual tensor; (tensor, None) outside a level."""
    if _need_level(level) < 0:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_C._unpack_dual(tensor))


class dual_level:
    """Context manager for one level of forward mode."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, exc_type, exc_value, traceback):
        exit_dual_level()


_is_fwd_grad_enabled = _C._is_fwd_grad_enabled


class _set_fwd_grad_enabled:
    """Turns forward mode on or off; also usable as a plain call."""

    def __init__(self, mode):
        self.prev = _C._is_fwd_grad_enabled()
        _C._set_fwd_grad_enabled(mode)

    def __enter__(self):
        return None

    def __exit__(self, exc_type, exc_value, traceback):
        _C._set_fwd_grad_enabled(self.prev)
