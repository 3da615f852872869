"""Memory that others point into stays; memory that is gone is noticed."""

import re

import pytest

import taeda as t

GONE = re.escape("Cannot access data pointer of Tensor that doesn't have storage")

READS = {
    "repr": repr,
    "tolist": lambda x: x.tolist(),
    "add": lambda x: x + 1,
    "in place": lambda x: x.add_(1),
    "out": lambda x: t.add(t.ones(2, 3), 1, out=x),
    "fill": lambda x: x.zero_(),
    "sum": lambda x: x.sum(),
    "argmax": lambda x: x.argmax(1),
    "mm": lambda x: x @ x.t(),
    "linear": lambda x: t.nn.functional.linear(x, x),
    "clone": lambda x: x.clone(),
    "copy from": lambda x: t.empty(2, 3).copy_(x),
    "copy to": lambda x: x.copy_(t.ones(2, 3)),
    "turn": lambda x: x.t().contiguous(),
    "row": lambda x: x[0] + 1,
    "mask": lambda x: x[t.ones(2, 3, dtype=t.bool)],
    "index_select": lambda x: x.index_select(0, t.tensor([0])),
    "gather": lambda x: x.gather(0, t.tensor([[0, 0, 0]])),
    "scatter": lambda x: x.scatter_(0, t.tensor([[0, 0, 0]]), 1.0),
    "embedding": lambda x: t.nn.functional.embedding(t.tensor([0]), x),
    "softmax": lambda x: x.softmax(0),
    "layer_norm": lambda x: t.nn.functional.layer_norm(x, [3]),
    "cumsum": lambda x: x.cumsum(0),
    "sort": lambda x: x.sort(),
    "topk": lambda x: x.topk(1),
    "cat": lambda x: t.cat([x, x]),
    "flip": lambda x: x.flip(0),
    "tril": lambda x: x.tril(),
    "nonzero": lambda x: x.nonzero(),
    "convert": lambda x: x.to(t.int32),
    "var": lambda x: x.var(),
    "uniform": lambda x: x.uniform_(),
    "equal": lambda x: t.equal(x, t.ones(2, 3)),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_a_freed_storage_is_refused(read):
    x = t.arange(6.0).reshape(2, 3)
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match=GONE):
        read(x)
    assert x.data_ptr() == 0 and x.shape == (2, 3)
    x.untyped_storage().resize_(24)
    assert x.fill_(2.0).sum().item() == 12.0


def test_a_smaller_storage_keeps_what_tensors_reach():
    x = t.arange(6.0)
    x.untyped_storage().resize_(8)
    assert x.untyped_storage().nbytes() == 8
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    x.untyped_storage().resize_(24)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def as_array(x):
    pytest.importorskip("numpy")
    return x.numpy()


@pytest.mark.parametrize("export", [memoryview, t.Tensor.__dlpack__, as_array])
def test_memory_that_others_hold_is_not_moved(export):
    x = t.ones(3)
    held = export(x)
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.resize_(1000)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.untyped_storage().resize_(0)
    assert x.tolist() == [1.0, 1.0, 1.0] and x.shape == (3,)
    assert held is not None
    assert x.resize_(2).shape == (2,)  # fits
