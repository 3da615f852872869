"""Small programs with scopes, autograd, transforms and numbers from tensors."""

# ruff: noqa: F841

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import importlib
import itertools
import operator
import typing
import warnings

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
checkpoint = importlib.import_module(f"{NAME}.utils.checkpoint").checkpoint
func = importlib.import_module(f"{NAME}.func")
forward_ad = importlib.import_module(f"{NAME}.autograd.forward_ad")
saved_tensors_hooks = t.autograd.graph.saved_tensors_hooks
pytree = importlib.import_module(f"{NAME}.utils._pytree")

t.manual_seed(0)
X = t.randn(4, 3)
Y = t.randn(4, 3)
S = t.randn(3, 3)
P = t.randn(4, 3, requires_grad=True)
LIN = nn.Linear(3, 3)


@case(X, S)
def autocast_block(x, s):
    with t.autocast("cpu", dtype=t.bfloat16):
        y = x @ s
    return y.float() + 1, y.dtype


@case(X, S)
def autocast_nested(x, s):
    with t.autocast("cpu", dtype=t.bfloat16):
        y = x @ s
        with t.autocast("cpu", enabled=False):
            z = x @ s
        w = x @ s
    return y.dtype, z.dtype, w.dtype, (y + z).float()


@case(X)
def autocast_module(x):
    with t.amp.autocast("cpu", dtype=t.bfloat16):
        return LIN(x).relu()


@t.autocast("cpu", dtype=t.bfloat16)
def _cast(x, s):
    return x @ s


@case(X, S)
def autocast_decorator(x, s):
    return _cast(x, s) + 1


@case(X)
def autocast_state(x):
    with t.autocast("cpu", dtype=t.bfloat16):
        inside = t.is_autocast_enabled("cpu")
        kind = t.get_autocast_dtype("cpu")
    return x + int(inside), kind, t.is_autocast_enabled("cpu")


class Square(t.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * x * k

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * ctx.k, None


@case(P)
def own_function(p):
    y = Square.apply(p, 2) + 1
    return y.sum()


class TwoOut(t.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, a, b):
        x, y = ctx.saved_tensors
        return a * y + b, a * x + b


@case(P, Y)
def own_function_of_two(p, y):
    a, b = TwoOut.apply(p, y)
    return (a * b).sum(), a


class Later(t.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


@case(P)
def own_function_with_setup(p):
    return Later.apply(p).sum()


@case(X)
def own_function_without_gradient(x):
    return Square.apply(x, 3)


@case(P)
def checkpointed(p):
    def inner(x):
        return t.sin(x) * t.cos(x)

    return checkpoint(inner, p, use_reentrant=False).sum()


@case(P)
def checkpointed_module(p):
    return checkpoint(LIN, p, use_reentrant=False).sum()


@case(X)
def grad_of_function(x):
    return func.grad(lambda v: (v * v).sum())(x)


@case(X, S)
def vmap_of_function(x, s):
    return t.vmap(lambda row: row @ s)(x)


@case(X)
def vmap_with_dims(x):
    return t.vmap(lambda a, b: a * b, in_dims=(0, None), out_dims=1)(x, x[0])


@case(X)
def jacobians(x):
    f = lambda v: v.sin().sum(-1)
    return func.jacrev(f)(x[0]), func.jacfwd(f)(x[0])


@case(X)
def vjp_and_jvp(x):
    out, pull = func.vjp(t.sin, x)
    (g,) = pull(t.ones_like(out))
    o, d = func.jvp(t.cos, (x,), (t.ones_like(x),))
    return out, g, o, d


@case(X)
def grads_per_sample(x):
    w = x[0]
    loss = lambda w, row: ((row * w).sum()) ** 2
    return t.vmap(func.grad(loss), in_dims=(None, 0))(w, x)


@case(X)
def functional_calls(x):
    params = {k: v.detach() * 2 for k, v in LIN.named_parameters()}
    return func.functional_call(LIN, params, (x,))


@case(X)
def hessians(x):
    return func.hessian(lambda v: (v**3).sum())(x[0])


@case(X)
def control_flow(x):
    return t.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))


@case(X, breaks=1)
def number_from_data(x):
    n = x.sum().item()
    return x * n


