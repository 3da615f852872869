"""Import paths beside fake tensors: functional tensors, cross references, meta tensors."""

import pytest
from taeda._subclasses.fake_tensor import FakeTensorMode, MetadataMismatchError
from taeda._subclasses.fake_utils import (
    CrossRefFakeMode,
    output_alias_each_other,
    outputs_alias_inputs,
    outputs_are_inputs,
    try_convert_fake_to_real,
)
from taeda._subclasses.functional_tensor import (
    FunctionalTensor,
    FunctionalTensorMode,
    dispatch_functionalize,
    mb_unwrap_functional_tensor,
)
from taeda._subclasses.meta_utils import MetaConverter, assert_eq, assert_metadata_eq
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda


# ---- functional tensors ----
def test_writes_to_a_functional_tensor_make_a_new_value():
    x = taeda.ones(2, 2)
    with FunctionalTensorMode():
        y = FunctionalTensor.to_functional(x)
        y.view(4).add_(1)
        assert isinstance(y, FunctionalTensor) and not isinstance(x, FunctionalTensor)
        assert FunctionalTensor.from_functional(y).tolist() == [[2, 2], [2, 2]]
        assert taeda.equal(mb_unwrap_functional_tensor(y), x + 1)
        assert mb_unwrap_functional_tensor(x) is x
    assert x.tolist() == [[1, 1], [1, 1]]


def test_functional_tensors_need_their_mode():
    with pytest.raises(AssertionError, match="functional_mode must not be None"):
        FunctionalTensor.to_functional(taeda.ones(2))
    assert not isinstance(taeda.ones(2), FunctionalTensor)


def test_a_function_without_writes():
    def f(x):
        x.add_(1)
        return x * 2

    x = taeda.ones(2)
    assert dispatch_functionalize(f)(x).tolist() == [4, 4] and x.tolist() == [1, 1]
    module = make_fx(dispatch_functionalize(f))(x)
    names = [str(n.target) for n in module.graph.nodes if n.op == "call_function"]
    assert names == ["aten.add.Tensor", "aten.mul.Tensor"]


# ---- cross references ----
def test_operators_are_compared_with_their_fakes():
    with CrossRefFakeMode():
        x = taeda.randn(4, 6)
        y = (x.t() @ x).softmax(-1)[1:].reshape(-1)
        y.add_(1)
        assert y.nonzero().shape[1] == 1 and x.sum().item() is not None


def test_a_fake_kernel_that_is_wrong_is_found():
    lib = taeda.library.Library("crossref", "FRAGMENT")
    lib.define("wrong(Tensor x) -> Tensor")
    lib.impl("wrong", lambda x: x.t().contiguous(), "CPU")
    taeda.library.register_fake("crossref::wrong", lambda x: x.new_empty(x.shape), lib=lib)
    with pytest.raises(MetadataMismatchError, match=r"output\[0\]: shape"), CrossRefFakeMode():
        taeda.ops.crossref.wrong(taeda.ones(2, 3))
    with CrossRefFakeMode(ignore_op_fn=lambda func: "wrong" in str(func)):
        assert taeda.ops.crossref.wrong(taeda.ones(2, 3)).shape == (3, 2)


def test_who_shares_memory_with_whom():
    x, y = taeda.ones(4), taeda.ones(4)
    assert outputs_alias_inputs([x[:2]], [x]) and not outputs_alias_inputs([y], [x])
    assert outputs_are_inputs([x], [x, y]) and not outputs_are_inputs([x[:2]], [x])
    assert output_alias_each_other([x, x[1:]]) and not output_alias_each_other([x, y])


def test_real_values_of_fakes_that_have_them():
    with FakeTensorMode():
        known, unknown = taeda.tensor(3), taeda.ones(2)
    real, same = try_convert_fake_to_real([known, unknown])
    assert real.item() == 3 and same is unknown


# ---- meta tensors ----
def test_meta_tensors_of_views_and_parameters():
    convert = MetaConverter()
    base = taeda.randn(4, 6, requires_grad=True)
    parameter = taeda.nn.Parameter(taeda.ones(3))
    for t in (base.detach(), base, base * 2, base[1:].t(), parameter, taeda.arange(3)):
        meta = convert(t)
        assert meta.device.type == "meta" and convert(t) is meta
        assert_metadata_eq(assert_eq, t, meta)
    assert isinstance(convert(parameter), taeda.nn.Parameter)
    assert convert(base[0])._base is convert(base)
    assert convert(5) == 5
