"""Programs that lean on Python: operators, descriptors, closures, scopes, dispatch, matching."""

import collections
import contextlib
import copy
import functools
import importlib
import itertools
import math
import random
import sys
import typing
import weakref

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
func = importlib.import_module(f"{NAME}.func")

t.manual_seed(0)
X = t.randn(4, 3)
W = t.randn(3, 2).requires_grad_()


LINEAR = nn.Linear(3, 2)


class Polynomial:
    def __init__(self, *factors):
        self.factors = factors

    def __call__(self, x):
        return functools.reduce(lambda acc, f: acc * x + f, self.factors, t.zeros_like(x))

    def __add__(self, other):
        pairs = itertools.zip_longest(self.factors[::-1], other.factors[::-1], fillvalue=0)
        return Polynomial(*[a + b for a, b in pairs][::-1])

    def __matmul__(self, x):
        return self(x)

    def __eq__(self, other):
        return self.factors == other.factors

    def __hash__(self):
        return hash(self.factors)

    def __len__(self):
        return len(self.factors)

    def __getitem__(self, i):
        return self.factors[i]

    def __contains__(self, value):
        return value in self.factors

    def __bool__(self):
        return any(self.factors)


@case(X)
def polynomials_with_operators(x):
    p, q = Polynomial(1, 2), Polynomial(3, 0, -1)
    r = p + q
    return (
        r @ x,
        len(r),
        r[0],
        2 in p,
        bool(Polynomial(0)),
        p == Polynomial(1, 2),
        {p: 1}[Polynomial(1, 2)],
    )


class Graph:
    def __init__(self):
        self.nodes = collections.OrderedDict()

    def node(self, *needs):
        def note(function):
            self.nodes[function.__name__] = (needs, function)
            return function

        return note

    def run(self, **values):
        done, order = dict(values), []
        open_ = [name for name in self.nodes if name not in done]
        while open_:
            name = open_.pop(0)
            needs, function = self.nodes[name]
            if any(need not in done for need in needs):
                open_.append(name)
                continue
            done[name] = function(*(done[need] for need in needs))
            order.append(name)
        return done, order


GRAPH = Graph()


@GRAPH.node("b")
def c(b):
    return b.exp()


@GRAPH.node("x")
def a(x):
    return x + 1


@GRAPH.node("a")
def b(a):
    return a * 2


@case(X)
def steps_in_the_order_of_needs(x):
    done, order = GRAPH.run(x=x)
    return done["c"], order


@case(X)
def events_and_listeners(x):
    listeners = collections.defaultdict(list)
    log = []

    def on(event):
        def note(function):
            listeners[event].append(function)
            return function

        return note

    def fire(event, *args, **kwargs):
        return [listener(*args, **kwargs) for listener in listeners[event]]

    @on("step")
    def count(step, loss=None):
        log.append(("count", step))

    @on("step")
    def keep(step, *, loss):
        log.append(("keep", step))
        return loss * 2

    results = [fire("step", step, loss=x.sum() * step) for step in range(2)]
    return results, log


class Lazy:
    def __init__(self, make):
        self.make = make

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        if not hasattr(instance, self.name):
            setattr(instance, self.name, self.make(instance))
        return getattr(instance, self.name)


class Features:
    def __init__(self, x):
        self.x = x
        self.made = 0

    @Lazy
    def squares(self):
        self.made += 1
        return self.x**2

    @functools.cached_property
    def sums(self):
        self.made += 10
        return self.squares.sum(-1)


@case(X)
def features_made_once(x):
    f = Features(x)
    return f.sums + f.sums, f.squares, f.made


@case(X, Features(X))
def features_given_made_once(x, f):
    return f.sums + f.squares.sum(-1) * 2, f.made, sorted(vars(f))


@case(X)
def accumulated_in_micro_batches(x):
    totals = collections.Counter()
    gradient = None
    for first, last in itertools.pairwise(range(0, 5, 2)):
        part = x[first:last]
        g = part.T @ part / len(part)
        gradient = g if gradient is None else gradient.add_(g)
        totals.update(rows=len(part), batches=1)
    return gradient / totals["batches"], dict(totals)


@case([(t.ones(2), 1), (t.ones(3) * 2, 0), (t.ones(1) * 3, 1)])
def collated_with_padding(samples):
    tensors, labels = zip(*samples)
    most = max(v.shape[0] for v in tensors)
    batch = t.stack([F.pad(v, (0, most - v.shape[0]), value=-1.0) for v in tensors])
    return batch, t.tensor(labels), batch.ge(0).sum(1)


@case(X)
def forwarded_arguments(x):
    def outer(*args, **kwargs):
        return middle(*args[:1], *args[1:], **{**kwargs, "c": 3})

    def middle(first, *rest, c, d=4, **others):
        return first * c + sum(rest) + d + sum(others.values()), sorted(others)

    return outer(x, 1, 2, d=5, e=6, f=7)


