"""Operands on two devices are refused: each tensor of a sample but the first is moved to meta."""

import pytest
import record_calls

import taeda

# Structured records with several tensors; composites and explicit ones call these.
KEYS = [
    key
    for key, record in record_calls.records().items()
    if record.kind == "structured"
    and not record.data.get("device_of_first")
    and sum(a.type.is_tensor and not a.type.is_list for a in record.schema.arguments) > 1
    and record_calls.texts(key)
]


def is_operand(x):
    return isinstance(x, taeda.Tensor) and x.dim() > 0


@pytest.mark.parametrize("key", KEYS)
def test_a_tensor_elsewhere_is_refused(key):
    arguments = record_calls.Call(key, record_calls.texts(key)[0], taeda.float32).arguments()
    args, kwargs = arguments
    call = record_calls.overload(key)
    places = [i for i, x in enumerate(args) if is_operand(x)]
    for i in places[1:]:
        moved = [x.to("meta") if j == i else x for j, x in enumerate(args)]
        with pytest.raises(RuntimeError, match="device"):
            call(*moved, **kwargs)


@pytest.mark.parametrize(
    "call",
    [
        lambda: taeda.zeros((), dtype=taeda.uint8).le_(taeda.empty((), device="meta")),
        lambda: taeda.zeros((), dtype=taeda.uint8).sub_(
            taeda.empty((), dtype=taeda.int16, device="meta")
        ),
        lambda: taeda.zeros(3).add_(taeda.empty((), device="meta")),
        lambda: taeda.nn.functional.cross_entropy(
            taeda.randn(3, 4), taeda.empty(3, dtype=taeda.int64, device="meta")
        ),
    ],
    ids=["le_", "sub_", "add_", "cross_entropy"],
)
def test_values_without_memory_are_not_written_into_memory(call):
    with pytest.raises(RuntimeError, match="device"):
        call()


META = {"dtype": taeda.int64, "device": "meta"}


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[taeda.zeros(1, **META)],
        lambda x: x[taeda.zeros(3, dtype=taeda.bool, device="meta")],
        lambda x: x.index_put((taeda.zeros(1, **META),), taeda.ones(1)),
        lambda x: x.index_put_((taeda.zeros(1, dtype=taeda.int64),), taeda.ones(1, device="meta")),
        lambda x: x.__setitem__(taeda.zeros(1, **META), 1.0),
    ],
    ids=["index", "mask", "index_put", "value", "setitem"],
)
def test_indices_and_values_without_memory_are_refused(call):
    x = taeda.ones(3)
    with pytest.raises(RuntimeError, match="device"):
        call(x)
    assert x.tolist() == [1, 1, 1]
