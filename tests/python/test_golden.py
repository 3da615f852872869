"""Values and gradients of every record's samples are PyTorch's, as `./run golden` kept them.

Numbers that are rounded may differ by a few units in the last place (`ULPS`), those of long
computations by more, which their row says (`rounding`). Integers, truth values,
and results that hold nothing but numbers of the arguments (views, copies, choices) are exact.
tests/golden/differences.toml lists where Taeda's answer is another on purpose, and why.
"""

import json
import math
import tomllib
from functools import cache

import pytest
import record_calls
from golden_values import store
from golden_values.evaluate import DTYPES, GRADIENT_DTYPES, evaluate, flat

import taeda

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7}
EPSILON |= {"complex128": EPSILON["float64"], "complex64": EPSILON["float32"]}
# Units in the last place of the greatest number among results and arguments (up to one): of one
# operator's arithmetic, and of a gradient, which is made of several operators.
ULPS, GRADIENT_ULPS = 4, 32
STALE = "{}: golden values of other inputs; run ./run golden"


@cache
def golden(family):
    return store.read(family)


@cache
def rows():
    return tomllib.loads((store.FOLDER / "differences.toml").read_text())


def differences():
    """Reasons by (operator, what differs)."""
    pairs = [(key, what, why) for key, row in rows().items() for what, why in row.items()]
    return {(key, what): why for key, what, why in pairs if what != "rounding"}


def units(key, usual):
    """Units in the last place that an operator may differ by."""
    return usual * rows().get(key, {}).get("rounding", 1)


def has_reason(record):
    return "no_golden" in record.data or "no_samples" in record.data


NAMES = [key for key, record in record_calls.records().items() if not has_reason(record)]


def compare(call, entry):
    """What differs: (what, message) for each."""
    dtype = str(call.dtype).rpartition(".")[2]
    if call.arguments() is None:
        return [("inputs", "the dtype cannot hold its numbers")]
    with_grads = dtype in GRADIENT_DTYPES and "grads" in entry
    arguments, op = call.arguments(), record_calls.overload(call.key)
    inputs = numbers_of(arguments)
    try:
        results, grads = evaluate(taeda, op, call.record, arguments, with_grads)
    except Exception as error:
        return [] if "refused" in entry else [("refuses", f"{type(error).__name__}: {error}")]
    if "refused" in entry:
        return [("takes", f"PyTorch raises {entry['refused']}")]
    if len(results) != len(entry["results"]):
        return [("values", f"{len(results)} results, PyTorch gives {len(entry['results'])}")]
    found = []
    for i, (got, expected) in enumerate(zip(results, entry["results"])):
        found += compare_values(got, expected, inputs, f"result {i}", units(call.key, ULPS))
    for name, expected in entry.get("grads", {}).items():
        allowed = units(call.key, GRADIENT_ULPS)
        found += compare_gradient(grads.get(name), expected, inputs, name, allowed)
    return found


def compare_values(got, expected, inputs, label, ulps):
    got = store.encoded(got)
    if "values" not in expected or "values" not in got:
        return [] if got == expected else [("values", f"{label}: {got}, PyTorch's {expected}")]
    found = [
        (what, f"{label}: {what} {got[what]}, PyTorch's {expected[what]}")
        for what in ("dtype", "shape")
        if got[what] != expected[what]
    ]
    if found:
        return found
    if strides(got) != strides(expected):
        found.append(("stride", f"{label}: stride {got['stride']}, PyTorch's {expected['stride']}"))
    dtype, values = expected["dtype"], expected["values"]
    is_copied = is_made_of(values, inputs) or is_made_of(got["values"], inputs)
    # There are so few bfloat16 numbers that a computed one may be among the arguments'.
    limit = (
        0
        if is_copied and dtype != "bfloat16"
        else ulps * EPSILON.get(dtype, 0) * magnitude(values, inputs)
    )
    return found + compare_numbers(got["values"], values, limit, label, "values")


def is_made_of(values, inputs):
    """Whether nothing was computed: a view, a copy, a choice."""
    return all(abs(x) in inputs or x == 0 or not math.isfinite(x) for x in values)


def magnitude(values, inputs):
    """What rounding errors are measured by: the terms of a sum that cancels are greater than it."""
    own = max((abs(x) for x in values if math.isfinite(x)), default=0)
    return max(own, min(1, max((x for x in inputs if math.isfinite(x)), default=0)))


def strides(tensor):
    """Those that tell elements apart."""
    if 0 in tensor["shape"]:
        return []
    return [stride for stride, size in zip(tensor["stride"], tensor["shape"]) if size > 1]


