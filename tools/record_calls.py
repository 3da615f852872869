"""The records' sample calls in Python: of which operator, in which dtypes, with which arguments."""

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import taeda

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools" / "gen"))
import records as generator_records  # noqa: E402

DTYPES = {
    "b": ("bool",),
    "i": ("int64", "int32", "int16", "int8", "uint8"),
    "f": ("float64", "float32", "float16", "bfloat16"),
    "c": ("complex128", "complex64"),
}
CLASS_OF = {getattr(taeda, name): letter for letter, names in DTYPES.items() for name in names}


@cache
def records():
    """Every operator record, by name."""
    return {r.key: r for r in generator_records.load(ROOT / "taeda" / "ops")}


@cache
def _samples():
    return taeda._C._dispatch.samples()


def sampled():
    """The records that have samples."""
    return {key: records()[key] for key in _samples()}


def accept(key):
    """The dtype classes in which a record's samples are made."""
    return _samples()[key][0]


def texts(key):
    return _samples()[key][1] if key in _samples() else ()


def takes(key, dtype):
    return CLASS_OF[dtype] in accept(key)


def overload(key):
    """The operator itself: calls go through the dispatcher and nothing else."""
    name, _, rest = key.partition(".")
    return getattr(getattr(taeda.ops.aten, name), rest or "default")


@dataclass(frozen=True)
class Call:
    """A sample in a dtype. Its arguments are made anew each time: calls may write to them."""

    key: str
    text: str
    dtype: object

    @property
    def record(self):
        return records()[self.key]

    def arguments(self):
        """Positional and keyword-only arguments; None where the dtype cannot hold a number."""
        return taeda._C._dispatch.read_sample(self.key, self.text, self.dtype)

    def __str__(self):
        return f"{self.key}({self.text}) in {str(self.dtype).rpartition('.')[2]}"


def calls(key, dtype):
    """The sample calls of a record that can be made in a dtype; none if it does not take it."""
    if key not in _samples() or not takes(key, dtype):
        return []
    found = (Call(key, text, dtype) for text in texts(key))
    return [call for call in found if call.arguments() is not None]


def differentiable(record):
    """Names of the arguments that have a derivative."""
    if record.kind == "composite":
        return [] if "no_grad" in record.data else [a.name for a in record.schema.tensors]
    return list(record.grad)


def unchecked(record):
    """Reasons why derivatives are not those of values, by argument or sample; {"": why} for all."""
    reasons = record.data.get("no_gradcheck", {})
    return {"": reasons} if isinstance(reasons, str) else reasons


def named(record, args, kwargs):
    """The arguments by the schema's names."""
    names = [a.name for a in record.schema.arguments if not a.is_kwarg_only]
    return {**dict(zip(names, args)), **kwargs}


def is_number(tensor):
    """Whether derivatives with respect to a tensor may exist."""
    return tensor.is_floating_point() or tensor.is_complex()
