"""Changes of objects that a compiled program read: of attributes, classes, modules and enums."""

import dataclasses
import datetime
import enum
import gc
import itertools
import operator
import types
import weakref

import pytest
from compiled_case import check_changes
from under_test import t

X = t.linspace(-1, 1, 6).reshape(2, 3)


def test_methods_and_attributes_of_classes_are_watched():
    class Base:
        k = 1

        def scale(self, x):
            return x + self.k

    class Derived(Base):
        pass

    o = Derived()
    changes = [
        lambda: setattr(Base, "k", 2),
        lambda: setattr(Derived, "k", 3),
        lambda: setattr(Base, "scale", lambda self, x: x * 7),
        lambda: setattr(o, "scale", lambda x: x * 9),
    ]
    check_changes(lambda x: o.scale(x), changes, X)


def test_variables_of_special_methods_are_watched():
    k = 2

    class Special:
        def __init__(self):
            self.made = k

        @property
        def value(self):
            return k

        def __getattr__(self, name):
            return k

        def __add__(self, other):
            return other * k

        def __len__(self):
            return k

        def __getitem__(self, index):
            return k

    o = Special()

    def change():
        nonlocal k
        k += 1

    for program in (
        lambda x: x * o.value,
        lambda x: x * o.other,
        lambda x: o + x,
        lambda x: x * Special().made,
        lambda x: x * len(o),
        lambda x: x * o[0],
    ):
        check_changes(program, [change, change], X)


def test_what_is_absent_is_watched():
    import types

    module = types.ModuleType("module")
    check_changes(
        lambda x: x + 1 if hasattr(module, "name") else x - 1,
        [lambda: setattr(module, "name", 1)],
        X,
    )

    class Slotted:
        __slots__ = ("b",)

    slotted = Slotted()
    check_changes(
        lambda x: x + 1 if hasattr(slotted, "b") else x - 1, [lambda: setattr(slotted, "b", 1)], X
    )


def test_an_object_in_the_place_of_another():
    class Thing:
        def __init__(self, by):
            self.by = by

    class Other(Thing):
        pass

    class Slotted:
        __slots__ = ("by",)

        def __init__(self, by):
            self.by = by

    compiled = t.compile(lambda x, thing: x * thing.by, backend="eager")
    for by in range(2, 12):
        # Each ends before the next, which mostly gets its address.
        for kind in (Thing, Thing, Other, Slotted):
            thing = kind(by)
            assert t.equal(compiled(X, thing), X * by)
            del thing
    # Two objects with one dict.
    first, second = Thing(2), Thing(5)
    assert t.equal(compiled(X, first), X * 2)
    second.__dict__ = first.__dict__
    assert t.equal(compiled(X, second), X * 2)
    first.by = 7
    assert t.equal(compiled(X, second), X * 7)


class Factored(types.SimpleNamespace):
    def of(self, x):
        return x * self.factor


def test_namespaces():
    settings = types.SimpleNamespace(factor=2.0, inner=types.SimpleNamespace(names=["a"]))
    other = types.SimpleNamespace(factor=7.0, inner=settings.inner)
    holder = [settings, Factored(factor=3.0)]

    def program(x):
        one, two = holder
        known = hasattr(one, "more"), list(one.inner.names), len(vars(one))
        return x * one.factor + two.of(x), known, [one] == [other]

    changes = (
        lambda: setattr(settings, "factor", 3.0),
        lambda: settings.inner.names.append("b"),
        lambda: setattr(settings, "more", 1),
        lambda: delattr(settings, "more"),
        lambda: setattr(holder[1], "factor", 4.0),
        lambda: setattr(Factored, "of", lambda self, x: x - self.factor),
        lambda: setattr(other, "factor", settings.factor),
        lambda: holder.__setitem__(0, other),
        lambda: setattr(settings, "inner", types.SimpleNamespace(names=[])),
    )
    check_changes(program, changes, X)


