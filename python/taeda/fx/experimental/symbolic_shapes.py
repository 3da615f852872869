"""Shape environments: symbols for sizes, what is assumed of them, and the guards of a program."""

import builtins
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

import taeda
from taeda import SymBool, SymFloat, SymInt
from taeda._C import _fx
from taeda._C._fx import ConstraintViolationError, Expr, GuardOnDataDependentSymNode
from taeda.fx.experimental._symbolic_graphs import (
    bind_symbols,
    eval_guards,
    find_symbol_binding_fx_nodes,
    fx_placeholder_targets,
    fx_placeholder_vals,
    is_accessor_node,
    is_symbol_binding_fx_node,
)

__all__ = [
    "ConstraintViolationError",
    "DimDynamic",
    "Expr",
    "GuardOnDataDependentSymNode",
    "RelaxedUnspecConstraint",
    "ShapeEnv",
    "ShapeGuard",
    "StatefulSymbolicContext",
    "StatelessSymbolicContext",
    "StrictMinMaxConstraint",
    "SymIntEqByExpr",
    "SymbolicContext",
    "ValueRanges",
    "bind_symbols",
    "check_consistent",
    "constrain_range",
    "constrain_unify",
    "create_contiguous",
    "definitely_false",
    "definitely_true",
    "eval_guards",
    "expect_true",
    "find_symbol_binding_fx_nodes",
    "free_symbols",
    "free_unbacked_symbols",
    "fx_placeholder_targets",
    "fx_placeholder_vals",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_scalar",
    "guard_size_oblivious",
    "guarding_hint_or_throw",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "has_guarding_hint",
    "has_hint",
    "has_static_value",
    "has_symbolic_sizes_strides",
    "hint_int",
    "int_oo",
    "is_accessor_node",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "is_symbol_binding_fx_node",
    "is_symbolic",
    "optimization_hint",
    "size_hint",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]

int_oo = float("inf")
_NUMBERS = (SymInt, SymFloat, SymBool)


class DimDynamic(Enum):
    """How a dimension of an input is treated."""

    DYNAMIC = 0  # a symbol of its own
    DUCK = 1  # a symbol shared with equal sizes
    STATIC = 2  # a constant
    UNBACKED = 3  # a symbol without a hint
    INFER_STRIDE = 4  # an expression of the sizes


@dataclass(frozen=True)
class ValueRanges:
    """An interval; bounds of `int_oo` are infinite."""

    lower: object = -int_oo
    upper: object = int_oo

    def __contains__(self, value):
        return self.lower <= value <= self.upper

    def is_singleton(self):
        """Whether one value is left."""
        return self.lower == self.upper

    def __repr__(self):
        ends = [
            str(b).replace("inf", "int_oo") if isinstance(b, float) else str(b)
            for b in (self.lower, self.upper)
        ]
        return f"VR[{ends[0]}, {ends[1]}]"

    def _bounds(self):
        return tuple(
            None if b in (None, int_oo, -int_oo) else int(b) for b in (self.lower, self.upper)
        )


@dataclass(frozen=True)
class RelaxedUnspecConstraint:
    """The dimension must not become a constant."""

    warn_only: bool = False

    def _encoded(self):
        return "relaxed"


@dataclass(frozen=True)
class StrictMinMaxConstraint:
    """Every value of the range must pass the guards."""

    vr: ValueRanges
    warn_only: bool = False

    def _encoded(self):
        return self.vr._bounds()


class SymbolicContext:
    """How the numbers of an input are treated."""


@dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """How each dimension of a tensor is treated."""

    dynamic_sizes: list
    constraint_sizes: list = None
    dynamic_strides: list = None
    constraint_strides: list = None


@dataclass(frozen=True)
class StatefulSymbolicContext(StatelessSymbolicContext):
    """The same for a tensor that is seen again."""

    tensor_source: object = None
    shape_env_to_source_to_symbol_cache: dict = field(default_factory=dict)


@dataclass(frozen=True)
class ShapeGuard:
    """A condition the program was specialized on, and where."""

    expr: Expr
    stack: str


@dataclass(frozen=True)
class RuntimeAssert:
    """A condition on unbacked symbols that is checked when the program runs."""

    expr: Expr
    msg: str
    stack: str


def _name(source):
    if isinstance(source, str):
        return source
    return source.name() if callable(source.name) else source.name


def _encoded(constraint):
    return None if constraint is None or constraint.warn_only else constraint._encoded()


