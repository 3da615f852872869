"""__torch_function__ of operators in taeda.ops, custom ones among them: classes and modes see them."""

import importlib

import pytest
from under_test import NAME, t

overrides = importlib.import_module(f"{NAME}.overrides")
library = importlib.import_module(f"{NAME}.library")


class Logged(t.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(str(func))
        return super().__torch_function__(func, types, args, kwargs or {})


@library.custom_op("ops_overrides::squared", mutates_args=())
def squared(x: t.Tensor) -> t.Tensor:
    return x * x


def logged():
    Logged.calls.clear()
    return t.ones(3).as_subclass(Logged)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda x: t.ops.aten.sin(x), "aten.sin"),
        (lambda x: t.ops.aten.sin.default(x), "aten.sin.default"),
        (lambda x: t.ops.aten.add.Tensor(t.ones(3), x), "aten.add.Tensor"),
        (lambda x: t.ops.aten.cat([t.ones(3), x]), "aten.cat"),
        (lambda x: t.ops.aten.mul(t.ones(3), other=x), "aten.mul"),
        (lambda x: squared(x), "ops_overrides.squared.default"),
    ],
)
def test_a_class_sees_the_operator(call, name):
    result = call(logged())
    assert Logged.calls == [name]
    assert type(result) is Logged


def test_results_keep_a_class_without_a_function_of_its_own():
    class Plain(t.Tensor):
        pass

    assert type(t.ops.aten.sin(t.ones(2).as_subclass(Plain))) is Plain


def test_disabled_classes_are_not_asked():
    with t._C.DisableTorchFunctionSubclass():
        t.ops.aten.sin(logged())
    assert Logged.calls == []
    assert type(t.ops.aten.sin(t.nn.Parameter(t.ones(2)))) is t.Tensor


def test_what_all_decline_is_an_error():
    class Refusing(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented"):
        t.ops.aten.sin(t.ones(2).as_subclass(Refusing))


def test_a_mode_sees_operators():
    seen = []

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = t.ones(2)
    with Mode():
        t.ops.aten.sin(x)
        squared(x)
    assert seen == ["aten.sin", "ops_overrides.squared.default"]


def test_types_of_arguments_and_results_have_their_names():
    def types(op):
        schema = op._schema
        return [str(a.type) for a in schema.arguments], [str(r.type) for r in schema.returns]

    aten = t.ops.aten
    wanted = ["Tensor", "Optional[List[int]]", "bool", "Optional[int]"]
    assert types(aten.sum.dim_IntList) == (wanted, ["Tensor"])
    assert types(aten.index.Tensor) == (["Tensor", "List[Optional[Tensor]]"], ["Tensor"])
    assert types(aten.split.Tensor) == (["Tensor", "int", "int"], ["List[Tensor]"])
    assert types(aten.add.Tensor)[0] == ["Tensor", "Tensor", "number"]
