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


def test_a_property_of_a_class_of_classes_is_set():
    class Meta(type):
        @property
        def size(cls):
            return cls.kept

        @size.setter
        def size(cls, value):
            cls.kept = value * 2

    class Kind(metaclass=Meta):
        kept = 1

    def function(x):
        Kind.size = Kind.size + 1
        return x * Kind.size

    compiled = t.compile(function, backend="eager", fullgraph=True)
    assert (shown(compiled(X)), Kind.kept) == ([4, 4], 4)
    assert (shown(compiled(X)), Kind.kept) == ([10, 10], 10)


# ---- attributes that are not there, and numbers of classes of the program ----


def test_errors_of_names_that_are_deleted():
    class Kind:
        pass

    def function(o, x):
        texts = []
        for owner in (o, Kind):
            try:
                del owner.missing
            except AttributeError as error:
                texts.append(str(error))
        return x + 1, texts

    compare(function, lambda: (Kind(), X))


class Count(int):
    """A number that counts on in its own class."""

    def __add__(self, other):
        return Count(int(self) + other + 1)


class Named(str):
    """A text with a slot."""

    __slots__ = ("by",)


def test_numbers_and_texts_of_classes_live_on():
    def function(state, x):
        state["n"] = state["n"] + 1
        state["text"] = Named("a")
        state["text"].by = x * 2
        return x * state["n"]

    def state_after(run):
        state = {"n": Count(2)}
        results = [shown(run(state, X)) for _ in range(3)]
        text = state["text"]
        return results, state["n"], type(state["n"]), text, type(text), shown(text.by)

    compiled = t.compile(function, backend="eager", fullgraph=True)
    assert state_after(compiled) == state_after(function)


# ---- keys that are objects ----


class Object:
    def __init__(self, v):
        self.v = v


class Valued(Object):
    """An object that is found by its value."""

    def __eq__(self, other):
        return self.v == other.v

    def __hash__(self):
        return hash(self.v)


A, B, C = (Object(i) for i in range(3))
P, Q = t.ones(2), t.zeros(2)


def read(d, key, x):
    return x + d.get(key, 7), key in d, x * d.get(key, 2)


def write(d, key, x):
    d[key] = d.pop(key, 3) + 1
    d.setdefault(key, 9)
    return x + len(d), list(d.values())


def walk(d, key, x):
    for found, value in d.items():
        x = x * 2 + (value if found is key else 5)
    return x, len(d)


def members(d, key, x):
    keys = set(d)
    keys.discard(key)
    keys.add(key)
    return x + len(keys), key in keys, {key: 1} == d, frozenset(d) == keys


@pytest.mark.parametrize("function", [read, write, walk, members])
@pytest.mark.parametrize(
    ("keys", "other"), [((A, B), C), ((P, Q), X), ((Valued(1), Valued(2)), Valued(1))]
)
def test_dicts_whose_keys_are_objects(function, keys, other):
    one, two = keys
    for made in ({}, {one: 1}, {two: 1}, {one: 1, two: 2}, {two: 1, one: 2}, {(one, 1): 3}):
        t._dynamo.reset()
        compiled = t.compile(function, backend="eager", fullgraph=True)
        for key in (one, two, other):
            plain, own = dict(made), dict(made)
            assert shown(compiled(own, key, X)) == shown(function(plain, key, X))
            assert [(id(k), v) for k, v in own.items()] == [(id(k), v) for k, v in plain.items()]


def test_one_region_for_other_keys():
    def function(state, keys, x):
        for key in keys:
            if key not in state:
                state[key] = {"step": x * 0}
            state[key]["step"] = state[key]["step"] + 1
        return x + len(state)

    compiled = t.compile(function, backend="eager", fullgraph=True)
    for make in (lambda: t.ones(2), lambda: Object(1)):
        counters.clear()
        for _ in range(3):
            state, keys = {}, [make(), make()]
            for _ in range(3):
                compiled(state, keys, X)
            assert [shown(state[key]["step"]) for key in keys] == [[3, 3], [3, 3]]
        assert counters["stats"]["unique_graphs"] == 2


def test_two_keys_that_become_one():
    def function(a, b, x):
        d, s = {a: 1}, {a}
        d[b] = 2
        s.add(b)
        return x + d[a] + len(s) + len(dict.fromkeys((a, b)))

    compare(function, lambda: (A, B, X), lambda: (A, A, X), lambda: (C, B, X), graphs=2)
    t._dynamo.reset()
    counters.clear()
    compare(function, lambda: (P, Q, X), lambda: (P, P, X), graphs=2)


@pytest.mark.parametrize("is_walked", [False, True])
def test_sets_of_objects_of_the_program(is_walked):
    def function(seen, key, x):
        was_seen = key in seen
        if not was_seen:
            seen.add(key)
        rest = sum(o.v for o in seen if o is not key) if is_walked else 0
        return x + len(seen), was_seen, rest

    # The order of its members is that of their addresses, and a break where it changed.
    compiled = t.compile(function, backend="eager", fullgraph=not is_walked)
    for given in ((), (A,), (A, B), (B,)):
        plain, own = set(given), set(given)
        for key in (A, B):
            assert shown(compiled(own, key, X)) == shown(function(plain, key, X))
        assert own == plain


def test_functions_of_one_code_are_two_keys():
    def make(n):
        return lambda x: x * n

    def function(table, key, x):
        return x + table.get(key, 5), key in table

    one, two = make(1), make(2)
    compare(
        function,
        *(lambda d=d, k=k: (d, k, X) for d in ({one: 1}, {one: 1, two: 2}) for k in (one, two)),
        graphs=3,  # absent, present, and with a number that changed
    )


def test_modules_as_keys():
    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = t.nn.ModuleList(t.nn.Linear(2, 2) for _ in range(3))
            self.calls = {}

        def forward(self, x):
            names = {p: name for name, p in self.named_parameters()}
            for layer in self.layers:
                self.calls[layer] = self.calls.get(layer, 0) + 1
                x = layer(x)
            return x, [names[p] for p in self.parameters()], list(self.calls.values())

    model = Model()
    with t.no_grad():
        first = shown(model(X))
        compiled = t.compile(model, backend="eager", fullgraph=True)
        result = shown(compiled(X))
    assert result[:2] == first[:2]
    assert result[2] == [2, 2, 2]
    assert list(model.calls) == list(model.layers)


class Told(list):
    """A list that shows something else than it has, and counts who looks."""

    looks = 0

    def __iter__(self):
        Told.looks += 1
        return iter([7, *list.__iter__(self)][::-1])

    def __len__(self):
        return 99


def test_lists_that_show_something_else():
    def program(x, items):
        items.append(x.sum())
        items[0] += 1
        return x * items[0] + sum(items), [*items], items[1:]

    compiled = t.compile(program, backend="eager", fullgraph=True)
    counters.clear()
    for first in (0, 1, 2, 3):
        found = []
        for function in (program, compiled):
            Told.looks, items = 0, Told([first, 2])
            found.append(repr((function(t.ones(2), items), items[:], Told.looks)))
        assert found[0] == found[1]
    assert counters["stats"]["unique_graphs"] == 2
