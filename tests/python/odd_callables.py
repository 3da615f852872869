"""The public callables of Taeda, found by looking, with what is known of their arguments.

Functions of the namespaces, methods and attributes of the classes, and every overload of the
operators. The types of arguments come from the schemas that docstrings begin with; a Python
function's arguments get the type that most schemas give to an argument of that name.
"""

import collections
import dataclasses
import inspect
import re

import taeda

# Namespaces by their path below `taeda`; those that are missing are passed over.
NAMESPACES = (
    *("", "nn.functional", "linalg", "fft", "special", "func", "autograd", "testing"),
    *("nn", "nn.init", "nn.utils", "autograd.functional", "cpu", "random"),
)

# Classes whose methods are called, with an expression for an instance; a tensor's is drawn.
CLASSES = {
    "Tensor": None,
    "Generator": "t.Generator()",
    "Size": "t.Size([2, 3])",
    "UntypedStorage": "t.ones(2, 3).untyped_storage()",
    "TypedStorage": "t.ones(2, 3).storage()",
    "dtype": "t.float32",
    "device": "t.device('cpu')",
}

LEFT_OUT = {
    "t.while_loop": "a condition that stays true never ends",
    "t.set_num_threads": "starts as many threads as the number says",
}
# Attributes of every class, and those that only a class statement or `copy` calls.
OBJECT_NAMES = {*dir(object), "__dict__", "__weakref__", "__slots__", "__getstate__"}
OBJECT_NAMES -= {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
OBJECT_NAMES -= {"__repr__", "__str__", "__format__", "__hash__", "__reduce_ex__", "__sizeof__"}

INDEXED = {"__getitem__": ("index",), "__setitem__": ("index", "any"), "__delitem__": ("index",)}


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    type: str
    is_keyword: bool = False
    is_optional: bool = False


@dataclasses.dataclass(frozen=True)
class OddCallable:
    """What stands before the parenthesis of a call.

    `receiver` is an expression for the object whose method it is, "Tensor" for a drawn tensor, None
    for a function. A call that `changes_process` is to run in a process of its own.
    """

    text: str
    signatures: tuple
    receiver: str | None = None
    is_attribute: bool = False
    changes_process: bool = False


# ---- signatures ----

_SCHEMA = re.compile(r"^(?:aten::)?[\w.]+\((.*)\) -> ", re.DOTALL)


def _split(arguments):
    """Parts between commas that stand in no bracket."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(arguments):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(arguments[begin:i])
            begin = i + 1
    return [part.strip() for part in (*parts, arguments[begin:]) if part.strip()]


def parse_schema(text):
    """The parameters of a schema's text, or None where it isn't one."""
    match = _SCHEMA.match(text)
    if match is None:
        return None
    found, is_keyword = [], False
    for part in _split(match[1]):
        if part.startswith("*"):
            is_keyword = True
            continue
        declared, equals, _ = part.partition("=")
        schema_type, _, name = declared.rpartition(" ")
        if not name.isidentifier():
            return None
        schema_type = re.sub(r"\([^)]*\)", "", schema_type) or "any"
        found.append(Parameter(name, schema_type, is_keyword, bool(equals)))
    return tuple(found)


def _documented(function):
    lines = (getattr(function, "__doc__", None) or "").split("\n\n")[0].splitlines()
    parsed = (parse_schema(line) for line in lines)
    return [parameters for parameters in parsed if parameters is not None]


def _inspected(function, types):
    try:
        given = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return None
    found = []
    for p in given:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            found.append(Parameter("", "any", False, True))
            continue
        is_keyword = p.kind is p.KEYWORD_ONLY
        found.append(Parameter(p.name, types(p.name), is_keyword, p.default is not p.empty))
    return tuple(found)


ANYTHING = (
    Parameter("", "any"),
    Parameter("", "any", False, True),
    Parameter("", "any", False, True),
)


class _Types:
    """Types by an argument's name, learnt from the schemas of all operators."""

    def __init__(self, schemas):
        counts = collections.defaultdict(collections.Counter)
        for parameters in schemas:
            for p in parameters:
                counts[p.name][p.type] += 1
        self.types = {name: counter.most_common(1)[0][0] for name, counter in counts.items()}
        # Python functions call the first tensor `input`, and the other operand of `+` is `value`.
        self.types["input"] = "Tensor"
        self.types["value"] = self.types["other"] = "any"

    def __call__(self, name):
        if name.startswith(("func", "fn", "f_")) or name.endswith(("_fn", "_hook", "hook")):
            return "function"
        return self.types.get(name, "any")


# ---- what there is ----


def _operators():
    """Overloads of public operators: expression and parameters."""
    for key in sorted(taeda._dispatch.list_operators()):
        operator, _, overload = key.partition(".")
        if "::" not in key and not operator.startswith("_"):
            parameters = parse_schema(taeda._dispatch.schema(key))
            yield f"t.ops.aten.{operator}.{overload or 'default'}", parameters


def _namespace(path):
    found = taeda
    for name in filter(None, path.split(".")):
        found = getattr(found, name, None)
    return found


def _functions(types):
    for path in NAMESPACES:
        namespace = _namespace(path)
        prefix = f"t.{path}." if path else "t."
        for name in sorted(dir(namespace)) if namespace is not None else ():
            value = getattr(namespace, name)
            if name.startswith("_") or not callable(value) or inspect.ismodule(value):
                continue
            signatures = _documented(value) or [_inspected(value, types) or ANYTHING]
            changes_process = name.startswith(("set_", "use_", "autocast_"))
            yield OddCallable(prefix + name, tuple(signatures), changes_process=changes_process)


def _methods(class_name, instance, types):
    owner = getattr(taeda, class_name)
    receiver = instance or "Tensor"
    for name in sorted(dir(owner)):
        value = inspect.getattr_static(owner, name)
        if name in OBJECT_NAMES or (name.startswith("_") and not name.endswith("__")):
            continue
        if inspect.isdatadescriptor(value) and not callable(value):
            yield OddCallable(name, (), receiver, is_attribute=True)
        elif callable(getattr(owner, name)):
            if name in INDEXED:
                signatures = [tuple(Parameter("", kind) for kind in INDEXED[name])]
            else:
                signatures = _documented(value) or [_inspected(value, types) or ANYTHING]
                signatures = [_without_self(parameters) for parameters in signatures]
            yield OddCallable(name, tuple(signatures), receiver)


def _without_self(parameters):
    """A schema begins with the tensor whose method it is."""
    return parameters[1:] if parameters and parameters[0].name in ("self", "input") else parameters


@dataclasses.dataclass(frozen=True)
class OddSample:
    """A record's sample call: the operator's key, its text, the overloads that take the arguments."""

    key: str
    sample: str
    overloads: tuple
    changes_process = False

    @property
    def text(self):
        return self.key


def find_samples():
    """Sample calls of the records, for their own overload and for the in-place and out forms."""
    keys = set(taeda._dispatch.list_operators())
    found = []
    for key, (_, texts) in sorted(taeda._C._dispatch.samples().items()):
        operator, _, overload = key.partition(".")
        if operator.startswith("_") or "::" in key:
            continue
        in_place = f"{operator}_.{overload}" if overload else operator + "_"
        out_forms = (f"{operator}.{name}" for name in ("out", f"{overload}_out"))
        overloads = tuple(form for form in (key, key, in_place, *out_forms) if form in keys)
        found += [OddSample(key, text, overloads) for text in texts]
    return found


def find_callables():
    """Every public callable, in an order that depends on the tree alone."""
    operators = list(_operators())
    types = _Types(parameters for _, parameters in operators if parameters)
    found = list(_functions(types))
    for class_name, instance in CLASSES.items():
        found += _methods(class_name, instance, types)
    found += [OddCallable(text, (parameters or ANYTHING,)) for text, parameters in operators]
    return [c for c in found if c.text not in LEFT_OUT]
