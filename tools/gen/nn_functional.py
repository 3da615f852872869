"""Functions of taeda.nn.functional that only call their operator, and operators that are found there.

A record's python.functional is a table of

  signature  the function's Python parameters, where they are not the operator's: a `self` of the
             schema is `input`, `inplace` chooses the in-place form, a `reduction` that is a name
             becomes the operator's number (`size_average` and `reduce` are its older spelling)
  names      other Python names of the schema's arguments, {train = "training"}
  doc        its docstring, where the operator's speaks of other arguments
  name       the function's name where it is not the operator's
  fixed      arguments that the function gives without asking, {cudnn_enabled = "True"}
  inplace    true where the in-place form is a record of its own
  method     true where PyTorch's function is a call of the method, which is what overrides see

and of Python expressions over the parameters. Their functions are those of taeda/nn/_checks.py:

  check      a call that refuses arguments, or warns of them, before all else; or a list of calls
  missing    what stands for a parameter that is None, {dim = "softmax_dim(input.dim())"}
  convert    what the operator gets in place of a parameter, {padding_idx = "row(padding_idx)"}
  unused     parameters that PyTorch's function has and that change nothing
  first_unless   the parameter that asks for all results of the operator, else the first is given
  instead    records that are called in this one's place, each with the condition under which it is,
             {_weighted_mse_loss = "weight is not None"}; they have the same names of arguments

Without a signature the operator itself is the function. Nothing here computes: what a function does
beside its operator's call is an operator too.
"""

import ast

PATH = "python/taeda/nn/_generated_functional.py"
FIELDS = {
    "signature",
    "names",
    "doc",
    "name",
    "fixed",
    "inplace",
    "method",
    "check",
    "missing",
    "convert",
    "instead",
    "first_unless",
    "unused",
}
OLD_REDUCTION = ["size_average", "reduce"]
HEAD = '''"""Functions with PyTorch's signatures, generated from the operator records."""

from taeda import _C
from taeda._C import _nn
from taeda.nn import _checks
from taeda.overrides import _handle_call, has_torch_function_unary, has_torch_function_variadic
'''


def _fail(r, text):
    raise SystemExit(f"{r.family}/records.toml: [{r.key}]: {text}")


def _owner(r):
    return f"_{r.python_module}" if r.python_module else "_C"


def _words(expression):
    return {n.id for n in ast.walk(ast.parse(expression, mode="eval")) if isinstance(n, ast.Name)}


class Function:
    """The function that a record with a signature makes."""

    def __init__(self, r, by_name):
        self.r = r
        self.given = r.data["python"]["functional"]
        self.signature = self.given["signature"]
        self.name = self.given.get("name", r.python_name)
        self.instead = []
        for name, condition in self.given.get("instead", {}).items():
            if name not in by_name:
                _fail(r, f"python.functional: {name!r} is no record")
            self.instead.append((by_name[name], condition))
        self.operators = [r, *(other for other, _ in self.instead)]
        self.parameters = self._parameters()
        # A parameter of the function's name would hide it inside the function.
        self.inner = f"_{self.name}" if self.name in self.parameters else self.name

    def _parameters(self):
        """The names of the signature, all of them understood."""
        known = {self._python_name(a) for r in self.operators for a in r.schema.arguments}
        known |= {"inplace"} if self.r.inplace or self.given.get("inplace") else set()
        known |= {"out"} if self.r.out else set()
        known |= set(OLD_REDUCTION) if "reduction" in known else set()
        for field in ("missing", "convert", "instead"):
            known |= {w for text in self.given.get(field, {}).values() for w in _words(text)}
        known |= {self.given.get("first_unless"), *self.given.get("unused", [])}
        names = [a.arg for a in ast.parse(f"def f({self.signature}): ...").body[0].args.args]
        if unknown := [n for n in names if n not in known]:
            _fail(self.r, f"python.functional: {unknown} are no arguments")
        return names

    def _python_name(self, a):
        return self.given.get("names", {}).get(a.name, "input" if a.name == "self" else a.name)

    def _value(self, name):
        """The expression that a parameter reaches the operator as."""
        if name in self.given.get("convert", {}):
            return f"_checks.{self.given['convert'][name]}"
        if name != "reduction":
            return name
        old = "".join(f", {n}" for n in OLD_REDUCTION if n in self.parameters)
        return f"_checks.reduction_number(reduction{old})"

    def _call(self, r, suffix=""):
        """The operator's call: by position up to the first argument left out, by name from there."""
        fixed = self.given.get("fixed", {})
        parts, is_positional = [], True
        for a in r.schema.arguments:
            name = self._python_name(a)
            is_given = a.name in fixed or name in self.parameters
            is_positional &= is_given and not a.is_kwarg_only
            if is_given:
                value = fixed[a.name] if a.name in fixed else self._value(name)
                parts.append(value if is_positional else f"{a.name}={value}")
        if self.given.get("method"):
            return f"{parts[0]}.{r.python_name}({', '.join(parts[1:])})"
        if "out" in self.parameters:
            parts.append("out=out")
        return f"{_owner(r)}.{r.python_name}{suffix}({', '.join(parts)})"

    def _override(self):
        """The statement that lets an override take the call."""
        known = {self._python_name(a) for r in self.operators for a in r.schema.tensors} | {"out"}
        tensors = [name for name in self.parameters if name in known]
        kind, comma = ("unary", ",") if len(tensors) == 1 else ("variadic", "")
        asked = ", ".join(tensors)
        return (
            f"    if has_torch_function_{kind}({asked}):\n"
            f"        return _handle_call({self.inner}, ({asked}{comma}), locals())\n"
        )

    def code(self):
        checks = self.given.get("check", [])
        lines = [f"    _checks.{c}\n" for c in ([checks] if isinstance(checks, str) else checks)]
        for name, value in self.given.get("missing", {}).items():
            lines.append(f"    if {name} is None:\n        {name} = _checks.{value}\n")
        for other, condition in self.instead:
            lines.append(f"    if {condition}:\n        return {self._call(other)}\n")
        call = self._call(self.r)
        if "inplace" in self.parameters:
            call = f"{self._call(self.r, '_')} if inplace else {call}"
        if "first_unless" in self.given:
            lines.append(f"    results = {call}\n")
            call = f"results if {self.given['first_unless']} else results[0]"
        text = (
            f"def {self.inner}({self.signature}):\n"
            f'    """{self.given.get("doc", self.r.data["doc"]).strip()}"""\n'
            f"{'' if self.given.get('method') else self._override()}"
            f"{''.join(lines)}"
            f"    return {call}\n"
        )
        return text + (f"\n\n{self.name} = {self.inner}\n" if self.inner != self.name else "")


def code(records):
    """The module's text."""
    by_name = {r.key: r for r in records}
    parts, names = [], []
    for r in records:
        given = r.data.get("python", {}).get("functional")
        if given is None:
            continue
        if unknown := set(given) - FIELDS:
            _fail(r, f"python.functional: unknown fields {sorted(unknown)}")
        name = given.get("name", r.python_name)
        names.append(name)
        if "signature" in given:
            function = Function(r, by_name)
            parts.append(function.code())
            if function.inner != name:
                names.append(function.inner)
        else:
            parts.append(f"{name} = {_owner(r)}.{r.python_name}\n")
        # What PyTorch has at its top level and here.
        if "inplace" in given.get("signature", "") and r.inplace and not r.python_module:
            names.append(name + "_")
            parts.append(f"{name}_ = {_owner(r)}.{r.python_name}_\n")
    return "\n\n".join([HEAD, *parts, f"__all__ = {names!r}\n"])
