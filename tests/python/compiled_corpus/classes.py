"""Programs around classes: attributes, descriptors, super(), dataclasses, enums, special methods."""

import abc
import dataclasses
import enum
import functools
import typing

from compiled_case import case
from under_test import t

t.manual_seed(0)
X = t.randn(4, 3)
Y = t.randn(4, 3)


class Shape:
    kind = "shape"
    made = 0

    def __init__(self, size, *, name="s"):
        self.size = size
        self.name = name

    def area(self):
        return self.size * self.size

    def __repr__(self):
        return f"{type(self).__name__}({self.name})"

    def __eq__(self, other):
        return isinstance(other, Shape) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


class Circle(Shape):
    kind = "circle"

    def __init__(self, size):
        super().__init__(size, name="c")
        self.ratio = 3

    def area(self):
        return super().area() * self.ratio


@case(X)
def super_calls(x):
    c = Circle(x)
    return c.area(), c.kind, repr(c), c == Shape(1, name="c")


@case(X, Circle(2), Shape(3))
def methods_by_class(x, c, s):
    return x * Shape.area(c) + c.area() + s.area(), [v.kind for v in (c, s)]


@case(X, Circle(2))
def objects_as_keys(x, c):
    table = {c: 2, Shape(1, name="q"): 3}
    return x * table[c], Circle(9) in table


@case(X, Shape(2))
def instance_hides_class_attribute(x, s):
    before = s.kind
    s.kind = "own"
    after = s.kind
    del s.kind
    return before, after, s.kind, x + 1


class Left:
    def trace(self):
        return ["left", *super().trace()]


class Right:
    def trace(self):
        return ["right", *super().trace()]


class Root:
    def trace(self):
        return ["root"]


class Diamond(Left, Right, Root):
    def trace(self):
        return ["diamond", *super().trace()]


@case(X)
def order_of_bases(x):
    names = Diamond().trace()
    return x * len(names), names, [c.__name__ for c in Diamond.__mro__]


class Positive:
    """A descriptor that keeps values in the instance."""

    def __set_name__(self, owner, name):
        self.key = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.key)

    def __set__(self, instance, value):
        if value < 0:
            raise ValueError(f"negative {self.key}")
        setattr(instance, self.key, value)


class Account:
    total = Positive()

    def __init__(self, total):
        self.total = total


@case(X, Account(3))
def descriptor_reads_and_writes(x, a):
    a.total += 2
    return x * a.total, vars(a)


@case(X)
def descriptor_refuses(x):
    a = Account(1)
    try:
        a.total = -1
    except ValueError as error:
        return x + a.total, str(error)


class Constant:
    """A descriptor that only reads."""

    def __init__(self, value):
        self.value = value

    def __get__(self, instance, owner):
        return (self.value, owner.__name__)


class WithConstant:
    pi = Constant(3)


@case(X, WithConstant())
def non_data_descriptor(x, o):
    return x * o.pi[0], WithConstant.pi


class Cached:
    def __init__(self, x):
        self.x = x
        self.calls = 0

    @functools.cached_property
    def double(self):
        self.calls += 1
        return self.x * 2


@case(X)
def cached_property_made(x):
    c = Cached(x)
    return c.double + c.double, c.calls


@case(X, Cached(X))
def cached_property_given(x, c):
    return c.double + c.double + x, c.calls


class Celsius:
    def __init__(self, degrees=0):
        self._degrees = degrees

    @property
    def degrees(self):
        return self._degrees

    @degrees.setter
    def degrees(self, value):
        self._degrees = value * 2

    @degrees.deleter
    def degrees(self):
        self._degrees = -1


@case(X, Celsius(1))
def property_with_deleter(x, c):
    c.degrees = 4
    first = c.degrees
    del c.degrees
    return x * first + c.degrees


