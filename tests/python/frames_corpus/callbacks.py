"""Python functions that C code calls: keys, hooks, special methods, finalizers."""

import bisect
import collections
import functools
import heapq
import itertools
import json
import operator
import re
import weakref

from frames_corpus import over, pure


def case_sort_keys(p):
    words = ["bb", "a", "CCC", "dd"]
    return (
        sorted(words, key=len), sorted(words, key=lambda w: (-len(w), w)), sorted(words, key=str.lower),
        max(words, key=lambda w: w.lower()), min((3, -1, 2), key=abs),
    )  # fmt: skip


def case_sort_errors(p):
    def key(x):
        if x == 2:
            raise KeyError(x)
        return x

    data = [3, 2, 1]
    try:
        data.sort(key=key)
    except KeyError:
        p.log("key failed")
    try:
        sorted([1, "a"])
    except TypeError as error:
        return data, str(error)


def case_cmp_to_key(p):
    def compare(a, b):
        p.log(a, b)
        return (a > b) - (a < b)

    return sorted([3, 1, 2], key=functools.cmp_to_key(compare))


def case_map_filter_reduce(p):
    evens = filter(lambda x: x % 2 == 0, range(7))
    squares = map(lambda x, y: x * y, evens, itertools.count(1))
    return functools.reduce(lambda a, b: a + b, squares, 100), list(filter(None, [0, 1, ""]))


def case_map_error(p):
    def f(x):
        p.log(x)
        return 1 // x

    it = map(f, [1, 0, 2])
    out = [next(it)]
    try:
        next(it)
    except ZeroDivisionError:
        out.append("error")
    return out, list(it)


def case_itertools(p):
    groups = [(k, list(g)) for k, g in itertools.groupby([1, 3, 2, 4, 5], key=lambda x: x % 2)]
    return (
        groups,
        list(itertools.takewhile(lambda x: x < 3, range(9))),
        list(itertools.dropwhile(lambda x: x < 3, range(5))),
        list(itertools.starmap(lambda a, b: a + b, [(1, 2), (3, 4)])),
        list(itertools.accumulate([1, 2, 3], lambda a, b: a * b)),
    )


def case_itertools_more(p):
    it = itertools.chain.from_iterable([x] * x for x in range(3))
    a, b = itertools.tee(x * x for x in range(3))
    return (
        list(it), list(a), list(b), list(itertools.islice(itertools.cycle("ab"), 3)),
        list(itertools.filterfalse(lambda x: x % 2, range(4))), list(itertools.pairwise("abc")),
    )  # fmt: skip


def case_operator_functions(p):
    class A:
        x = 5

        def m(self, n):
            return self.x + n

    return (
        operator.attrgetter("x")(A()), operator.methodcaller("m", 2)(A()),
        operator.itemgetter(1, 0)("ab"), operator.add(1, 2), operator.index(True),
    )  # fmt: skip


def case_defaultdict(p):
    def make():
        p.log("make")
        return []

    d = collections.defaultdict(make)
    d["a"].append(1)
    d["a"].append(2)
    d["b"]
    nested = collections.defaultdict(lambda: collections.defaultdict(int))
    nested["x"]["y"] += 1
    return dict(d), nested["x"]["y"]


def case_dict_missing(p):
    class Fib(dict):
        def __missing__(self, n):
            p.log("missing", n)
            value = self[n] = n if n < 2 else self[n - 1] + self[n - 2]
            return value

    return Fib()[6]


def case_hash_and_eq(p):
    class Key:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            p.log("hash", self.n)
            return self.n % 2

        def __eq__(self, other):
            p.log("eq", self.n, other.n)
            return self.n == other.n

    d = {Key(1): "a", Key(3): "b", Key(2): "c"}
    d[Key(1)] = "z"
    return d[Key(3)], len({Key(5), Key(5)}), Key(2) in d, list(d.values())


