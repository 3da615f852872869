"""What operators on fake tensors tell: their errors, their keys, and the kinds they are of."""

import pytest
from taeda._subclasses import fake_tensor
from taeda._subclasses.fake_impls import get_fast_op_impls
from taeda._subclasses.fake_tensor import FakeTensor, FakeTensorMode

import taeda

aten = taeda.ops.aten


@pytest.mark.parametrize(
    ("size", "shown"), [((-1,), r"\(84,\)"), ((84,), r"\(84,\)"), ((2, 42), r"\(2, 42\)")]
)
def test_a_view_that_is_none(size, shown):
    with FakeTensorMode():
        x = taeda.arange(7).expand(12, 7)
        message = (
            rf"^Cannot view a tensor with shape torch.Size\(\[12, 7\]\) and strides \(0, 1\) as a "
            rf"tensor with shape {shown}!$"
        )
        with pytest.raises(ValueError, match=message):
            x.view(size)


def test_a_meta_tensor_has_the_error_of_real_ones():
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        taeda.arange(7, device="meta").expand(12, 7).view(-1)


def test_the_copy_of_a_view_needs_no_alias():
    with FakeTensorMode():
        copied = aten.view_copy.default(taeda.arange(7).expand(12, 7), [84])
    assert copied.shape == (84,) and copied._base is None


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: taeda.ones(2), "CPU, ADInplaceOrView, AutogradCPU, AutocastCPU"),
        (lambda: taeda.ones(2, device="meta"), "Meta, ADInplaceOrView, AutogradMeta"),
    ],
)
def test_keys_that_a_call_may_meet(make, expected):
    assert taeda._C._dispatch_key_set(make()) == f"DispatchKeySet({expected})"


def test_keys_in_inference_mode():
    with taeda.inference_mode():
        assert taeda._C._dispatch_key_set(taeda.ones(2)) == "DispatchKeySet(CPU, AutocastCPU)"


def test_keys_of_a_fake_tensor():
    with FakeTensorMode():
        shown = taeda._C._dispatch_key_set(taeda.ones(2, device="cuda"))
    assert shown == "DispatchKeySet(CUDA, Fake, ADInplaceOrView, AutogradCUDA, AutocastCUDA)"


def test_constructors_after_a_tensor():
    found = fake_tensor._like_tensor_constructors
    assert {aten.zeros_like.default, aten.randint_like.low_dtype, aten.new_full.default} <= found
    assert not found & {aten.zeros.default, aten._to_copy.default, aten.clone.default}


def test_operators_whose_device_may_be_given_by_position():
    found = fake_tensor._device_not_kwarg_ops
    assert aten.to.device in found
    assert not found & {aten.zeros.default, aten._to_copy.default, aten.add.Tensor}


def test_rules_of_pointwise_operators():
    rules = get_fast_op_impls()
    assert aten.mm.default not in rules
    mode = FakeTensorMode()
    with mode:
        x = taeda.empty(2, 3, dtype=taeda.int32, device="cuda")
    made = rules[aten.div.Tensor](mode, x, 2)
    assert isinstance(made, FakeTensor)
    assert (made.dtype, made.shape, made.device) == (taeda.float32, (2, 3), x.device)