class ShapeEnv(_fx.ShapeEnv):
    """The symbols of a program's shapes and the guards under which it is valid."""

    def __init__(
        self,
        *,
        specialize_zero_one=True,
        duck_shape=None,
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=True,
        assume_static_by_default=False,
        **_unused,
    ):
        self.specialize_zero_one = specialize_zero_one
        self.duck_shape = True if duck_shape is None else duck_shape
        self.allow_scalar_outputs = allow_scalar_outputs
        self.allow_dynamic_output_shape_ops = allow_dynamic_output_shape_ops
        self.assume_static_by_default = assume_static_by_default
        self._configure(self.specialize_zero_one, self.duck_shape)

    # ---- symbols ----
    def create_symbol(
        self,
        val,
        source,
        dynamic_dim=DimDynamic.DUCK,
        constraint_dim=None,
        positive=True,
        do_not_specialize_zero_one=False,
        symbolic_context=None,
    ):
        """The expression of an input's number: a symbol, or a constant where it is specialized."""
        lower = 0 if positive else None
        if isinstance(val, float):
            return self._create_symbol(val, _name(source), dynamic_dim.value, None, None, None)
        if do_not_specialize_zero_one:
            self._configure(False, self.duck_shape)
        try:
            return self._create_symbol(
                val, _name(source), dynamic_dim.value, _encoded(constraint_dim), lower, None
            )
        finally:
            self._configure(self.specialize_zero_one, self.duck_shape)

    def create_unspecified_symbol(
        self, val, source, dynamic_dim=DimDynamic.DUCK, constraint_dim=None, symbolic_context=None
    ):
        """A symbol for a number that is no size: it may be negative, 0 or 1."""
        return self.create_symbol(
            val,
            source,
            dynamic_dim,
            constraint_dim,
            positive=None,
            do_not_specialize_zero_one=True,
        )

    def create_symintnode(self, sym, *, hint=None, source=None):
        """The number that an expression stands for."""
        return self._number(sym)

    create_symfloatnode = create_symboolnode = create_symintnode

    def create_unspecified_symint_and_symbol(self, value, source, dynamic_dim):
        """A SymInt for an argument that is no size."""
        return self._number(self.create_unspecified_symbol(value, source, dynamic_dim))

    def create_symbolic_sizes_strides_storage_offset(self, ex, source, *, symbolic_context=None):
        """Sizes, strides and offset of a tensor as symbols, and expressions of them."""
        if symbolic_context is None:
            how = DimDynamic.STATIC if self.assume_static_by_default else DimDynamic.DUCK
            symbolic_context = StatelessSymbolicContext([how] * ex.dim())
        limits = symbolic_context.constraint_sizes or [None] * ex.dim()
        return self._create_geometry(
            ex.size(),
            ex.stride(),
            ex.storage_offset(),
            _name(source),
            [d.value for d in symbolic_context.dynamic_sizes],
            [_encoded(c) for c in limits],
        )

    def create_unbacked_symint(self, source=None):
        """An integer that only a run of the program can tell."""
        return self._create_unbacked("int")

    def create_unbacked_symfloat(self):
        """A float that only a run of the program can tell."""
        return self._create_unbacked("float")

    def create_unbacked_symbool(self):
        """A truth value that only a run of the program can tell."""
        return self._create_unbacked("bool")

    def is_unbacked_symint(self, symbol):
        """Whether the symbol has no hint."""
        return symbol.is_symbol and self._hint(symbol) is None

    @property
    def var_to_val(self):
        """Hints by symbol."""
        return {s: hint for s, hint, _ in self._symbols() if hint is not None}

    backed_var_to_val = var_to_val

    @property
    def var_to_sources(self):
        """Sources by symbol."""
        return {s: sources for s, _, sources in self._symbols() if sources}

    @property
    def var_to_range(self):
        """Ranges by symbol."""
        return {s: self.bound_sympy(s) for s, _, _ in self._symbols()}

    @property
    def replacements(self):
        """What symbols were found equal to."""
        return self._replacements()

    def bound_sympy(self, expr):
        """The range of an expression."""
        lower, upper = self._range(expr)
        return ValueRanges(-int_oo if lower is None else lower, int_oo if upper is None else upper)

    # ---- questions ----
    def evaluate_expr(self, orig_expr, hint=None, fx_node=None, size_oblivious=False, **_unused):
        """The value of an expression; guards on it."""
        return self._evaluate(orig_expr, size_oblivious)

    def evaluate_sym_node(self, sym_node, size_oblivious=False):
        """The value of a number's node; guards on it."""
        return self._evaluate(sym_node.expr, size_oblivious)

    def size_hint(self, expr, *, allow_none=False):
        """The value of an expression under the hints."""
        hint = self._hint(expr)
        if hint is None and not allow_none:
            self._evaluate(expr)  # raises and says why
        return hint

    def has_hint(self, expr):
        """Whether every symbol in it has a hint."""
        return self._hint(expr) is not None

    def replace(self, expr):
        """The expression with what is known put in."""
        return self.simplify(expr)

    def constrain_symbol_range(self, s, compiler_min, compiler_max):
        """Asserts the bounds of a symbol."""
        self._constrain_range(s, *ValueRanges(compiler_min, compiler_max)._bounds())

    # ---- guards ----
    @property
    def guards(self):
        """The conditions specialized on so far."""
        return [ShapeGuard(expr, where) for expr, where, _ in self._guards()]

    @property
    def deferred_runtime_asserts(self):
        """Conditions on unbacked symbols, by the youngest symbol in each."""
        result = {}
        for expr, where, message in self._runtime_asserts():
            unbacked = free_unbacked_symbols(expr)
            youngest = max(unbacked, key=lambda s: int(s.name.lstrip("zuf")), default=None)
            result.setdefault(youngest, []).append(RuntimeAssert(expr, message, where))
        return result

    @contextmanager
    def suppress_guards(self):
        """Answers within are given by hints and not recorded."""
        self._suppress(True)
        try:
            yield
        finally:
            self._suppress(False)

    def _inputs(self, placeholders, sources):
        if sources is None:
            sources = [f"L['t{i}']" for i in range(len(placeholders))]
        return [
            (_name(source), value)
            for value, source in zip(placeholders, sources, strict=True)
            if isinstance(value, (taeda.Tensor, int, SymInt))
        ]

    def produce_guards(self, placeholders, sources=None, *, ignore_static=True, **_unused):
        """One Python expression over the sources for each condition on other inputs.

        With `ignore_static` numbers that were constants from the start are left out.
        """
        inputs = self._inputs(placeholders, sources)
        texts = self._guard_set(inputs).texts()
        if not ignore_static:
            return texts
        numbers = [pair for name, value in inputs for pair in _numbers_of(value, name)]
        static = {f"{name} == {n}" for name, n in numbers if isinstance(n, int)}
        return [text for text in texts if text not in static]

    produce_guards_verbose = produce_guards

    def produce_guards_expression(self, placeholders, *, sources=None, ignore_static=True):
        """All of them in one expression; None when there is none."""
        texts = self.produce_guards(placeholders, sources, ignore_static=ignore_static)
        return " and ".join(texts) or None

    def evaluate_guards_for_args(self, placeholders, args, *, ignore_static=True):
        """Whether other inputs satisfy the guards."""
        return (
            self._guard_set(self._inputs(placeholders, None)).first_failure(
                [v for a in args for _, v in _numbers_of(a, "")]
            )
            is None
        )

    def bind_symbols(self, placeholders, args):
        """The values of the symbols for other inputs."""
        return self._guard_set(self._inputs(placeholders, None)).bind(
            [v for a in args for _, v in _numbers_of(a, "")]
        )

    def check_equal(self, other):
        """Whether both have the same guards; raises otherwise."""
        if self.format_guards() != other.format_guards():
            raise AssertionError("the environments have different guards")


