"""Displays, comprehensions and the containers' own methods."""

import asyncio

from frames_corpus import pure


@pure
def case_displays(p):
    return [], [1], (1,), {1: 2}, {3}, [[]], {"a": [1, {2: (3,)}]}, (), {}


def case_constant_displays(p):
    return [1, 2, 3, 4, 5], {1, 2, 3, 4}, {"a": 1, "b": 2, "c": 3, "d": 4}, (1, [2], 3)


def case_list_comprehension(p):
    return [x * x for x in range(6) if x % 2 if x != 3], [y for y in "abc"]


def case_nested_comprehension(p):
    rows = [[i * j for j in range(3)] for i in range(3)]
    flat = [x for row in rows for x in row if x]
    return rows, flat, [[x for x in row if x > 1] for row in rows if sum(row)]


def case_set_and_dict_comprehension(p):
    words = ["one", "three", "five"]
    lengths = {word: len(word) for word in words if "e" in word}
    return lengths, sorted({len(w) for w in words}), {k: {v: k} for k, v in lengths.items()}


def case_comprehension_closures(p):
    functions = [lambda: i for i in range(3)]
    bound = [lambda i=i: i for i in range(3)]
    makers = [(lambda n: lambda: n)(i) for i in range(3)]
    return [f() for f in functions], [f() for f in bound], [f() for f in makers]


def case_comprehension_over_cell(p):
    factor = 3

    def scale(values):
        return [v * factor for v in values if v != factor]

    first = scale([1, 2, 3])
    factor = 10
    return first, scale([1, 2, 3])


def case_comprehension_shadows(p):
    x = "outer"
    inner = [x for x in range(3)]
    y = [x for _ in range(2)]
    return x, inner, y


def case_comprehension_walrus(p):
    pairs = [(n, half) for n in range(6) if (half := n // 2) > 1]
    total = 0
    sums = [total := total + n for n in range(4)]
    return pairs, half, sums, total


def case_comprehension_conditional(p):
    return ["even" if i % 2 == 0 else i for i in range(4)], [i and -i or None for i in range(3)]


def case_comprehension_unpacking(p):
    pairs = [(1, (2, 3)), (4, (5, 6))]
    return [a + b * c for a, (b, c) in pairs], {k: rest for k, *rest in ("abc", "de")}


def case_comprehension_error(p):
    def values():
        yield 1
        yield 0

    try:
        return [10 // v for v in values()]
    except ZeroDivisionError as error:
        p.log(str(error))
    return {v: 1 // v for v in (2, 0)}


def case_comprehension_iterates_once(p):
    class Source:
        def __iter__(self):
            p.log("iter")
            return iter((1, 2))

    source = Source()
    return [a + b for a in source for b in source]


def case_comprehension_in_class(p):
    class Table:
        base = [1, 2, 3]
        doubled = [x * 2 for x in base]
        size = len([x for x in base if x > 1])

    return Table.doubled, Table.size


def case_comprehension_in_class_scope_error(p):
    try:

        class Table:
            factor = 2
            scaled = [x * factor for x in range(2)]

    except NameError as error:
        return str(error)
    return Table.scaled


def case_generator_expressions(p):
    squares = (x * x for x in range(5))
    first = next(squares)
    rest = list(squares)
    total = sum(x for x in range(4) if x % 2)
    return first, rest, total, any(x > 2 for x in range(9)), list(squares)


def case_generator_expression_late_binding(p):
    n = 1
    lazy = (x + n for x in range(3))
    n = 100
    return list(lazy)


def case_deep_comprehension(p):
    return [[[a + b + c for c in range(2) if c or b] for b in range(2) if b or a] for a in range(2)]


def case_comprehension_nested_functions(p):
    def outer(k):
        return [[(lambda: (k, i, j))() for j in range(i)] for i in range(3)]

    return outer("k")


def case_async_comprehension(p):
    async def count(n):
        for i in range(n):
            yield i

    async def main():
        squares = [x * x async for x in count(4) if x]
        named = {x: str(x) async for x in count(2)}
        return squares, named, {x async for x in count(2)}, [y async for y in count(1)]

    return asyncio.run(main())


def case_async_comprehension_awaits(p):
    async def double(x):
        return x * 2

    async def main():
        values = [await double(x) for x in range(3) if await double(x) != 2]
        nested = [[await double(y) for y in range(x)] for x in range(3)]
        return values, nested

    coroutine = main()
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


def case_dict_merging(p):
    first, second = {"a": 1, "b": 2}, {"b": 3, "c": 4}
    merged = first | second
    first |= {"z": 0}
    return merged, {**first, **second}, dict(first, d=5), first


def case_dict_methods(p):
    d = {}
    d.setdefault("k", []).append(1)
    d.update(x=2, y=3)
    d["k"].extend((2, 3))
    popped = d.pop("x")
    return d, popped, list(d.items()), d.get("missing", "none"), "k" in d, list(reversed(d))


def case_dict_unpack_errors(p):
    def attempt(make):
        try:
            return make()
        except TypeError as error:
            return str(error)

    return [
        attempt(lambda: {**5}),
        attempt(lambda: [*5]),
        attempt(lambda: {[]: 1}),
        attempt(lambda: {[1]}),
        attempt(lambda: dict(**{1: 2})),
        attempt(lambda: (lambda **k: k)(**{"a": 1}, **{"a": 2})),
    ]


def case_list_methods(p):
    data = [3, 1, 2]
    data.sort(reverse=True)
    data.insert(1, 9)
    data.remove(1)
    data.reverse()
    return data, data.index(9), data.count(2), data.copy() * 2, data.pop(0)


def case_mutating_while_iterating(p):
    data = [1, 2, 3]
    for x in data:
        if x < 3:
            data.append(x + 3)
    d = {1: 1}
    try:
        for key in d:
            d[key + 1] = 0
    except RuntimeError as error:
        return data, str(error)


def case_sets(p):
    a, b = {1, 2, 3}, {2, 3, 4}
    c = a - b
    a &= b
    b ^= {4, 5}
    return sorted(a | b), sorted(c), sorted(a), sorted(b), a <= {2, 3}, a.isdisjoint(c)


def case_zip_and_enumerate(p):
    out = []
    for i, (a, b) in enumerate(zip("abc", (1, 2, 3)), start=1):
        out.append((i, a * b))
    for k, v in {"x": [1], "y": [2]}.items():
        v.append(k)
        out.append(v)
    return out, dict(zip("ab", range(2))), [*map(max, (1, 5), (3, 2))]


def case_iteration_of_kinds(p):
    out = []
    for source in ([1, 2], (3,), {4: 5}, {6}, "ab", b"c", range(7, 9), iter([9]), reversed([1, 2])):
        out.append([item for item in source])
    for i in range(0):
        out.append("never")
    return out


def case_sequence_protocol(p):
    class Squares:
        def __getitem__(self, index):
            if index > 3:
                raise IndexError(index)
            return index * index

    return list(Squares()), 4 in Squares(), [x for x in Squares() if x], Squares()[1]


def case_starred_subscripts(p):
    class Grid:
        def __getitem__(self, key):
            return key

        def __setitem__(self, key, value):
            p.log("set", key, value)

        def __delitem__(self, key):
            p.log("del", key)

    grid = Grid()
    grid[1, 2:3, ...] = 4
    grid[1, 2] += (3,)
    del grid[0], grid["a", "b"]
    return grid[*[1, 2], 3], grid[1:2], grid[()], grid[lambda: 0] is None
