"""Fake tensors: geometry and devices without memory, and what they refuse."""

import copy
import pickle
import re

import numpy
import pytest
from taeda._functorch import config
from taeda._guards import detect_fake_mode
from taeda._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorConverter,
    FakeTensorDeviceMismatchError,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
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


def test_allclose_depends_on_values():
    with FakeTensorMode(), pytest.raises(DataDependentOutputException, match=r"aten\.allclose"):
        taeda.allclose(taeda.ones(2), taeda.ones(2))


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


def test_environments_that_refuse_sizes_of_data():
    mode = FakeTensorMode(shape_env=ShapeEnv(allow_dynamic_output_shape_ops=False))
    x = mode.from_tensor(taeda.ones(4))
    with mode:
        for call in (x.nonzero, lambda: taeda.masked_select(x, x > 0), lambda: x[x > 0]):
            with pytest.raises(DynamicOutputShapeException, match=r"aten\.\w+\.default"):
                call()
        assert str(x.sum().item()) == "zuf0"


def test_settings_of_an_environment_are_fixed():
    env = ShapeEnv(allow_dynamic_output_shape_ops=False)
    assert not env.settings.allow_dynamic_output_shape_ops and env.allow_scalar_outputs
    with pytest.raises(AttributeError):
        env.allow_dynamic_output_shape_ops = True


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


def shown(*tensors):
    """Sizes and dtypes."""
    return [(tuple(str(n) for n in x.shape), x.dtype) for x in tensors]


def test_distinct_elements_have_unknown_sizes():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(taeda.ones(2, 3), static_shapes=True)
    whole, number = taeda.int64, taeda.float32
    with mode:
        assert shown(taeda.unique(x)) == [(("u0",), number)]
        both = taeda.unique(x, return_inverse=True, return_counts=True)
        assert shown(*both) == [(("u0",), number), (("2", "3"), whole), (("u0",), whole)]
        rows = taeda.unique(x, dim=0, return_inverse=True)
        assert shown(*rows) == [(("u1", "3"), number), (("2",), whole)]
        again = taeda.ops.aten.unique_dim(x, -1)
        assert shown(*again) == [(("2", "u2"), number), (("3",), whole), (("u2",), whole)]
        assert shown(taeda.unique_consecutive(x)) == [(("u3",), number)]
        assert shown(taeda.unique_consecutive(x)) == [(("u3",), number)]
        columns = taeda.unique_consecutive(x, dim=1, return_counts=True)
        assert shown(*columns) == [(("2", "u4"), number), (("u4",), whole)]
        assert shown(taeda.unique(taeda.empty(0))) == [(("0",), number)]
        x.add_(1)
        assert shown(taeda.unique(x)) == [(("u5",), number)]


def test_counts_and_repetitions_have_unknown_sizes():
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    times = mode.from_tensor(taeda.tensor([1, 0, 3]), static_shapes=True)
    x = mode.from_tensor(taeda.ones(2, 3), static_shapes=True)
    whole = taeda.int64
    with mode:
        assert shown(taeda.bincount(times)) == [(("u0",), whole)]
        weighed = taeda.bincount(times, taeda.ones(3), minlength=5)
        assert shown(weighed) == [(("u1",), taeda.float32)]
        assert bool(weighed.shape[0] >= 5)
        assert taeda.bincount(times, taeda.ones(3).half()).dtype == taeda.float64
        assert shown(taeda.repeat_interleave(times)) == [(("u3",), whole)]
        assert shown(taeda.repeat_interleave(times, output_size=4)) == [(("4",), whole)]
        assert shown(taeda.repeat_interleave(x, times, dim=1)) == [(("2", "u4"), taeda.float32)]


def test_unknown_sizes_need_an_environment():
    with FakeTensorMode():
        x = taeda.arange(3)
        for call in (taeda.unique, taeda.unique_consecutive, taeda.bincount):
            with pytest.raises(DynamicOutputShapeException, match=r"aten\.\w+\.default"):
                call(x)
        with pytest.raises(DynamicOutputShapeException, match=r"aten\.repeat_interleave\.Tensor"):
            taeda.repeat_interleave(x)
        assert taeda.repeat_interleave(x, x, output_size=3).shape == (3,)


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


