"""Fake tensors: geometry and devices without memory, and what they refuse."""

import copy
import pickle

import numpy
import pytest
from taeda._guards import detect_fake_mode
from taeda._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorDeviceMismatchError,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    in_kernel_invocation_manager,
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
        assert x.item() == 4  # what is computed from known values alone is known
        x.add_(taeda.ones((), dtype=taeda.int64))
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


def test_what_is_computed_from_known_values_is_known():
    with FakeTensorMode():
        x = taeda.tensor(5)
        y = x.view(1)
        assert ((x + 1) * 2).item() == 12 and x.float().item() == 5.0
        x.zero_()
        assert y.item() == 0  # a view of it
        y.add_(taeda.ones(1, dtype=taeda.int64))
        for t in (x, y):
            with pytest.raises(DataDependentOutputException):
                t.item()
        z = taeda.tensor(2.0)
        z.uniform_()
        assert z.constant is None
        assert taeda.tensor([1, 2]).constant is None


def test_arguments_on_two_devices():
    with FakeTensorMode():
        cuda, cpu = taeda.ones(2, 2, device="cuda"), taeda.ones(2, 2)
        for call in (lambda: cuda + cpu, lambda: cuda @ cpu, lambda: taeda.cat([cuda, cpu])):
            with pytest.raises(FakeTensorDeviceMismatchError, match="cuda:0 and cpu!"):
                call()
        rows = taeda.zeros(2, dtype=taeda.int64)
        assert cuda[rows].device == cuda.device
        assert cuda.index_put_((rows,), taeda.ones(())).device == cuda.device


def test_masks_and_comparisons_have_no_answer():
    with FakeTensorMode():
        x = taeda.ones(4)
        with pytest.raises(DynamicOutputShapeException, match=r"aten\.nonzero\.default"):
            x[x > 0]
        with pytest.raises(DataDependentOutputException):
            taeda.allclose(x, x)
        x[x > 0] = 0
        assert x.shape == (4,)
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    x = mode.from_tensor(taeda.ones(4, 3))
    with mode:
        assert [str(s) for s in x[x[:, 0] > 0].shape] == ["u0", str(x.shape[1])]
        assert repr(x.nonzero() + 1) == "FakeTensor(..., size=(u1, 2), dtype=torch.int64)"


def test_views_and_gradients_of_converted_tensors():
    mode = FakeTensorMode()
    base = taeda.ones(6)
    view = base[1:5].view(2, 2)
    fake = mode.from_tensor(view)
    assert fake._is_view() and fake._base is mode.from_tensor(base)
    assert (fake.stride(), fake.storage_offset()) == ((2, 1), 1)
    assert mode.from_tensor(view) is fake
    parameter = taeda.nn.Parameter(taeda.ones(2))
    parameter.grad = taeda.ones(2)
    assert isinstance(mode.from_tensor(parameter).grad, FakeTensor)
    assert repr(mode.from_tensor(parameter)).startswith("Parameter(FakeTensor(")


def test_a_fake_of_another_mode_is_converted():
    first, second = FakeTensorMode(), FakeTensorMode()
    fake = first.from_tensor(taeda.ones(2))
    again = second.from_tensor(fake)
    assert again.fake_mode is second and again.shape == (2,)
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        fake + again


def test_copies_of_modules_without_memory():
    model = taeda.nn.Linear(2, 3)
    mode = FakeTensorMode()
    with FakeCopyMode(mode):
        fake = copy.deepcopy(model)
    assert isinstance(fake.weight, FakeTensor) and isinstance(fake.weight, taeda.nn.Parameter)
    assert not isinstance(model.weight, FakeTensor)
    again = copy.deepcopy(fake)
    assert [name for name, _ in again.named_parameters()] == ["weight", "bias"]
    assert isinstance(again.weight, taeda.nn.Parameter) and again.weight is not fake.weight
    assert detect_fake_mode(list(fake.parameters())) is mode
    assert detect_fake_mode([model.weight]) is None


def test_kernels_see_meta_tensors():
    fake = FakeTensorMode().from_tensor(taeda.ones(2))
    with in_kernel_invocation_manager(fake.fake_mode):
        assert fake.device.type == "meta"
    assert fake.device.type == "cpu" and not fake.is_meta


def test_sizes_of_symbolic_memory():
    env = ShapeEnv()
    fake = FakeTensorMode(shape_env=env).from_tensor(taeda.ones(4, 5))
    s0, s1 = fake.shape
    assert str(fake.untyped_storage().nbytes()) == f"4*{s0}*{s1}"
    assert str(fake[1:].untyped_storage().nbytes()) == f"4*{s0}*{s1}"
    assert str(fake.nbytes) == f"4*{s0}*{s1}"
    assert fake.untyped_storage()._cdata == fake[1:].untyped_storage()._cdata
    assert env.guards == []


def test_known_numbers_meet_sizes_from_data():
    with FakeTensorMode(shape_env=ShapeEnv()):
        count = taeda.ones(4).nonzero().shape[0]
        known = taeda.tensor(3)
        for result in (known.expand(count), known.new_zeros(count), known.repeat(count)):
            assert result.shape == (count,)
        assert (known + 1).item() == 4


def test_shapes_that_values_do_not_change():
    with FakeTensorMode():
        number = taeda.ones(())
        assert taeda.linspace(number, 3, 5).shape == (5,)
        assert taeda.logspace(number, number, 4).shape == (4,)
        assert taeda.msort(taeda.ones(6), out=taeda.empty(6)).shape == (6,)
        images = taeda.empty(2, 3, 4, 5).contiguous(memory_format=taeda.channels_last)
        assert taeda.ops.aten.index(images, [None]).stride() == images.stride()


def test_numbers_read_inside_operators_are_data():
    with FakeTensorMode():
        x, start = taeda.ones(6), taeda.ones((), dtype=taeda.int64)
        for call in (
            lambda: taeda.ops.aten.narrow.Tensor(x, 0, start, 2),
            lambda: x.tensor_split(start),
            lambda: x.tensor_split(start.expand(2)),
        ):
            with pytest.raises(DataDependentOutputException, match="_local_scalar_dense"):
                call()
        assert [p.shape for p in x.tensor_split(taeda.tensor(2))] == [(3,), (3,)]


@pytest.mark.parametrize("of", ["gradient", "mean"])
def test_sizes_in_the_gradient_of_layer_norm_agree(of):
    rows, means = taeda.ones(2, 3), taeda.ones(2, 1)
    gradient = taeda.ones(2, 4) if of == "gradient" else rows
    mean = taeda.ones(3, 1) if of == "mean" else means
    backward = taeda.ops.aten.native_layer_norm_backward
    with pytest.raises(RuntimeError, match="expected a gradient of"):
        backward(gradient, rows, [3], mean, means, None, None, [True, False, False])
    with FakeTensorMode() as mode, pytest.raises(RuntimeError, match="expected a gradient of"):
        fakes = [mode.from_tensor(x) for x in (gradient, rows, mean, means)]
        backward(*fakes[:2], [3], *fakes[2:], None, None, [True, False, False])


@pytest.mark.parametrize("make", [taeda.from_numpy, taeda.tensor, taeda.as_tensor, taeda.asarray])
def test_arrays_become_fake_tensors(make):
    array = numpy.zeros((4, 4))
    with FakeTensorMode():
        x = make(array)
    assert isinstance(x, FakeTensor) and x.shape == (4, 4) and x.dtype == taeda.float64
    assert not isinstance(make(array), FakeTensor)
