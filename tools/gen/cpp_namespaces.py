"""Functions of `linalg` and `special` under their short names, as C++ programs for PyTorch call them."""

from cpp_ops import function_name, out_first, parameters, return_type, with_functions

NAMESPACES = ("linalg", "special")
# Functions of the top level that are special ones too, and those that have another name there.
SAME = "digamma erf erfc erfinv exp2 expm1 i0 log1p log_softmax logit logsumexp polygamma round"
SAME += " sinc softmax xlogy"
OTHER_NAMES = {
    "digamma": "psi",
    "igamma": "gammainc",
    "igammac": "gammaincc",
    "lgamma": "gammaln",
    "mvlgamma": "multigammaln",
    "sigmoid": "expit",
}


def _names(space, name):
    """The short names of a function in a namespace."""
    if name.startswith(space + "_"):
        return [name.removeprefix(space + "_")]
    if space != "special":
        return []
    same = [name] if name in SAME.split() else []
    return same + [OTHER_NAMES[name]] if name in OTHER_NAMES else same


def _function(schema, name):
    shown = out_first(schema) if schema.outs else parameters(schema, True)
    rest = [a for a in schema.arguments if a not in schema.outs]
    call = ", ".join(a.name for a in [*schema.outs, *rest])
    ending = "_out" if schema.outs else ""
    return (
        f"inline {return_type(schema)} {name}{ending}({shown}) "
        f"{{ return ::taeda::{function_name(schema)}({call}); }}"
    )


def functions(records):
    """namespace taeda::linalg { inline Tensor det(...) ... }"""
    code = []
    for space in NAMESPACES:
        lines = [
            _function(s, name)
            for r in with_functions(records)
            for s in r.schemas
            for name in _names(space, s.name)
        ]
        code.append(f"namespace taeda::{space} {{\n\n" + "\n".join(lines) + "\n\n}\n")
    return "\n".join(code)
