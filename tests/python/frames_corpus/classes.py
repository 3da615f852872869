"""Class bodies, metaclasses, descriptors, super and the library's class factories."""

import abc
import collections
import dataclasses
import enum
import functools
import types
import typing

from frames_corpus import over, pure


def case_class_body(p):
    class Body:
        """Doc."""

        p.log("body", __qualname__)
        total = 0
        for i in range(4):
            total += i
        if total > 5:

            def method(self):
                return self.total

        del i

    names = [n for n in vars(Body) if not n.startswith("__")]
    return names, Body().method(), Body.__doc__, Body.__qualname__.split(".")[-1]


def case_inheritance(p):
    class A:
        def who(self):
            return "A"

        def call(self):
            return self.who()

    class B(A):
        def who(self):
            return "B" + super().who()

    class C(B):
        pass

    return A().call(), B().call(), C().call(), [k.__name__ for k in C.__mro__]


def case_diamond(p):
    class Root:
        def __init__(self):
            p.log("Root")

    class Left(Root):
        def __init__(self):
            p.log("Left")
            super().__init__()

    class Right(Root):
        def __init__(self):
            p.log("Right")
            super().__init__()

    class Both(Left, Right):
        def __init__(self):
            p.log("Both")
            super().__init__()

    Both()
    return [k.__name__ for k in Both.mro()]


def case_super_forms(p):
    class A:
        x = "attribute"

        def f(self, n):
            return n

        @classmethod
        def g(cls):
            return cls.__name__

    class B(A):
        def f(self, n):
            zero = super()
            return super().f(n), super(B, self).f(n + 1), zero.f(n + 2), super().x, A.f(self, 0)

        @classmethod
        def g(cls):
            return super().g() + super(B, cls).g()

    return B().f(1), B.g()


def case_super_in_closure(p):
    class A:
        def f(self):
            return 1

    class B(A):
        def f(self):
            def inner(self):
                return super().f() + 1

            return (
                inner(self),
                [super(B, self).f() for _ in range(2)],
                (lambda: __class__)().__name__,
            )

    return B().f()


def case_super_errors(p):
    class A:
        def missing(self):
            return super().nothing

        def bare(*args):
            return super()

        def deleted(self):
            del self
            return super()

    def outside():
        return super()

    out = []
    for call in (A().missing, lambda: A.bare(), A().deleted, outside, lambda: super(A, 5)):
        try:
            call()
        except (AttributeError, RuntimeError, TypeError) as error:
            out.append((type(error).__name__, str(error)))
    return out


def case_super_descriptors(p):
    class A:
        @property
        def value(self):
            return 10

        @staticmethod
        def s():
            return "static"

    class B(A):
        @property
        def value(self):
            return super().value + 1

        def s(self):
            return super().s()

    return B().value, B().s()


def case_metaclass(p):
    class Meta(type):
        @classmethod
        def __prepare__(mcs, name, bases, **options):
            p.log("prepare", name, options)
            return {"prepared": True}

        def __new__(mcs, name, bases, namespace, **options):
            return super().__new__(mcs, name, bases, namespace)

        def __init__(cls, name, bases, namespace, **options):
            super().__init__(name, bases, namespace)
            cls.options = sorted(options)

        def __call__(cls, *args):
            p.log("create", args)
            return super().__call__(*args)

    class Made(metaclass=Meta, option=1):
        def __init__(self, x):
            self.x = x

    class Child(Made, other=2):
        pass

    return Made(3).x, Made.options, Child.options, Child.prepared, type(Child).__name__


def case_metaclass_namespace(p):
    class Recorder(dict):
        def __setitem__(self, key, value):
            p.log("set", key)
            super().__setitem__(key, value)

        def __missing__(self, key):
            if key.startswith("auto_"):
                return key[5:]
            raise KeyError(key)

    class Meta(type):
        @classmethod
        def __prepare__(mcs, name, bases):
            return Recorder()

    class Made(metaclass=Meta):
        a = auto_word
        b = a + len.__name__

    return Made.a, Made.b


def case_metaclass_conflict(p):
    class M1(type):
        pass

    class M2(type):
        pass

    class A(metaclass=M1):
        pass

    class B(metaclass=M2):
        pass

    try:

        class C(A, B):
            pass

    except TypeError as error:
        return str(error)[:30]


