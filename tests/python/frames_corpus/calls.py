"""Calls: how arguments meet parameters, what can be called, and recursion."""

import functools
import sys

from frames_corpus import over, pure


def _message(call):
    try:
        return call()
    except TypeError as error:
        return str(error)


def case_positional_and_keyword(p):
    def f(a, b, c=3, d=4):
        return a, b, c, d

    return f(1, 2), f(1, b=2), f(b=1, a=2, d=3), f(*(1, 2), **{"c": 5}), f(1, *[2], d=0)


@pure
def case_positional_only(p):
    def f(a, b=2, /, c=3, **more):
        return a, b, c, more

    return f(1), f(1, 5, c=6), f(1, a=7, b=8)


@pure
def case_keyword_only(p):
    def f(*, a, b=2):
        return a, b

    def g(x, *rest, key=None):
        return x, rest, key

    return f(a=1), f(b=0, a=3), g(1), g(1, 2, 3, key="k")


def case_all_parameter_kinds(p):
    def f(a, /, b, c=3, *args, d, e=5, **kwargs):
        return a, b, c, args, d, e, sorted(kwargs.items())

    return f(1, 2, d=4), f(1, 2, 3, 4, 5, d=6, z=7), f(1, b=2, d=3, e=4, a=9)


def case_only_collectors(p):
    def f(*args, **kwargs):
        return args, kwargs

    return f(), f(1), f(a=1), f(*range(3), *"ab", **{"x": 1}, y=2), f(*(), **{})


def case_default_is_shared(p):
    def f(item, seen=[]):
        seen.append(item)
        return list(seen)

    return f(1), f(2), f(3, []), f.__defaults__


def case_default_evaluated_once(p):
    def value(name):
        p.log(name)
        return name

    def f(a=value("a"), *, b=value("b")):
        return a, b

    return f(), f(b=1), f.__kwdefaults__


@over(_message)
def case_binding_errors(p):
    def f(a, b, /, c, *, d):
        return a, b, c, d

    return [
        _message(lambda: f()),
        _message(lambda: f(1)),
        _message(lambda: f(1, 2, 3)),
        _message(lambda: f(1, 2, 3, 4, d=5)),
        _message(lambda: f(1, 2, 3, d=4, e=5)),
        _message(lambda: f(1, 2, 3, c=4, d=5)),
        _message(lambda: f(1, b=2, c=3, d=4)),
        _message(lambda: f(a=1, b=2, c=3, d=4)),
    ]


def case_binding_errors_with_defaults(p):
    def f(a, b=1):
        return a, b

    def g(*, x, y, z):
        return x, y, z

    return [
        _message(lambda: f()),
        _message(lambda: f(1, 2, 3)),
        _message(lambda: f(1, 2, 3, 4, b=1)),
        _message(lambda: f(1, a=1)),
        _message(lambda: g()),
        _message(lambda: g(1)),
        _message(lambda: g(1, x=2)),
        _message(lambda: (lambda: 0)(1)),
    ]


def case_not_callable(p):
    return [
        _message(lambda: 5()),
        _message(lambda: "a"(1)),
        _message(lambda: None(*[1])),
        _message(lambda: [](x=1)),
        _message(lambda: len(*5)),
        _message(lambda: len(**5)),
        _message(lambda: max(1, **{"key": None, 3: 4})),
    ]


@pure
def case_methods(p):
    class A:
        kind = "class"

        def plain(self, x=1):
            return "plain", x

        @classmethod
        def klass(cls, x):
            return cls.kind, x

        @staticmethod
        def static(x, *rest):
            return x, rest

    a = A()
    bound = a.plain
    return a.plain(), bound(2), A.plain(a, x=3), a.klass(4), A.klass(5), a.static(6, 7), A.static(8)


@pure
def case_method_objects(p):
    class A:
        def f(self):
            return self.x

        x = 1

    a = A()
    a.g = lambda: "instance"
    method = A.f.__get__(a)
    return method(), a.g(), method.__func__ is A.f, method.__self__ is a, a.f == a.f


def case_callable_objects(p):
    class Adder:
        def __init__(self, n):
            self.n = n

        def __call__(self, *values, scale=1):
            p.log("called", values)
            return (self.n + sum(values)) * scale

    add = Adder(5)
    return add(), add(1, 2), add(*[1], scale=2), list(map(add, (1, 2)))


def case_partials(p):
    def f(a, b, *rest, c=0):
        return a, b, rest, c

    g = functools.partial(f, 1, c=9)
    h = functools.partial(g, 2, 3)
    return g(5), h(), h(4, c=1), g.args, h.keywords


