"""Writes repr.json: PyTorch's printed form of a few hundred tensors. Run it with PyTorch installed.

Each record holds a source expression over `t` (the module), `nan` and `inf`, the print options and
default dtype it is printed under, and the text.
"""

import json
import math
import pathlib
import random

import torch

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
SHAPES = ((), (1,), (3,), (7,), (25,), (1, 1), (2, 3), (5, 4), (2, 3, 4), (2, 1, 2, 3), (2, 0, 1))


def nested(shape, draw):
    if not shape:
        return draw()
    return [nested(shape[1:], draw) for _ in range(shape[0])]


def source(shape, draw, dtype):
    return f"t.tensor({nested(shape, draw)!r}, dtype=t.{dtype})"


def float_draws(rng):
    """Ways of choosing a number, from tame to wild."""
    specials = [math.nan, math.inf, -math.inf, 0.0, -0.0]
    return {
        "unit": lambda: round(rng.random(), 6),
        "normal": lambda: round(rng.gauss(0, 3), 6),
        "whole": lambda: float(rng.randint(-9, 99)),
        "big whole": lambda: float(rng.randint(-(10**5), 10**5)),
        "huge": lambda: float(f"{rng.gauss(0, 1) * 10.0 ** rng.randint(-4, 4):.5g}"),
        "tiny": lambda: float(f"{rng.gauss(0, 1) * 1e-5:.5g}"),
        "special": lambda: rng.choice([*specials, 1.0, 2.5]),
        "special whole": lambda: rng.choice([*specials, 3.0, -12.0]),
        "only special": lambda: rng.choice(specials),
    }


def literal_sources(rng):
    for shape in SHAPES:
        for name, draw in float_draws(rng).items():
            dtype = rng.choice(FLOATS) if name != "huge" else rng.choice(FLOATS[:2])
            yield source(shape, draw, dtype)
        for dtype in rng.sample(INTS, 2):
            low = 0 if dtype == "uint8" else -100
            yield source(shape, lambda low=low: rng.randint(low, 100), dtype)
        yield source(shape, lambda: rng.randint(-(2**63), 2**63 - 1), "int64")
        yield source(shape, lambda: rng.random() < 0.5, "bool")
        for name in ("normal", "whole", "special", "huge"):
            draw = float_draws(rng)[name]
            dtype = rng.choice(("complex64", "complex128"))
            parts = [repr(nested(shape, draw)) for _ in range(2)]
            part_dtype = "float32" if dtype == "complex64" else "float64"
            real, imag = (f"t.tensor({part}, dtype=t.{part_dtype})" for part in parts)
            yield f"t.complex({real}, {imag})"


LARGE = (
    "t.arange(1000)",
    "t.arange(1001)",
    "t.arange(1001).to(t.float32)",
    "t.arange(4096).reshape(64, 64)",
    "t.arange(4096).reshape(64, 64).to(t.float64) / 8",
    "t.arange(4096).reshape(2, 2048) % 7 == 0",
    "t.arange(4096).reshape(2048, 2).to(t.int8)",
    "t.arange(5040).reshape(7, 8, 9, 10)",
    "t.arange(5040).reshape(7, 8, 9, 10).to(t.float32) / 64",
    "t.arange(5040).reshape(2, 3, 4, 5, 42).to(t.bfloat16)",
    "t.complex(t.arange(1200).to(t.float32) / 16, -t.arange(1200).to(t.float32)).reshape(30, 40)",
    "t.zeros(40, 40)",
    "t.ones(1200, dtype=t.float16)",
    "t.full((1100,), nan)",
    "t.arange(2000).reshape(40, 50).t()",
    "t.arange(300).reshape(10, 30)",
    "t.arange(2000)[::2]",
)

