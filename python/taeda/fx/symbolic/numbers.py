"""Questions about numbers that may be symbolic: their values, hints and free symbols."""

import builtins

import taeda
from taeda import SymBool, SymFloat, SymInt
from taeda._C._fx import Expr

int_oo = float("inf")
_NUMBERS = (SymInt, SymFloat, SymBool)


def numbers_of(value, source):
    """The integers of an input, each with its source."""
    if isinstance(value, taeda.Tensor):
        for i, s in enumerate(value.size()):
            yield f"{source}.size()[{i}]", s
        for i, s in enumerate(value.stride()):
            yield f"{source}.stride()[{i}]", s
        yield f"{source}.storage_offset()", value.storage_offset()
    elif isinstance(value, (int, SymInt)):
        yield source, value


def guard_bool(a):
    """The plain truth value; guards on it."""
    return bool(a)


def guard_int(a):
    """The plain integer; specializes."""
    return int(a)


def guard_float(a):
    """The plain float; specializes."""
    return float(a)


def guard_scalar(a):
    """The plain number; specializes."""
    if isinstance(a, (SymBool, bool)):
        return bool(a)
    if isinstance(a, (SymInt, int)):
        return int(a)
    if isinstance(a, (SymFloat, float)):
        return float(a)
    raise AssertionError(f"unrecognized scalar {a}")


def guard_size_oblivious(a):
    """The truth value where an unbacked size may be taken for neither 0 nor 1."""
    return a.node.guard_size_oblivious("", 0) if isinstance(a, SymBool) else bool(a)


def _decided(a, size_oblivious=False):
    return a.node.shape_env._decide(a, size_oblivious) if isinstance(a, SymBool) else bool(a)


def statically_known_true(a):
    """Whether it follows from what is known; adds no guard."""
    return _decided(a) is True


def statically_known_false(a):
    """Whether the opposite follows from what is known; adds no guard."""
    return _decided(a) is False


def _guarded_or(a, fallback):
    if not isinstance(a, SymBool):
        return bool(a)
    known = _decided(a)
    if known is not None:
        return known
    is_asked = a.node.has_hint() and not a.node.shape_env._is_backed_oblivious
    return bool(a) if is_asked else fallback


def guard_or_false(a):
    """The truth value, guarded on; false where data decides."""
    return _guarded_or(a, False)


def guard_or_true(a):
    """The truth value, guarded on; true where data decides."""
    return _guarded_or(a, True)


definitely_true = guard_or_false


def definitely_false(a):
    """Whether it is false; false where data decides."""
    return not guard_or_true(a)


def expect_true(a, skip=0):
    """Takes the condition as true; checked by a guard, or at run time where data decides."""
    return a.node.expect_true("", 0) if isinstance(a, SymBool) else bool(a)


