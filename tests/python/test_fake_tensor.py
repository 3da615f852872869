"""Fake tensors: geometry and devices without memory, and what they refuse."""

import copy
import pickle

import pytest
from taeda._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    is_fake,
    maybe_get_fake_mode,
    unset_fake_temporarily,
)
from taeda.fx.experimental.symbolic_shapes import ShapeEnv

import taeda


def test_a_terabyte_costs_nothing():
    with FakeTensorMode():
        x = taeda.empty(2**20, 2**18)
        y = (x @ x.t()).sum(0)
    assert isinstance(y, FakeTensor)
    assert y.shape == (2**20,)


def test_devices_that_are_not_there():
    with FakeTensorMode():
        a = taeda.ones(2, 3, device="cuda")
        assert a.device == taeda.device("cuda:0")
        assert (a * 2).device == a.device
        assert (a + taeda.tensor(1.0)).device == a.device
        assert a.cpu().device == taeda.device("cpu")
        assert taeda.zeros_like(a).device == a.device
        with pytest.raises(RuntimeError, match=r"two different devices|same device"):
            a + taeda.ones(2, 3)


def test_modules_and_gradients():
    with FakeTensorMode():
        layer = taeda.nn.Linear(4, 5)
        loss = layer(taeda.randn(2, 4)).relu().sum()
        loss.backward()
        assert isinstance(layer.weight.grad, FakeTensor)
        assert layer.weight.grad.shape == (5, 4)


def test_views_share_storage_and_versions():
    with FakeTensorMode():
        x = taeda.zeros(2, 3)
        v = x.view(6)
        v.add_(1)
    assert x._version == v._version == 1
    assert v._base is x


def test_one_fake_for_a_tensor():
    mode = FakeTensorMode()
    real = taeda.ones(3)
    fake = mode.from_tensor(real)
    assert mode.from_tensor(real) is fake
    assert fake.fake_mode is mode
    assert maybe_get_fake_mode(fake) is mode
    assert maybe_get_fake_mode(real) is None
    assert is_fake(fake) and not is_fake(real)


def test_printed_form():
    with FakeTensorMode():
        assert repr(taeda.ones(2, 3)) == "FakeTensor(..., size=(2, 3))"
        assert repr(taeda.ones(2, device="cuda")) == "FakeTensor(..., device='cuda:0', size=(2,))"


def test_values_are_refused():
    with FakeTensorMode():
        x = taeda.ones(2)
        for read in (
            lambda: x.sum().item(),
            lambda: bool(x.sum() > 1),
            lambda: float(x[0]),
            lambda: x.tolist(),
        ):
            with pytest.raises(DataDependentOutputException, match="_local_scalar_dense"):
                read()
        with pytest.raises(DynamicOutputShapeException, match="nonzero"):
            x.nonzero()
        with pytest.raises(RuntimeError, match="numpy"):
            x.numpy()
        with pytest.raises(UnsupportedFakeTensorException):
            pickle.dumps(x)


def test_known_values_are_read():
    with FakeTensorMode():
        x = taeda.tensor(3)
        assert x.item() == 3
        assert x.constant is not None
        x.add_(1)
        assert x.constant is None
        with pytest.raises(DataDependentOutputException):
            x.item()


def test_real_tensors_are_refused_or_converted():
    mode = FakeTensorMode()
    fake = mode.from_tensor(taeda.ones(2))
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        fake + taeda.ones(2)
    mode.allow_non_fake_inputs = True
    assert isinstance(fake + taeda.ones(2), FakeTensor)
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        fake + FakeTensorMode().from_tensor(taeda.ones(2))


def test_symbols_for_sizes_and_values():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(taeda.ones(4, 6), source="x")
    assert [str(s) for s in x.shape] == ["s0", "s1"]
    assert str((x @ x.t()).shape[0]) == "s0"
    with mode:
        n = x.sum().to(taeda.int64).item()
        assert str(n) == "u0"
        assert str(x.nonzero().shape[0]) == "u1"


def test_copies_and_scopes():
    mode = FakeTensorMode()
    with mode:
        x = taeda.ones(2)
        assert copy.deepcopy(x).shape == (2,)
        with unset_fake_temporarily() as off:
            assert off is mode
            assert not is_fake(taeda.ones(2))
        assert is_fake(taeda.ones(2))