def case_hash_errors(p):
    class Unhashable:
        def __eq__(self, other):
            return True

    class Bad:
        def __hash__(self):
            raise ValueError("hash")

    out = []
    for value in (Unhashable(), Bad(), [], {}):
        try:
            out.append({value: 1})
        except (TypeError, ValueError) as error:
            out.append(str(error))
    return out


def case_finalizers(p):
    class Noisy:
        def __init__(self, name):
            self.name = name

        def __del__(self):
            p.log("del", self.name)

    def f():
        a = Noisy("a")
        b = Noisy("b")
        p.log("leaving")

    f()
    c = Noisy("c")
    c = None
    items = [Noisy("d"), Noisy("e")]
    items.pop(0)
    del items
    Noisy("temporary")
    return "end"


def case_finalizer_order_in_expressions(p):
    class Noisy:
        def __init__(self, name):
            self.name = name

        def __add__(self, other):
            return Noisy(self.name + other.name)

        def __del__(self):
            p.log("del", self.name)

    result = (Noisy("a") + Noisy("b")) + Noisy("c")
    p.log("added")
    name = result.name
    result = Noisy("d")
    return name


def case_resurrection(p):
    saved = []

    class Phoenix:
        def __del__(self):
            p.log("del")
            saved.append(self)

    bird = Phoenix()
    del bird
    return len(saved), type(saved.pop()).__name__


def case_weakref_callbacks(p):
    class A:
        pass

    a = A()
    ref = weakref.ref(a, lambda r: p.log("dead", r() is None))
    weakref.finalize(a, p.log, "finalized")
    alive = ref() is a
    del a
    return alive, ref()


def case_iterator_protocol(p):
    class Count:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            p.log("iter")
            return self

        def __next__(self):
            if self.n <= 0:
                raise StopIteration
            self.n -= 1
            return self.n

    a, *b = Count(3)
    return a, b, list(Count(2)), sum(Count(4)), 1 in Count(3), dict.fromkeys(Count(2)), [*Count(1)]


def case_iterator_errors(p):
    class BadIter:
        def __iter__(self):
            return 5

    class BadNext:
        def __iter__(self):
            return self

        def __next__(self):
            raise KeyError("next")

    out = []
    for source in (BadIter(), BadNext(), 7):
        try:
            for _ in source:
                pass
        except (TypeError, KeyError) as error:
            out.append(repr(error))
    return out


def case_contains_len_bool(p):
    class Bag:
        def __contains__(self, x):
            p.log("contains", x)
            return "yes" if x == 1 else ""

        def __len__(self):
            p.log("len")
            return 0

    bag = Bag()
    return 1 in bag, 2 not in bag, "true" if bag else "false", len(bag), not bag


def case_length_errors(p):
    class Negative:
        def __len__(self):
            return -1

    class Text:
        def __len__(self):
            return "a"

    out = []
    for value in (Negative(), Text(), 5):
        for use in (len, bool):
            try:
                out.append(use(value))
            except (TypeError, ValueError) as error:
                out.append(str(error))
    return out


def case_index_and_conversions(p):
    class Two:
        def __index__(self):
            p.log("index")
            return 2

        def __float__(self):
            return 2.5

        def __int__(self):
            return 2

    two = Two()
    return "abcd"[two], [1, 2, 3][:two], list(range(two)), bin(two), float(two), int(two), [0] * two


def case_number_protocol(p):
    class N:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return N(self.v + getattr(o, "v", o))

        __radd__ = __add__

        def __mul__(self, o):
            return NotImplemented

        def __rmul__(self, o):
            return N(self.v * o)

        def __neg__(self):
            return N(-self.v)

        def __abs__(self):
            return N(abs(self.v))

        def __pow__(self, o, mod=None):
            return N(pow(self.v, o, mod))

        def __divmod__(self, o):
            return self.v // o, self.v % o

    n = N(5)
    try:
        n * 2
    except TypeError as error:
        p.log(str(error))
    return (
        (n + 1).v,
        (1 + n).v,
        (3 * n).v,
        (-n).v,
        abs(-n).v,
        pow(n, 2, 7).v,
        divmod(n, 3),
        sum([n, n], 0).v,
    )


