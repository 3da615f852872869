"""Attributes of objects whose classes C defines, of methods and of classes in compiled programs."""

import ast
import ctypes
import functools
import io
import types

import pytest
from under_test import t

X = t.ones(3)
counters = t._dynamo.utils.counters


class FailedError(Exception):
    """With attributes and a method."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code

    def doubled(self):
        return self.code * 2


class Text(io.StringIO):
    """A file with a method of its own."""

    def doubled(self):
        return self.code * 2


class Pair(tuple):
    """A tuple with attributes."""


class Owner:
    """Whose method has attributes."""

    def method(self, x):
        return x


def with_code(value):
    value.code = 3
    return value


OBJECTS = {
    "node": lambda: with_code(ast.parse("a + 1").body[0]),
    "partial": lambda: with_code(functools.partial(t.add, other=1)),
    "exception": lambda: with_code(ValueError("a", 2)),
    "own exception": lambda: FailedError("a", 3),
    "cached": lambda: with_code(functools.lru_cache(lambda x: x)),
    "file": lambda: with_code(Text()),
    "tuple": lambda: with_code(Pair((1, 2))),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_attributes_in_a_dict_beside_what_c_keeps(kind):
    one, other = OBJECTS[kind](), OBJECTS[kind]()

    def program(x, of):
        of.code = of.code + 1
        of.last = x * of.code
        of.gone = 1
        del of.gone
        missing = getattr(of, "missing", None)
        return of.last + 1, missing, hasattr(of, "gone"), of.__class__.__name__, sorted(vars(of))

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for code in (3, 3, 7):
        one.code = other.code = code
        got, expected = compiled(X, one), program(X, other)
        assert repr(got) == repr(expected)
        assert one.code == other.code == code + 1 and one.last.equal(other.last)


@pytest.mark.parametrize("make", [lambda: FailedError("a", 3), lambda: with_code(Text())])
def test_methods_of_classes_derived_from_those_of_c(make):
    of = make()
    compiled = t.compile(lambda x: x * of.doubled(), backend="eager", fullgraph=True)
    for code in (3, 3, 5):
        of.code = code
        assert compiled(X).equal(X * 2 * code)


def test_arguments_of_exceptions_are_guarded():
    error = KeyError("a", 1)
    compiled = t.compile(lambda x: (x + 1, error.args), backend="eager", fullgraph=True)
    for args in (("a", 1), ("b",), ()):
        error.args = args
        assert compiled(X)[1] == args


def test_what_c_computes_is_a_break():
    class Point(ctypes.Structure):
        _fields_ = [("x", ctypes.c_int)]

    point = Point(3)
    compiled = t.compile(lambda x: x * point.x, backend="eager")
    for value in (3, 4):
        point.x = value
        assert compiled(X).equal(X * value)


def test_attributes_of_methods_are_those_of_their_functions():
    def program(x):
        method = Owner().method
        return method(x) * method.by, method.__name__, method.__func__ is Owner.method

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for by in (2, 3):
        Owner.method.by = by
        assert repr(compiled(X)) == repr(program(X))


def test_names_and_places_of_classes():
    class Base:
        pass

    class Derived(Base, dict):
        class Inner:
            pass

    def program(x):
        names = (
            Derived.__name__,
            Derived.__qualname__,
            Derived.__module__,
            Derived.Inner.__qualname__,
        )
        places = Derived.__bases__, Derived.__base__, Derived.__mro__, Derived.mro()
        return x + 1, names, places, Base.__subclasses__(), type(x).__name__

    compiled = t.compile(program, backend="eager", fullgraph=True)
    assert repr(compiled(X)) == repr(program(X))
    Derived.__name__ = "Another"
    assert repr(compiled(X)) == repr(program(X))
    Derived.__qualname__ = "Place.Another"
    assert repr(compiled(X)) == repr(program(X))
    later = type("Later", (Base,), {})
    assert compiled(X)[3] == [Derived, later]
    counters.clear()
    compiled(X)
    assert not counters["recompile"]


class DotDict(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


class Missing(dict):
    __getattr__ = dict.__getitem__
    __call__ = dict.get

    def __missing__(self, key):
        made = self[key] = len(self)
        return made


def test_special_methods_of_c_under_other_names():
    def program(x, names):
        names.count = names.count + 1
        names.last = x * names.scale
        names.gone = 1
        del names.gone
        made = DotDict(names)
        made.more = 3
        return names.last, names.nothing, sorted(names), made.more, "more" in names, vars(names)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    one, other = DotDict(count=0, scale=2.0), DotDict(count=0, scale=2.0)
    for _ in range(3):
        got, expected = compiled(X, one), program(X, other)
        assert t.equal(got[0], expected[0]) and got[1:] == expected[1:]
        assert (one.count, list(one)) == (other.count, list(other))

    def ask(names):
        return names.first, names.second, names("first"), names("third", 7), vars(names)

    compiled = t.compile(ask, backend="eager")
    one, other = Missing(), Missing()
    for _ in range(2):
        assert compiled(one) == ask(other) and one == other


class Doubling:
    """A descriptor that writes and does not read."""

    def __set__(self, owner, value):
        owner.__dict__["field"] += value * 2


class Doubled:
    field = Doubling()

    def __init__(self):
        self.__dict__["field"] = 0


def test_a_descriptor_without_get_leaves_reads_to_the_object():
    def f(x, owner):
        owner.field = 10
        return x + owner.field

    owner, other = Doubled(), Doubled()
    compiled = t.compile(f, backend="eager", fullgraph=True)
    for _ in range(2):
        assert t.equal(compiled(t.ones(2), owner), f(t.ones(2), other))
    assert owner.field == other.field == 40


class Hidden:
    """An attribute behind a property of its name that has no setter."""

    def __init__(self, value):
        self.__dict__["field"] = value

    field = property(lambda self: self.__dict__["field"])


def test_attributes_behind_a_property_of_their_name_come_out():
    def f(x):
        made = Hidden(x + 1)
        return made.field * 2, made

    y, made = t.compile(f, backend="eager", fullgraph=True)(t.ones(2))
    assert y.tolist() == [4.0, 4.0] and made.field.tolist() == [2.0, 2.0]


def test_a_deleted_attribute_is_asked_for():
    def f(x, owner):
        del owner.a
        owner.c = x + 1
        del owner.c
        try:
            return owner.a
        except AttributeError as error:
            return x + hasattr(owner, "b"), str(error), hasattr(owner, "a"), hasattr(owner, "c")

    for make in (types.SimpleNamespace, type("Plain", (), {})):
        owner, other = make(), make()
        for one in (owner, other):
            one.a, one.b = 1, 2
        got = t.compile(f, backend="eager", fullgraph=True)(t.ones(2), owner)
        want = f(t.ones(2), other)
        assert t.equal(got[0], want[0]) and got[1:] == want[1:]
        assert vars(owner) == vars(other) == {"b": 2}


class Shifted:
    """A property whose getter is a partial."""

    shift = 1
    total = property(functools.partial(lambda owner, *, more: owner.shift + more, more=2))


def test_a_property_that_calls_a_partial():
    compiled = t.compile(lambda x, owner: x + owner.total, backend="eager", fullgraph=True)
    owner = Shifted()
    assert t.equal(compiled(X, owner), X + 3)
    owner.shift = 5
    assert t.equal(compiled(X, owner), X + 7)


@functools.lru_cache
def remembered(x):
    """Its text."""
    return x * 2


def test_functions_that_wrap_a_cached_one():
    def again(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)

        return wrapper

    def f(x):
        made = again(again(remembered))
        return made(x), made.__name__, made.__doc__, made.__wrapped__.__wrapped__ is remembered

    got = t.compile(f, backend="eager", fullgraph=True)(X)
    assert t.equal(got[0], X * 2) and got[1:] == ("remembered", "Its text.", True)


def test_constant_results_are_of_the_values_at_capture():
    @t._dynamo.assume_constant_result
    def numbers(x):
        return x.tolist()

    @t._dynamo.assume_constant_result
    def itself(x, wanted=True):
        return x if wanted and x.sum().item() > 0 else None

    def f(x):
        y = itself(x, wanted=True)
        return x * numbers(x)[0] if y is None else x * numbers(x)[1] + y

    x = t.tensor([2.0, 3.0])
    compiled = t.compile(f, backend="eager", fullgraph=True)
    for _ in range(2):
        assert compiled(x).tolist() == [8.0, 12.0]
        assert compiled(-x).tolist() == [-4.0, -6.0]


class Guarded:
    __slots__ = ("filled", "unfilled")
    constant = 3

    def __init__(self):
        self.filled = 1

    def method(self):
        return self.filled

    @property
    def shown(self):
        return self.filled


class Written(Guarded):
    @property
    def kept(self):
        return self.value

    @kept.setter
    def kept(self, value):
        self.value = value


@pytest.mark.parametrize("kind", [Guarded, Written])
def test_errors_of_writes_to_attributes(kind):
    outside = kind()

    def program(x):
        told = []
        for owner in (outside, kind()):
            for name in ("shown", "kept", "method", "constant", "unknown", "unfilled"):
                try:
                    delattr(owner, name)
                except AttributeError as error:
                    told.append(str(error))
                try:
                    setattr(owner, name, 2)
                except AttributeError as error:
                    told.append(str(error))
        return x + outside.unfilled, told

    compiled = t.compile(program, backend="eager", fullgraph=True)
    expected = program(X)[1]
    outside = kind()
    y, told = compiled(X)
    assert told == expected and t.equal(y, X + 2)


def test_vars_of_a_number():
    def program(x):
        try:
            return x + len(vars(42))
        except TypeError as error:
            return x + 1, str(error)

    assert t.compile(program, backend="eager", fullgraph=True)(X)[1] == program(X)[1]


def test_fields_that_c_shows():
    kinds = {"kind": int | None}

    def program(x):
        return x + len(kinds["kind"].__args__)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    assert t.equal(compiled(X), X + 2)
    kinds["kind"] = int | str | None
    assert t.equal(compiled(X), X + 3)
