"""Programs with classes, containers and scopes of their own."""

# ruff: noqa: B023, C408, C416, E741, RUF015, SIM118

import abc
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import importlib
import itertools
import operator
import random
import types

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")

X = t.linspace(-1, 1, 12).reshape(4, 3)
Y = t.arange(12.0).reshape(4, 3)


@dataclasses.dataclass
class Point:
    x: object
    scale: float = 2.0
    tags: list = dataclasses.field(default_factory=list)

    def moved(self, by):
        return Point(self.x + by, self.scale)


@case(X)
def dataclass_made(x):
    p = Point(x).moved(1)
    p.tags.append("a")
    return p.x * p.scale, p


@case(X, Point(Y))
def dataclass_given(x, p):
    q = dataclasses.replace(p, scale=3.0) if False else p.moved(x)
    p.tags.append(1)
    return q.x * p.scale


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@case(X, Color.BLUE)
def enums(x, color):
    if color is Color.RED:
        return x
    return x * color.value, Color["RED"], color.name


@case(X)
def deques(x):
    d = collections.deque([1, 2], maxlen=3)
    d.append(3)
    d.appendleft(4)
    return x * d.popleft() + sum(d), len(d)


@case(X)
def default_dict(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    d["b"].append(x * 2)
    return d["a"][0] + d["b"][0], sorted(d)


@case(X)
def counter_of_items(x):
    c = collections.Counter([1, 1, 2])
    return x * c[1] + c.get(7, 0)


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def total(self):
        return self.a + self.b


@case(X, Slots(Y, 2))
def slots_given(x, s):
    return s.total() * x


@case(X)
def slots_made(x):
    s = Slots(x, 1)
    s.b = 5
    return s.total()


class Base(abc.ABC):
    kind = "base"

    @abc.abstractmethod
    def run(self, x): ...

    def twice(self, x):
        return self.run(self.run(x))


class Child(Base):
    def __init__(self, k):
        self.k = k

    def run(self, x):
        return x * self.k

    def twice(self, x):
        return super().twice(x) + 1


@case(X, Child(3))
def inheritance(x, c):
    return c.twice(x), isinstance(c, Base), c.kind, issubclass(Child, Base)


class Lazy:
    def __init__(self):
        self.seen = []

    def __getattr__(self, name):
        if name.startswith("num_"):
            return len(name)
        raise AttributeError(name)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name != "seen":
            self.seen.append(name)

    def __contains__(self, item):
        return item == 3

    def __iter__(self):
        return iter([1, 2])

    def __bool__(self):
        return False

    def __eq__(self, other):
        return isinstance(other, Lazy)

    def __hash__(self):
        return 5


@case(X, Lazy())
def special_methods(x, o):
    o.width = 4
    r = x * o.num_abc + sum(o)
    if 3 in o and not o:
        r = r + 1
    return r, getattr(o, "missing", 9), o == Lazy(), {o: 1}[o], o.seen


class Temperature:
    def __init__(self, c):
        self._c = c

    @property
    def c(self):
        return self._c

    @c.setter
    def c(self, value):
        self._c = value * 2

    @functools.cached_property
    def dear(self):
        return self._c + 1


@case(X, Temperature(Y), breaks=4)
def property_setter(x, o):
    o.c = x
    return o.c + 1, o.dear + o.dear


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append("out" if kind is None else kind.__name__)
        return kind is ValueError


@case(X, [])
def own_manager(x, log):
    with Manager(log) as m:
        y = x + len(m.log)
    with Manager(log):
        raise ValueError("swallowed")
    return y, log


@contextlib.contextmanager
def doubled(log):
    log.append("begin")
    try:
        yield 2
    finally:
        log.append("end")


@case(X, [])
def generator_manager(x, log):
    with doubled(log) as k:
        y = x * k
    return y


@case(X, [])
def exit_stack(x, log):
    with contextlib.ExitStack() as stack:
        k = stack.enter_context(doubled(log))
        stack.callback(log.append, "callback")
        y = x * k
    return y


@case(X, [])
def manager_raises(x, log):
    try:
        with doubled(log):
            raise KeyError("k")
    except KeyError as e:
        log.append(str(e))
    return x + len(log)


def traced(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return inner


@traced
def decorated_target(x, *, by=2):
    return x * by


@case(X)
def decorated(x):
    return decorated_target(x), decorated_target(x, by=3), decorated_target.__name__


@functools.lru_cache(None)
def cached_number(n):
    return n * n


@case(X, breaks=1)
def cached(x):
    return x * cached_number(3)


@case(X)
def generator_with_state(x):
    def numbers():
        total = 0
        for i in range(4):
            total += i
            yield total, x * i

    return [a for a, b in numbers()], sum(b for a, b in numbers())


@case(X)
def yield_from(x):
    def inner():
        yield x
        yield x + 1
        return 5

    def outer():
        got = yield from inner()
        yield x * got

    return list(outer())


@case(X)
def closures_in_loop(x):
    fs = [lambda v, k=k: v * k for k in range(3)]
    late = [lambda: k for k in range(3)]
    return [f(x) for f in fs], [f() for f in late]


@case(X)
def finally_return(x):
    def f(v):
        try:
            return v + 1
        finally:
            log.append(1)

    log = []
    return f(x), log


@case(X)
def nested_errors(x):
    log = []
    for i in range(3):
        try:
            if i == 1:
                raise IndexError(i)
            log.append(i)
        except IndexError as e:
            log.append(repr(e))
            continue
        else:
            log.append("else")
        finally:
            log.append("finally")
    return x, log


@case(X)
def raise_from(x):
    try:
        try:
            {}["a"]
        except KeyError as e:
            raise ValueError("outer") from e
    except ValueError as e:
        return x + len(str(e.__cause__))


@case(X, {"a": {"b": [1, 2, {"c": Y}]}})
def deep_nesting(x, d):
    d["a"]["b"][2]["c"] = d["a"]["b"][2]["c"] + x
    d["a"]["b"].append(x)
    d["new"] = {"k": d["a"]["b"][0]}
    return d["a"]["b"][2]["c"]


@case(X, {"k": 1, "j": 2})
def dict_methods(x, d):
    out = [k for k in d.keys()] + [v for v in d.values()] + [list(p) for p in d.items()]
    d.update(z=3)
    e = {**d, "k": 9} | {"y": 0}
    popped = d.pop("k")
    d.setdefault("m", []).append(x)
    return x * popped, out, list(e), "j" in d, d.get("nope")


@case(X, [3, 1, 2])
def list_methods(x, l):
    l.sort(reverse=True)
    l.extend((7, 8))
    l.remove(8)
    l[0:1] = [0, 0]
    del l[1]
    l *= 2
    l.reverse()
    return x, l.index(7), l.count(0), l[::2], l + [1], l.copy(), 7 in l, min(l), max(l)


@case(X, {1, 2})
def set_methods(x, s):
    s.add(3)
    s.discard(1)
    s |= {5}
    return x * len(s), sorted(s & {3, 5}), s <= {2, 3, 5}


@case(X)
def iterators(x):
    it = iter([1, 2, 3])
    first = next(it)
    rest = list(it)
    z = list(zip(range(3), "abc"))
    e = list(enumerate([x], start=5))
    r = list(reversed([1, 2]))
    c = list(itertools.chain([1], [2])) + list(itertools.islice(itertools.count(3), 2))
    return x * first, rest, z, e[0][0], r, c, list(filter(None, [0, 1])), next(iter([]), 7)


@case(X)
def operators_module(x):
    get = operator.itemgetter(1)
    return operator.add(x, 1), get([1, 2]), operator.attrgetter("shape")(x), operator.mul(2, 3)


@case(X)
def texts(x):
    n = x.shape[0]
    return x, f"{n:03d}|{1.5:.2f}|{'a'!r:>5}", "a-b".replace("-", "+"), "%d%%" % n, "x".join("ab")


@case(X)
def numbers(x):
    n = x.size(0)
    return (
        x * (n // 3) + n % 3,
        divmod(7, 2),
        round(2.567, 1),
        2**n,
        n / 2,
        int("7"),
        float(n),
        -n,
        ~n,
    )


@case(X, 3)
def comparisons(x, n):
    return x if 1 < n <= 3 else -x, n == 3.0, n is not None, (n and 5) or 6, not n, n in (1, 2, 3)


@case(X)
def unpacking(x):
    (a, b), *c = (x, 1), 2, 3
    d = [*c, *range(2)]
    first, *_ = "abc"
    k = dict(a=1, b=2)
    return a * b, c, d, first, k


@case(X)
def star_calls(x):
    def f(a, /, b, *args, c=1, **kw):
        return a + b + sum(args) + c + sum(kw.values())

    return f(x, 1), f(x, 1, 2, 3, c=4, z=5), f(*(x, 1), c=2, q=3), f(x, b=2)


@case(X)
def methods_as_values(x):
    m = x.add
    p = Child(2).run
    q = functools.partial(Child.run, Child(5))
    s = [].append
    s(1)
    return m(1), p(x), q(x), list(map(str, [1, 2])), sorted("ba", key=str.upper)


@case(X)
def conditional_expression(x):
    return [a if a % 2 else -a for a in range(4)], {a: b for a, b in zip("ab", (x, x))}, x


@case(X, breaks=8)
def random_module(x):
    random.seed(3)
    return x * random.randint(1, 5)


@case(X, [1])
def copies(x, l):
    a = list(l)
    b = l[:]
    a.append(2)
    b.append(3)
    return x, a, b, l, tuple(l) + (4,)


@case(X)
def simple_namespace(x):
    n = types.SimpleNamespace(a=x, b=2)
    return n.a * n.b


@case(X)
def nonlocal_state(x):
    count = 0

    def step(v):
        nonlocal count
        count += 1
        return v * count

    return [step(x) for _ in range(3)], count


@case(X)
def recursion_with_lists(x):
    def walk(tree):
        if isinstance(tree, list):
            return sum(walk(t_) for t_ in tree)
        return tree * 2

    return walk([x, [x, [x]]])


@case(X)
def while_with_break(x):
    i = 0
    while True:
        i += 1
        if i > 3:
            break
        x = x + i
    return x, i


@case(X)
def walrus_in_comprehension(x):
    return [y := i * 2 for i in range(3)], y, x


@case(X)
def global_statement(x):
    global COUNT
    COUNT = x.shape[0]
    del COUNT
    return x


@case(X)
def match_classes(x):
    def f(v):
        match v:
            case [a, b]:
                return a + b
            case {"k": k, **rest}:
                return k + len(rest)
            case Point(scale=s):
                return s
            case int() | float():
                return v * 2
            case None:
                return 0

    return x, f([1, 2]), f({"k": 3, "z": 1}), f(Point(1)), f(4), f(None)


class Inner(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = nn.Parameter(t.linspace(0, 1, n))
        self.register_buffer("steps", t.zeros(()))
        self.config = {"scale": 2}

    def forward(self, x):
        self.steps += 1
        return x * self.w * self.config["scale"]


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"a": Inner(3), "b": Inner(3)})
        self.more = nn.ParameterList([nn.Parameter(t.ones(3)) for _ in range(2)])
        self.act = nn.ReLU()
        self.cache = {}

    def forward(self, x, which="a"):
        y = self.parts[which](x)
        for p in self.more:
            y = y + p
        self.cache["last"] = y.shape
        for name, part in self.named_children():
            if name == "act":
                y = part(y)
        return y


@case(Outer(), X)
def modules(m, x):
    return m(x), m(x, which="b"), m.cache["last"]


def hooked():
    m = nn.Linear(3, 3)
    with t.no_grad():
        m.weight.copy_(t.eye(3))
        m.bias.zero_()
    m.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    m.register_forward_hook(lambda module, args, out: out + 1)
    return m


HOOKED = hooked()


@case(X, breaks=2)
def module_hooks(x):
    return HOOKED(x)


@case(X)
def no_grad_function(x):
    @t.no_grad()
    def f(v):
        return v * 2, t.is_grad_enabled()

    return f(x.clone()), t.is_grad_enabled()


@case(X)
def grad_scopes(x):
    with t.no_grad():
        a = t.is_grad_enabled()
        with t.enable_grad():
            b = t.is_grad_enabled()
    t.set_grad_enabled(True)
    return x, a, b


@case(X)
def shapes_of_all_kinds(x):
    b, *rest = x.shape
    y = x.view(*x.shape[:-1], 3, 1).squeeze(-1)
    z = x.new_zeros(x.size()) + t.full((b, 3), 2.0)
    return y, z, x.numel(), tuple(x.stride()), x.shape == (4, 3), list(rest), len(x), x.ndim


@case(X)
def tensor_writes(x):
    y = x.clone()
    y[y > 0] = 5
    y[1:3, ::2] *= 3
    y.index_fill_(0, t.tensor([0]), 7)
    z = y[0]
    z += 1
    return y, z


@case(X)
def iterate_a_tensor(x):
    out = []
    for row in x:
        out.append(row.sum())
    a, b, c, d = x
    return t.stack(out), a + d, list(x.unbind(1))[0], sum(x)


@case(X)
def tensor_arguments(x):
    return t.cat((x, x), dim=-1), t.stack([x, x]), t.einsum("ij,kj->ik", x, x), F.pad(x, (1, 1))


@case(X)
def views_and_writes(x):
    y = x.clone()
    v = y.view(-1)
    v[0] = 100
    y.t()[0] = 3
    return y, v


@case(X, breaks=20)
def deep_copy(x):
    return copy.deepcopy([1, [2]]), x


NAMES = frozenset({"a", "b"})


@case(X, frozenset({1, 2}))
def frozen_sets(x, s):
    return x * len(s), "a" in NAMES, sorted(s | {3})


@case(X)
def containers_as_results(x):
    d = collections.defaultdict(list)
    d["k"].append(x)
    q = collections.deque([x, 1], maxlen=5)
    q.append(x + 1)
    return d, q, collections.OrderedDict(a=x), d["k"][0].shape.numel()