@pytest.mark.parametrize("dtype", [taeda.float32, taeda.bfloat16, None])
def test_the_dtype_of_gradients_is_kept(dtype):
    t = taeda.randn(4, dtype=taeda.bfloat16, requires_grad=True)
    t.grad_dtype = dtype
    assert FakeTensorMode().from_tensor(t).grad_dtype == dtype


def test_a_fake_may_stand_for_another_device():
    with FakeTensorMode():
        x = taeda.ones(2)
        x.fake_device = taeda.device("cuda")
        assert x.device == x.fake_device == taeda.device("cuda:0")
        assert (x + 1).device == x.device
    with pytest.raises(TypeError, match="only a fake tensor"):
        FakeTensor.fake_device.fset(taeda.ones(2), taeda.device("cuda"))


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


@pytest.fixture
def propagating():
    with config.patch(fake_tensor_propagate_real_tensors=True):
        return FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)


def test_values_are_computed_along(propagating):
    real = taeda.arange(4.0)
    x = propagating.from_tensor(real)
    with propagating:
        y = x.view(2, 2) @ taeda.ones(2, 2)
        y.add_(1)
    assert taeda.equal(x.real_tensor, real)
    assert taeda.equal(y.real_tensor, taeda.tensor([[2.0, 2.0], [6.0, 6.0]]))
    assert FakeTensorMode().from_tensor(real).real_tensor is None


def test_views_share_the_values_that_are_written(propagating):
    real = taeda.zeros(4)
    x, part = propagating.from_tensor(real), propagating.from_tensor(real[1:3])
    part.add_(1)
    assert x.real_tensor.tolist() == [0, 1, 1, 0] and real.tolist() == [0, 0, 0, 0]


def test_values_decide_what_data_decides(propagating):
    x = propagating.from_tensor(taeda.tensor([0, 3, 0, 5]))
    with propagating:
        found = x.nonzero()
        number = x[1].item()
    assert isinstance(number, taeda.SymInt) and isinstance(found.shape[0], taeda.SymInt)
    assert number == 3 and found.shape[0] == 2
    asserted = propagating.shape_env.deferred_runtime_asserts
    texts = [str(a.expr) for group in asserted.values() for a in group]
    assert any(text.startswith("Eq(u") for text in texts)


@pytest.mark.parametrize("mutated", [(), ("y",)])
def test_writes_that_a_schema_hides_are_found(propagating, mutated):
    @taeda.library.custom_op(f"fakes::hides_{len(mutated)}", mutates_args=mutated)
    def hides(x: taeda.Tensor, y: taeda.Tensor) -> taeda.Tensor:
        y.add_(1)
        return x.clone()

    @hides.register_fake
    def _(x, y):
        return x.clone()

    x, y = (propagating.from_tensor(taeda.zeros(3)) for _ in range(2))
    if mutated:
        hides(x, y)
        assert y.real_tensor.tolist() == [1, 1, 1]
        return
    with pytest.raises(RuntimeError, match=r"for argument 'y': .* does not mutate the argument"):
        hides(x, y)


def test_settings_come_back():
    assert not config.fake_tensor_propagate_real_tensors

    @config.patch("fake_tensor_prefer_device_type", "cuda")
    def inside():
        return config.fake_tensor_prefer_device_type

    assert inside() == "cuda" and config.fake_tensor_prefer_device_type is None
    with pytest.raises(AttributeError, match="nonsense does not exist"):
        config.patch(nonsense=1)
    with pytest.raises(AttributeError, match="nonsense does not exist"):
        config.nonsense = 1


def test_a_preferred_device_takes_the_result():
    with config.patch(fake_tensor_prefer_device_type="cuda"), FakeTensorMode():
        x, y = taeda.ones(2), taeda.ones(2, device="cuda")
        assert (x + y).device.type == "cuda" and (y + x).device.type == "cuda"
        assert (x + x).device.type == "cpu"


