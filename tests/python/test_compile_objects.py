"""Objects with slots, classes of classes and objects as keys inside of captured programs."""

import types

import pytest
from under_test import t

X = t.ones(2)
counters = t._dynamo.utils.counters


@pytest.fixture(autouse=True)
def fresh():
    """No test sees what another compiled."""
    t._dynamo.reset()
    counters.clear()


def shown(value):
    if isinstance(value, t.Tensor):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [shown(item) for item in value]
    return value


def compare(function, *calls, graphs=1):
    """Results of a program, plainly and compiled; a call is a function that makes its arguments."""
    compiled = t.compile(function, backend="eager", fullgraph=True)
    for make in calls:
        assert shown(compiled(*make())) == shown(function(*make()))
    assert counters["stats"]["unique_graphs"] == graphs


# ---- slots ----


class Slotted:
    """An object without a dict of attributes."""

    __slots__ = ("a", "b")

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def values(self):
        return {name: shown(getattr(self, name)) for name in self.__slots__ if hasattr(self, name)}


CALLS = []


def set_and_delete(o, x):
    CALLS.append(1)
    o.a = x + 1
    result = o.a * 2
    del o.a
    return result


def delete_and_set(o, x):
    CALLS.append(1)
    o.a = 1
    del o.a
    has_value = hasattr(o, "a")
    o.a = x * 3
    return x + has_value


@pytest.mark.parametrize("function", [set_and_delete, delete_and_set])
@pytest.mark.parametrize("values", [[{}, {}], [{"a": 5}, {}], [{}, {"a": 5}, {}]])
def test_a_slot_that_is_deleted_again(function, values):
    compiled = t.compile(function, backend="eager", fullgraph=True)
    for given in values:
        one, other = Slotted(**given), Slotted(**given)
        CALLS.clear()
        expected = shown(function(one, X))
        assert shown(compiled(other, X)) == expected
        assert one.values() == other.values()
        assert CALLS == [1, 1]


def test_slots_of_one_object_that_were_those_of_two():
    def function(a, b, x):
        a.a = x
        b.a = x * 2
        return a.a

    def same():
        a = Slotted()
        return a, a, X

    compare(function, lambda: (Slotted(), Slotted(), X), same, graphs=2)


# ---- classes of classes ----


def _returns(value):
    return lambda *args: value


METHODS = {
    "__add__": (lambda c, x: x + (c + 1), _returns(4), _returns(5)),
    "__bool__": (lambda c, x: x + 1 if c else x, _returns(True), _returns(False)),
    "__call__": (
        lambda c, x: x + c().v,
        _returns(types.SimpleNamespace(v=1)),
        _returns(types.SimpleNamespace(v=2)),
    ),
    "__contains__": (lambda c, x: x + 1 if 1 in c else x, _returns(True), _returns(False)),
    "__eq__": (lambda c, x: x + 1 if c == 1 else x, _returns(True), _returns(False)),
    "__getitem__": (lambda c, x: x + c[1], _returns(4), _returns(5)),
    "__hash__": (lambda c, x: x + hash(c), _returns(4), _returns(5)),
    "__instancecheck__": (
        lambda c, x: x + 1 if isinstance(x, c) else x,
        _returns(True),
        _returns(False),
    ),
    "__iter__": (lambda c, x: x + sum(c), lambda c: iter([1, 2]), lambda c: iter([1, 3])),
    "__len__": (lambda c, x: x + len(c), _returns(4), _returns(5)),
    "__lt__": (lambda c, x: x + 1 if c < 1 else x, _returns(True), _returns(False)),
    "__neg__": (lambda c, x: x + -c, _returns(4), _returns(5)),
    "__str__": (lambda c, x: (x, str(c)), _returns("one"), _returns("other")),
    "__subclasscheck__": (
        lambda c, x: x + 1 if issubclass(int, c) else x,
        _returns(True),
        _returns(False),
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_special_method_of_a_class_of_classes_that_is_replaced(name):
    function, before, after = METHODS[name]
    meta = type("Meta", (type,), {name: before, "__hash__": METHODS["__hash__"][1]})
    kind = meta("Kind", (), {})
    compiled = t.compile(function, backend="eager")
    assert shown(compiled(kind, X)) == shown(function(kind, X))
    setattr(meta, name, after)
    assert shown(compiled(kind, X)) == shown(function(kind, X))
