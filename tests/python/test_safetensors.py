"""Files of the safetensors format: round trips, and headers that lie."""

import json
import struct

import pytest
from taeda.utils import safetensors
from under_test import NAME

import taeda as t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="Taeda's reader and writer")


def file_of(header, data=b"", size=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def entry(begin, end, shape, dtype="F32", **more):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


def values():
    names = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8"]
    names += ["uint8", "uint16", "uint32", "uint64", "bool", "float8_e4m3fn", "float8_e5m2"]
    names += ["complex64"]
    made = {name: t.tensor([0, 1, 1]).to(getattr(t, name)) for name in names}
    return {**made, "scalar": t.tensor(2.5), "empty": t.empty(0, 4), 'a "b"\n\u677e': t.ones(1)}


@pytest.mark.parametrize("mmap", [False, True])
def test_round_trip(mmap, tmp_path):
    path = tmp_path / "a.safetensors"
    expected = values()
    safetensors.save_file(expected, path, {"format": "pt", "note": "\u00e9"})
    loaded = safetensors.load_file(path, mmap=mmap)
    assert set(loaded) == set(expected)
    for name, tensor in expected.items():
        assert loaded[name].dtype == tensor.dtype and loaded[name].shape == tensor.shape
        assert loaded[name].tolist() == tensor.tolist()
    assert safetensors.load(safetensors.save(expected))["scalar"] == 2.5
    assert t.load(path)["scalar"] == 2.5 and t.load(path, map_location="meta")["scalar"].is_meta
    with safetensors.safe_open(path) as file:
        assert file.metadata() == {"format": "pt", "note": "\u00e9"}
        assert set(file.keys()) == set(expected) and file.get_tensor("scalar") == 2.5
        with pytest.raises(KeyError):
            file.get_tensor("none")


def test_a_mapped_file_does_not_change(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors.save_file({"x": t.zeros(3)}, path)
    safetensors.load_file(path, mmap=True)["x"].fill_(1)
    assert safetensors.load_file(path)["x"].sum() == 0


def test_numbers_that_do_not_lie_aligned_are_copied(tmp_path):
    path = tmp_path / "a.safetensors"
    header = {"b": entry(0, 1, [1], "U8"), "x": entry(1, 9, [2])}
    path.write_bytes(file_of(header, b"\7" + struct.pack("<2f", 1, 2)))
    loaded = safetensors.load_file(path, mmap=True)
    assert loaded["x"].tolist() == [1, 2] and loaded["b"].tolist() == [7]


def test_what_the_format_does_not_hold():
    x = t.arange(6.0).view(2, 3)
    cases = [
        ({"x": x.t()}, ValueError, "non contiguous tensor: `x`"),
        ({"x": x, "y": x[1]}, RuntimeError, "Some tensors share memory"),
        ({"x": t.ones(2, dtype=t.complex128)}, ValueError, "no dtype complex128"),
        ({"x": t.ones(2, device="meta")}, ValueError, "has no memory"),
        ({"x": 3}, ValueError, "Key `x` is invalid"),
        ([x], ValueError, "Expected a dict"),
        ({3: x}, ValueError, "received the key 3 of <class 'int'>"),
        ({"__metadata__": x}, ValueError, "cannot be called __metadata__"),
    ]
    for tensors, kind, message in cases:
        with pytest.raises(kind, match=message):
            safetensors.save(tensors)
    assert len(safetensors.load(safetensors.save({"a": x[0], "b": x[1]}))) == 2


FLOAT = struct.pack("<f", 1)
LIES = {
    "too short": (b"abc", "HeaderTooSmall"),
    "no header": (struct.pack("<Q", 50) + b"{}", "InvalidHeaderLength"),
    "huge header": (struct.pack("<Q", 2**60) + b"{}", "HeaderTooLarge"),
    "no object": (file_of(b" []"), "InvalidHeaderStart"),
    "no end": (file_of(b'{"a'), "has no end"),
    "no text": (file_of(b'{"\xff": 1}'), "no UTF-8"),
    "after its end": (file_of(b"{} x"), "something follows"),
    "name twice": (
        file_of(
            b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
            b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
        ),
        "there twice",
    ),
    "unknown key": (file_of({"a": entry(0, 4, [1], more=1)}, FLOAT), "not expected"),
    "missing key": (file_of({"a": {"dtype": "F32", "shape": [1]}}, FLOAT), "lacks its dtype"),
    "unknown dtype": (file_of({"a": entry(0, 4, [1], "F5")}, FLOAT), "dtype F5 is not known"),
    "negative": (file_of({"a": entry(0, 4, [-1])}, FLOAT), "natural number"),
    "real number": (file_of({"a": entry(0, 4, [1.0])}, FLOAT), "expected"),
    "large number": (file_of({"a": entry(0, 4, [2**64])}, FLOAT), "natural number"),
    "wrong size": (file_of({"a": entry(0, 4, [2])}, FLOAT), "TensorInvalidInfo: a has 4 bytes"),
    "overflow": (file_of({"a": entry(0, 4, [2**62, 2**62])}, FLOAT), "TensorInvalidInfo"),
    "overlap": (
        file_of({"a": entry(0, 8, [2]), "b": entry(4, 12, [2])}, FLOAT * 3),
        "InvalidOffset: b begins at byte 4",
    ),
    "gap": (file_of({"a": entry(4, 8, [1])}, FLOAT * 2), "InvalidOffset"),
    "backwards": (file_of({"a": entry(4, 0, [1])}, FLOAT), "two offsets in order"),
    "truncated": (file_of({"a": entry(0, 8, [2])}, FLOAT), "MetadataIncompleteBuffer"),
    "more data": (file_of({"a": entry(0, 4, [1])}, FLOAT * 2), "MetadataIncompleteBuffer"),
    "metadata of numbers": (file_of({"__metadata__": {"a": 1}}), "expected a text"),
    "deep": (file_of(b'{"a":' + b"[" * 10**6), "expected '{'"),
    "many dimensions": (file_of({"a": entry(0, 0, [0] * 65)}), "more than 64 dimensions"),
}


@pytest.mark.parametrize("name", LIES)
def test_lies(name):
    data, message = LIES[name]
    with pytest.raises(RuntimeError, match=message):
        safetensors.load(data)


def test_every_truncation_is_an_error():
    data = safetensors.save({"x": t.arange(3.0)}, {"a": "b"})
    for size in range(len(data)):
        with pytest.raises(RuntimeError, match="Error while deserializing header"):
            safetensors.load(data[:size])


def test_names_are_whole():
    tensors = {"a\0b": t.zeros(1), "a\0c": t.ones(1), '\u00e9 \n"': t.full((1,), 2.0)}
    loaded = safetensors.load(safetensors.save(tensors, metadata={"k\0": "v\0w"}))
    assert {name: value.item() for name, value in loaded.items()} == {
        name: value.item() for name, value in tensors.items()
    }


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"a": 1}, "a value of metadata must be str, not int"),
        ({1: "a"}, "a key of metadata must be str, not int"),
    ],
)
def test_metadata_that_is_no_text(metadata, message):
    with pytest.raises(TypeError, match=message):
        safetensors.save({"a": t.ones(1)}, metadata)