def test_getattr_of_a_module_is_watched():
    module = types.ModuleType("made_up")
    module.__getattr__ = lambda name: 4.0
    check_changes(
        lambda x: x * module.factor,
        [
            lambda: setattr(module, "__getattr__", lambda name: 5.0),
            lambda: setattr(module, "factor", 6.0),
            lambda: delattr(module, "factor"),
        ],
        X,
    )
    compiled = t.compile(lambda x: x * module.factor, backend="eager")
    compiled(X)
    del module.__getattr__
    with pytest.raises(AttributeError, match="factor"):
        compiled(X)


def test_attributes_of_enum_members_are_watched():
    class Kind(enum.Enum):
        A = 1
        B = 2

    Kind.A.factor, Kind.B.factor = 3.0, 4.0
    kind = [Kind.A]
    check_changes(
        lambda x: x * kind[0].factor,
        [
            lambda: setattr(Kind.A, "factor", 5.0),
            lambda: kind.__setitem__(0, Kind.B),
            lambda: setattr(Kind.B, "factor", 6.0),
        ],
        X,
    )


def test_writes_to_enum_members_are_done_by_each_call():
    class Kind(enum.Enum):
        A = 1

    Kind.A.count = 0

    def program(x):
        Kind.A.count += 1
        return x + 1

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for expected in (1, 2, 3):
        compiled(X)
        assert Kind.A.count == expected


def test_a_class_of_descriptors_that_gets_a_setter_is_noticed():
    class Descriptor:
        def __get__(self, instance, owner):
            return 2.0

    class Holder:
        factor = Descriptor()

    holder = Holder()
    check_changes(
        lambda x: x * holder.factor,
        [
            lambda: holder.__dict__.update(factor=7.0),
            lambda: setattr(Descriptor, "__set__", lambda self, instance, value: None),
            lambda: setattr(Descriptor, "__get__", lambda self, instance, owner: 11.0),
        ],
        X,
    )


def test_objects_that_are_known_by_identity():
    """They are hashed and compared as the program's own, whatever stands for them."""
    values, error = {1: 2}.values(), ValueError(1)

    def program(x, values, error):
        same = (error == error, error != KeyError(1), operator.eq(error, values), values == values)
        return x + 1, hash(values), hash(error), same

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for given in ((values, error), (values, error), ({1: 3}.values(), error), (values, OSError(1))):
        got, expected = compiled(X, *given), program(X, *given)
        assert t.equal(got[0], expected[0]) and got[1:] == expected[1:]


def test_texts_of_classes():
    def program(x, kind):
        return x + 1, f"{kind} {kind=} {t.nn.Linear!s}", repr(kind)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for kind in (dict, t.nn.Module, OSError, dict):
        assert compiled(X, kind)[1:] == program(X, kind)[1:]


class Plain:
    pass


class Going:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


COMPARED_BY_C = {
    "operator": lambda a, b: (operator.eq(a, b), operator.is_(a, b), operator.is_not(a, b)),
    "methods": lambda a, b: (a.__eq__(b), object.__eq__(a, b)),
    "searches of iterators": lambda a, b: (a in iter([b]), a in (k for k in [b]), a in Going([b])),
    "bound methods": lambda a, b: (a.__init__ == b.__init__, a.__init__ != b.__init__),
    "lists": lambda a, b: ([a] == [b], [a] != [b], [(a,)] == [(b,)], [a].__eq__([b])),
    "tuples and dicts": lambda a, b: ((a, 1) == (b, 1), {1: a} == {1: b}),
    "searches": lambda a, b: ([b, a].index(a), [a, b].count(a), (a, b).index(b)),
    "nested searches": lambda a, b: (
        (a,) in [(b,)],
        a in {1: b}.values(),
        (1, a) in {1: b}.items(),
    ),
    "functions": lambda a, b: (operator.countOf([a, b], a), operator.contains([a], b)),
    "iterators": lambda a, b: (len(list(itertools.groupby([a, b]))), [*map(operator.eq, [a], [b])]),
}


