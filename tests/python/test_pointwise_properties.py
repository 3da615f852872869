"""Every pointwise record keeps its promises: one result in all forms, shapes without values, no hidden memory."""

import math
import tomllib
from pathlib import Path

import pytest

import taeda

RECORDS = Path(__file__).resolve().parents[2] / "taeda/ops"
CLASSES = {
    "b": ["bool"],
    "i": ["int64", "uint8"],
    "f": ["float32", "bfloat16", "float64"],
    "c": ["complex64"],
}
NUMBERS = {
    "exponent": 2,
    "min": 0.25,
    "max": 0.75,
    "weight": 0.25,
    "value": 1,
    "threshold": 0.5,
    "decimals": 1,
}
NUMBERS |= {"self": 2, "other": 2, "negative_slope": 0.5, "alpha": 1, "self_is_result": False}
NUMBERS |= {"min_val": 0.25, "max_val": 0.75, "scale": 2, "input_scale": 1, "is_result": False}
NUMBERS |= {"beta": 1, "lambd": 0.5, "n": 2}
# Given though they have a default: bytes have no -1.
GIVEN = {"min", "max", "min_val", "max_val"}
MASKS = {"condition", "mask"}
SHAPE = (3, 4)


class Record:
    def __init__(self, key, data):
        self.key, self.data = key, data
        self.name = key.split(".")[0]
        signature = data["schema"][data["schema"].index("(") + 1 : data["schema"].rindex(")")]
        self.arguments, is_keyword = [], False
        for text in signature.split(", "):
            if text == "*":
                is_keyword = True
                continue
            kind, _, rest = text.partition(" ")
            name, _, default = rest.partition("=")
            self.arguments.append((kind, name, default, is_keyword))
        self.variants = data.get("variants", ["function", "method", "inplace", "out"])
        self.tensors = [name for kind, name, _, _ in self.arguments if kind.startswith("Tensor")]

    def dtypes(self):
        letters = self.data.get("accept", "bif")
        if self.data.get("dtype") == "float":
            letters += "i"
        found = [d for c in letters for d in CLASSES[c]]
        takes_halves = "check_full_float" not in self.data.get("check", "")
        return [d for d in found if takes_halves or d != "bfloat16"]

    def function(self, suffix=""):
        module = self.data.get("python", {}).get("module", "")
        home = getattr(taeda._C, f"_{module}") if module else taeda._C
        return getattr(home, self.data.get("python", {}).get("name", self.name) + suffix)

    def call(self, function, tensors, **more):
        positional = []
        for kind, name, default, is_keyword in self.arguments:
            if kind.startswith("Tensor"):
                value = tensors[name]
            elif default and name not in GIVEN:
                continue
            elif kind.startswith("Scalar") or kind in ("float", "int", "bool"):
                value = NUMBERS[name]
                if kind.startswith("Scalar") and not more.get("_float", True):
                    value = int(value) or 1
            else:
                continue
            if is_keyword:
                more[name] = value
            else:
                positional.append(value)
        more.pop("_float", None)
        return function(*positional, **more)


def load():
    out = []
    for path in sorted(RECORDS.glob("*/records.toml")):
        for key, data in tomllib.loads(path.read_text()).items():
            if data.get("kind") == "pointwise":
                out.append(Record(key, data))
    return out


ALL = load()
# Records without a function are parts of others; integers do not divide.
PUBLIC = [r for r in ALL if "function" in r.variants and not r.name.startswith("_")]
CASES = [
    pytest.param(r, d, id=f"{r.key}-{d}")
    for r in PUBLIC
    for d in r.dtypes()
    if r.key != "masked_fill.Tensor"  # its value has no dimensions
    and not (r.name == "addcdiv" and not d.startswith(("float", "bfloat", "complex")))
]


def values(dtype, seed, shape=SHAPE):
    n = math.prod(shape)
    if dtype == "bool":
        flat = [(i + seed) % 3 != 0 for i in range(n)]
    elif dtype.startswith(("int", "uint")):
        flat = [1 + (i * 5 + seed) % 4 for i in range(n)]
    elif dtype.startswith("complex"):
        flat = [
            complex(0.125 + (i * 7 + seed) % 11 / 16, 0.25 - (i + seed) % 5 / 8) for i in range(n)
        ]
    else:
        flat = [0.125 + (i * 7 + seed) % 11 / 16 for i in range(n)]
    return taeda.tensor(flat, dtype=getattr(taeda, dtype)).view(shape)