def case_partialmethod_and_reduce(p):
    class Light:
        def set(self, state, *, level=1):
            p.log(state, level)
            return state * level

        on = functools.partialmethod(set, 1)
        bright = functools.partialmethod(set, 1, level=10)

    light = Light()
    return light.on(), light.bright(), functools.reduce(lambda a, b: a * 10 + b, (1, 2, 3))


def case_recursion(p):
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def is_even(n):
        return n == 0 or is_odd(n - 1)

    def is_odd(n):
        return n != 0 and is_even(n - 1)

    return fib(7), is_even(10), is_odd(7)


def case_recursion_error(p):
    def dive(n):
        return dive(n + 1)

    limit = sys.getrecursionlimit()
    depth = len(_stack())
    sys.setrecursionlimit(depth + 60)
    try:
        dive(0)
    except RecursionError as error:
        return str(error)
    finally:
        sys.setrecursionlimit(limit)


def _stack():
    """The frames above the caller."""
    frame, out = sys._getframe(), []
    while frame is not None:
        out.append(frame.f_code.co_name)
        frame = frame.f_back
    return out


def case_recursion_error_inside(p):
    def dive(n):
        try:
            return dive(n + 1)
        except RecursionError:
            return "bottom"

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(_stack()) + 60)
    try:
        return dive(0)
    finally:
        sys.setrecursionlimit(limit)


def case_deep_but_allowed(p):
    def down(n):
        if n == 0:
            return 0
        return 1 + down(n - 1)

    return down(150)


def case_decorators(p):
    def twice(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            p.log("before", f.__name__)
            return f(*args, **kwargs) * 2

        return wrapper

    def tagged(tag):
        def mark(f):
            f.tag = tag
            return f

        return mark

    @tagged("t")
    @twice
    def work(x):
        return x + 1

    return work(3), work.tag, work.__name__


def case_functools_cache(p):
    @functools.lru_cache(maxsize=2)
    def slow(x):
        p.log("computed", x)
        return x * x

    values = [slow(x) for x in (1, 2, 1, 3, 1, 2)]
    return values, slow.cache_info()[:2]


def case_singledispatch(p):
    @functools.singledispatch
    def show(value):
        return "object"

    @show.register
    def _(value: int):
        return f"int {value}"

    @show.register(list)
    def _(value):
        return [show(v) for v in value]

    return show(1), show("a"), show([1, "b", [2]]), show(True)


def case_builtin_calls(p):
    return (
        len("abc"), isinstance(1, (int, str)), max(1, 2, key=lambda x: -x), type(1)("5"),
        sorted([3, 1], key=lambda x: -x), "a,b".split(","), str(5), tuple([1]), int("ff", base=16),
        "x".join(map(str, range(3))), dict(a=1), getattr(p, "missing", "d"),
    )  # fmt: skip


def case_class_calls(p):
    class Made:
        def __new__(cls, *args):
            p.log("new", args)
            return object.__new__(cls) if args else "nothing"

        def __init__(self, *args):
            p.log("init", args)

    made = Made(1)
    return type(made).__name__, Made()


def case_init_errors(p):
    class Bad:
        def __init__(self):
            return 5

    class Strict:
        def __init__(self, a):
            self.a = a

    return [_message(Bad), _message(lambda: Bad()), _message(lambda: Strict()), Strict(a=2).a]


def case_iter_with_sentinel(p):
    state = [0]

    def step():
        state[0] += 1
        return state[0]

    return list(iter(step, 4)), next(iter([]), "default")


def case_function_attributes(p):
    def f(a: int, b: str = "x", *, c: float = 1.5) -> bool:
        """Doc."""
        f.calls = getattr(f, "calls", 0) + 1
        return True

    f(1, "y")
    f(2)
    return f.calls, f.__annotations__, f.__doc__, f.__name__, f.__defaults__, f.__kwdefaults__


def case_replaced_code_and_defaults(p):
    def f(a, b=1):
        return a + b

    def g(a, b=1):
        return a * b

    before = f(5)
    f.__defaults__ = (10,)
    middle = f(5)
    f.__code__ = g.__code__
    return before, middle, f(5)


def case_many_arguments(p):
    def f(a, b, c, d, e, f, g, h, i, j):
        return [j, i, h, g, f, e, d, c, b, a]

    return f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), f(*range(5), f=5, g=6, h=7, i=8, j=9)


def case_mutual_callbacks(p):
    def outer(n, callback):
        p.log("outer", n)
        return callback(n - 1, outer) if n else "end"

    def other(n, callback):
        p.log("other", n)
        return callback(n, other)

    return outer(3, other)