def case_init_subclass(p):
    class Base:
        kinds = {}

        def __init_subclass__(cls, /, kind=None, **more):
            super().__init_subclass__(**more)
            Base.kinds[cls.__name__] = kind

    class One(Base, kind="first"):
        pass

    class Two(One):
        pass

    try:
        type("Three", (Base,), {}, wrong=1)
    except TypeError as error:
        p.log(str(error))
    return Base.kinds


def case_class_factory(p):
    def method(self, x):
        return self.base + x

    made = type("Made", (object,), {"base": 10, "method": method, "__slots__": ()})
    other = types.new_class("Other", (made,), {}, lambda ns: ns.update(base=20))
    return made().method(1), other().method(1), other.__name__


def case_data_descriptor(p):
    class Typed:
        def __set_name__(self, owner, name):
            p.log("name", owner.__name__, name)
            self.name = name

        def __get__(self, instance, owner=None):
            return self if instance is None else instance.__dict__[self.name]

        def __set__(self, instance, value):
            if not isinstance(value, int):
                raise TypeError(f"{self.name} wants int")
            instance.__dict__[self.name] = value

        def __delete__(self, instance):
            p.log("delete", self.name)
            del instance.__dict__[self.name]

    class Point:
        x, y = Typed(), Typed()

    point = Point()
    point.x = 3
    point.x += 1
    try:
        point.y = "text"
    except TypeError as error:
        p.log(str(error))
    value = point.x
    del point.x
    return value, vars(point), isinstance(Point.x, Typed)


def case_non_data_descriptor(p):
    class Lazy:
        def __init__(self, f):
            self.f = f

        def __get__(self, instance, owner):
            value = instance.__dict__[self.f.__name__] = self.f(instance)
            return value

    class Holder:
        @Lazy
        def value(self):
            p.log("computed")
            return 42

    holder = Holder()
    return holder.value, holder.value


def case_property(p):
    class Celsius:
        def __init__(self):
            self._degrees = 0

        @property
        def degrees(self):
            p.log("get")
            return self._degrees

        @degrees.setter
        def degrees(self, value):
            p.log("set", value)
            self._degrees = value

        @degrees.deleter
        def degrees(self):
            p.log("delete")

        fixed = property(lambda self: 5)

    c = Celsius()
    c.degrees = 20
    c.degrees += c.fixed
    del c.degrees
    try:
        c.fixed = 1
    except AttributeError as error:
        return c.degrees, type(error).__name__


@over(functools.cached_property.__get__)
def case_cached_property(p):
    class Data:
        @functools.cached_property
        def total(self):
            p.log("total")
            return 7

    data = Data()
    return data.total, data.total, vars(data)


def case_slots(p):
    class Slotted:
        __slots__ = ("a", "b")

        def __init__(self, a):
            self.a = a

    s = Slotted(1)
    s.a += 1
    out = [s.a]
    for action in (lambda: s.b, lambda: setattr(s, "c", 1), lambda: s.__dict__):
        try:
            action()
        except AttributeError as error:
            out.append(str(error))
    del s.a
    return out, hasattr(s, "a")


def case_attribute_hooks(p):
    class Hooks:
        def __init__(self):
            object.__setattr__(self, "known", 1)

        def __getattr__(self, name):
            p.log("getattr", name)
            if name.startswith("no"):
                raise AttributeError(name)
            return name.upper()

        def __setattr__(self, name, value):
            p.log("setattr", name)
            super().__setattr__(name, value * 2)

        def __delattr__(self, name):
            p.log("delattr", name)

    h = Hooks()
    h.x = 5
    h.x += 1
    del h.x
    return h.known, h.x, h.word, hasattr(h, "nothing"), getattr(h, "none", "default")


def case_getattribute(p):
    class All:
        y = 2

        def __getattribute__(self, name):
            p.log("getattribute", name)
            return object.__getattribute__(self, name)

        def method(self):
            return self.y

    return All().y, All().method()


def case_class_cell_escapes(p):
    class Meta(type):
        def __new__(mcs, name, bases, namespace):
            p.log("cell" if "__classcell__" in namespace else "none")
            return super().__new__(mcs, name, bases, namespace)

    class A(metaclass=Meta):
        def me(self):
            return __class__

    class B(metaclass=Meta):
        pass

    return A().me() is A, B.__name__