@pytest.mark.parametrize("make", [Plain, Exception, lambda: t.nn.Linear(1, 1), lambda: lambda: 1])
@pytest.mark.parametrize("compare", COMPARED_BY_C.values(), ids=COMPARED_BY_C)
def test_two_objects_that_c_compares_stay_two(compare, make):
    one, other = make(), make()
    compiled = t.compile(lambda x, a, b: (x + 1, compare(a, b)), backend="eager")
    for a, b in ((one, other), (one, one), (other, one), (other, other), (one, other)):
        assert compiled(X, a, b)[1] == compare(a, b)


def test_values_of_c_are_compared():
    day, days = datetime.date(2020, 1, 2), [datetime.date(2021, 1, 2)]

    def program(x):
        return x + 1, (day == days[0], day < days[0], operator.lt(day, days[0])), hash(day)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for other in (days[0], datetime.date(2020, 1, 2), days[0]):
        days[0] = other
        assert compiled(X)[1:] == program(X)[1:]


def test_values_of_c_in_lists_are_compared():
    compiled = t.compile(lambda x, a, b: (x + 1, [a] == [b], b in (a,)), backend="eager")
    for day in (1, 2, 1):
        assert compiled(X, datetime.date(2020, 1, 1), datetime.date(2020, 1, day))[1:] == (
            (day == 1,) * 2
        )


def test_methods_of_two_lists_stay_two():
    one, other = [1], [1]
    compiled = t.compile(lambda x, a, b: (x + 1, a.append == b.append), backend="eager")
    for a, b in ((one, other), (one, one), (other, one)):
        assert compiled(X, a, b)[1] == (a is b)


def test_frozen_data_classes_as_arguments_of_operators():
    @dataclasses.dataclass(frozen=True)
    class Scale:
        by: tuple
        shift: float

    @t.compiler.allow_in_graph
    def scaled(x, scale):
        return x * scale.by[1] + scale.shift

    compiled = t.compile(lambda x, scale: scaled(x, scale), backend="eager", fullgraph=True)
    for scale in (Scale((1, 2), 1.0), Scale((1, 3), 1.0), Scale((1, 3), 2.5), Scale((0, 3), 7.5)):
        assert t.equal(compiled(X, scale), scaled(X, scale))


@pytest.mark.parametrize("is_called", [False, True])
def test_a_module_that_compiled_itself_is_collected(is_called):
    class Model(t.nn.Module):
        def forward(self, x):
            return x + self.shift()

        def shift(self):
            return len(kept)  # noqa: F821

    kept = []
    model = Model()
    kept.append(model)  # around methods of the class, which guards look at
    model.compile(backend="eager")
    if is_called:
        assert t.equal(model(X), X + 1)
    reference = weakref.ref(model)
    del model, kept, Model
    for _ in range(2):
        gc.collect()
    assert reference() is None


class Trainer:
    def __init__(self, step):
        self.step = step

    def scaled(self, x):
        return x * self.step

    def __call__(self, x):
        return x - self.step


def test_proxies_of_objects():
    first, second = Trainer(2), Trainer(5)
    holder = types.SimpleNamespace(trainer=weakref.proxy(first))

    class Model(t.nn.Module):
        def forward(self, x):
            trainer = self.holder.trainer
            trainer.seen = trainer.step
            kinds = isinstance(trainer, Trainer), isinstance(trainer, (int, weakref.ProxyTypes))
            return trainer.scaled(x) + trainer(x), kinds, hasattr(trainer, "none"), trainer

    model = Model()
    model.holder = holder
    compiled = t.compile(model, backend="eager", fullgraph=True)
    changes = [
        lambda: None,
        lambda: setattr(first, "step", 3),
        lambda: setattr(holder, "trainer", weakref.proxy(second)),
        lambda: setattr(holder, "trainer", second),
    ]
    for change in changes:
        change()
        for _ in range(2):
            (got, *rest), (want, *others) = compiled(X), model(X)
            assert t.equal(got, want) and rest[:2] == others[:2] and rest[2] is others[2]
            assert holder.trainer.seen == holder.trainer.step


def test_a_proxy_of_an_object_that_is_gone():
    gone = Trainer(1)
    proxy = weakref.proxy(gone)
    del gone
    gc.collect()
    with pytest.raises(ReferenceError):
        t.compile(lambda x: x + proxy.step, backend="eager")(X)