class Dynamic:
    def __init__(self):
        object.__setattr__(self, "store", {"a": 2})

    def __getattr__(self, name):
        try:
            return self.__dict__["store"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self.store[name] = value

    def __delattr__(self, name):
        del self.store[name]


@case(X, Dynamic())
def attributes_made_up(x, d):
    d.b = d.a + 1
    known = hasattr(d, "c")
    del d.a
    return x * d.b, known, getattr(d, "a", 9)


class Recorder:
    def __init__(self):
        self.value = 3

    def __getattribute__(self, name):
        if name == "secret":
            return 42
        return super().__getattribute__(name)


@case(X, Recorder())
def every_attribute_read(x, r):
    return x * r.value + r.secret


class Vector:
    def __init__(self, *values):
        self.values = values

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self.values, other.values)))

    def __radd__(self, other):
        return self if other == 0 else NotImplemented

    def __mul__(self, k):
        return Vector(*(v * k for v in self.values))

    __rmul__ = __mul__

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self.values, other.values))

    def __neg__(self):
        return self * -1

    def __iter__(self):
        return iter(self.values)

    def __getitem__(self, i):
        return self.values[i]

    def __len__(self):
        return len(self.values)

    def __contains__(self, v):
        return any(v is w for w in self.values)

    def __bool__(self):
        return bool(self.values)

    def __iadd__(self, other):
        self.values = (*self.values, *other.values)
        return self


@case(X)
def operators_overloaded(x):
    v = Vector(x, x + 1)
    w = -(2 * v + v * 3)
    return w[0], v @ w, len(v), x in v, list(sum([v, w])), bool(Vector())


@case(X, Vector(1, 2))
def operator_in_place(x, v):
    same = v
    v += Vector(3)
    return x * len(same), v is same


@functools.total_ordering
class Version:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n


@case(X)
def total_order(x):
    a, b = Version(1), Version(2)
    return x + 1 if a <= b and b > a and a != b else x, max([a, b]).n, sorted([b, a])[0].n


class Layer:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale


class Chain:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@case(X, Chain(Layer(2), Layer(3)))
def callable_objects(x, chain):
    chain.layers.append(Layer(4))
    return chain(x)


class Builder:
    registry = []

    def __init__(self):
        self.parts = []

    def add(self, part):
        self.parts.append(part)
        return self

    @classmethod
    def of(cls, *parts):
        made = cls()
        for part in parts:
            made.add(part)
        return made

    @staticmethod
    def joined(parts):
        return sum(parts)


class Special(Builder):
    def add(self, part):
        return super().add(part * 2)


@case(X)
def alternate_constructors(x):
    b = Special.of(x, x + 1)
    return Builder.joined(b.parts), type(b).__name__, isinstance(b, Builder)


class Singleton:
    def __new__(cls, value):
        self = super().__new__(cls)
        self.early = value
        return self

    def __init__(self, value):
        self.late = value * 2


@case(X)
def made_by_new(x):
    s = Singleton(x)
    return s.early + s.late


class Stage(abc.ABC):
    @abc.abstractmethod
    def run(self, x): ...

    def __call__(self, x):
        return self.run(x) + 1


class Sine(Stage):
    def run(self, x):
        return x.sin()


@case(X, Sine())
def abstract_bases(x, stage):
    return stage(x), isinstance(stage, Stage), issubclass(Sine, abc.ABC)


@typing.runtime_checkable
class HasRun(typing.Protocol):
    def run(self, x): ...


@case(X, Sine())
def protocols_checked(x, stage):
    return stage(x) if isinstance(stage, HasRun) else x


@dataclasses.dataclass
class Options:
    width: int = 2
    names: list = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(init=False, default=0)

    def __post_init__(self):
        self.total = self.width * 2


@dataclasses.dataclass(order=True)
class Ranked:
    rank: int
    value: object = dataclasses.field(compare=False)


@dataclasses.dataclass(slots=True)
class Slotted:
    a: t.Tensor
    b: int = 3


@dataclasses.dataclass(kw_only=True)
class Child(Options):
    extra: float = 0.5


@case(X)
def dataclass_post_init(x):
    o = Options(3, ["a"])
    return x * o.total, o, o == Options(3, ["a"])


@case(X)
def dataclass_ordered(x):
    best = max(Ranked(1, x), Ranked(3, x + 1))
    return best.value, Ranked(1, None) < Ranked(2, None)