@case(X)
def counters_in_closures(x):
    def make():
        count, history = 0, []

        def step(v):
            nonlocal count

            def note():
                nonlocal count
                count += 1
                history.append(count)

            note()
            note()
            return v + count

        return step, lambda: (count, tuple(history))

    step, seen = make()
    return step(step(x)), seen()


class Timer(contextlib.ContextDecorator):
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("begin")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(kind.__name__ if kind else "end")
        return kind is KeyError


@case(X, [])
def scopes_as_decorators(x, log):
    @Timer(log)
    def work(v):
        return v * 2

    @Timer(log)
    def fails(v):
        return {}[v.shape]

    return work(x), fails(x), log


@case(X)
def scopes_in_a_stack(x):
    log = []

    @contextlib.contextmanager
    def scope(name):
        log.append(f"+{name}")
        try:
            yield len(name)
        finally:
            log.append(f"-{name}")

    with contextlib.ExitStack() as stack:
        sizes = [stack.enter_context(scope(name)) for name in ("a", "bb", "ccc")]
        stack.callback(log.append, "callback")
        y = x * sum(sizes)
        kept = stack.pop_all()
    log.append("between")
    kept.close()
    return y, log


@case(X, "b")
def states_of_a_machine(x, state):
    table = {
        ("a", True): ("b", lambda v: v + 1),
        ("b", True): ("c", lambda v: v * 2),
        ("c", True): ("a", t.neg),
        ("b", False): ("a", t.relu),
    }
    path = [state]
    for flag in (True, True, True, False):
        if (state, flag) not in table:
            break
        state, action = table[state, flag]
        x = action(x)
        path.append(state)
    return x, path


@case({"encoder.0.weight": t.ones(2), "encoder.0.bias": t.zeros(2), "head.weight": t.ones(1)})
def weights_grouped_by_prefix(weights):
    groups = {}
    for name, value in weights.items():
        prefix, _, rest = name.partition(".")
        groups.setdefault(prefix, {})[rest] = value * 2
    decayed = [name for name in weights if not name.endswith("bias")]
    return groups, decayed


@case(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.0), nn.Linear(3, 2)), X)
def parameters_in_groups(m, x):
    groups = {"decay": [], "plain": []}
    for p in m.parameters():
        groups["plain" if p.ndim < 2 else "decay"].append(p)
    penalty = sum((p**2).sum() for p in groups["decay"])
    return m(x).sum() + 0.1 * penalty, {k: len(v) for k, v in groups.items()}


Pair = collections.namedtuple("Pair", "left right")


@case(X)
def tree_of_tensors_mapped(x):
    def tree_map(function, tree):
        if isinstance(tree, dict):
            return {k: tree_map(function, v) for k, v in tree.items()}
        if isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return type(tree)(*(tree_map(function, v) for v in tree))
        if isinstance(tree, (list, tuple)):
            return type(tree)(tree_map(function, v) for v in tree)
        return function(tree)

    return tree_map(lambda v: v * 2, {"a": [x, (x + 1,)], "b": Pair(x[0], x[1])})


@case(X, {"a": [1, {"b": 2}]})
def settings_merged_deeply(x, given):
    def merge(base, more):
        out = copy.deepcopy(base)
        for key, value in more.items():
            both = isinstance(value, dict) and isinstance(out.get(key), dict)
            out[key] = merge(out[key], value) if both else value
        return out

    merged = merge({"a": 0, "c": {"d": 1, "e": 2}}, {**given, "c": {"e": 3}})
    return x * merged["c"]["e"], merged


@case(X)
def flags_from_the_command_line(x):
    arguments = ["--lr=0.1", "--name", "net", "-v", "--no-bias"]
    options, rest = {"bias": True, "verbose": 0}, iter(arguments)
    for token in rest:
        match token.lstrip("-").split("=", 1):
            case [name, value]:
                options[name] = float(value)
            case ["v"]:
                options["verbose"] += 1
            case [name] if name.startswith("no-"):
                options[name.removeprefix("no-")] = False
            case [name]:
                options[name] = next(rest)
    return x * options["lr"], options