@case(X, breaks=1)
def branch_on_data(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


@case(X, t.tensor(2.0))
def tensor_as_number(x, a):
    return t.add(x, x, alpha=2) * a, x.add(a)


@case(X)
def generator_in_place(x):
    y = t.empty(3)
    y.fill_(2.0)
    y.zero_().add_(1).mul_(x[0])
    return y


@case(X, breaks=1)
def requires_grad_written(x):
    w = t.ones(3, requires_grad=True)
    return (x * w).sum()


@case(X)
def attribute_of_tensor(x):
    y = x + 1
    y.tag = "a"
    return y.tag, y * 2


@case(X)
def dtype_attributes(x):
    return (
        x.dtype.is_floating_point,
        x.dtype.itemsize,
        x.element_size(),
        x.nelement(),
        x.is_contiguous(),
    )


@case(X)
def device_scope(x):
    with t.device("cpu"):
        y = t.zeros(3)
    return x + y, y.device


@case(X, breaks=8)
def warned(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x + 1
    return y


@case(X)
def exit_stack(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(t.no_grad())
        y = x * 2
        inside = t.is_grad_enabled()
    return y, inside, t.is_grad_enabled()


@case(X)
def nullcontexts(x):
    with contextlib.nullcontext() as n:
        y = x * 2
    with contextlib.suppress(KeyError):
        raise KeyError("k")
    return y, n


@case(X)
def inference(x):
    with t.inference_mode():
        y = x * 2
    return y.is_inference(), y


@case(X)
def no_grad_decorator(x):
    @t.no_grad()
    def f(v):
        return v * 2, t.is_grad_enabled()

    return f(x)


@case(X)
def set_grad(x):
    with t.set_grad_enabled(False):
        a = t.is_grad_enabled()
        with t.enable_grad():
            b = t.is_grad_enabled()
    return x + 1, a, b


@functools.lru_cache
def _table(n):
    return n * 2


@case(X)
def cached_function(x):
    return x * _table(3)


@case(X)
def trees(x):
    leaves, spec = pytree.tree_flatten({"a": [x, x + 1], "b": (x * 2,)})
    return pytree.tree_unflatten([leaf * 2 for leaf in leaves], spec), pytree.tree_map(
        lambda v: v + 1, (x, [x])
    )


Point = collections.namedtuple("Point", ["x", "y"], defaults=[3])


@case(Point(X, Y))
def named_tuples(p):
    q = p._replace(x=p.x + 1)
    made = Point(p.y)
    return q, made, p._fields, made._asdict(), Point._make([p.x, 1])


class Pair(typing.NamedTuple):
    a: t.Tensor
    b: int = 2

    def total(self):
        return self.a * self.b


@case(Pair(X))
def typed_named_tuples(p):
    return p.total(), Pair(p.a + 1, b=5).total(), isinstance(p, tuple)


@case(collections.deque([X, Y]))
def deque_given(q):
    q2 = collections.deque(q)
    q2.append(q[0] + 1)
    return q2.popleft(), len(q), [v * 2 for v in q]


@case(X, collections.deque([1, 2], maxlen=3))
def deque_written(x, q):
    q.append(x * 2)
    q.appendleft(7)
    return len(q), q.maxlen, list(q)


@case(X, collections.defaultdict(list, {"a": [1]}))
def defaultdict_given(x, d):
    d["b"].append(x)
    return d["a"], len(d), x * len(d["zz"])


@case(X, collections.Counter("abca"))
def counter_given(x, c):
    return x * c["a"], c["z"], c.most_common(1)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Flag(enum.IntFlag):
    A = 1
    B = 2


@case(X, Color.RED, {Color.RED: 2, Color.BLUE: 3}, {Color.RED})
def enums(x, c, table, members):
    if c is Color.RED and c in members:
        x = x * table[c]
    return x, c.name, c.value, Color(2), Color["BLUE"], [m.value for m in Color], Flag.A | Flag.B


@dataclasses.dataclass
class Config:
    width: int = 3
    names: list = dataclasses.field(default_factory=list)

    def scaled(self, by):
        return dataclasses.replace(self, width=self.width * by)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: t.Tensor
    b: int = 1


@case(X, Config(2, ["q"]), Frozen(X, 4))
def dataclasses_given(x, c, f):
    c2 = c.scaled(2)
    return (
        x * c2.width,
        f.a + f.b,
        c2.names,
        dataclasses.asdict(Config(1)),
        Frozen(3, 2) == Frozen(3, 2),
    )


@case(X)
def signatures(x):
    def f(a, b=2, *, c=3):
        return a + b + c

    return f(x), f.__name__, f.__defaults__, f.__kwdefaults__


@case(X)
def copies(x):
    a = [1, {"k": x}]
    b = copy.copy(a)
    b.append(3)
    return a, b, x * len(b)


@case(X)
def sort_with_key(x):
    items = [(2, "b"), (1, "a"), (3, "c")]
    items.sort(key=operator.itemgetter(0), reverse=True)
    return x * items[0][0], sorted(items, key=lambda p: p[1]), max(items, key=lambda p: p[0])


@case(X)
def itertools_all(x):
    a = list(itertools.chain([1], [2, 3]))
    b = list(itertools.product([1, 2], repeat=2))
    c = list(itertools.accumulate([1, 2, 3], operator.mul))
    d = [list(g) for _, g in itertools.groupby([1, 1, 2])]
    e = list(itertools.islice(itertools.count(5), 3))
    f = list(itertools.zip_longest([1], [2, 3], fillvalue=0))
    g = list(itertools.combinations([1, 2, 3], 2))
    h = list(itertools.takewhile(lambda v: v < 3, [1, 2, 3]))
    i = list(itertools.pairwise([1, 2, 3]))
    j = list(itertools.starmap(pow, [(2, 3)]))
    return x * sum(a), b, c, d, e, f, g, h, i, j


@case(X)
def text(x):
    return (
        f"{x.shape[0]}-{x.dtype}-{3.14159:.2f}-{'a':>3}-{[1, 2]!r}",
        "%d %s" % (3, "a"),
        f"{1} {2}",
        ["a", "b"],
        "-".join(["a", "b"]),
        x + len("abc".upper().strip()),
    )


@case(X, 0.5)
def floats_given(x, a):
    return x * a + a**2


@case(X)
def sizes(x):
    b, *rest = x.shape
    n = x.numel() // b
    return (
        x.view(b, -1),
        x.reshape(n, b),
        rest,
        x.size(0) * 2,
        x.new_zeros(x.shape[::-1]),
        x.stride(),
    )


@case(X)
def linspaces(x):
    return t.arange(x.size(0)), t.linspace(0, 1, x.size(1)), t.eye(x.size(1)), t.full((2, 2), 3.0)


@case(X)
def masks(x):
    m = x > 0
    return t.where(m, x, 0.0), x.masked_fill(m, 0), x * m, m.any(), m.all(), (~m).sum()


@case(X, breaks=2)
def nonzeros(x):
    return x[x > 0], t.nonzero(x > 0)


@case(X)
def index_kinds(x):
    i = t.tensor([0, 2])
    y = x.clone()
    y[i] = 0
    y[..., 0] += 1
    y[1:3, None]
    return x[i], x[:, i], x[None, ..., -1], x[[0, 1], [1, 2]], y, x[-1, ::2]


@case(X, breaks=1)
def random_numbers(x):
    t.manual_seed(3)
    return t.rand(3), t.randn_like(x), F.dropout(x, 0.5), t.randint(0, 9, (2,)), t.randperm(4)


@case(X)
def print_free_assert(x):
    assert x.shape[0] == 4, "four"
    assert isinstance(x, t.Tensor)
    t._assert(x.size(1) == 3, "three")
    return x


@case(X)
def raise_inside(x):
    if x.shape[0] == 4:
        raise ValueError(f"four rows: {x.shape[0]}")
    return x


@case(X)
def chained_exceptions(x):
    try:
        try:
            raise KeyError("a")
        except KeyError as e:
            raise RuntimeError("b") from e
    except RuntimeError as e:
        return str(e), type(e.__cause__).__name__, x + 1


@case(X)
def finally_blocks(x):
    log = []
    try:
        log.append(1)
        return x + 1, log
    finally:
        log.append(2)


@case(X, breaks=1)
def context_class(x):
    class Scope:
        def __init__(self, log):
            self.log = log

        def __enter__(self):
            self.log.append("in")
            return self

        def __exit__(self, kind, value, trace):
            self.log.append(kind.__name__ if kind else "out")
            return True

    log = []
    with Scope(log) as s:
        y = x + 1
    with Scope(log):
        raise ValueError
    return y, log


@case(X, {"a": 1})
def match_statement(x, d):
    match d:
        case {"a": int(n), **rest} if n > 0:
            x = x * n
        case _:
            x = x - 1
    match [1, 2, 3]:
        case [a, *b]:
            return x, a, b


@case(X)
def walrus(x):
    if (n := x.shape[0]) > 3:
        x = x * n
    return x, [y := 1, y + 1], n


class Meta(type):
    def __call__(cls, *args):
        return super().__call__(*args)


class Own:
    count = 0

    def __init__(self, v):
        self.v = v
        self.count = type(self).count

    @property
    def double(self):
        return self.v * 2

    @double.setter
    def double(self, value):
        self.v = value / 2

    @classmethod
    def make(cls, v):
        return cls(v)

    @staticmethod
    def plus(v):
        return v + 1

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.v[i]

    def __iter__(self):
        return iter([self.v, self.v])

    def __contains__(self, k):
        return k == 1

    def __add__(self, other):
        return Own(self.v + other.v)

    def __eq__(self, other):
        return self.v is other.v

    __hash__ = None

    def __bool__(self):
        return True

    def __call__(self, k):
        return self.v * k


@case(X)
def own_class(x):
    o = Own.make(x)
    o.double = x * 4
    s = o + Own(x)
    return (
        *(o.double, Own.plus(x), len(o), o[0], list(o), 1 in o, s.v, o == o, bool(o), o(3)),
        isinstance(o, Own),
        hasattr(o, "zz"),
    )


@case(Own(X))
def own_class_given(o):
    a, b = o
    o.v = o.v + 1
    return o[0], o(2), len(o), a, 1 in o, bool(o)


@case(X)
def star_calls(x):
    def f(*args, **kwargs):
        return args, kwargs

    a = (1, 2)
    k = {"z": x}
    return f(*a, 3, **k, w=4), (lambda *, q=1: q)(), f(*[x, x])


@case(X)
def closures(x):
    total = 0

    def add(n):
        nonlocal total
        total += n
        return total

    add(1)
    add(2)
    return x * total, [f() for f in [lambda i=i: i for i in range(3)]]


@case(X)
def generators(x):
    def gen(n):
        for i in range(n):
            got = yield x * i
            if got:
                yield got

    g = gen(3)
    a = next(g)
    b = g.send(5)
    return a, b, list(g), sum(v.sum() for v in gen(2)), list(zip(gen(2), "ab"))


@case(X)
def yield_from(x):
    def inner():
        yield x
        return 5

    def outer():
        got = yield from inner()
        yield got

    return list(outer())


# ---- forward mode, hooks of saved tensors ----


@case(X, Y)
def dual_numbers(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        primal, moved = forward_ad.unpack_dual(dual.sin() * dual)
    return primal * 2, moved + 1


@case(X, Y)
def dual_numbers_through_a_module(x, tangent):
    with forward_ad.dual_level():
        out = forward_ad.unpack_dual(LIN(forward_ad.make_dual(x, tangent)).tanh())
        return out.tangent.square().mean(), forward_ad.unpack_dual(x).tangent


@case(X, Y, breaks=1)
def dual_numbers_around_a_break(x, tangent):
    x = x + 1
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        print("inside")
        moved = forward_ad.unpack_dual(dual.exp()).tangent
    return moved * 2


@case(X, Y)
def linearized(x, tangent):
    value, moved = func.linearize(lambda v: (v.sin() * v).sum(-1), x)
    return value, moved(tangent), moved(tangent * 2)


@case(X[0])
def derivatives_in_both_modes(x):
    def energy(v):
        return (v.sin() * v).sum()

    return func.jacfwd(lambda v: v * v.sum())(x), func.hessian(energy)(x)


@case(P, breaks=2)
def hooks_of_saved_tensors(p):
    seen = []

    def pack(tensor):
        seen.append(tuple(tensor.shape))
        return tensor * 1

    y = p * 2
    with saved_tensors_hooks(pack, lambda tensor: tensor + 1):
        z = y.sin() * y
    (grad,) = t.autograd.grad((z + 1).sum(), p)
    return grad, seen


@case(P, breaks=1)
def saved_tensors_on_the_cpu(p):
    with t.autograd.graph.save_on_cpu():
        y = LIN(p.sin())
    return y.square().mean()


@t.no_grad()
def _told(x):
    print(float(x.sum()) > 1e9)
    return x * 2


@case(P, breaks=1)
def gradients_behind_a_break_without(p):
    scale = _told(p.detach().abs())
    out = LIN(p) * scale
    return out, scale.requires_grad, out.requires_grad
