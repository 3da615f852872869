"""taeda.ops: operators by namespace, name and overload."""

import copy
import pickle

import pytest
from under_test import NAME, t

aten = t.ops.aten


# ---- what the objects tell ----
def test_an_overload_tells_its_names():
    op = aten.add.Tensor
    assert str(op) == "aten.add.Tensor"
    assert repr(op) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert op.name() == "aten::add.Tensor"
    assert op.__name__ == "add.Tensor"
    assert op.namespace == "aten"
    assert op.overloadpacket is aten.add
    assert op._overloadname == "Tensor"


def test_the_overload_without_a_name_is_default():
    op = aten.mm.default
    assert str(op) == "aten.mm.default"
    assert op.name() == "aten::mm"
    assert op._schema.overload_name == ""


def test_a_packet_tells_its_names():
    assert str(aten.add) == "aten.add"
    assert repr(aten.add) == "<OpOverloadPacket(op='aten.add')>"
    assert aten.add.__name__ == "add"
    assert {"Tensor", "out"} <= set(aten.add.overloads())
    assert "default" in aten.mm.overloads()


def test_there_is_one_object_an_overload():
    assert aten.add.Tensor is t.ops.aten.add.Tensor
    assert copy.deepcopy(aten.add.Tensor) is aten.add.Tensor
    assert len({aten.add.Tensor, aten.add.Tensor, aten.mm.default}) == 2


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch's overloads cannot be pickled")
def test_overloads_and_packets_survive_pickling():
    for op in (aten.add, aten.add.Tensor, aten.mm.default):
        assert pickle.loads(pickle.dumps(op)) is op


def test_the_schema_lists_arguments_and_results():
    schema = aten.add.Tensor._schema
    text = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert str(schema) == text
    assert (schema.name, schema.overload_name) == ("aten::add", "Tensor")
    assert [a.name for a in schema.arguments] == ["self", "other", "alpha"]
    assert [a.kwarg_only for a in schema.arguments] == [False, False, True]
    assert [a.has_default_value() for a in schema.arguments] == [False, False, True]
    assert schema.arguments[2].default_value == 1
    assert len(schema.returns) == 1
    assert not schema.is_mutable


def test_the_schema_tells_what_is_written():
    schema = aten.add_.Tensor._schema
    info = schema.arguments[0].alias_info
    assert schema.is_mutable
    assert info.is_write
    assert info.before_set == {"a"}
    assert schema.arguments[1].alias_info is None
    out = aten.add.out._schema.arguments[-1]
    assert out.is_out
    assert out.kwarg_only


def test_random_operators_are_tagged():
    tag = t.Tag.nondeterministic_seeded
    assert tag in aten.bernoulli.default.tags
    assert tag not in aten.mm.default.tags


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'foo'"):
        _ = aten.foo
    with pytest.raises(
        AttributeError, match=r"The underlying op of 'aten\.add' has no overload name 'Foo'"
    ):
        _ = aten.add.Foo


@pytest.mark.skipif(NAME != "taeda", reason="looks into Taeda's registry")
def test_every_operator_can_be_found_and_its_defaults_read():
    for full_name in t._C._dispatch.list_operators():
        namespace, _, name = full_name.rpartition("::")
        name, _, overload = name.partition(".")
        packet = getattr(getattr(t.ops, namespace or "aten"), name)
        schema = getattr(packet, overload or "default")._schema
        assert schema.overload_name == overload
        for argument in schema.arguments:
            assert argument.default_value is None or argument.has_default_value()


# ---- calls ----
def test_a_call_goes_through_autograd():
    x = t.ones(2, requires_grad=True)
    y = aten.mul.Tensor(x, x)
    aten.sum.default(y).backward()
    assert x.grad.tolist() == [2, 2]


def test_keyword_arguments_and_defaults():
    x = t.tensor([1.0, 2.0])
    assert aten.add.Tensor(x, x).tolist() == [2, 4]
    assert aten.add.Tensor(x, x, alpha=3).tolist() == [4, 8]
    assert aten.add.Tensor(other=x, self=x).tolist() == [2, 4]


def test_a_number_stands_for_a_tensor():
    assert aten.add.Tensor(t.tensor([1, 2]), 2).dtype == t.int64
    assert aten.mul.Tensor(t.tensor([1, 2]), 0.5).tolist() == [0.5, 1]


def test_lists_and_one_number_for_a_list():
    x = t.ones(2, 3)
    assert aten.sum.dim_IntList(x, [0]).tolist() == [2, 2, 2]
    assert aten.sum.dim_IntList(x, 1, True).shape == (2, 1)
    assert aten.sum.dim_IntList(x, None).item() == 6
    assert aten.permute.default(x, (1, 0)).shape == (3, 2)
    assert aten.cat.default([x, x], 1).shape == (2, 6)


