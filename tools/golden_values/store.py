"""The files of golden values: gzipped lines of JSON, one file per family, one line per sample.

    {"op": "add.Tensor", "sample": "t(2,3), t(2,3)", "inputs": "6e0c...",
     "float64": {"results": [{"dtype": "float64", "shape": [2, 3], "stride": [3, 1],
                              "values": [...]}],
                 "grads": {"self": {...}, "other": null}},
     "bool": {"refused": "RuntimeError"}}

Values are in row-major order, those of complex numbers one after the other. Every float is written
with the digits that give it back exactly. The same values give the same bytes.
"""

import gzip
import hashlib
import json
import struct
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden"


def path_of(family):
    return FOLDER / f"{family}.jsonl.gz"


def write(family, lines):
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path_of(family).write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def read(family):
    """The lines of a family by (operator, sample)."""
    path = path_of(family)
    if not path.exists():
        return {}
    lines = map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())
    return {(line["op"], line["sample"]): line for line in lines}


def encoded(value):
    """A result of either framework: a tensor's dtype, shape, strides and values, or a number."""
    if value is None or not hasattr(value, "tolist"):
        return number(value)
    name = str(value.dtype).rpartition(".")[2]
    return {
        "dtype": name,
        "shape": list(value.shape),
        "stride": list(value.stride()),
        "values": [shortest(x, name) for x in plain(value)],
    }


def plain(tensor):
    """A tensor's numbers in row-major order; two per complex number."""
    values = tensor.detach().reshape(-1).tolist()
    if tensor.is_complex():
        return [part for z in values for part in (z.real, z.imag)]
    return [int(x) for x in values] if values and isinstance(values[0], bool) else values


def number(value):
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return {"number": value}


def shortest(x, dtype):
    """A number with no more digits than its dtype needs."""
    if dtype not in ("float32", "complex64") or x != x or x in (float("inf"), float("-inf")):
        return x
    for digits in range(1, 10):
        text = float(f"{x:.{digits}g}")
        if struct.pack("f", text) == struct.pack("f", x):
            return text
    return x


def fingerprint(calls):
    """A hash of what the calls are made with: golden values of other inputs are stale."""
    digest = hashlib.sha256()
    for call in calls:
        digest.update(repr(described(call.arguments())).encode())
    return digest.hexdigest()[:12]


def described(value):
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    if isinstance(value, dict):
        return {name: described(item) for name, item in value.items()}
    if hasattr(value, "tolist"):
        flags = (value.is_conj(), value.is_neg())
        return (str(value.dtype), tuple(value.shape), value.stride(), flags, value.tolist())
    return "generator" if hasattr(value, "initial_seed") else str(value)
