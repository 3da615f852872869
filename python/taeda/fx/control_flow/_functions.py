"""What control-flow operators do with the functions they take: flat calls and checks."""

from taeda import _C
from taeda.utils._pytree import tree_flatten, tree_unflatten

_Tensor = _C.Tensor


class UserFunction:
    """A function that the user gave to the operator `name`.

    It may neither write to its arguments nor return what shares memory with them: a graph of it
    would mean something else.
    """

    may_alias = False
    # Whether a function of slices takes batches of slices as they are.
    takes_batches = False

    def __init__(self, name):
        self.name = name

    def __call__(self, *args):
        return self.checked(self.call, args)

    def checked(self, call, args):
        """`call(*args)`, which runs the function, unless that does what it may not."""
        return _C._checked_call(self.name, self.may_alias, call, args)

    def call(self, *args):
        """The function without checks."""
        raise NotImplementedError


class FlatFunction(UserFunction):
    """A function of nested arguments as one of their leaves that returns a flat tuple.

    `out_spec` tells, after a call, how the results were nested.
    """

    def __init__(self, name, fn, in_spec):
        super().__init__(name)
        self.fn = fn
        self.in_spec = in_spec
        self.out_spec = None

    def call(self, *leaves):
        results, self.out_spec = tree_flatten(self.fn(*tree_unflatten(leaves, self.in_spec)))
        return tuple(results)


def check_operands(operands):
    """Leaves of operands are tensors and numbers."""
    allowed = (_Tensor, int, float, _C.SymInt, _C.SymFloat)
    if not all(isinstance(o, allowed) for o in operands):
        raise AssertionError(
            f"{operands} can only be of {allowed} but got {tuple(type(o) for o in operands)}"
        )


def _differences(a, b):
    if isinstance(a, _Tensor) != isinstance(b, _Tensor):
        return [f"type: {a} vs {b}"]
    if not isinstance(a, _Tensor):
        are_integers = is_integer(a) and is_integer(b)
        return [] if are_integers else [f"type: {a} vs {b}"]
    named = [("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)]
    found = [f"'{name}: {x} vs {y}'" for name, x, y in named if x != y]
    return found + ["device"] * (a.device != b.device)


def check_same_metadata(lhs, rhs, lhs_name, rhs_name):
    """Raises unless two flat lists agree in length and in shapes, dtypes and devices."""
    if len(lhs) != len(rhs):
        raise RuntimeError(
            f"Expected {lhs_name} and {rhs_name} to have same number of outputs but got "
            f"lhs:{list(lhs)} and rhs:{list(rhs)}"
        )
    lines = []
    for i, (a, b) in enumerate(zip(lhs, rhs)):
        if found := _differences(a, b):
            lines.append(
                f"pair[{i}] differ in {', '.join(found)}, where lhs is {a!s} and rhs is {b!s}"
            )
    if lines:
        raise RuntimeError(
            f"Expected {lhs_name} and {rhs_name} to have same metadata but found:\n"
            + "\n".join(lines)
        )


def is_unknown(value):
    """Whether there are no numbers to look at: a fake or a meta tensor."""
    return isinstance(value, _Tensor) and not _C._has_values(value)


def is_integer(value):
    """Whether a value is an integer, known or not."""
    return isinstance(value, (int, _C.SymInt))


def unknown_integer(value, low=None, high=None, *, is_size=False):
    """A number that only a run of the program can tell, where `value` has no values either."""
    import taeda
    from taeda.fx.symbolic.shape_env import ShapeEnv

    mode = getattr(_C._values_of(value), "fake_mode", None)
    env = mode.shape_env if mode is not None else None
    number = (ShapeEnv() if env is None else env).create_unbacked_symint()
    if is_size:
        taeda._check_is_size(number)
    if low is not None:
        taeda._check(number >= low)
    if high is not None:
        taeda._check(number <= high)
    return number
