"""Tensor.apply_, map_, map2_: a Python function of each element, for trying things out."""

from taeda import _C
from taeda.overrides import handle_torch_function, has_torch_function


def _write(name, self, others, function):
    """Writes function(element of self, elements of the others) over each element of self."""
    tensors = (self, *others)
    if has_torch_function(tensors):
        return handle_torch_function(getattr(_C.Tensor, name), tensors, *tensors, function)
    for place, other in enumerate(others, 1):
        if not isinstance(other, _C.Tensor):
            raise TypeError(
                f"{name}(): argument '{_NAMES[len(others)][place - 1]}' (position {place}) must be "
                f"Tensor, not {type(other).__name__}"
            )
    if any(t.requires_grad for t in tensors):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )
    for argument, other in zip(_NAMES[len(others)], others):
        if other.type() != self.type():
            raise TypeError(f"{name}: expected {self.type()} for '{argument}' (got {other.type()})")
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    if self.is_meta or self.numel() == 0:
        return self
    rows = [t.expand(self.shape).reshape(-1).tolist() for t in tensors]
    found = [function(*row) for row in zip(*rows)]
    for value in found:
        if not isinstance(value, (bool, int, float, complex)):
            kind = type(value).__name__
            raise TypeError(f"'{kind}' object cannot be interpreted as a number")
    if not (self.is_floating_point() or self.is_complex() or self.dtype is _C.bool):
        found = [int(v) if isinstance(v, float) else v for v in found]
    return self.copy_(_C.tensor(found, dtype=self.dtype).view(self.shape))


_NAMES = {0: (), 1: ("other",), 2: ("x", "y")}


def apply_(self, callable):
    """Replaces each element by what the function gives for it; slow, and without a derivative."""
    return _write("apply_", self, (), callable)


def map_(self, other, callable):
    """Replaces each element by the function of it and the element of `other`, expanded to self."""
    return _write("map_", self, (other,), callable)


def map2_(self, x, y, callable):
    """Replaces each element by the function of it and the elements of `x` and `y`."""
    return _write("map2_", self, (x, y), callable)
