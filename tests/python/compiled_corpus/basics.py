"""Small programs of everyday Python on tensors: each runs plainly and compiled."""

# ruff: noqa: C416, C417, E741, F841

import collections
import functools
import importlib
import itertools
import math

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")

t.manual_seed(0)
G = 3
LST = [1, 2, 3]
X = t.randn(4, 3)
Y = t.randn(4, 3)


@case(X, Y)
def basic(x, y):
    return t.relu(x + y) * 2


@case(X, Y)
def tup(x, y):
    return x + 1, (y * 2, [x - y]), {"a": x * y}


@case(X, 3)
def intarg(x, n):
    return x * n


@case(X)
def glob(x):
    return x + G + len(LST) + sum(LST)


@case(X)
def loop(x):
    for i in range(4):
        x = x + i
    return x


@case([X, Y])
def lists(l):
    out = []
    for item in l:
        out.append(item * 2)
    return out


@case({"x": X, "y": Y})
def dicts(d):
    r = {}
    for k, v in d.items():
        r[k + "2"] = v + 1
    return r


@case(X)
def closure(x):
    a = 2

    def inner(y):
        nonlocal a
        a += 1
        return y * a

    return inner(x) + inner(x), a


@case(X)
def lam(x):
    return (lambda z: z + 1)(x)


@case(X)
def compr(x):
    return [x * i for i in range(3)], {i: x + i for i in range(2)}, {i for i in range(3)}


@case(X)
def gen(x):
    def g():
        for i in range(3):
            yield x * i

    return sum(g())


@case(X)
def genexp(x):
    return sum(x * i for i in range(3))


@case(X)
def shape(x):
    b, c = x.shape
    return x.view(c, b), x.size(0) * 2, x.dim()


@case(X)
def meth(x):
    return x.sum(dim=1, keepdim=True).expand(-1, 3).contiguous().reshape(-1)


@case(X)
def idx(x):
    return x[0], x[:, 1], x[..., None], x[1:3], x[:, [0, 2]]


@case(X)
def setidx(x):
    y = x.clone()
    y[0] = 1
    y[:, 1] += 2
    return y


@case(X.clone())
def inplace(x):
    x.add_(1)
    return x * 2


@case(X)
def nograd(x):
    with t.no_grad():
        y = x * 2
    return y + 1


@case(X)
def tryexc(x):
    try:
        raise ValueError("a")
    except ValueError as e:
        y = x + len(str(e))
    finally:
        y = x * 3
    return y


@case(X)
def keyerr(x):
    d = {}
    try:
        d["q"]
    except KeyError:
        return x + 1


@case(X, breaks=1)
def prints(x):
    y = x + 1
    print("hello", end="")
    return y * 2


@case(X, breaks=1)
def databranch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


@case(X, breaks=1)
def item(x):
    return x.sum().item() + 1


@case(X)
def fstr(x):
    return f"{x.shape[0]}-{G}", x + 1


@case(X, breaks=2)
def cls(x):
    class A:
        pass

    return x


class Pt:
    k = 5

    def __init__(self, x):
        self.x = x
        self.n = 1

    @property
    def dbl(self):
        return self.x * 2

    def add(self, y):
        self.n += 1
        return self.x + y

    @staticmethod
    def st(a):
        return a + 1

    @classmethod
    def cm(c, a):
        return a * c.k

    def __call__(self, a):
        return a - self.x

    def __add__(self, o):
        return Pt(self.x + o.x)

    def __len__(self):
        return 7

    def __getitem__(self, i):
        return self.x[i]


@case(X, Y)
def objmade(x, y):
    p = Pt(x)
    q = p + Pt(y)
    return p.dbl + p.add(y) + Pt.st(x) + Pt.cm(x) + p(y) + q.x, p.n, len(p), p[0]


@case(X)
def retobj(x):
    return Pt(x)


PP = Pt(X)


@case(X, PP)
def objout(x, p):
    p.n += 1
    p.last = x * 2
    return p.dbl + p.add(x) + p.k, p.n


NT = collections.namedtuple("NT", "a b")


@case(NT(X, Y))
def nt(t):
    return NT(t.a + 1, t.b), t._fields


@case(X)
def starargs(x):
    def f(*a, k=1, **kw):
        return a[0] * k + sum(kw.values())

    return f(x, 2, k=3, z=4, w=5), f(*[x], q=1)


@case(X)
def defaults(x):
    def f(a, b=2, *, c=3):
        return a * b + c

    return f(x)


@case(X)
def mathf(x):
    return x * math.sqrt(4) + math.pi


@case(X)
def partial(x):
    return functools.partial(t.add, other=2)(x)


