"""Writes promotion.json: the dtypes of PyTorch's results. Run it with PyTorch installed.

`promote_types`, `can_cast` and the operators are tables: a row a left dtype, a column a right one.
A cell is the name of the result's dtype, or of the exception that the call raises.
"""

import json
import pathlib
import warnings

import torch

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
RARE = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]
BINARY = [
    "add", "sub", "mul", "div", "pow", "maximum", "atan2", "remainder", "floor_divide",
    "lt", "eq", "logical_and", "bitwise_and",
]  # fmt: skip
UNARY = [
    "neg", "abs", "exp", "log1p", "sqrt", "tanh", "sigmoid", "erf", "floor", "sign", "reciprocal",
    "isnan", "logical_not", "relu", "sum", "mean", "prod", "amax", "argmax", "any", "var",
]  # fmt: skip
SCALARS = ["True", "3", "2.5", "1j"]
FORMS = {
    "tensor, tensor": ("t.ones(2, dtype=t.{0})", "t.ones(2, dtype=t.{1})"),
    "tensor, zero-dim": ("t.ones(2, dtype=t.{0})", "t.ones((), dtype=t.{1})"),
    "zero-dim, tensor": ("t.ones((), dtype=t.{0})", "t.ones(2, dtype=t.{1})"),
    "tensor, number": ("t.ones(2, dtype=t.{0})", "{1}"),
    "zero-dim, number": ("t.ones((), dtype=t.{0})", "{1}"),
}


def cell(expression):
    """The dtype that an expression over `t` gives, or the exception it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(expression, {"t": torch})
    except Exception as error:
        return type(error).__name__
    if isinstance(result, bool):
        return result
    dtype = result.dtype if isinstance(result, torch.Tensor) else result
    return str(dtype).removeprefix("torch.")


def table(template, rows, columns=("",)):
    return {
        "expression": template,
        "rows": list(rows),
        "columns": list(columns),
        "cells": [[cell(template.format(row, column)) for column in columns] for row in rows],
    }


def main():
    every = DTYPES + RARE
    tables = {
        "promote_types": table("t.promote_types(t.{0}, t.{1})", every, every),
        "can_cast": table("t.can_cast(t.{0}, t.{1})", DTYPES, DTYPES),
    }
    for form, (left, right) in FORMS.items():
        columns = SCALARS if "number" in form else DTYPES
        tables[f"result_type: {form}"] = table(f"t.result_type({left}, {right})", DTYPES, columns)
        for name in BINARY:
            if "number" in form and name in ("maximum", "atan2", "logical_and"):
                continue
            tables[f"{name}: {form}"] = table(f"t.{name}({left}, {right})", DTYPES, columns)
    for name in UNARY:
        tables[name] = table(f"t.{name}(t.ones(2, dtype=t.{{0}}))", DTYPES)
    for name in ("cumsum", "softmax", "logsumexp"):
        tables[name] = table(f"t.{name}(t.ones(2, dtype=t.{{0}}), 0)", DTYPES)
    tables["cat"] = table("t.cat([t.ones(2, dtype=t.{0}), t.ones(2, dtype=t.{1})])", DTYPES, DTYPES)
    tables["where"] = table(
        "t.where(t.ones(2, dtype=t.bool), t.ones(2, dtype=t.{0}), t.ones(2, dtype=t.{1}))",
        DTYPES,
        DTYPES,
    )
    path = pathlib.Path(__file__).with_name("promotion.json")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in tables.items())
    path.write_text(f"{{\n{lines}\n}}\n")
    print(f"{len(tables)} tables in {path.name}")


if __name__ == "__main__":
    main()