def compare_gradient(got, expected, inputs, name, ulps):
    """None stands for zeros."""
    if expected is None:
        got = [] if got is None else store.plain(got)
        return [("gradient", f"{name}: {got}, PyTorch's None")] if any(got) else []
    values = expected["values"]
    got = [0.0] * len(values) if got is None else store.plain(got)
    limit = ulps * EPSILON[expected["dtype"]] * magnitude(values, inputs)
    return compare_numbers(got, values, limit, f"gradient of {name}", "gradient")


def compare_numbers(got, expected, limit, label, what):
    def differs(a, b):
        if not math.isfinite(b):
            return not (a == b or (a != a and b != b))
        return not abs(a - b) <= limit

    wrong = [(a, b) for a, b in zip(got, expected) if differs(a, b)]
    if len(got) != len(expected):
        return [(what, f"{label}: {len(got)} numbers, PyTorch has {len(expected)}")]
    return [(what, f"{label}: {a!r}, PyTorch's {b!r}") for a, b in wrong[:1]]


def numbers_of(arguments):
    """Magnitudes of all numbers in the arguments, in the dtypes they have."""
    found = set()
    for value in flat([arguments[0], list(arguments[1].values())]):
        if isinstance(value, taeda.Tensor):
            found |= {abs(x) for x in store.plain(value)}
        elif isinstance(value, (int, float)):
            found.add(abs(value))
        elif isinstance(value, complex):
            found |= {abs(value.real), abs(value.imag)}
    return found


def compare_record(key):
    """(what, message) of every difference in the record's samples and dtypes."""
    found, lines = [], golden(record_calls.records()[key].family)
    for text in record_calls.texts(key):
        calls = [record_calls.Call(key, text, getattr(taeda, name)) for name in DTYPES]
        calls = [c for c in calls if record_calls.takes(key, c.dtype) and c.arguments() is not None]
        line = lines.get((key, text))
        assert line is not None, f"{key}({text}) has no golden values; run ./run golden"
        assert line["inputs"] == store.fingerprint(calls), STALE.format(f"{key}({text})")
        for call in calls:
            entry = line[str(call.dtype).rpartition(".")[2]]
            found += [(what, f"{call}: {message}") for what, message in compare(call, entry)]
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", NAMES)
def test_values_are_pytorchs(key):
    found = compare_record(key)
    known = {what for name, what in differences() if name == key}
    unknown = [message for what, message in found if what not in known]
    assert not unknown, "\n".join(unknown[:8])
    left_over = known - {what for what, _ in found}
    assert not left_over, f"{key} no longer differs in {left_over}: tests/golden/differences.toml"


def test_differences_name_records():
    assert set(rows()) <= set(NAMES)


def test_every_value_belongs_to_a_sample():
    """No family, record or sample that went away leaves values behind."""
    samples = {(key, text) for key in NAMES for text in record_calls.texts(key)}
    families = [path.name.partition(".")[0] for path in store.FOLDER.glob("*.gz")]
    kept = {line for family in families for line in golden(family)}
    assert kept - samples == set(), "run ./run golden"


def test_a_record_without_values_fails(monkeypatch):
    monkeypatch.setitem(globals(), "golden", lambda family: {})
    with pytest.raises(AssertionError, match=r"no golden values; run ./run golden"):
        compare_record("gelu")


def differences_after(key, change):
    """What differs in a record whose golden lines went through `change`."""
    lines = golden(record_calls.records()[key].family)
    lines = {name: json.loads(json.dumps(line)) for name, line in lines.items()}
    for (name, _), line in lines.items():
        if name == key:
            change(line)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "golden", lambda family: lines)
        return {what for what, _ in compare_record(key)}


def test_other_inputs_are_stale():
    with pytest.raises(AssertionError, match=r"golden values of other inputs; run ./run golden"):
        differences_after("gelu", lambda line: line.update(inputs="0"))


def scale(tensor, factor):
    tensor["values"] = [x * factor for x in tensor["values"]]


@pytest.mark.parametrize("key", ["gelu", "mm", "sum.dim_IntList", "mul.Tensor", "_softmax"])
def test_a_change_in_the_thirteenth_digit_is_seen(key):
    def change_result(line):
        scale(line["float64"]["results"][0], 1 + 3e-13)

    def change_gradient(line):
        if "grads" in line["float64"]:
            scale(line["float64"]["grads"]["self"], 1 + 3e-13)

    assert differences_after(key, change_result) == {"values"}
    assert differences_after(key, change_gradient) == {"gradient"}


@pytest.mark.parametrize("key", ["permute", "maximum", "where.self", "clone", "cat"])
def test_a_copy_is_exact(key):
    def change(line):
        scale(line["float64"]["results"][0], 1 + 2.0**-52)

    assert differences_after(key, change) == {"values"}


@pytest.mark.parametrize("what, value", [("dtype", "float32"), ("shape", [6]), ("stride", [1, 2])])
def test_the_form_of_a_result_is_compared(what, value):
    def change(line):
        line["float64"]["results"][0][what] = value

    assert differences_after("gelu", change) == {what}
