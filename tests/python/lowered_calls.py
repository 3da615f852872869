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


# Calls with a float tensor (4, 3) and an index tensor (2, 3), and an index of which one place is out
# of range for all of them.
BAD_INDEX = [[0, 1, 7], [1, 0, 2]]
INDEXED = {
    "gather": lambda x, i: x.gather(0, i),
    "index_select": lambda x, i: x.index_select(0, i[0]),
    "take": lambda x, i: x.take(i + 100),
    "index": lambda x, i: x[i],
    "embedding": lambda x, i: taeda.nn.functional.embedding(i, x),
    "scatter_": lambda x, i: x.scatter_(0, i, 5.0),
    "scatter_add_": lambda x, i: x.scatter_add_(0, i, x.clone()),
    "index_add_": lambda x, i: x.index_add_(0, i[0], x[:3].clone()),
    "index_copy_": lambda x, i: x.index_copy_(0, i[0], x[:3].clone()),
    "index_fill_": lambda x, i: x.index_fill_(0, i[0], 5.0),
    "index_put_": lambda x, i: x.index_put_((i[0],), x[:3].clone()),
    "nll_loss": lambda x, i: taeda.nn.functional.nll_loss(x, i[0].repeat(2)[:4]),
}
