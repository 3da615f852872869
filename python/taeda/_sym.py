"""Functions of numbers that may be symbolic, and checks that hold for both."""

import functools
import math

from taeda._C import SymBool, SymFloat, SymInt, Tensor
from taeda._C._fx import _math_functions, _sym_operation
from taeda.overrides import handle_torch_function, has_torch_function

_SYMBOLIC = (SymInt, SymFloat, SymBool)


def _overridable(function):
    """`function`, unless an argument or an element of one has its own idea of the call."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        given = (*args, *kwargs.values())
        asked = [a for g in given for a in (g if isinstance(g, (list, tuple)) else (g,))]
        if has_torch_function(asked):
            return handle_torch_function(call, asked, *args, **kwargs)
        return function(*args, **kwargs)

    return call


@_overridable
def sym_not(a):
    """`not a`, symbolic where `a` is."""
    return _sym_operation("not", a) if isinstance(a, SymBool) else not a


@_overridable
def sym_float(a):
    """`float(a)` without specializing."""
    return _sym_operation("float", a) if isinstance(a, (SymInt, SymBool)) else _kept(a, float)


@_overridable
def sym_int(a):
    """`int(a)` without specializing; floats are truncated."""
    return _sym_operation("int", a) if isinstance(a, (SymFloat, SymBool)) else _kept(a, int)


def _kept(a, convert):
    return a if isinstance(a, _SYMBOLIC) else convert(a)


def _extremum(name, plain, a, b):
    if isinstance(a, _SYMBOLIC) or isinstance(b, _SYMBOLIC):
        return _sym_operation(name, a, b)
    # A float operand makes the result a float, whichever wins.
    is_float = isinstance(a, float) or isinstance(b, float)
    return float(plain(a, b)) if is_float else plain(a, b)


@_overridable
def sym_max(a, b):
    """The larger number, symbolic where one of them is."""
    return _extremum("max", max, a, b)


@_overridable
def sym_min(a, b):
    """The smaller number, symbolic where one of them is."""
    return _extremum("min", min, a, b)


@_overridable
def sym_sum(args):
    """The sum of the numbers."""
    total = 0
    for a in args:
        total = total + a
    return total


@_overridable
def sym_ite(b, t, f):
    """`t if b else f` without asking which."""
    if not isinstance(b, SymBool):
        return t if b else f
    return _sym_operation("where", b, t, f)


@_overridable
def _sym_sqrt(a):
    return _sym_operation("sqrt", a) if isinstance(a, _SYMBOLIC) else math.sqrt(a)


def sym_sqrt(a):
    """The square root, symbolic where `a` is."""
    return _sym_sqrt(a)


def _math_function(name):
    plain = getattr(math, name)

    def call(*args):
        is_symbolic = any(isinstance(a, _SYMBOLIC) for a in args)
        return _sym_operation(name, *args) if is_symbolic else plain(*args)

    call.__name__ = call.__qualname__ = f"_sym_{name}"
    return _overridable(call)


globals().update((f"_sym_{name}", _math_function(name)) for name in _math_functions)


def _text(message, fallback):
    if message is None:
        return fallback
    if not callable(message):
        raise TypeError("message must be a callable")
    return str(message())


def _raise_unless(error_type, cond, message):
    if isinstance(cond, SymBool):
        from taeda.fx.symbolic.numbers import expect_true

        if expect_true(cond):
            return
    elif not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    elif cond:
        return
    raise error_type(
        _text(
            message,
            "Expected cond to be True, but got False. (Could this error message be improved? "
            "If so, please report an enhancement request to PyTorch.)",
        )
    )


def _check_with(error_type, cond, message=None):
    """`_check` that raises this error."""
    _raise_unless(error_type, cond, message)


def _check(cond, message=None):
    """Raises RuntimeError unless `cond` holds; a symbolic condition is taken as true from now on.

    What cannot be decided while a program is traced is checked when it runs.
    """
    _check_with(RuntimeError, cond, message)


def sym_constrain_range(size, *, min=None, max=None):
    """Asserts that an integer is in a range; a symbolic one is taken to be from now on."""
    from taeda.fx.symbolic.numbers import constrain_range

    if isinstance(size, SymInt):
        constrain_range(size, min=min, max=max)
        return
    low = -(2**63) if min is None else min
    high = 2**63 - 1 if max is None else max
    _check(low <= size <= high, lambda: f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size, *, min=None, max=None):
    """The same for an integer that serves as a size."""
    if isinstance(size, SymInt):
        _check_is_size(size)
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def _check_index(cond, message=None):
    """`_check` that raises IndexError."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """`_check` that raises ValueError."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """`_check` that raises TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """`_check` that raises NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """Asserts that `i` is a size: not negative, and neither 0 nor 1 where shape rules ask."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)
    if isinstance(i, SymInt):
        i.node.shape_env._check_is_size(i)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises the error unless every element of the boolean tensor holds."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond, message=None):
    """Raises RuntimeError unless every element of the boolean tensor holds."""
    _check_tensor_all_with(RuntimeError, cond, message)
