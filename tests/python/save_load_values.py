"""The values that files of tests/golden/serialization hold, for PyTorch and for Taeda.

`python save_load_values.py FOLDER` writes `archive.pt`, `stream.pt` and `tensors.safetensors` with
PyTorch.
"""

import collections
import importlib
import pathlib
import sys

DTYPES = [
    *("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"),
    *("complex64", "complex128", "bool", "bfloat16"),
]
NEWER_DTYPES = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]


def set_parameters(t, model):
    with t.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(t.arange(p.numel(), dtype=t.float32).view(p.shape) + i)


def trained(t):
    """A model of fixed numbers, and an optimizer that has made a step."""
    model = t.nn.Sequential(t.nn.Linear(3, 2), t.nn.BatchNorm1d(2))
    set_parameters(t, model)
    optimizer = t.optim.Adam(model.parameters(), lr=0.5)
    model(t.ones(4, 3)).sum().backward()
    optimizer.step()
    set_parameters(t, model)
    return model, optimizer


def of_dtypes(t, names):
    return {name: t.tensor([0, 1, 2]).to(getattr(t, name)) for name in names}


def values(t):
    base = t.arange(12, dtype=t.float32).reshape(3, 4)
    model, optimizer = trained(t)
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "base": base,
        "row": base[1],
        "turned": base.t(),
        "parameter": t.nn.Parameter(t.tensor([1.5, -2.0])),
        "tensors": of_dtypes(t, DTYPES),
        "conj": t.tensor([1 + 2j, 3 - 4j]).conj(),
        "scalar": t.tensor(7),
        "empty": t.empty(0, 3),
        "plain": [
            *(None, True, -5, 2**40, -(2**70), 0.25, 1 + 2j, "t\u00e9xt", b"\x00\xff"),
            *(bytearray(b"ab"), (1, (2,)), {3, 4}, t.Size([2, 3]), t.float64, t.device("cpu")),
            *(collections.OrderedDict(a=1), collections.Counter("aab")),
        ],
    }


def newer_values(t):
    return {**values(t), "newer": of_dtypes(t, NEWER_DTYPES)}


def named_tensors(t):
    return {
        "weight": t.arange(12, dtype=t.float32).reshape(3, 4),
        "flag": t.tensor([True, False]),
        "half": t.ones(3, dtype=t.float16),
        "scalar": t.tensor(7),
        "empty": t.empty(0, 3),
    }


def shown(value):
    """A value in which tensors of any package are texts: dtype, geometry, flags and numbers."""
    if hasattr(value, "untyped_storage"):
        text = str(value.dtype), tuple(value.shape), value.stride(), value.storage_offset()
        numbers = value.detach().resolve_conj()
        if value.dtype.is_floating_point:
            numbers = numbers.double()
        kind = type(value).__name__
        return kind, text, value.requires_grad, value.is_conj(), numbers.tolist()
    if isinstance(value, dict):
        pairs = [(shown(key), shown(item)) for key, item in value.items()]
        return type(value).__name__, pairs
    if type(value) in (list, tuple):
        return type(value).__name__, [shown(item) for item in value]
    return type(value).__name__, str(value)


def write(folder):
    torch = importlib.import_module("torch")
    safetensors = importlib.import_module("safetensors.torch")
    torch.save(values(torch), folder / "stream.pt", _use_new_zipfile_serialization=False)
    torch.save(newer_values(torch), folder / "archive.pt")
    path = folder / "tensors.safetensors"
    safetensors.save_file(named_tensors(torch), path, {"format": "pt"})


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
