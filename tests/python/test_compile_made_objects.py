"""Objects that a captured program makes come out with everything that it gave them."""

import collections
import copy
import functools
import types

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


def factorial(x):
    def of(n):
        return 1 if n < 2 else n * of(n - 1)

    return x + 1, of


def parities(x):
    def is_even(n):
        return n == 0 or is_odd(n - 1)

    def is_odd(n):
        return n != 0 and is_even(n - 1)

    return x + 1, is_even, is_odd


def cells_of(function):
    return [cell.cell_contents for cell in function.__closure__]


def test_functions_that_call_each_other_are_made_once():
    for _ in range(2):
        _, of = t.compile(factorial, backend="eager", fullgraph=True)(t.ones(2))
        assert cells_of(of)[0] is of and of(5) == 120
        _, even, odd = t.compile(parities, backend="eager", fullgraph=True)(t.ones(2))
        assert cells_of(even)[0] is odd and cells_of(odd)[0] is even and even(6)


@pytest.mark.parametrize(
    "make", [list, collections.deque, functools.partial(collections.deque, (), 3)]
)
@pytest.mark.parametrize("is_broken", [False, True])
def test_containers_that_hold_themselves(make, is_broken):
    def f(x):
        own = make()
        own.append(own)
        own.append(x + 1)
        if is_broken:
            t.compiler.graph_break()
        return own

    compiled = t.compile(f, backend="eager", fullgraph=not is_broken)
    for _ in range(2):
        own = compiled(t.ones(2))
        assert own[0] is own and own[1].tolist() == [2, 2] and type(own) is type(make())
        assert getattr(own, "maxlen", None) == getattr(make(), "maxlen", None)


class Listener:
    def __init__(self):
        self.calls = [self.on]
        self.calls.append(functools.partial(self.on, self.calls))
        self.calls.append(self.calls.append)

    def on(self, calls):
        return calls


def test_calls_that_their_objects_hold():
    def f(x, place):
        return x + 1, Listener().calls[place]

    compiled = t.compile(f, backend="eager", fullgraph=True)
    t.testing.assert_close(compiled(t.ones(2), 0)[0], t.full((2,), 2.0))
    on, partial, append = (compiled(t.ones(2), place)[1] for place in range(3))
    assert on.__self__.calls[0] == on and len(on.__self__.calls) == 3
    assert partial()[1] is partial and partial.func.__self__.calls is partial()
    append(5)
    assert append.__self__[3] == 5 and append.__self__[2] == append


def test_a_tuple_that_holds_itself_runs_as_it_is():
    def f(x):
        own = ([], x + 1)
        own[0].append(own)
        return own

    own = t.compile(f, backend="eager")(t.ones(2))
    assert own[0][0] is own and own[1].tolist() == [2, 2]


@pytest.mark.parametrize("make", [dict, collections.OrderedDict, collections.Counter])
def test_views_live_on(make):
    def f(x, given):
        own = make(a=2)
        own["b"] = 3
        given["c"] = 4
        views = (own.keys(), own.values(), own.items(), types.MappingProxyType(own))
        return x + 1, own, views, (given.keys(), given.items(), types.MappingProxyType(given))

    compiled = t.compile(f, backend="eager", fullgraph=True)
    for _ in range(2):
        given = make(a=1)
        _, own, views, others = compiled(t.ones(2), given)
        own["z"] = given["z"] = 5
        for got, want in zip(views, (own.keys(), own.values(), own.items()), strict=False):
            assert type(got) is type(want) and list(got) == list(want)
        assert views[3] == own and type(views[3]) is types.MappingProxyType
        assert others[0] == given.keys() and others[1] == given.items() and others[2] == given


def test_the_names_of_a_class_live_on():
    names = t.compile(lambda x: (x + 1, vars(Share)), backend="eager", fullgraph=True)(t.ones(2))[1]
    Share.later = 1
    assert names["later"] == 1
    del Share.later