def case_total_ordering(p):
    @functools.total_ordering
    class V:
        def __init__(self, n):
            self.n = n

        def __eq__(self, o):
            return self.n == o.n

        def __lt__(self, o):
            p.log("lt")
            return self.n < o.n

    a, b = V(1), V(2)
    return a < b, a <= b, a > b, a >= b, a == b, a != b


def case_reflected_subclass_first(p):
    class A:
        def __add__(self, o):
            return "A.add"

        def __eq__(self, o):
            return "A.eq"

    class B(A):
        def __radd__(self, o):
            return "B.radd"

        def __eq__(self, o):
            return "B.eq"

    return A() + B(), B() + A(), A() == B(), A() + A()


def case_regex_callbacks(p):
    def double(match):
        p.log(match.group())
        return str(int(match.group()) * 2)

    return re.sub(r"\d+", double, "a1 b22 c3"), re.sub("x", lambda m: m.group().upper(), "axbx")


def case_json_hooks(p):
    def pairs(items):
        p.log(len(items))
        return sorted(items)

    text = json.dumps({"b": 1, "a": {2}}, default=lambda o: sorted(o), sort_keys=True)
    return text, json.loads(text, object_pairs_hook=pairs, parse_int=lambda s: s + "!")


def case_heap_and_bisect(p):
    class Item:
        def __init__(self, n):
            self.n = n

        def __lt__(self, o):
            p.log("lt", self.n, o.n)
            return self.n < o.n

    heap = []
    for n in (3, 1, 2):
        heapq.heappush(heap, Item(n))
    return heapq.heappop(heap).n, bisect.bisect([1, 4, 9], 2, key=lambda x: x + 1)


@over(collections.Counter.most_common, collections.Counter.__init__, collections.Counter.__add__)
def case_counter(p):
    c = collections.Counter("abca")
    c.update(b=2)
    c["z"] -= 1
    return c.most_common(2), sorted((c + collections.Counter("a")).items()), c["missing"]


def case_getattr_in_c_calls(p):
    class Proxy:
        def __init__(self, target):
            self.__dict__["target"] = target

        def __getattr__(self, name):
            p.log(name)
            return getattr(self.target, name)

    proxy = Proxy([3, 1])
    proxy.append(2)
    return sorted(map(operator.attrgetter("real"), proxy.copy())), getattr(proxy, "none", "d")


def case_call_through_c(p):
    class Callable:
        def __call__(self, x):
            p.log("call", x)
            return x * 2

    f = functools.partial(lambda a, b: (a, b), 1)
    return list(map(Callable(), (1, 2))), list(map(f, "ab")), list(map(int.__add__, (1,), (2,)))


@pure
def case_repr_and_str(p):
    class A:
        def __repr__(self):
            return f"A({[1]!r})"

    return repr([A(), {"k": A()}]), str((A(),)), f"{A()}", "%r" % A()


def case_exception_through_c(p):
    def bad(x):
        raise LookupError("through", x)

    for call in (
        lambda: list(map(bad, [1])),
        lambda: sorted([2], key=bad),
        lambda: max(3, 4, key=bad),
    ):
        try:
            call()
        except LookupError as error:
            tb, n = error.__traceback__, 0
            while tb:
                tb, n = tb.tb_next, n + 1
            p.log(error.args, n)
    return re.sub("a", bad, "a")


def case_set_operations_with_python_eq(p):
    class K:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            return 1

        def __eq__(self, o):
            p.log("eq")
            return self.n == o.n

    a, b = {K(1), K(2)}, {K(2), K(3)}
    return len(a & b), len(a | b), len(a - b), a == b


def case_deletion_hooks(p):
    class Hooked:
        def __delattr__(self, name):
            p.log("delattr", name)

        def __delitem__(self, key):
            p.log("delitem", key)

        def __set_name__(self, owner, name):
            p.log("name", name)

    class Owner:
        attribute = Hooked()

    h = Owner.attribute
    del h.x, h["y"], h[1:2]
    return "done"
