"""Objects that a captured program makes come out with everything that it gave them."""

import collections
import copy
import functools

import pytest
from under_test import t

FIELDS = (
    "__name__",
    "__qualname__",
    "__doc__",
    "__module__",
    "__dict__",
    "__defaults__",
    "__kwdefaults__",
    "__annotations__",
)


def fields_of(function):
    return {name: getattr(function, name) for name in FIELDS}


def model(y, a: int = 1, *, k=2):
    """Its text."""
    return y


model.z = 5


def wrapped(x):
    @functools.wraps(model)
    def inner(*args):
        return args

    return inner, x + 1


def annotated(x):
    def inner(a: int, b: str = "q", *, c: float = 2) -> int:
        """Another text."""
        return a

    return inner, x + 1


def written(x):
    def inner(*args):
        return args

    inner.__name__, inner.__doc__ = "other", "text"
    inner.__qualname__, inner.__module__ = "a.b", "m"
    inner.__annotations__ = {"a": 1}
    inner.__defaults__, inner.__kwdefaults__ = (3,), {"q": 1}
    inner.z = 1
    return inner, x + 1


def broken(x):
    def inner(*args):
        return args

    inner.__name__, inner.z = "other", 3
    t._dynamo.graph_break()
    return inner, x + 1


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("program", [wrapped, annotated, written, broken])
def test_functions_keep_what_they_were_given(program, backend):
    compiled = t.compile(program, backend=backend)
    expected = fields_of(program(t.ones(2))[0])
    for _ in range(2):
        assert fields_of(compiled(t.ones(2))[0]) == expected


def test_a_function_may_hold_itself_and_tensors():
    def program(x):
        def inner():
            return x

        inner.itself, inner.y = inner, x + 1
        return inner

    made = t.compile(program, backend="eager")(t.ones(2))
    assert made.itself is made
    assert made.y.tolist() == [2, 2]


class Pair(tuple):
    pass


def pair(x):
    made = Pair((x + 1, 2))
    made.z = 3
    return made


def ordered(x):
    made = collections.OrderedDict(a=x + 1)
    made.z = 3
    return made


def partial(x):
    made = functools.partial(t.add, x)
    made.z = 3
    return made


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("program", [pair, ordered, partial])
def test_objects_of_c_keep_their_attributes(program, backend):
    def across(x):
        made = program(x)
        t._dynamo.graph_break()
        return made

    for function in (program, across):
        compiled = t.compile(function, backend=backend)
        for _ in range(2):
            assert vars(compiled(t.ones(2))) == {"z": 3}


class Kept:
    __slots__ = ("value",)

    def __init__(self, value):
        Kept.value.__set__(self, value)


class Shadowing(Kept):
    """Something else by the name of a slot of its base."""

    __slots__ = ()
    value = property(lambda self: Kept.value.__get__(self) * 2)


@pytest.mark.parametrize("breaks", [False, True])
def test_slots_that_a_derived_class_hides(breaks):
    def program(x):
        made = Shadowing(x + 1)
        if breaks:
            t._dynamo.graph_break()
        return made, made.value

    made, value = t.compile(program, backend="eager")(t.ones(2))
    assert value.tolist() == made.value.tolist() == [4, 4]
    assert Kept.value.__get__(made).tolist() == [2, 2]


class Numbers(set):
    def add(self, number):
        super().add(number + 1)


class Names(frozenset):
    pass


class Share(float):
    pass


class Phase(complex):
    pass


class Raw(bytes):
    pass


@pytest.mark.parametrize("kind", [Numbers, Names, Share, Phase, Raw])
@pytest.mark.parametrize("is_given", [False, True])
def test_objects_of_classes_derived_from_values(kind, is_given):
    """They are made in the region or given to it, and have a class and attributes when they left."""
    start = {Numbers: [1, 2], Names: ["a", "b"], Share: 0.5, Phase: 2j, Raw: b"abc"}[kind]

    def f(x, given):
        one = kind(start) if given is None else given
        if isinstance(one, Numbers):
            one.add(7)
        if isinstance(one, set | frozenset | bytes):
            size = len(one) + (1 in one if kind is Numbers else 0)
        else:
            size = (one * 2).real
        if given is None:
            one.tag = size
        return x * size, one

    compiled = t.compile(f, backend="eager", fullgraph=True)
    for _ in range(2):
        got = compiled(t.ones(2), kind(start) if is_given else None)
        want = f(t.ones(2), kind(start) if is_given else None)
        assert t.equal(got[0], want[0]) and type(got[1]) is kind
        assert got[1] == want[1] and vars(got[1]) == vars(want[1])


def test_values_of_derived_classes_are_guarded():
    def f(x, one):
        return x + (one.real if isinstance(one, Phase) else len(one))

    compiled = t.compile(f, backend="eager", fullgraph=True)
    given = [Names("ab"), Names("abc"), frozenset("ab"), Raw(b"a"), Raw(b"b"), b"abc", Phase(1)]
    for one in [*given, *reversed(given), Phase(2)]:
        assert t.equal(compiled(t.ones(2), one), f(t.ones(2), one))


def test_copies_of_sets():
    given, frozen, own = {1, 2, 3}, frozenset("ab"), Numbers([4])
    own.tag = [1]

    def f(x):
        deep = copy.deepcopy(own)
        return x + len(deep), deep, copy.deepcopy(given), copy.copy(given), copy.deepcopy(frozen)

    got = t.compile(f, backend="eager", fullgraph=True)(t.ones(2))
    assert t.equal(got[0], t.ones(2) + 1) and got[1:] == (own, given, given, frozen)
    assert got[1].tag == [1] and got[1].tag is not own.tag and got[3] is not given