_fx._set_shape_env_class(ShapeEnv)


def _numbers_of(value, source):
    """The integers of an input, each with its source."""
    if isinstance(value, taeda.Tensor):
        for i, s in enumerate(value.size()):
            yield f"{source}.size()[{i}]", s
        for i, s in enumerate(value.stride()):
            yield f"{source}.stride()[{i}]", s
        yield f"{source}.storage_offset()", value.storage_offset()
    elif isinstance(value, (int, SymInt)):
        yield source, value


# ---- questions about numbers that may be symbolic ----
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
    if known is None:
        return bool(a) if a.node.has_hint() else fallback
    return known


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
    """The value in this run, or a guess where data decides."""
    if isinstance(a, SymInt) and not a.node.has_hint() and fallback is None:
        fallback = 8192  # a size like any other
    return hint_int(a, fallback)


def has_static_value(a):
    """Whether it is a constant, or what is known leaves one value."""
    if not isinstance(a, _NUMBERS):
        return True
    if isinstance(a, SymBool):
        return _decided(a) is not None
    return a.node.shape_env.bound_sympy(a.node.expr).is_singleton()


def has_symbolic_sizes_strides(elem):
    """Whether a size, a stride or the offset of a tensor is symbolic."""
    return any(isinstance(number, SymInt) for _, number in _numbers_of(elem, ""))


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
        for _, number in _numbers_of(value, ""):
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
