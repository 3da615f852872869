"""Operators over lists of tensors: records that repeat another one for each row of their lists.

A record of this kind says `each = "add.Tensor"`. Lists among its arguments give row i of a call
their item i, and everything else follows from the repeated record: the in-place form where that one
has it or is pointwise, samples, the calls, and, where it is pointwise, a kernel that runs all rows
at once (cpp_repeats.py). A name in the family's own `each` is a unary operator.
"""

from dataclasses import replace

import schema as schemas


def unary(name):
    """The record of a unary operator over a list."""
    key = f"_foreach_{name}"
    return key, {"schema": f"{key}(Tensor[] self) -> Tensor[]", "each": name}


def _written(s):
    """The schema of the in-place form."""
    first = replace(s.arguments[0], alias="a", is_written=True)
    return schemas.Schema(s.name + "_", s.overload, (first, *s.arguments[1:]), ())


_SAMPLES = {"Tensor": "t()", "Scalar": "1.5", "bool": "false"}
_LISTS = {"Tensor": "[t(2,3), t(4)]", "Scalar": "[1.5, 2]"}


def _sample(s, base):
    """A call with positive numbers where the repeated record's samples have them."""
    needed = [a for a in s.arguments if a.default is None]
    text = ", ".join((_LISTS if a.type.is_list else _SAMPLES)[a.type.base] for a in needed)
    is_positive = "p(" in base.data.get("samples", [""])[0]
    return text.replace("t(", "p(") if is_positive else text


def expanded(data, base):
    """(key, data) of the records that one over lists stands for."""
    s = schemas.parse(data["schema"])
    name = base.schema.name.rstrip("_")
    # What is pointwise writes into a tensor of its first operand's shape, by that name or not.
    is_written = base.inplace or (base.kind == "pointwise" and base.out)
    is_written = is_written and s.arguments[0].type.is_list
    forms = [s, _written(s)] if is_written else [s]
    for form in forms:
        writes = form.is_inplace
        derived = {
            "kind": "composite",
            "variants": ["function"],
            "accept": "f",
            "samples": [_sample(form, base)],
            "doc": f"`{name}` of each row of the lists{', in place' if writes else ''}.",
            "at_once": can_run_at_once(base),
        }
        if writes:
            derived |= {"comes_apart": True, "python": {"gives_first": True}}
        yield form.full_name, {**derived, **data, "schema": form.text}


def can_run_at_once(base):
    """Whether the repeated record is one body, which a kernel can run over several rows."""
    return base.kind == "pointwise" and len(base.bodies) == 1 and "uniforms" not in base.data