class Tracker(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setitem__("last", key)

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@case(X)
def dict_with_attributes(x):
    tracked = Tracker()
    tracked["loss"] = x.sum()
    tracked["norm"] = x.norm()
    return tracked.loss + tracked.norm, tracked.last, hasattr(tracked, "missing"), len(tracked)


@case(X)
def history_with_a_heap(x):
    import heapq

    heap = []
    for i, score in enumerate((3, 1, 2, 5, 4)):
        heapq.heappush(heap, (score, i))
        if len(heap) > 3:
            heapq.heappop(heap)
    best = [i % 4 for _, i in sorted(heap)]
    return x[best[:2]], best


@case(X)
def bisected_boundaries(x):
    import bisect

    edges = [0, 2, 5, 9]
    return x * bisect.bisect(edges, 4), [bisect.bisect_left(edges, v) for v in (0, 2, 6)]


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


@case(X, [Point(0, 1), Point(2, 2), Point(3, 0)])
def points_matched(x, points):
    found = []
    for point in points:
        match point:
            case Point(0, y):
                found.append(("axis", y))
            case Point(a, b) if a == b:
                found.append(("diagonal", a))
            case Point(x=a):
                found.append(("other", a))
    return x * len(found), found


class Shared:
    _one = None

    def __new__(cls):
        if cls._one is None:
            cls._one = super().__new__(cls)
            cls._one.calls = 0
        return cls._one


@case(X)
def singleton_and_shared_state(x):
    Shared().calls = 0
    Shared().calls += 1
    Shared().calls += 1
    return x * Shared().calls, Shared() is Shared()


class Visitor:
    def visit(self, node):
        return getattr(self, f"visit_{type(node).__name__.lower()}", self.default)(node)

    def default(self, node):
        return node

    def visit_tuple(self, node):
        name, *parts = node
        values = [self.visit(part) for part in parts]
        return {"add": t.add, "mul": t.mul, "neg": t.neg}[name](*values)


@case(X)
def expressions_visited(x):
    return Visitor().visit(("add", ("mul", x, x), ("neg", ("add", x, 1))))


@case(X)
def numbers_of_several_bases(x):
    bits = format(10, "08b")
    return (
        x * int(bits, 2),
        [int(b) for b in bits],
        hex(255),
        f"{0.125:.1%}",
        f"{1e-5:g}",
        round(2.675, 2),
    )


@functools.lru_cache(maxsize=8)
def window(size, kind="hann"):
    n = t.arange(size).float()
    return 0.5 - 0.5 * t.cos(2 * math.pi * n / size) if kind == "hann" else t.ones(size)


@case(X)
def windows_remembered(x):
    return x * window(3), window(3) is window(3), x * window(3, "flat")


class Formatter:
    @functools.singledispatchmethod
    def shown(self, value):
        return f"<{value}>"

    @shown.register
    def _(self, value: int):
        return value + 1

    @shown.register(list)
    @shown.register(tuple)
    def _(self, value):
        return [self.shown(item) for item in value]


# From 3.12 on functools keeps methods in a dict of weak references to their objects.
@case(X, more_breaks=12 if sys.version_info >= (3, 12) else 0)
def formats_by_class(x):
    return x * 2, Formatter().shown([1, "a", (2, 3)])


@case(X)
def augmented_at_random(x):
    y = x * random.uniform(0.5, 1.5) + random.gauss(0.0, 0.1)
    return y.shape, y.isfinite().all()


@case(X)
def order_shuffled_by_a_seed(x):
    own = random.Random(7)
    order = list(range(4))
    own.shuffle(order)
    return x[order], order, own.sample("abc", 2)


@typing.runtime_checkable
class Module(typing.Protocol):
    training: bool

    def forward(self, x): ...


@case(nn.Linear(3, 2), X)
def modules_by_protocol(m, x):
    return [part(x) if isinstance(part, Module) else part for part in (m, 1)]


@case(X, W)
def hook_with_a_scale(x, w):
    y = x @ w
    scale = y.detach().abs().mean()
    y.register_hook(lambda grad: grad / scale)
    return y.sum()


@case(X, t.tensor(1), t.tensor([0, 2]))
def rows_by_tensors(x, n, more):
    rows = [x[n], x[n + 1], x[n, 0], x[more[1]]]
    y = x.clone()
    y[n] = 0
    return rows, y, x[:, more[0]]


class OnceError(Exception):
    pass


@case(X, {"tries": 0})
def retried_with_backoff(x, state):
    def retry(times):
        def decorate(function):
            @functools.wraps(function)
            def wrapped(*args, **kwargs):
                for attempt in range(times):
                    try:
                        return function(*args, **kwargs)
                    except OnceError as error:
                        if attempt + 1 == times:
                            raise RuntimeError(f"gave up after {times}") from error
                        state["tries"] += 1

            return wrapped

        return decorate

    @retry(3)
    def flaky(v):
        if state["tries"] < 2:
            raise OnceError(state["tries"])
        return v + state["tries"]

    @retry(2)
    def broken(v):
        raise OnceError("always")

    try:
        broken(x)
    except RuntimeError as error:
        told = str(error), type(error.__cause__).__name__
    state["tries"] = 0
    return flaky(x), told, state


@case(X)
def weights_with_weak_names(x):
    scale = LINEAR.weight
    reference = weakref.ref(scale)
    return x @ reference().T, reference() is scale
