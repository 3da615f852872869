"""Sample calls on a device that runs generated kernels, compared with the CPU's.

The devices are plug-ins of the tests. Their memory cannot be read by the host, so a CPU kernel that
is given it ends the process; what falls back to the CPU is counted.
"""

from pathlib import Path

import record_calls
from sampled_calls import flat
from taeda.utils import _pytree as pytree

import taeda

DEVICES = Path(taeda._C.__file__).resolve().parents[2] / "tests"


def load(name):
    """The device type of a plug-in of the tests."""
    return taeda._C._load_device(str(DEVICES / f"lib{name}_device.so"))


def lowered():
    """The records that a device which compiles kernels runs itself."""
    records = record_calls.records()
    return [
        key
        for key in record_calls.sampled()
        if records[key].kind == "pointwise" or records[key].data.get("lowered")
    ]


def run_on(sample, device):
    """The results of a sample with its tensors on a device, and the operators that fell back."""
    args, kwargs = sample.call.arguments()
    values = pytree.tree_leaves((list(args), kwargs))
    moved = [placed(v, device) for v in values]
    args, kwargs = pytree.tree_unflatten(moved, sample.spec)
    before = dict(taeda._C._fallback_counts())
    results = flat(sample.op(*args, **kwargs))
    after = taeda._C._fallback_counts()
    return results, {name for name, count in after.items() if count != before.get(name, 0)}


def placed(value, device):
    if isinstance(value, taeda.Tensor):
        return value.to(device)
    if isinstance(value, taeda.Generator):
        return taeda.Generator(device).manual_seed(value.initial_seed())
    return device if isinstance(value, taeda.device) else value


def has_same_bits(one, other):
    """Whether two results are equal; NaN equals NaN."""
    if not isinstance(one, taeda.Tensor):
        return one == other
    one, other = plain(one), plain(other.cpu())
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())


def plain(tensor):
    tensor = tensor.resolve_conj().resolve_neg()
    return taeda.view_as_real(tensor) if tensor.dtype.is_complex else tensor
