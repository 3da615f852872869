"""Symbolic sizes for the inputs of an export, and the facts that the trace found about them."""

import inspect
import re

import taeda
from taeda._C._fx import ConstraintViolationError
from taeda.export._errors import UserError, UserErrorType
from taeda.export._names import bound_arguments, forward_signature
from taeda.export.dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, _DimHint
from taeda.fx.symbolic.inputs import (
    DimDynamic,
    RelaxedUnspecConstraint,
    StrictMinMaxConstraint,
    ValueRanges,
    int_oo,
)
from taeda.fx.symbolic.shape_env import ShapeEnv


def leaf_shapes(mod, args, kwargs, dynamic_shapes):
    """One entry of `dynamic_shapes` for each leaf of the arguments; None for fixed ones."""
    pairs = bound_arguments(mod, args, kwargs)
    if isinstance(dynamic_shapes, dict):
        dynamic_shapes = _by_argument(mod, dynamic_shapes)
    if isinstance(dynamic_shapes, (AdditionalInputs, ShapesCollection)):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(mod, args, kwargs)
    names = [name for name, _ in pairs]
    if isinstance(dynamic_shapes, (list, tuple)) and len(dynamic_shapes) != len(names):
        # Those of `*args` may be given together.
        bound = forward_signature(mod).bind(*args, **kwargs).arguments
        if len(dynamic_shapes) == len(bound):
            dynamic_shapes = _by_argument(mod, dict(zip(bound, dynamic_shapes, strict=True)))
    if dynamic_shapes is None:
        given = dict.fromkeys(names)
    elif isinstance(dynamic_shapes, dict):
        if set(dynamic_shapes) != set(names):
            raise UserError(
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg "
                f"names {names} of `inputs`, but here they are {list(dynamic_shapes)}. "
                "Alternatively, you could also ignore arg names entirely and specify "
                "`dynamic_shapes` as a list/tuple matching `inputs`."
            )
        given = dynamic_shapes
    else:
        if len(dynamic_shapes) != len(names):
            raise UserError(
                f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
                f"`inputs` has {len(names)} elements, but `dynamic_shapes` has "
                f"{len(dynamic_shapes)} elements"
            )
        given = dict(zip(names, dynamic_shapes, strict=True))
    return [shape for name, value in pairs for shape in shapes_of_value(name, value, given[name])]


def _by_argument(mod, shapes):
    """Shapes with those of `*args` and `**kwargs`, which may be given together, one by one."""
    found = {}
    for name, shape in shapes.items():
        parameter = forward_signature(mod).parameters.get(name)
        kind = parameter.kind if parameter is not None else None
        if kind is inspect.Parameter.VAR_POSITIONAL and isinstance(shape, (list, tuple)):
            found |= {f"{name}_{i}": each for i, each in enumerate(shape)}
        elif kind is inspect.Parameter.VAR_KEYWORD and isinstance(shape, dict):
            found |= shape
        else:
            found[name] = shape
    return found


def shapes_of_value(name, value, shape):
    """The part of `shape` for each leaf of `value`."""
    spec = taeda.utils._pytree.tree_structure(value)
    if spec.is_leaf():
        return [shape]
    if shape is None:
        return [None] * spec.num_leaves
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, (list, tuple)):
        children = list(enumerate(value))
    else:
        children = [(f, getattr(value, f)) for f in spec.context[0]]
    if len(shape) != len(children):
        raise UserError(
            "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
            f"`inputs['{name}']` has {len(children)} elements, but `dynamic_shapes['{name}']` has "
            f"{len(shape)} elements"
        )
    found = []
    for key, child in children:
        part = shape[key] if isinstance(shape, dict) else shape[children.index((key, child))]
        found += shapes_of_value(f"{name}[{key!r}]", child, part)
    return found


# The name of a size that is no symbol of its own.
_OTHER = "another_size"
# Texts of guards that are ranges of symbols, or that the graph's types express already.
_SAID_ELSEWHERE = re.compile(rf"{_OTHER} == .*|\d+ <= \w+( and \w+ <= \d+)?|\w+ <= \d+", re.DOTALL)


