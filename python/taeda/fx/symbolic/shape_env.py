"""Shape environments: symbols for sizes, what is assumed of them, and the guards of a program."""

from contextlib import contextmanager

import taeda
from taeda import SymInt
from taeda._C import _fx
from taeda.fx.symbolic.numbers import free_unbacked_symbols, int_oo, numbers_of
from taeda.utils._config_module import shapes_config

__all__ = ["ShapeEnv"]


def _name(source):
    if isinstance(source, str):
        return source
    return source.name() if callable(source.name) else source.name


def _local(source):
    """The source in guards: a plain name is a local of the program."""
    name = _name(source)
    return f"L['{name}']" if isinstance(source, str) and name.isidentifier() else name


def _encoded(constraint):
    return None if constraint is None or constraint.warn_only else constraint._encoded()


class ShapeEnv(_fx.ShapeEnv):
    """The symbols of a program's shapes and the guards under which it is valid.

    The settings are those of `records.ShapeEnvSettings`, by name.
    """

    def __init__(self, **settings):
        self._init(**settings)

    def _init(
        self,
        *,
        specialize_zero_one=True,
        duck_shape=None,
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=True,
        assume_static_by_default=False,
        # Settings of PyTorch's recording and of its guards, which change nothing here.
        should_record_events=None,
        tracked_fakes=None,
        co_fields=None,
        prefer_deferred_runtime_asserts_over_guards=None,
        allow_complex_guards_as_runtime_asserts=None,
        trace_asserts=None,
    ):
        self._allow_scalar_outputs = allow_scalar_outputs
        self._allow_dynamic_output_shape_ops = allow_dynamic_output_shape_ops
        self.assume_static_by_default = assume_static_by_default
        is_duck = True if duck_shape is None else duck_shape
        self._configure(specialize_zero_one, is_duck, shapes_config.backed_size_oblivious)

    @property
    def allow_scalar_outputs(self):
        """Whether a number that is read from data is a symbol."""
        return self._allow_scalar_outputs

    @property
    def allow_dynamic_output_shape_ops(self):
        """Whether a size that depends on data is a symbol."""
        return self._allow_dynamic_output_shape_ops

    @property
    def settings(self):
        """What it was made with."""
        from dataclasses import fields

        from taeda.fx.symbolic.records import ShapeEnvSettings

        return ShapeEnvSettings(**{f.name: getattr(self, f.name) for f in fields(ShapeEnvSettings)})

    # ---- symbols ----
    def create_symbol(
        self,
        val,
        source,
        dynamic_dim=None,
        constraint_dim=None,
        positive=True,
        do_not_specialize_zero_one=False,
        symbolic_context=None,
    ):
        """The expression of an input's number: a symbol, or a constant where it is specialized.

        `dynamic_dim` is a DimDynamic, DUCK without one.
        """
        from taeda.fx.symbolic.inputs import DimDynamic

        how = (DimDynamic.DUCK if dynamic_dim is None else dynamic_dim).value
        lower = 0 if positive else None
        if isinstance(val, float):
            return self._create_symbol(val, _name(source), how, None, None, None)
        specialize_zero_one = self.specialize_zero_one
        if do_not_specialize_zero_one:
            self._configure(False, self.duck_shape, self._is_backed_oblivious)
        try:
            return self._create_symbol(
                val, _name(source), how, _encoded(constraint_dim), lower, None
            )
        finally:
            self._configure(specialize_zero_one, self.duck_shape, self._is_backed_oblivious)

    def create_unspecified_symbol(
        self, val, source, dynamic_dim=None, constraint_dim=None, symbolic_context=None
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
            from taeda.fx.symbolic.inputs import DimDynamic, StatelessSymbolicContext

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
        from taeda.fx.symbolic.inputs import ValueRanges

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

    @property
    def var_to_hint_override(self):
        """What optimizations take unbacked symbols for, where somebody said it."""
        return self._likely_values()

    def optimization_hint(self, expr, fallback=None):
        """The value of an expression under the hints, and under guesses where data decides."""
        return self._likely_value(expr, fallback)

    def has_hint(self, expr):
        """Whether every symbol in it has a hint."""
        return self._hint(expr) is not None

    def replace(self, expr):
        """The expression with what is known put in."""
        return self.simplify(expr)

    def constrain_symbol_range(self, s, compiler_min, compiler_max):
        """Asserts the bounds of a symbol."""
        from taeda.fx.symbolic.inputs import ValueRanges

        self._constrain_range(s, *ValueRanges(compiler_min, compiler_max)._bounds())

    # ---- guards ----
    @property
    def guards(self):
        """The conditions specialized on so far."""
        from taeda.fx.symbolic.records import ShapeGuard

        return [ShapeGuard(expr, where) for expr, where, _ in self._guards()]

    def get_nontrivial_guards(self):
        """The conditions that do not follow from each other."""
        return [e for e in (self.simplify(g.expr) for g in self.guards) if str(e) != "True"]

    @contextmanager
    def ignore_fresh_unbacked_symbols(self):
        """A scope in which new unbacked symbols need no result to hold them. None needs one: a
        trace finds symbols in what the program computes."""
        yield

    @property
    def pending_fresh_unbacked_symbols(self):
        """Unbacked symbols that no result holds yet: none, since results are made with theirs."""
        return []

    @property
    def deferred_runtime_asserts(self):
        """Conditions on unbacked symbols, by the youngest symbol in each."""
        from taeda.fx.symbolic.records import RuntimeAssert

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
            sources = [f"t{i}" for i in range(len(placeholders))]
        return [
            (_local(source), value)
            for value, source in zip(placeholders, sources, strict=True)
            if isinstance(value, (taeda.Tensor, int, SymInt))
        ]

    def produce_guards(
        self, placeholders, sources=None, *, ignore_static=True, _simplified=False, **_unused
    ):
        """One Python expression over the sources for each condition on other inputs.

        A source that is a name is a local of the program: L['x']. With `ignore_static` numbers that
        were constants from the start are left out, with `_simplified` all that the inputs' symbols
        say by themselves.
        """
        inputs = self._inputs(placeholders, sources)
        guards = self._guard_set(inputs)
        texts = guards.short_texts() if _simplified else guards.texts()
        if not ignore_static:
            return texts
        numbers = [pair for name, value in inputs for pair in numbers_of(value, name)]
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
                [v for a in args for _, v in numbers_of(a, "")]
            )
            is None
        )

    def bind_symbols(self, placeholders, args):
        """The values of the symbols for other inputs."""
        return self._guard_set(self._inputs(placeholders, None)).bind(
            [v for a in args for _, v in numbers_of(a, "")]
        )

    @property
    def should_record_events(self):
        """Whether what is asked of it is written down, to be done again: never."""
        return False

    def check_equal(self, other):
        """Whether both have the same guards; raises otherwise."""
        if self.format_guards() != other.format_guards():
            raise AssertionError("the environments have different guards")


_fx._set_shape_env_class(ShapeEnv)