@case(X)
def reduce_(x):
    return functools.reduce(lambda a, b: a + b, [x, x, x])


@case(X)
def zipenum(x):
    r = 0
    for i, (a, b) in enumerate(zip([x, x], [1, 2])):
        r = r + a * b * i
    return r


@case(X)
def sortedk(x):
    return [x * k for k in sorted([3, 1, 2], key=lambda v: -v)]


@case(X)
def mapf(x):
    return list(map(lambda v: x * v, [1, 2]))


@case(X)
def walrus(x):
    if (n := x.shape[0]) > 2:
        return x * n


@case(X)
def matchs(x):
    match x.shape[1]:
        case 3:
            return x + 3
        case _:
            return x


@case(X)
def whil(x):
    i = 0
    while i < 3:
        x = x * 2
        i += 1
        if i == 2:
            continue
    else:
        x = x + 1
    return x


@case(X)
def isinst(x):
    return (
        (x + 1)
        if isinstance(x, t.Tensor)
        and type(x) is t.Tensor
        and hasattr(x, "shape")
        and not isinstance(x, (int, str))
        else x
    )


@case(X)
def getattr_(x):
    return x.T + 0, getattr(x, "nope", 5)


@case(X)
def dtypes(x):
    return x.to(t.float64), x.dtype, x.device, x.float().is_floating_point()


@case(X)
def factory(x):
    return t.zeros(3) + x, t.ones_like(x), t.arange(3), t.tensor([1.0, 2.0, 3.0]) + x


@case(X)
def chunk(x):
    a, b = x.chunk(2)
    u = t.split(x, 2, 0)
    return a + b, u[0], x.max(dim=1).values, t.topk(x, 2)


@case(X)
def Ff(x):
    return F.softmax(F.gelu(x), -1) + F.layer_norm(x, (3,))


@case(X)
def globwrite(x):
    global G2
    G2 = x.shape[0] + 1
    return x + G2


@case(X, breaks=1)
def deepcall(x):
    def a(x):
        return b(x) + 1

    def b(x):
        return c(x) * 2

    def c(x):
        print("", end="")
        return x - 1

    return a(x)


@case(X, breaks=4)
def loopbreak(x):
    for i in range(3):
        x = x + i
        print("", end="")
    return x


@case(X, breaks=2)
def ctxbreak(x):
    with t.no_grad():
        y = x + 1
        print("", end="")
        z = y * 2
    return z + t.is_grad_enabled()


@case(X)
def raises(x):
    y = x + 1
    raise RuntimeError("boo")


@case(X)
def badshape(x):
    return x @ x


@case(X, [])
def appendl(x, l):
    l.append(x + 1)
    l.append(2)
    return len(l)


@case(X)
def assertf(x):
    assert x.shape[0] == 4, "no"
    return x


@case(X)
def ternary(x):
    return x if G > 2 else -x


@case(X)
def strm(x):
    return ["a", "b"], "x".upper(), x + len("abc")


@case(X)
def setsf(x):
    return {1, 2} | {3}, x


@case(X)
def dq(x):
    d = collections.deque([1])
    d.append(2)
    return sum(d) * x


@case(X)
def od(x):
    d = collections.OrderedDict()
    d["a"] = x
    return d["a"] + 1


@case(X)
def unpack(x):
    a, *b, c = [x, 1, 2, x]
    return a + c, b


@case(X)
def chaincmp(x):
    return x if 1 < x.shape[0] < 10 else -x


@case(X)
def boolop(x):
    return x and None if False else (x + 1 if not None else x)


@case(X)
def delv(x):
    y = x + 1
    del y
    return x


@case(X)
def itert(x):
    return [x * a + b for a, b in itertools.product([1, 2], [3])]


@case(X)
def recursion(x):
    def r(x, n):
        return x if n == 0 else r(x * 2, n - 1)

    return r(x, 5)


@case(X)
def importf(x):
    import math as m
    from math import sqrt

    return x * m.pi + sqrt(4)


@case(X)
def multret(x):
    return None


@case(X)
def ident(x):
    return x


@case(X, 2.5)
def floatarg(x, f):
    return x * f


@case(X, None)
def nonearg(x, n):
    return x if n is None else x * n


class Net(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = nn.Linear(3, 4)
        s.s = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.0))
        s.register_buffer("b", t.ones(4))
        s.n = nn.LayerNorm(4)
        s.ml = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        s.calls = 0

    def forward(s, x):
        s.calls += 1
        h = s.s(s.l(x)) + s.b
        for m in s.ml:
            h = m(h)
        return s.n(h) if s.training else h


net = Net()


@case(net, X)
def module(m, x):
    return m(x)
