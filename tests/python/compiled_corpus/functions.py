"""Programs around functions: arguments, closures, decorators, generators, recursion, functools."""

# ruff: noqa: B023

import functools
import itertools

from compiled_case import case
from under_test import t

t.manual_seed(0)
X = t.randn(4, 3)
Y = t.randn(4, 3)


@case(X, 2)
def positional_only(x, n):
    def f(a, /, b, *, c=1):
        return a * b + c

    return f(x, n) + f(x, b=n, c=3)


@case(X)
def default_is_shared(x):
    def f(v, seen=[]):  # noqa: B006
        seen.append(1)
        return v * len(seen)

    return f(x) + f(x) + f(x)


@case(X)
def defaults_read_at_definition(x):
    scale = 2

    def f(v, s=scale):
        return v * s

    scale = 5
    return f(x) + scale


@case(X)
def arguments_passed_on(x):
    def inner(*args, **kwargs):
        return args[0] * kwargs["by"] + len(args)

    def outer(*args, **kwargs):
        return inner(*args, 1, **{**kwargs, "by": 3})

    return outer(x, by=2, other=4)


@case(X)
def counter_by_nonlocal(x):
    def make():
        count = 0

        def step(v):
            nonlocal count
            count += 1
            return v + count

        return step, lambda: count

    step, get = make()
    return step(step(x)), get()


@case(X)
def closure_sees_later_writes(x):
    value = 1
    read = lambda: value
    value = 7
    return x * read()


@case(X)
def late_binding_in_loops(x):
    late = [lambda v: v * i for i in range(3)]
    early = [lambda v, i=i: v * i for i in range(3)]
    return sum(f(x) for f in late), sum(f(x) for f in early)


@case(X)
def function_returns_closure(x):
    def scaled(by):
        def apply(v):
            return v * by

        return apply

    double, triple = scaled(2), scaled(3)
    return triple(double(x))


def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(function(*args, **kwargs), **kwargs)

    return wrapper


def shifted(by):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(v):
            return function(v) + by

        return wrapper

    return decorate


@twice
def halved(v):
    """Half of v."""
    return v / 2


@shifted(3)
@twice
def squared(v):
    return v * v


@case(X)
def decorated_with_wraps(x):
    return halved(x), halved.__name__, halved.__doc__


@case(X)
def decorators_stacked(x):
    return squared(x)


@case(X)
def decorator_inside(x):
    calls = []

    def noted(f):
        def g(v):
            calls.append(f.__name__)
            return f(v)

        return g

    @noted
    def plus(v):
        return v + 1

    return plus(plus(x)), calls


@case(X)
def partial_of_partial(x):
    def f(a, b, c=0, d=0):
        return a * b + c - d

    p = functools.partial(functools.partial(f, x, c=2), d=1)
    return p(3), p(4, c=5), p.keywords


@case(X)
def reduce_with_start(x):
    return functools.reduce(lambda a, b: a * b + 1, [1, 2, 3], x)


@functools.singledispatch
def described(v):
    return 1


@described.register
def _(v: int):
    return 2


@described.register
def _(v: list):
    return 3


@case(X)
def single_dispatch(x):
    return x * described(3) + described([1]) + described("a")


@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@case(X)
def cached_recursion(x):
    return x * fibonacci(10)


@case(X, 5)
def recursion_by_number(x, n):
    def power(v, k):
        return v if k == 0 else power(v * 0.5, k - 1) + v

    return power(x, n)


@case(X)
def mutual_recursion(x):
    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    return x + 1 if even(8) else x


@case({"a": X, "b": [Y, {"c": X}]})
def recursion_over_a_tree(tree):
    def total(node):
        if isinstance(node, dict):
            return sum(total(v) for v in node.values())
        if isinstance(node, list):
            return sum(map(total, node))
        return node.sum()

    return total(tree)


@case(X)
def lambda_in_conditional(x):
    pick = (lambda v: v + 1) if x.dim() == 2 else (lambda v: v - 1)
    return pick(x)


@case(X, {"relu": t.relu, "tanh": t.tanh}, "tanh")
def function_from_a_table(x, table, name):
    return table[name](x)


@case(X)
def methods_bound_and_kept(x):
    add = x.add
    out = []
    push = out.append
    push(add(1))
    push(add(2))
    return out