@over(dataclasses.dataclass)
def case_dataclass(p):
    @dataclasses.dataclass(order=True)
    class Item:
        name: str
        price: float = 1.5
        tags: list = dataclasses.field(default_factory=list, compare=False)

        def __post_init__(self):
            p.log("post", self.name)

    a, b = Item("a"), Item("b", 2.0, ["x"])
    return repr(a)[-40:], a < b, a == Item("a", tags=[1]), dataclasses.replace(b, name="c").name


def case_dataclass_frozen(p):
    @dataclasses.dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 0

    point = Point(1)
    try:
        point.x = 5
    except dataclasses.FrozenInstanceError as error:
        return str(error), hash(point) == hash(Point(1, 0)), {point: 1}[Point(1)]


def case_enum(p):
    class Color(enum.Enum):
        RED = 1
        GREEN = "g"
        CRIMSON = 1

        def lower(self):
            return self.name.lower()

    return (
        [c.lower() for c in Color],
        Color(1).name,
        Color["GREEN"].value,
        Color.CRIMSON is Color.RED,
    )


def case_enum_flags(p):
    class Mode(enum.Flag):
        READ = enum.auto()
        WRITE = enum.auto()
        BOTH = READ | WRITE

    try:
        Mode(64)
    except ValueError as error:
        p.log(type(error).__name__)
    return Mode.BOTH.value, Mode.READ in Mode.BOTH, (Mode.BOTH & ~Mode.READ).name, bool(Mode(0))


def case_namedtuple(p):
    point_type = collections.namedtuple("Point", "x y", defaults=(0,))

    class Named(typing.NamedTuple):
        a: int
        b: str = "b"

        def join(self):
            return f"{self.a}{self.b}"

    point = point_type(1)
    return point, point._replace(y=5)._asdict(), Named(3).join(), point_type._make((7, 8)).x


def case_abstract(p):
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self):
            return 1

        @property
        @abc.abstractmethod
        def name(self): ...

    class Square(Shape):
        name = "square"

        def area(self):
            return super().area() * 4

    try:
        Shape()
    except TypeError as error:
        p.log(str(error).split(" with")[0])
    return Square().area(), isinstance(Square(), Shape)


def case_annotations(p):
    class Noted:
        x: int
        y: "str" = "default"
        z: list[int] = []

    def f(a: p.__class__.__name__, *args: int, **kwargs: str) -> None:
        local: int = 3
        other: undefined_name
        return local

    return sorted(Noted.__annotations__), Noted.y, f(1), sorted(f.__annotations__)


def case_generic_class(p):
    t = typing.TypeVar("t")

    class Box(typing.Generic[t]):
        def __init__(self, value: t):
            self.value = value

        def __class_getitem__(cls, item):
            p.log("item", getattr(item, "__name__", item))
            return super().__class_getitem__(item)

    return Box[int](5).value, Box[int].__args__, isinstance(Box(1), Box)


def case_instance_checks(p):
    class Meta(type):
        def __instancecheck__(cls, value):
            p.log("instance", value)
            return value == 5

        def __subclasscheck__(cls, other):
            p.log("subclass", other.__name__)
            return other is int

    class Five(metaclass=Meta):
        pass

    return isinstance(5, Five), isinstance(6, Five), issubclass(int, Five), issubclass(str, Five)


def case_nested_classes(p):
    class Outer:
        level = 1

        class Inner:
            level = 2

            class Deepest:
                level = 3

            def make(self):
                return Outer.Inner.Deepest()

        def sub(self):
            return self.Inner().make().level

    return Outer().sub(), Outer.Inner.Deepest.__qualname__.split(".")[-3:]


def case_class_closures(p):
    def make(n):
        class Made:
            value = n
            double = n * 2

            def read(self):
                return n, self.value, Made.double

        return Made

    first, second = make(1), make(2)
    return first().read(), second().read(), first is second


def case_class_body_raises(p):
    try:

        class Broken:
            a = 1
            p.log("start")
            b = a / 0
            p.log("never")

    except ZeroDivisionError as error:
        return str(error), "Broken" in locals()


def case_class_bases_resolved(p):
    class Entry:
        def __mro_entries__(self, bases):
            p.log("entries", len(bases))
            return (dict,)

    class Made(Entry()):
        pass

    return Made.__bases__ == (dict,), len(Made.__orig_bases__), Made(a=1)


@pure
def case_private_names(p):
    class A:
        __secret = 1

        def read(self):
            return self.__secret

        def __hidden(self, __x=3):
            return __x

        def call(self):
            return self.__hidden()

    return A().read(), A._A__secret, A().call()