class DynamicInputs:
    """The symbols of an export's inputs.

    checks_calls: what does not hold for a whole range is a condition of calls, not an error.
    """

    def __init__(self, shapes, checks_calls=False, env=None):
        self.shapes = shapes
        self._checks_calls = checks_calls
        self.env = ShapeEnv(duck_shape=False) if env is None else env
        self._symbols = {}  # by the name of a root dimension
        self._owners = {}  # names of root dimensions by those of their symbols
        self._derived = []  # (dimension, source, size) of those that follow from others
        self._declared = []  # (dimension, size) of those that have a range of their own
        self._fixed = []  # (dimension, size) of those that their examples fix
        self._sizes = []  # of every input

    def fake(self, fake_mode, tensor, name, shape):
        """The fake of an input, with symbols where its shape says so."""
        dims = dims_of_leaf(name, tensor, shape)
        if not dims:
            return fake_mode.from_tensor(tensor)
        sizes = [self._size(name, i, n, dims.get(i)) for i, n in enumerate(tensor.size())]
        self._sizes += sizes
        strides = _strides(tensor, sizes)
        return fake_mode._from_tensor_sized(tensor, sizes, strides, tensor.storage_offset())

    def _size(self, name, i, value, dim):
        source = f"L['{name}']" if i is None else f"L['{name}'].size()[{i}]"
        if dim is None or dim == Dim.STATIC:
            return value
        if isinstance(dim, int):
            if dim != value:
                raise ConstraintViolationError(
                    f"Static shape constraint of {dim} does not match input size of {value}, for "
                    f"{source}"
                )
            return value
        if not isinstance(dim, (Dim, _DimHint)):
            raise UserError(
                f"Unexpected dimension mapped to index {i} in input tensor shape specified for "
                f"{name} (expected None, an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC, but "
                f"got {dim!r} instead)"
            )
        if isinstance(dim, _DimHint):
            return self._hinted(value, source, dim, is_size=i is not None)
        return self._named(value, source, dim)

    def _hinted(self, value, source, hint, is_size):
        must_stay = RelaxedUnspecConstraint() if hint.type is Dim.DYNAMIC.type else None
        if is_size:
            symbol = self._symbol(value, source, must_stay)
        else:
            create = self.env.create_unspecified_symbol
            expr = create(value, source, DimDynamic.DYNAMIC, must_stay)
            symbol = self.env.create_symintnode(expr)
        low = 0 if hint.min is None else hint.min
        high = int_oo if hint.max is None else hint.max
        if not low <= value <= high:
            raise ConstraintViolationError(f"{value} not in range [{low}, {high}] of {source}")
        if isinstance(symbol, taeda.SymInt) and (not is_size or (low, high) != (0, int_oo)):
            self.env.constrain_symbol_range(symbol, low, high)
        return symbol

    def number(self, value, name, shape):
        """An argument that is no tensor: an integer said to be dynamic becomes a symbol."""
        if shape is None or type(value) is not int:
            return value
        number = self._size(name, None, value, shape)
        self._sizes.append(number)
        return number

    def _symbol(self, value, source, constraint):
        expr = self.env.create_symbol(value, source, DimDynamic.DYNAMIC, constraint)
        return self.env.create_symintnode(expr)

    def _named(self, value, source, dim):
        root = dim.root
        if dim.min < 0:
            raise AssertionError(
                f"Expected derived min value of {dim.__name__} to be >= 0. Please specify an "
                f"appropriate min value for {root.__name__} (currently {root.min})."
            )
        if dim is root and value < 2:
            self._fixed.append((dim, value))
            return value
        if not dim.min <= value <= dim.max:
            raise ConstraintViolationError(
                f"{value} not in range [{dim.min}, {dim.max}], that of {dim.__name__} = {source}"
            )
        hint, rest = divmod(value - dim._shift, dim._scale)
        if rest:
            shape = source.partition(".size()")[2]
            raise UserError(
                f"Expected shape{shape} = {value} of input Tensor to be of the form "
                f"{dim.__name__}, where {root.__name__} is an integer"
            )
        if root.__name__ in self._symbols and self._symbols[root.__name__][1] != hint:
            known = self._symbols[root.__name__][1]
            raise UserError(
                f"Constraints violated ({dim.__name__})! {source} = {value} does not fit "
                f"{root.__name__} = {known}"
            )
        if hint < 2:
            self._fixed.append((dim, value))
            return value
        if root.__name__ not in self._symbols:
            bounds = ValueRanges(max(root.min, 2), root.max)
            must = (
                RelaxedUnspecConstraint() if self._checks_calls else StrictMinMaxConstraint(bounds)
            )
            name = f"{root.__name__} = {source}" if dim is root else root.__name__
            symbol = self._symbol(hint, name, must)
            if self._checks_calls:
                self.env.constrain_symbol_range(symbol, bounds.lower, bounds.upper)
            self._symbols[root.__name__] = (symbol, hint)
            self._owners[str(symbol)] = root.__name__
        size = dim.fn(self._symbols[root.__name__][0])
        self._declared.append((dim, size))
        if dim is not root:
            self._derived.append((dim, source, size))
        return size

    def check_examples(self):
        """Raises for the dimensions whose roots are 0 or 1 in the examples."""
        if not self._fixed:
            return
        names = ", ".join(dim.__name__ for dim, _ in self._fixed)
        reasons = "".join(
            f"\n  - You marked {dim.__name__} as dynamic but your code specialized it to be a "
            f"constant ({size}): sizes 0 and 1 of an example are fixed"
            f"{'.' if dim is dim.root else f', and so is what follows from {dim.root.__name__}.'}"
            for dim, size in self._fixed
        )
        fixes = {d.root.__name__: (size - d._shift) // d._scale for d, size in self._fixed}
        listed = "".join(f"\n  {name} = {size}" for name, size in fixes.items())
        raise UserError(
            f"Constraints violated ({names})!{reasons}\nSuggested fixes:{listed}",
            UserErrorType.CONSTRAINT_VIOLATION,
        )

    def finish(self):
        """(range constraints, conditions) of the symbols; raises what the program does not keep."""
        try:
            guards = self.env._guard_set(self._named_sizes())
        except ConstraintViolationError as error:
            text = f"{error}{self._specializations()}{self._suggestions()}"
            raise UserError(text, UserErrorType.CONSTRAINT_VIOLATION) from error
        ranges = {expr: self.env.bound_sympy(expr) for expr in self._expressions()}
        for dim, size in self._declared:
            expr = size.node.expr if isinstance(size, taeda.SymInt) else None
            if expr in ranges:
                ranges[expr] = _declared_range(dim, ranges[expr])
        return ranges, [text for text in guards.texts() if not _SAID_ELSEWHERE.fullmatch(text)]

    def _named_sizes(self):
        """Sizes by the names of their symbols: guards are then texts over symbols."""
        seen, named = set(), []
        for size in self._sizes:
            text = str(size)
            is_symbol = isinstance(size, taeda.SymInt) and text.isidentifier() and text not in seen
            seen.add(text)
            named.append((text if is_symbol else _OTHER, size))
        # A size that only others are derived from is no size of an input.
        roots = [s for s, _ in self._symbols.values() if isinstance(s, taeda.SymInt)]
        return named + [(str(s), s) for s in roots if str(s).isidentifier() and str(s) not in seen]

    def _expressions(self):
        """The symbols of all sizes, and the sizes that are derived from them."""
        found = {}
        for size in self._sizes:
            if isinstance(size, taeda.SymInt) and size.node.expr.free_symbols:
                found |= dict.fromkeys(sorted(size.node.expr.free_symbols, key=str))
                found[size.node.expr] = None
        return [*found, *self._unbacked()]

    def _unbacked(self):
        """Integers of the program that only data tells, unless they are found to be others."""
        replaced = self.env.replacements
        symbols = [s for s in self.env.var_to_range if self.env.is_unbacked_symint(s)]
        return [s for s in symbols if str(s).startswith("u") and s not in replaced]

    def _specializations(self):
        """What became of derived dimensions whose roots the program fixed."""
        roots, lines = {}, []
        for dim, source, size in self._derived:
            now = str(self.env.simplify(size.node.expr))
            if now.isdigit():
                roots[dim.root.__name__] = None
                lines.append(
                    f"\n  - solving the guards generated for {dim.__name__} = {source} resulted "
                    f"in a specialized value of {now}."
                )
        if not lines:
            return ""
        return f"\nSpecializations unexpectedly required ({', '.join(roots)})!{''.join(lines)}"

    def _suggestions(self):
        fixes = []
        for name, (symbol, _) in self._symbols.items():
            is_symbolic = isinstance(symbol, taeda.SymInt)
            now = self.env.simplify(symbol.node.expr) if is_symbolic else symbol
            if str(now).isdigit():
                fixes.append(f"  {name} = {now}")
                continue
            relation = self._relation(now) if is_symbolic else name
            if relation != name:
                fixes.append(f"  {name} = {relation}")
                continue
            divisor = self._divisor(now)
            if divisor is not None:
                low, high = self._divided_range(now, divisor)
                fixes.append(f"  _{name} = Dim('_{name}', min={low}, max={high})")
                fixes.append(f"  {name} = {divisor}*_{name}")
                continue
            bounds = self.env.bound_sympy(now)
            parts = [f"'{name}'"]
            if bounds.lower > 2:
                parts.append(f"min={bounds.lower}")
            if bounds.upper != float("inf"):
                parts.append(f"max={bounds.upper}")
            if len(parts) > 1:
                fixes.append(f"  {name} = Dim({', '.join(parts)})")
        return "\nSuggested fixes:\n" + "\n".join(fixes) if fixes else ""

    def _relation(self, expr):
        """The expression in the names of dimensions."""
        text = str(expr)
        for symbol in expr.free_symbols:
            text = re.sub(rf"\b{symbol}\b", self._owners.get(str(symbol), str(symbol)), text)
        return text

    def _divisor(self, symbol):
        """The number of which a size must be a multiple; None if it may be anything."""
        name, guards = re.escape(str(symbol)), self.env.format_guards()
        forms = (rf"Eq\(Mod\({name}, (\d+)\), 0\)", rf"Eq\((\d+)\*\({name}//\1\), {name}\)")
        found = next(filter(None, (re.search(form, guards) for form in forms)), None)
        return int(found[1]) if found else None

    def _divided_range(self, symbol, divisor):
        bounds = self.env.bound_sympy(symbol)
        high = "oo" if bounds.upper == float("inf") else int(bounds.upper) // divisor
        return -(-int(bounds.lower) // divisor), high


def _declared_range(dim, found):
    """The declared range, unless the program allows less: tracing alone makes sizes at least 2."""
    traced_low = max(dim.root.min, 2) * dim._scale + dim._shift
    low = dim.min if found.lower <= traced_low else found.lower
    return ValueRanges(low, min(dim.max, found.upper))


def dims_of_leaf(name, tensor, shape):
    """{dimension: its specification}"""
    if shape is None:
        return {}
    if isinstance(shape, dict):
        wrong = [i for i in shape if not -tensor.dim() <= i < tensor.dim()]
        if wrong:
            raise UserError(
                f"Expected dynamic_shapes of {name} to name dimensions of a {tensor.dim()}-"
                f"dimensional tensor, got {wrong[0]}"
            )
        return {i % tensor.dim(): dim for i, dim in shape.items()}
    if len(shape) != tensor.dim():
        raise UserError(
            f"Expected dynamic shape spec {shape} of {name} to have the same length as the actual "
            f"tensor shape {tuple(tensor.size())} (expected {tensor.dim()}, but got {len(shape)} "
            "instead)"
        )
    return dict(enumerate(shape))


def _strides(tensor, sizes):
    """Strides as products of sizes where they are that, else as they are."""
    known = {1: 1}
    strides = [None] * tensor.dim()
    order = sorted(range(tensor.dim()), key=lambda i: (tensor.stride(i), tensor.size(i)))
    for i in order:
        strides[i] = known.get(tensor.stride(i), tensor.stride(i))
        known.setdefault(tensor.stride(i) * tensor.size(i), strides[i] * sizes[i])
    return strides