def test_none_in_a_list_of_tensors():
    x = t.arange(6).view(2, 3)
    assert aten.index.Tensor(x, [None, t.tensor([2, 0])]).tolist() == [[2, 0], [5, 3]]


def test_dtype_device_layout_memory_format_and_generator():
    options = {"dtype": t.int32, "device": t.device("cpu"), "layout": t.strided}
    assert aten.zeros.default([2], **options).dtype == t.int32
    assert aten.zeros.default([2], device="cpu").device.type == "cpu"
    turned = aten.clone.default(t.ones(2, 3).t(), memory_format=t.contiguous_format)
    assert turned.stride() == (2, 1)
    a, b = (aten.rand.generator([3], generator=t.Generator().manual_seed(1)) for _ in range(2))
    assert a.tolist() == b.tolist()


def test_text_and_scalars():
    x = t.tensor([-1.0, 1.0])
    assert aten.div.Tensor_mode(t.tensor([7.0]), t.tensor([2.0]), rounding_mode="floor").item() == 3
    assert aten.clamp.default(x, min=0).tolist() == [0, 1]
    assert aten.leaky_relu.default(x, 0.5).tolist() == [-0.5, 1]


def test_several_results_are_a_tuple_and_lists_are_lists():
    values, indices = aten.max.dim(t.tensor([[1.0, 3.0, 2.0]]), 1)
    assert (values.item(), indices.item()) == (3, 1)
    parts = aten.split.Tensor(t.arange(4), 2)
    assert type(parts) is list
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3]]


def test_in_place_and_out_return_what_they_wrote():
    x = t.ones(2)
    assert aten.add_.Tensor(x, 1) is x
    assert x.tolist() == [2, 2]
    out = t.empty(2)
    assert aten.add.out(x, x, out=out) is out
    assert out.tolist() == [4, 4]


@pytest.mark.skipif(NAME != "taeda", reason="looks into Taeda's traces")
def test_calls_are_traced():
    x, events = t.ones(2), []
    t._C._dispatch._trace(events)
    aten.sin.default(x)
    aten.add(x, 1)
    t._C._dispatch._trace(None)
    assert [name for category, name in events if category == "op"] == ["sin", "add.Tensor"]


# ---- packets ----
def test_a_packet_takes_the_overload_that_fits():
    x = t.ones(2, 3)
    assert aten.sum(x).item() == 6
    assert aten.sum(x, [1]).tolist() == [3, 3]
    assert aten.add(x, 2).sum().item() == 18
    assert aten.pow(x, 2).sum().item() == 6
    assert aten.mm(x, x.t()).tolist() == [[3, 3], [3, 3]]


def test_an_error_of_the_operator_itself_is_not_taken_for_a_misfit():
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        aten.mm(t.ones(2, 3), t.ones(2, 3))


def test_a_packet_that_fits_nowhere_lists_the_reasons():
    with pytest.raises(RuntimeError, match="failed to match any schema") as error:
        aten.mm(t.ones(2, 3))
    assert "aten::mm() is missing value for argument 'mat2'" in str(error.value)
    assert "aten::mm.out(" in str(error.value)


# ---- errors ----
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: aten.add.Tensor(x), r"aten::add\(\) is missing value for argument 'other'"),
        (
            lambda x: aten.add.Tensor(x, "a"),
            r"aten::add\(\) Expected a value of type 'Tensor' for argument 'other' but instead "
            r"found type 'str'.\nPosition: 1\nValue: 'a'\nDeclaration: aten::add.Tensor\(",
        ),
        (
            lambda x: aten.add.Tensor(x, x, 3),
            r"aten::add\(\) takes 2 positional argument\(s\) but 3 was/were given",
        ),
        (
            lambda x: aten.add.Tensor(x, x, beta=3),
            "Unknown keyword argument 'beta' for operator 'aten::add'",
        ),
        (
            lambda x: aten.add.Tensor(x, x, self=x),
            "Argument 'self' specified both as positional and keyword argument",
        ),
        (
            lambda x: aten.sum.dim_IntList(x, [0.5]),
            r"Expected a value of type 'Optional\[List\[int\]\]' for argument 'dim'",
        ),
        (
            lambda x: aten.cat.default([x, 1]),
            r"Expected a value of type 'List\[Tensor\]' for argument 'tensors'",
        ),
        (
            lambda x: aten.mm.default(x, None),
            r"Expected a proper Tensor but got None .* for argument #1 'mat2'",
        ),
    ],
)
def test_arguments_that_do_not_fit(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(t.ones(2, 2))
