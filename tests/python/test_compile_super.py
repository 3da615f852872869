"""super() in frames that go on behind a break, and methods of C that a class has its own of."""

import collections

import pytest
from under_test import t


def broken(value):
    t._dynamo.graph_break()
    return value


class Logged:
    def __init__(self):
        self.log = []

    def put(self, value):
        self.log.append(value)
        return value

    @property
    def size(self):
        return len(self.log)

    @classmethod
    def named(cls, value):
        return cls.__name__, value


class Behind(Logged):
    def put(self, value):
        broken(0)
        return super().put(value)


class Twice(Logged):
    def put(self, value):
        first = super().put(value)
        broken(0)
        return first, super().put(value), super().size

    @classmethod
    def named(cls, value):
        broken(0)
        return super().named(value)


class Kept(Logged):
    def put(self, value):
        behind = super()
        method = super().put
        broken(0)
        return behind.put(value), method(value), self.named(value)


class Shared(Logged):
    """A closure has the object, too."""

    def put(self, value):
        broken(0)
        super().put(value)
        return [item for item in [0] if self.size], super().put(value + 1)


class List(list):
    def append(self, item):
        super().append(broken(item))

    def extend(self, items):
        super().extend(broken(items))

    def put(self, value):
        broken(0)
        self.append(value)
        self.extend([value, value])
        super().insert(0, value)
        return super().pop(), super().index(value), super().__len__()


class Dict(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, broken(value))

    def update(self, *more):
        super().update(broken(more[0]))

    def pop(self, key):
        return super().pop(broken(key))

    def put(self, value):
        self["a"] = value
        self.update({"b": value})
        return self.pop("a"), super().get("b")


class Queue(collections.deque):
    def append(self, item):
        super().append(broken(item))

    def put(self, value):
        self.append(value)
        return super().pop()


def shown(made, result):
    return result, vars(made), list(made) if hasattr(made, "__iter__") else None


@pytest.mark.parametrize("kind", [Behind, Twice, Kept, Shared, List, Dict, Queue])
@pytest.mark.parametrize("of_tensors", [False, True])
def test_super_behind_a_break(kind, of_tensors):
    """What is written lies in the program's objects, at calls that are found, too."""

    def put(made, value):
        result = made.put(value * 3 if of_tensors else value)
        return result, value + 1

    t._dynamo.reset()
    compiled = t.compile(put, backend="eager")
    found, wanted = kind(), kind()
    for value in (2, 3, 4, 5):
        given = t.full((), float(value)) if of_tensors else value
        made = shown(found, compiled(found, given)), shown(wanted, put(wanted, given))
        assert str(made[0]) == str(made[1])
        assert "Fake" not in str(made[0])


def test_a_module_that_prints_before_it_calls_its_base(capsys):
    class Base(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = []

        def forward(self, x):
            self.seen.append(x)
            return x * 2

    class Prints(Base):
        def forward(self, x):
            print("forward")
            return super().forward(x)

    t._dynamo.reset()
    module = Prints()
    compiled = t.compile(module)
    for i in range(3):
        assert t.equal(compiled(t.full((2,), float(i))), t.full((2,), 2.0 * i))
    assert capsys.readouterr().out == "forward\n" * 3
    assert [x.tolist() for x in module.seen] == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