def sym_eq(x, y):
    """Equality of numbers or of sequences of them, symbolic where an element is."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        if len(x) != len(y):
            return False
        return sym_and(*(sym_eq(a, b) for a, b in zip(x, y, strict=True)))
    return x == y


def sym_and(*args):
    """All of the conditions, symbolic where one is."""
    result = True
    for a in args:
        result = result & a
    return result


def sym_or(*args):
    """Any of the conditions, symbolic where one is."""
    result = False
    for a in args:
        result = result | a
    return result


def constrain_range(a, *, min=None, max=None):
    """Asserts the bounds of an integer."""
    lower = -int_oo if min is None else min
    upper = int_oo if max is None else max
    if builtins.max(lower, upper) != upper:
        raise ValueError(
            "Maximum value to constrain_as_size can't be less than the specified min value, "
            f"received min={lower} and max={upper}"
        )
    if isinstance(a, SymInt):
        a.node.shape_env.constrain_symbol_range(a, lower, upper)
    elif not lower <= a <= upper:
        raise ValueError(f"Invalid value {a} for range [{lower}:{upper}]")


def constrain_range_for_size(a, min=None, max=None):
    """Asserts the bounds of an integer and takes it as a size: no shape rule sees 0 or 1 in it."""
    if isinstance(a, (SymFloat, SymBool)):
        raise ValueError("Constraining SymFloat/SymBool is nyi")
    constrain_range(a, min=0 if min is None else min, max=max)
    if isinstance(a, SymInt):
        a.node.shape_env._check_is_size(a.node.expr)


def constrain_unify(a, b):
    """Asserts that two integers are equal."""
    if not expect_true(a == b):
        raise RuntimeError(f"{a} and {b} cannot be equal")


def check_consistent(new, old):
    """Asserts that two numbers are equal, or the sizes of two tensors; says nothing of others."""
    if isinstance(new, taeda.Tensor):
        if not isinstance(old, taeda.Tensor) or new.dim() != old.dim():
            raise AssertionError(f"{old} is no tensor of {new.dim()} dimensions")
        for a, b in zip(new.shape, old.shape, strict=True):
            taeda._check(a == b, lambda: f"{old.shape} != {new.shape} (old != new)")
    elif isinstance(new, (int, float, SymInt, SymFloat)):
        taeda._check(old == new, lambda: f"{old} != {new} (old != new)")


class SymIntEqByExpr:
    """An integer that is equal to others by its expression: a key of dicts that adds no guard."""

    def __init__(self, val):
        self.val = val

    def _key(self):
        return self.val.node.expr if isinstance(self.val, SymInt) else self.val

    def __repr__(self):
        return repr(self.val)

    def __eq__(self, other):
        return isinstance(other, SymIntEqByExpr) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())


def is_concrete_int(a):
    """Whether it is a constant."""
    return isinstance(a, int) or a.node.is_constant()


def is_concrete_float(a):
    """Whether it is a constant."""
    return isinstance(a, float) or a.node.is_constant()


def is_concrete_bool(a):
    """Whether it is a constant."""
    return isinstance(a, bool) or a.node.is_constant()


def is_symbolic(a):
    """Whether it is a symbolic number."""
    return isinstance(a, _NUMBERS)


def has_hint(a):
    """Whether its value in this run is known."""
    return a.node.has_hint() if isinstance(a, _NUMBERS) else True


def hint_int(a, fallback=None):
    """The value in this run."""
    if not isinstance(a, SymInt):
        return int(a)
    if fallback is not None and not a.node.has_hint():
        return fallback
    return a.node.require_hint()


size_hint = hint_int
has_guarding_hint = has_hint


def guarding_hint_or_throw(a):
    """The value in this run; raises where data decides."""
    if isinstance(a, _NUMBERS):
        hint = a.node.require_hint()
        return bool(hint) if isinstance(a, SymBool) else hint
    return a


def optimization_hint(a, fallback=None):
    """The value in this run, or a guess where data decides: what `override_optimization_hint` said,
    `fallback`, or a size like any other."""
    if isinstance(a, SymInt):
        return a.node.shape_env.optimization_hint(a.node.expr, fallback)
    return int(a)


def override_optimization_hint(x, val):
    """Says what optimizations take a number for that only data tells; nothing follows from it."""
    if not isinstance(val, int):
        raise TypeError(f"override_optimization_hint expects val to be an int, got {type(val)}")
    if isinstance(x, int):
        return
    if not isinstance(x, SymInt):
        raise TypeError(f"override_optimization_hint expects a torch.SymInt or int, got {type(x)}")
    x.node.shape_env._set_likely_value(x.node.expr, val)


def has_static_value(a):
    """Whether it is a constant, or what is known leaves one value."""
    if not isinstance(a, _NUMBERS):
        return True
    if isinstance(a, SymBool):
        return _decided(a) is not None
    return a.node.shape_env.bound_sympy(a.node.expr).is_singleton()


def has_symbolic_sizes_strides(elem):
    """Whether a size, a stride or the offset of a tensor is symbolic."""
    return any(isinstance(number, SymInt) for _, number in numbers_of(elem, ""))


def create_contiguous(shape):
    """The strides of a contiguous tensor."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(size * strides[-1])
    return strides[::-1] if shape else []


def _expressions(value):
    if value is None:
        return
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, _NUMBERS):
        yield value.node.expr
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _expressions(item)
    elif isinstance(value, taeda.Tensor):
        for _, number in numbers_of(value, ""):
            yield from _expressions(number)


def free_symbols(val):
    """The symbols in numbers, expressions, tensors, or sequences of them."""
    return {s for e in _expressions(val) for s in e.free_symbols}


def has_free_symbols(val):
    """Whether there is one."""
    return bool(free_symbols(val))


def free_unbacked_symbols(x):
    """The symbols without hints; their names start with u or zuf."""
    return {s for s in free_symbols(x) if s.name.startswith(("u", "zuf"))}


def has_free_unbacked_symbols(x):
    """Whether there is one."""
    return bool(free_unbacked_symbols(x))
