"""Programs that are run plainly and compiled: how they are written down and compared."""

import collections
import contextlib
import copy
import dataclasses
import functools
import io
import traceback
import types

from under_test import t

CASES = []


@dataclasses.dataclass
class Case:
    function: object
    args: tuple
    breaks: int  # at most, at the first call
    compiles: int  # at most, in three calls
    more_breaks: int  # than PyTorch has: still to be captured
    is_fused: bool  # into a kernel that rounds otherwise than the operators

    @property
    def name(self):
        return f"{self.function.__module__.split('.')[-1]}.{self.function.__name__}"


def case(*args, breaks=0, compiles=None, more_breaks=0, is_fused=False):
    """Decorates a program: its arguments, and how often its capture may break."""

    def note(function):
        compiled = compiles or 2 * breaks + 1
        CASES.append(Case(function, args, breaks, compiled, more_breaks, is_fused))
        return function

    return note


def outcome(function, args):
    """The result of a call, what it printed and what became of its arguments; or its error."""
    args = copy.deepcopy(args)
    t.manual_seed(1)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            result = function(*args)
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)]
        return "raised", type(error).__name__, str(error), lines[-1], printed.getvalue(), args
    return "gave", result, printed.getvalue(), args


def is_same(a, b, is_rounded=False):
    """Whether two outcomes are equal: classes, dtypes and values, bit for bit unless rounded."""
    if isinstance(a, t.Tensor):
        return (
            type(a) is type(b)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and a.requires_grad == b.requires_grad
            and (
                t.equal(t.nan_to_num(a.detach()), t.nan_to_num(b.detach()))
                or (is_rounded and t.allclose(a, b, rtol=1e-5, atol=1e-6))
            )
        )
    if type(a) is not type(b):
        return False
    same = functools.partial(is_same, is_rounded=is_rounded)
    if isinstance(a, (list, tuple, collections.deque)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, t.nn.Module):
        return same(dict(a.state_dict()), dict(b.state_dict()))
    if hasattr(a, "__dict__") and not isinstance(a, (type, types.FunctionType)):
        return same(vars(a), vars(b))
    names = getattr(type(a), "__slots__", ())
    if names:
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    return a == b or (a != a and b != b)


def check_changes(function, changes, *args):
    """The compiled function follows each change, at once and at the next call."""
    compiled = t.compile(function, backend="eager")
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            assert is_same(compiled(*args), function(*args))