def test_an_operator_without_a_fake_kernel_is_named():
    with taeda.library._scoped_library("without_fake", "DEF") as library:
        library.define("foo(Tensor self) -> Tensor")
        library.impl("foo", lambda x: x.cos(), "CPU")
        x = FakeTensorMode().from_tensor(taeda.ones(2))
        with pytest.raises(UnsupportedOperatorException, match=r"without_fake\.foo\.default"):
            taeda.ops.without_fake.foo(x)


def test_what_is_counted_twice_has_one_count():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(taeda.ones(4))
    with mode:
        first, again = x.nonzero(), x.nonzero()
        assert str(first.shape[0]) == str(again.shape[0]) == "u0"
        x.add_(1)
        assert str(x.nonzero().shape[0]) == "u1"


def test_numbers_that_are_read_twice_are_one():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(taeda.tensor(4))
    assert str(x.item()) == str(x.item()) == "u0"
    x.add_(1)
    assert str(x.item()) == "u1"


def test_a_fake_tensor_may_be_a_size():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(taeda.tensor(4))
    with mode:
        assert str(taeda.zeros([x, 2]).shape) == "torch.Size([u0, 2])"


def test_a_converter_knows_the_fakes_in_use():
    converter, x = FakeTensorConverter(), taeda.ones(2)
    fake = converter.from_real_tensor(FakeTensorMode(), x)
    assert list(converter.tensor_memo.values()) == [fake]
    del fake
    assert len(converter.tensor_memo) == 0


def test_fakes_of_one_storage_share_one():
    x = taeda.rand(2, 2)
    mode = FakeTensorMode()
    kept = mode.from_tensor(x).untyped_storage()
    assert mode.from_tensor(x[0]).untyped_storage() is kept


def test_a_converter_knows_the_storages_in_use():
    mode = FakeTensorMode()
    memo = mode.fake_tensor_converter.meta_converter
    x = taeda.rand(2, 2)
    fake = mode.from_tensor(x)
    assert memo.storage_memo == {x.untyped_storage()._cdata: fake.untyped_storage()}
    del x, fake
    assert memo.storage_memo == {}


def test_a_converter_of_its_own_knows_the_storages_of_its_modes():
    converter, x = FakeTensorConverter(), taeda.rand(2)
    mode = FakeTensorMode()
    fake = converter.from_real_tensor(mode, x)
    assert list(converter.meta_converter.storage_memo.values()) == [fake.untyped_storage()]


def test_the_fake_of_a_meta_tensor_is_one():
    mode, x = FakeTensorMode(), taeda.ones(2, device="meta")
    made = mode.fake_tensor_converter.from_meta_and_device(mode, x, "cpu")
    assert mode.fake_tensor_converter.from_meta_and_device(mode, x, "cpu") is made


def test_what_numbers_alone_give_is_known():
    with FakeTensorMode():
        assert taeda.div(4, 3, rounding_mode="trunc").item() == 1


def test_a_mode_knows_the_fakes_in_use():
    mode, x = FakeTensorMode(), taeda.ones(2)
    fake = mode.from_tensor(x)
    assert list(mode.fake_tensor_converter.tensor_memo.values()) == [fake]


def test_a_rule_that_tells_other_sizes_than_the_kernel(propagating):
    with taeda.library._scoped_library("wrong_sizes", "DEF") as library:
        library.define("turn(Tensor self) -> Tensor")
        library.impl("turn", lambda x: x.clone(), "CPU")
        library.impl("turn", lambda x: x.t().clone(), "Meta")
        x = propagating.from_tensor(taeda.ones(4, 8))
        message = (
            "output size mismatch between fake shape 8 and real shape 4, at output.size(0), "
            "for func: wrong_sizes.turn.default"
        )
        with pytest.raises(MetadataMismatchError, match=re.escape(message)):
            taeda.ops.wrong_sizes.turn(x)