EMPTY_AND_META = (
    "t.empty(0)",
    "t.empty(0, dtype=t.int64)",
    "t.empty(0, dtype=t.float64)",
    "t.empty(2, 0, 3)",
    "t.empty(0, 4, dtype=t.bool)",
    "t.empty(0, 4, requires_grad=True)",
    "t.empty(2, 3, device='meta')",
    "t.empty((), device='meta')",
    "t.empty(5, dtype=t.int64, device='meta')",
    "t.empty(2, 3, dtype=t.bfloat16, device='meta', requires_grad=True)",
    "t.empty(0, device='meta')",
    "t.empty(2**20, 2**20, device='meta').t()",
    "t.empty(3, 4, device='meta', requires_grad=True) * 2",
)

WITH_GRAD = (
    "t.ones(3, requires_grad=True)",
    "t.ones((), requires_grad=True)",
    "t.ones(3, requires_grad=True) * 2",
    "t.ones(3, requires_grad=True) + 1",
    "t.ones(3, requires_grad=True) - 1",
    "t.ones(3, requires_grad=True) / 3",
    "-t.ones(3, requires_grad=True)",
    "t.ones(2, 3, requires_grad=True).sum()",
    "t.ones(2, 3, requires_grad=True).sum(0)",
    "t.ones(2, 3, requires_grad=True).mean()",
    "t.ones(2, 3, requires_grad=True).exp()",
    "t.ones(2, 3, requires_grad=True)[0]",
    "t.ones(2, 3, requires_grad=True)[:, 1:]",
    "t.ones(2, 3, requires_grad=True).view(6)",
    "t.ones(2, 3, requires_grad=True).t()",
    "t.ones(2, 3, requires_grad=True).transpose(0, 1)",
    "t.ones(2, 3, requires_grad=True).permute(1, 0)",
    "t.ones(2, 3, requires_grad=True).unsqueeze(0)",
    "t.ones(2, 3, requires_grad=True).expand(2, 2, 3)",
    "t.ones(2, 3, requires_grad=True).clone()",
    "t.ones(2, 3, requires_grad=True).detach()",
    "t.ones(2, 3, requires_grad=True) @ t.ones(3, 2)",
    "t.ones(2, 3, requires_grad=True).softmax(1)",
    "t.ones(2, 3, requires_grad=True).relu()",
    "t.ones(2, 3, requires_grad=True).unbind()[0]",
    "t.cat([t.ones(2, requires_grad=True), t.zeros(2)])",
    "t.stack([t.ones(2, requires_grad=True), t.zeros(2)])",
    "t.ones(2, 2, dtype=t.float64, requires_grad=True).tanh()",
    "t.ones(12, dtype=t.float64, requires_grad=True)",
    "t.ones(13, dtype=t.float64, requires_grad=True).sqrt()",
    "t.ones(40, 40, requires_grad=True)",
)

OPTIONS = (
    {"precision": 2},
    {"precision": 8},
    {"precision": 0},
    {"sci_mode": True},
    {"sci_mode": False},
    {"sci_mode": True, "precision": 2},
    {"linewidth": 40},
    {"linewidth": 120},
    {"linewidth": 8},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 2},
    {"threshold": 5, "edgeitems": 0},
    {"profile": "short"},
    {"profile": "full", "linewidth": 60},
)


def record(expression, options=None, default_dtype="float32"):
    torch.set_default_dtype(getattr(torch, default_dtype))
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**(options or {}))
    tensor = eval(expression, {"t": torch, "nan": math.nan, "inf": math.inf})
    return {
        "source": expression,
        "options": options or {},
        "default_dtype": default_dtype,
        "text": repr(tensor),
    }


def main():
    rng = random.Random(20)
    plain = list(literal_sources(rng))
    records = [record(source) for source in (*plain, *LARGE, *EMPTY_AND_META, *WITH_GRAD)]
    for options in OPTIONS:
        chosen = rng.sample(plain, 6) + rng.sample(LARGE[:-3], 1)
        records += [record(source, options) for source in chosen]
    chosen = rng.sample(plain, 12) + list(EMPTY_AND_META)
    records += [record(source, default_dtype="float64") for source in chosen]
    path = pathlib.Path(__file__).with_name("repr.json")
    lines = ",\n".join(json.dumps(entry) for entry in records)
    path.write_text(f"[\n{lines}\n]\n")
    print(f"{len(records)} records in {path.name}")


if __name__ == "__main__":
    main()
