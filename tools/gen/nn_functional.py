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
  check      a call of a function in taeda/nn/_checks.py that refuses arguments before the operator

Without a signature the operator itself is the function.
"""

import ast

PATH = "python/taeda/nn/_generated_functional.py"
FIELDS = {"signature", "names", "doc", "name", "fixed", "inplace", "check"}
OLD_REDUCTION = ["size_average", "reduce"]
HEAD = '''"""Functions with PyTorch's signatures, generated from the operator records."""

from taeda import _C
from taeda._C import _nn
from taeda.nn import _checks
from taeda.nn._reductions import reduction_number
from taeda.overrides import _handle_call, has_torch_function_unary, has_torch_function_variadic
'''


def _fail(r, text):
    raise SystemExit(f"{r.family}/records.toml: [{r.key}]: {text}")


def _parameters(r, signature):
    """The names of a signature, all of them understood."""
    known = {_python_name(r, a) for a in r.schema.arguments}
    known |= {"inplace"} if r.inplace or r.data["python"]["functional"].get("inplace") else set()
    known |= {"out"} if r.out else set()
    known |= set(OLD_REDUCTION) if "reduction" in known else set()
    names = [a.arg for a in ast.parse(f"def f({signature}): ...").body[0].args.args]
    if unknown := [n for n in names if n not in known]:
        _fail(r, f"python.functional: {unknown} are no arguments")
    return names


def _python_name(r, a):
    given = r.data["python"]["functional"].get("names", {})
    return given.get(a.name, "input" if a.name == "self" else a.name)


def _call(r, names, operator):
    """The operator's call: by position up to the first argument left out, by name from there."""
    fixed = r.data["python"]["functional"].get("fixed", {})
    parts, is_positional = [], True
    for a in r.schema.arguments:
        name = fixed.get(a.name, _python_name(r, a))
        is_positional &= (a.name in fixed or name in names) and not a.is_kwarg_only
        if a.name in fixed or name in names:
            parts.append(name if is_positional else f"{a.name}={name}")
    if "out" in names:
        parts.append("out=out")
    return f"{operator}({', '.join(parts)})"


def _asked(r, names):
    """The test whether an override takes the call, and the arguments that are asked."""
    known = {_python_name(r, a) for a in r.schema.tensors} | {"out"}
    tensors = [name for name in names if name in known]
    kind = "unary" if len(tensors) == 1 else "variadic"
    given = ", ".join(tensors)
    return f"has_torch_function_{kind}({given})", f"({given}{',' if kind == 'unary' else ''})"


def _owner(r):
    return f"_{r.python_module}" if r.python_module else "_C"


def _inner_name(r, name, signature):
    """A parameter of the function's name would hide it inside the function."""
    return f"_{name}" if name in _parameters(r, signature) else name


def _function(r, name, signature):
    names = _parameters(r, signature)
    operator = f"{_owner(r)}.{r.python_name}"
    call = _call(r, names, operator)
    if "inplace" in names:
        call = f"{_call(r, names, operator + '_')} if inplace else {call}"
    before = []
    if "reduction" in names:
        old = "".join(f", {n}" for n in OLD_REDUCTION if n in names)
        before.append(f"    reduction = reduction_number(reduction{old})\n")
    if check := r.data["python"]["functional"].get("check"):
        before.append(f"    _checks.{check}\n")
    test, asked = _asked(r, names)
    inner = _inner_name(r, name, signature)
    text = (
        f"def {inner}({signature}):\n"
        f'    """{r.data["python"]["functional"].get("doc", r.data["doc"]).strip()}"""\n'
        f"    if {test}:\n"
        f"        return _handle_call({inner}, {asked}, locals())\n"
        f"{''.join(before)}"
        f"    return {call}\n"
    )
    return text + (f"\n\n{name} = {inner}\n" if inner != name else "")


def code(records):
    """The module's text."""
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
            parts.append(_function(r, name, given["signature"]))
            if _inner_name(r, name, given["signature"]) != name:
                names.append(_inner_name(r, name, given["signature"]))
        else:
            parts.append(f"{name} = {_owner(r)}.{r.python_name}\n")
        # What PyTorch has at its top level and here.
        if "inplace" in given.get("signature", "") and r.inplace and not r.python_module:
            names.append(name + "_")
            parts.append(f"{name}_ = {_owner(r)}.{r.python_name}_\n")
    return "\n\n".join([HEAD, *parts, f"__all__ = {names!r}\n"])