def contiguous(dtype, seed):
    return values(dtype, seed)


def transposed(dtype, seed):
    return values(dtype, seed, SHAPE[::-1]).as_strided(SHAPE, (1, SHAPE[0]))


def sliced(dtype, seed):
    return values(dtype, seed, (3, 8)).as_strided(SHAPE, (8, 2), 1)


def expanded(dtype, seed):
    return values(dtype, seed, (4,)).as_strided(SHAPE, (0, 1))


LAYOUTS = [contiguous, transposed, sliced, expanded]


def inputs(record, dtype, layout):
    out = {}
    for i, name in enumerate(record.tensors):
        kind = "bool" if name in MASKS else dtype
        out[name] = layout(kind, i)
    return out


def plain(t):
    wide = taeda.complex128 if t.is_complex() else taeda.float64
    return t.to(wide).contiguous().view(-1).tolist()


def same(a, b):
    def equal(x, y):
        if isinstance(x, complex):
            return equal(x.real, y.real) and equal(x.imag, y.imag)
        return x == y or (x != x and y != y)

    return tuple(a.shape) == tuple(b.shape) and all(map(equal, plain(a), plain(b)))


def is_float(dtype):
    return not dtype.startswith(("int", "uint", "bool"))


def allocations():
    return taeda._C._dispatch._allocator_stats()["num_allocs"]


def test_every_record_is_an_operator():
    known = set(taeda._C._dispatch.list_operators())
    missing = [r.key for r in ALL if not any(k.split("::")[-1] == r.key for k in known)]
    assert len(ALL) > 80 and not missing


@pytest.mark.sampled(3)
@pytest.mark.parametrize("record, dtype", CASES)
def test_forms_agree(record, dtype):
    options = {"_float": is_float(dtype)}
    for layout in LAYOUTS:
        tensors = inputs(record, dtype, layout)
        copies = {n: t.clone().contiguous() for n, t in tensors.items()}
        result = record.call(record.function(), tensors, **options)
        reference = record.call(record.function(), copies, **options)
        assert result.dtype == reference.dtype
        assert same(result, reference), layout.__name__
        if "out" in record.variants:
            for target in (contiguous, transposed, sliced):
                out = target(str(result.dtype).split(".")[-1], 0)
                assert record.call(record.function(), tensors, out=out, **options) is out
                assert same(out, reference), (layout.__name__, target.__name__)
        if "inplace" in record.variants and layout is not expanded and "self" in tensors:
            if record.name == "abs" and tensors["self"].is_complex():
                continue
            method = getattr(taeda.Tensor, record.name + "_")
            changed = layout(dtype, record.tensors.index("self"))
            tensors["self"] = changed
            if taeda.can_cast(result.dtype, changed.dtype):
                assert record.call(method, tensors, **options) is changed
                assert same(changed, reference.to(changed.dtype))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("record, dtype", CASES)
def test_meta_has_shape_dtype_and_strides(record, dtype):
    options = {"_float": is_float(dtype)}
    for layout in (contiguous, transposed, expanded):
        tensors = inputs(record, dtype, layout)
        real = record.call(record.function(), tensors, **options)
        meta = record.call(
            record.function(), {n: t.to("meta") for n, t in tensors.items()}, **options
        )
        assert meta.device.type == "meta"
        assert (meta.shape, meta.dtype) == (real.shape, real.dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("record, dtype", CASES)
def test_writing_into_given_memory_allocates_nothing(record, dtype):
    """Numbers that take part in promotion travel as tensors of one element: those records are left out."""
    if "wrap" in record.data:
        pytest.skip("a number is wrapped")
    options = {"_float": is_float(dtype)}
    for layout in LAYOUTS:
        tensors = inputs(record, dtype, layout)
        if "out" in record.variants:
            out = record.call(record.function(), tensors, **options)
            before = allocations()
            record.call(record.function(), tensors, out=out, **options)
            assert allocations() == before, f"out=, {layout.__name__}"
        can_write = "inplace" in record.variants and layout is not expanded and "self" in tensors
        if can_write and record.data.get("dtype", "promote") in ("promote", "self"):
            method = getattr(taeda.Tensor, record.name + "_")
            before = allocations()
            record.call(method, tensors, **options)
            assert allocations() == before, f"in place, {layout.__name__}"
