"""Files of named tensors in the safetensors format, which many other programs read.

from taeda.utils import safetensors

safetensors.save_file({"weight": weight}, "model.safetensors", metadata={"format": "pt"})
weights = safetensors.load_file("model.safetensors", mmap=True)
"""

import itertools
import os

from taeda import _C

__all__ = ["load", "load_file", "safe_open", "save", "save_file"]


def save_file(tensors, filename, metadata=None):
    """Writes {name: tensor} to a file, which appears under its name when it is complete.

    Tensors must be contiguous and have memory of their own: the format knows no views.
    """
    _check(tensors)
    _C._save_safetensors(os.fspath(filename), tensors, metadata)


def save(tensors, metadata=None):
    """The bytes of such a file."""
    _check(tensors)
    return _C._save_safetensors(None, tensors, metadata)


def load_file(filename, device="cpu", *, mmap=False):
    """{name: tensor} of a file.

    mmap: memory of tensors of the CPU is the file's; bytes are read when they are used, and writes
        stay in this process.
    """
    tensors, _ = _C._load_safetensors(os.fspath(filename), None, mmap)
    return _moved(tensors, device)


def load(data, device="cpu"):
    """{name: tensor} of the bytes of a file."""
    tensors, _ = _C._load_safetensors(bytes(data), None, False)
    return _moved(tensors, device)


class safe_open:
    """A file whose tensors are read one by one.

    with safe_open("model.safetensors", device="cpu") as f:
        weight = f.get_tensor("weight")
    """

    def __init__(self, filename, framework="pt", device="cpu"):
        if framework not in ("pt", "torch", "pytorch"):
            raise ValueError(f"framework must be 'pt', got {framework!r}")
        self._tensors, self._metadata = _C._load_safetensors(os.fspath(filename), None, True)
        self._device = device

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._tensors = {}

    def keys(self):
        """The tensors' names, in the order of their bytes."""
        return list(self._tensors)

    def metadata(self):
        """The texts that were saved with the tensors; None where there are none."""
        return dict(self._metadata) or None

    def get_tensor(self, name):
        """The tensor of this name."""
        if name not in self._tensors:
            raise KeyError(f"File does not contain tensor {name}")
        return self._tensors[name].clone().to(self._device)


def _moved(tensors, device):
    if isinstance(device, bytes):
        device = device.decode("ascii")
    if str(device) == "cpu":
        return tensors
    return {name: tensor.to(device) for name, tensor in tensors.items()}


def _check(tensors):
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    spans = []
    for name, tensor in tensors.items():
        if not isinstance(name, str):
            raise ValueError(
                "Expected a dict of [str, torch.Tensor] but received the key "
                f"{name!r} of {type(name)}"
            )
        if not isinstance(tensor, _C.Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}"
            )
        if not tensor.is_meta and tensor.numel() > 0:
            spans.append((tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes, name))
    spans.sort()
    for (_, end, name), (start, _, other) in itertools.pairwise(spans):
        if start < end:
            raise RuntimeError(
                "Some tensors share memory, this will lead to duplicate memory on disk and "
                f"potential differences when loading them again: {{{name!r}, {other!r}}}. Save one "
                "of them, or a clone"
            )