@case(X)
def dataclass_with_slots(x):
    s = Slotted(x)
    s.b += 1
    return s.a * s.b


@case(X, Child(width=4))
def dataclass_inherited(x, c):
    c.names.append("n")
    return x * c.total * c.extra, [f.name for f in dataclasses.fields(c)]


@case(X, Options(5))
def dataclass_replaced(x, o):
    p = dataclasses.replace(o, width=1)
    return x * p.total + o.total, dataclasses.asdict(p), dataclasses.astuple(p)


@dataclasses.dataclass
class Output:
    loss: t.Tensor
    logits: t.Tensor
    hidden: tuple = ()


@case(X)
def dataclass_as_result(x):
    return Output(loss=x.sum(), logits=x * 2, hidden=(x,))


class Mode(enum.Enum):
    SUM = "sum"
    MEAN = "mean"

    def apply(self, x):
        return getattr(x, self.value)()

    @classmethod
    def default(cls):
        return cls.MEAN


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


@case(X, Mode.SUM)
def enum_with_methods(x, mode):
    return mode.apply(x) + Mode.default().apply(x), mode is Mode("sum")


@case(X, Level.HIGH)
def enum_as_number(x, level):
    return x * level + Level.LOW, level > Level.LOW, level + 1


@case(X, Access.READ | Access.WRITE)
def enum_flags(x, access):
    return x + 1 if Access.READ in access else x, bool(access & Access.WRITE)


class Text(str):
    def shout(self):
        return self.upper() + "!"


class Number(int):
    def double(self):
        return self * 2


@case(X, Text("a"), Number(3))
def subclasses_of_builtins(x, s, n):
    return x * n.double() + n, s.shout(), isinstance(n, int)


class Guarded:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@case(X, Guarded(2))
def slots_unset(x, g):
    unset = hasattr(g, "b")
    g.b = x
    return g.b * g.a, unset


class Plugin:
    known = {}

    def __init_subclass__(cls, key=None, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.known[key] = cls


class Doubling(Plugin, key="double"):
    def __call__(self, x):
        return x * 2


@case(X, "double")
def registered_subclasses(x, key):
    return Plugin.known[key]()(x)


class Meta(type):
    @property
    def label(cls):
        return cls.__name__.lower()

    def __len__(cls):
        return 4


class Marked(metaclass=Meta):
    pass


@case(X)
def metaclass_members(x):
    return x * len(Marked), Marked.label


class Node:
    def __init__(self, value, child=None):
        self.value = value
        self.child = child


@case(X)
def cyclic_objects(x):
    leaf = Node(x)
    root = Node(x * 2, leaf)
    leaf.parent = root
    return leaf.parent.value + root.child.value, root.child.parent is root


@case(X, Node(1, Node(2, Node(3))))
def linked_list_walked(x, node):
    total = 0
    while node is not None:
        total += node.value
        node.value = 0
        node = node.child
    return x * total


@case(X, Shape(2))
def attributes_by_name(x, s):
    for name in ("p", "q"):
        setattr(s, name, len(name))
    delattr(s, "p")
    return x * s.q, sorted(vars(s)), hasattr(s, "p")


@case(X, [Shape(1), Shape(2)])
def objects_in_lists_written(x, shapes):
    for s in shapes:
        s.size += 1
        s.last = x * s.size
    return sum(s.last for s in shapes)


class Ring:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at >= self.n:
            raise StopIteration
        self.at += 1
        return self.at


@case(X, Ring(3))
def own_iterator(x, ring):
    out = [x * i for i in ring]
    return out, list(ring), ring.at


class Sequence:
    def __getitem__(self, i):
        if i >= 3:
            raise IndexError(i)
        return i * 10


@case(X, Sequence())
def iterated_by_index(x, s):
    return x * sum(v for v in s), list(s)


class Generic(typing.Generic[typing.TypeVar("T")]):
    def __init__(self, v):
        self.v = v


@case(X)
def generic_class(x):
    return Generic[int](x).v + Generic(x).v


@case(X)
def type_called(x):
    return type(x) is t.Tensor, int(2.5), isinstance(x, (int, t.Tensor)), x + 1