@case(X)
def map_filter_and_star(x):
    values = list(map(lambda a, b: a * b, [1, 2, 3], [4, 5, 6]))
    kept = list(filter(lambda v: v > 5, values))
    return x * sum(kept), max(*kept), list(filter(None, [0, 1, "", "a"]))


@case(X)
def generator_keeps_state(x):
    def accumulate(values):
        total = 0
        for v in values:
            total = total + v
            yield total

    return list(accumulate([x, x + 1, x + 2]))


@case(X)
def generator_sent_values(x):
    def scaler():
        scale = 1
        while True:
            scale = yield x * scale

    g = scaler()
    first = next(g)
    return first + g.send(2) + g.send(5)


@case(X)
def generator_returns_value(x):
    def inner():
        yield x
        return 3

    def outer():
        n = yield from inner()
        yield x * n

    return list(outer())


@case(X)
def generator_closed_runs_finally(x):
    log = []

    def g():
        try:
            yield x
            yield x + 1
        finally:
            log.append("closed")

    it = g()
    y = next(it)
    it.close()
    return y, log


@case(X)
def generator_pipeline(x):
    numbers = (i for i in range(10))
    even = (i for i in numbers if i % 2 == 0)
    scaled = (x * i for i in even)
    return sum(itertools.islice(scaled, 1, 4))


@case(X)
def generator_with_default_next(x):
    it = iter([1, 2])
    values = [next(it, 0) for _ in range(4)]
    return x * sum(values)


@case(X)
def generator_throws(x):
    def g():
        try:
            yield x
        except ValueError:
            yield x * 2

    it = g()
    next(it)
    return it.throw(ValueError("a"))


@case(X)
def itertools_combined(x):
    pairs = list(itertools.combinations([1, 2, 3], 2))
    many = list(itertools.product([1, 2], repeat=2))
    order = list(itertools.permutations([1, 2, 3], 2))
    return x * len(pairs) + len(many) + len(order), list(itertools.chain([1], [2, 3]))


@case(X)
def itertools_streams(x):
    count = list(itertools.islice(itertools.count(3, 2), 3))
    cycle = list(itertools.islice(itertools.cycle("ab"), 3))
    take = list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1]))
    drop = list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1]))
    return x * sum(count), cycle, take, drop


@case(X)
def itertools_accumulated(x):
    sums = list(itertools.accumulate([x, x, x]))
    products = list(itertools.accumulate([1, 2, 3], lambda a, b: a * b, initial=2))
    return sums[-1], products


@case(X)
def itertools_star_and_pairs(x):
    powers = list(itertools.starmap(pow, [(2, 3), (3, 2)]))
    pairs = list(itertools.pairwise([1, 2, 3]))
    picked = list(itertools.compress([1, 2, 3], [1, 0, 1]))
    return x * sum(powers), pairs, picked, list(itertools.repeat(4, 2))


@case(X)
def itertools_tee_and_chain(x):
    a, b = itertools.tee([1, 2, 3])
    rows = itertools.chain.from_iterable([[1], [2, 3]])
    return x * (sum(a) + sum(b)), list(rows), list(itertools.filterfalse(None, [0, 1]))


@case(X)
def walrus_in_while(x):
    values = [3, 2, 1, 0]
    total = x
    while (n := values.pop(0)) > 0:
        total = total * n
    return total, n


@case(X)
def assigned_attributes_of_functions(x):
    def f(v):
        return v * f.scale

    f.scale = 4
    return f(x), f.__name__


@case(X)
def star_in_displays(x):
    a = [1, *range(2, 4)]
    b = {"p": 1, "q": 2}
    first, *middle, last = [*a, *b.values()]
    return x * first + last, middle, (*a, *b)


@case(X, lambda v: v * 3)
def function_given(x, f):
    return f(x) + f(1)


@case(X, [lambda v: v + 1, t.sin, functools.partial(t.mul, other=2)])
def composed_pipeline(x, steps):
    for step in steps:
        x = step(x)
    return x


@case(X)
def keyword_errors_are_own(x):
    def f(a):
        return a

    try:
        return f(x, b=1)
    except TypeError as error:
        return x + 1, "unexpected keyword" in str(error)


@case(X)
def global_functions_called_by_name(x):
    return globals()["halved"](x)


@case(X)
def locals_read(x):
    a = 2
    names = locals()
    return x * names["a"], sorted(names)
