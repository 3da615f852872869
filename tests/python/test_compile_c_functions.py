"""Functions of C that a compiled program calls: those that write and break, and those that call."""

import bisect
import collections
import functools
import gc
import heapq
import importlib
import itertools
import math
import operator
import os
import re

import pytest
from compiled_case import is_same, outcome
from under_test import NAME, t

counters = importlib.import_module(f"{NAME}.compiler._counters").counters

# ---- that write and break ----


class Weighed:
    def __init__(self, weight):
        self.weight = weight

    def __lt__(self, other):
        return bool(self.weight < other.weight)

    def __eq__(self, other):
        return bool(self.weight == other.weight)

    def __hash__(self):
        return hash(self.weight.item() < 9)


@pytest.mark.parametrize("make", [lambda row: row, Weighed], ids=["tensors", "objects"])
@pytest.mark.parametrize(
    "change",
    [
        lambda items, one: heapq.heappush(items, one),
        lambda items, one: heapq.heappop(items),
        lambda items, one: heapq.heapreplace(items, one),
        lambda items, one: heapq.heappushpop(items, one),
        lambda items, one: heapq.heapify(items),
        lambda items, one: bisect.insort(items, one),
        lambda items, one: items.sort(),
        lambda items, one: items.sort(key=lambda item: getattr(item, "weight", item).item()),
        lambda items, one: items.remove(items[-1]),
        lambda items, one: items.extend(filter(one.__lt__, list(items))),
        lambda items, one: operator.iadd(items, filter(one.__lt__, list(items))),
        lambda items, one: items.__setitem__(slice(1), filter(one.__lt__, list(items))),
    ],
)
def test_a_function_of_c_that_breaks_writes_once(change, make):
    def program(items, one):
        change(items, one)
        return one

    def weights(items):
        return [getattr(item, "weight", item).item() for item in items]

    compiled = t.compile(program, backend="eager")
    for order in ((1, 3, 2, 5), (1, 3, 2, 5), (4, 2, 5, 1)):
        given, expected = ([make(t.tensor(float(n))) for n in order] for _ in range(2))
        program(expected, make(t.tensor(2.0)))
        compiled(given, make(t.tensor(2.0)))
        assert weights(given) == weights(expected)


@pytest.mark.parametrize(
    "filled",
    [
        lambda keys: set(keys),
        lambda keys: {keys[0], *keys},
        lambda keys: dict.fromkeys(keys, 1),
        lambda keys: collections.OrderedDict((key, 1) for key in keys),
        lambda keys: collections.Counter(keys),
        lambda keys: (lambda made: (made.update(keys), made)[1])({keys[0]}),
        lambda keys: (lambda made: (made.update(dict.fromkeys(keys, 1)), made)[1])({keys[0]: 3}),
        lambda keys: (lambda made: (made.remove(keys[2]), made)[1])(collections.deque(keys)),
    ],
)
def test_containers_with_keys_that_break_are_filled_once(filled):
    def program(x):
        made = filled([Weighed(row) for row in x])
        return len(made), [key.weight for key in made]

    compiled = t.compile(program, backend="eager")
    for numbers in ([1.0, 2.0, 1.0], [1.0, 2.0, 1.0], [3.0, 3.0, 3.0]):
        assert is_same(compiled(t.tensor(numbers)), program(t.tensor(numbers)))


# ---- that call ----


class Entry:
    def __init__(self, name, value):
        self.name, self.value = name, value

    @property
    def double(self):
        return self.value * 2


FIELDS = "{.value} {one.double}"
PLACE = "%s"
CALLED_BY_C = [
    lambda x, rows, names, items: list(map(print, [1, 2])),
    lambda x, rows, names, items: sorted([2], key=functools.partial(print, 1)),
    lambda x, rows, names, items: list(itertools.accumulate([1, 2, 3], print)),
    lambda x, rows, names, items: collections.defaultdict(print)["a"],
    lambda x, rows, names, items: (list(map(rows.append, [[1], [x]])), rows),
    lambda x, rows, names, items: ([*itertools.filterfalse(rows.append, [[1], [2]])], rows),
    lambda x, rows, names, items: (list(iter(rows.pop, rows[0])), rows),
    lambda x, rows, names, items: (list(map(setattr, items, "ab", [1, 2])), items),
    lambda x, rows, names, items: list(map(names.get, ["a", "c"])),
    lambda x, rows, names, items: list(filter(names.__contains__, "abc")),
    lambda x, rows, names, items: (list(map(names.setdefault, "ac", [5, 6])), names),
    lambda x, rows, names, items: max(names, key=names.get),
    lambda x, rows, names, items: max([0, 1], key=rows.__getitem__),
    lambda x, rows, names, items: max([0, 1], key=lambda i: rows[i]),
    lambda x, rows, names, items: (list(map(type, items)), list(map(len, iter(rows)))),
    lambda x, rows, names, items: any(row for row in rows),
    lambda x, rows, names, items: [*filter(None, (row for row in rows))],
    lambda x, rows, names, items: rows[1] in (row for row in rows),
    lambda x, rows, names, items: min(row for row in rows),
    lambda x, rows, names, items: ([rows[1][0]] in rows, rows[0] in [[1, 2], [4, 3]]),
    lambda x, rows, names, items: FIELDS.format(items[0], one=items[1]),
    lambda x, rows, names, items: functools.reduce(operator.add, (row for row in rows), []),
    lambda x, rows, names, items: list(map(operator.attrgetter("value"), items)),
    lambda x, rows, names, items: sorted(items, key=operator.attrgetter("double", "name")),
    lambda x, rows, names, items: list(map(getattr, items, ["value", "double"])),
    lambda x, rows, names, items: operator.attrgetter("value")(items[0]),
    lambda x, rows, names, items: operator.attrgetter("value.real")(items[1]),
    lambda x, rows, names, items: (
        setattr(items[0], "value", 7),
        operator.attrgetter("value")(items[0]),
    ),
    lambda x, rows, names, items: operator.methodcaller("__getattribute__", "value")(items[0]),
    lambda x, rows, names, items: (operator.methodcaller("append", 4)(rows), rows),
    lambda x, rows, names, items: (operator.methodcaller("sort", reverse=True)(rows), rows),
]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("program", CALLED_BY_C)
def test_what_c_calls_is_captured(program, backend):
    compiled = t.compile(program, backend=backend)
    for a, b in ((1, 2), (1, 2), (4, 3), (5, 6)):
        args = (
            t.ones(2) * a,
            [[a, b], [b]],
            {"a": a, "b": b},
            [Entry("one", a), Entry("two", b)],
        )
        assert is_same(outcome(compiled, args), outcome(program, args))


class Rows(list):
    pass


@pytest.mark.parametrize(
    "program",
    [
        lambda x, given: [2] in given,
        lambda x, given: any(given),
        lambda x, given: (sorted(given), max(given), min(row for row in given)),
        lambda x, given: [row for row in itertools.chain(given) if [2] == row],
    ],
)
@pytest.mark.parametrize(
    "make",
    [Rows, collections.deque, lambda rows: collections.OrderedDict(enumerate(rows)).values()],
)
def test_c_looks_into_containers_of_containers(program, make):
    compiled = t.compile(program, backend="eager")
    for number in (1, 2, 3):
        rows = [[number], [2, 3]]
        assert compiled(t.ones(2), make(rows)) == program(t.ones(2), make(rows))


@pytest.mark.parametrize(
    "program",
    [
        lambda x, one: (repr(one), one.__repr__()),
        lambda x, one: str([one, {"one": one}]),
        lambda x, one: PLACE % (one,),
        lambda x, one: PLACE % [[one.value], [one]],
        lambda x, one: "{}".format(one),  # noqa: UP032
        lambda x, one: (hash(one), one.__hash__()),
        lambda x, one: list(map(hash, [one, (1, one)])),
    ],
)
def test_addresses_are_those_of_the_object_at_hand(program):
    compiled = t.compile(program, backend="eager")
    kept = [Entry("one", number) for number in range(3)]
    for one in kept:
        assert compiled(t.ones(2), one) == program(t.ones(2), one)


def test_texts_of_values_are_part_of_a_region():
    def program(x, rows, scale):
        label = PLACE % (rows,) + PLACE % (rows[0],) + str([type(rows), rows, (scale, None)])
        return x * len(label + repr(rows)), label

    counters.clear()
    compiled = t.compile(program, backend="eager", fullgraph=True)
    for rows in ([[1], [2, 3]], [[1], [2, 3]], [[4], []]):
        assert is_same(compiled(t.ones(2), rows, 2), program(t.ones(2), rows, 2))


def test_iterators_that_live_on_call_what_the_program_gave_them():
    def program(x, rows):
        return x + 1, map(rows.append, [1]), map(len, rows)

    rows = [[1], [2, 3]]
    for _ in range(2):
        _, adds, lengths = t.compile(program, backend="eager")(t.ones(2), rows)
        assert adds.__reduce__()[1][0] == rows.append
        assert lengths.__reduce__()[1][0] is len
        assert list(lengths) == [1, 2]


def test_objects_that_are_called_and_iterated():
    class Layers(t.nn.Module):
        def __iter__(self):
            return iter([1, 2])

    def program(x):
        return x * next(iter(Layers())), list(map(t.nn.ReLU(), [x]))

    assert is_same(t.compile(program, backend="eager")(t.ones(2)), program(t.ones(2)))


@pytest.mark.parametrize(
    "program",
    [
        lambda x, items: [x * one.value for one in sorted(items, key=operator.attrgetter("value"))],
        lambda x, items: [x * number for number in map({1: 2, 3: 4}.get, [1, 3])],
        lambda x, items: [x * number for number in map(math.sqrt, x.shape)],
        lambda x, items: [x * one.value for one in map(Entry, "ab", x.shape)],
        lambda x, items: operator.methodcaller("sum", dim=0)(x),
    ],
)
def test_what_c_calls_is_part_of_a_graph(program):
    counters.clear()
    compiled = t.compile(program, backend="eager", fullgraph=True, dynamic=True)
    items = [Entry("one", 2.0), Entry("two", 1.0)]
    for size in (3, 4, 5):
        assert is_same(compiled(t.ones(size, 2), items), program(t.ones(size, 2), items))
    assert counters["stats"]["unique_graphs"] == 1


# ---- struct sequences, which have fields behind their end ----


def stat_of(path, size, mtime_ns):
    path.write_bytes(b"a" * size)
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return os.stat(path)


def test_struct_sequences_as_arguments(tmp_path):
    def program(x, at):
        return x * at.st_size, at.st_mtime_ns, at.st_mtime, at[6], at

    compiled = t.compile(program, backend="eager")
    for size, mtime_ns in ((3, 10**18), (4, 10**18 + 5), (5, 10**18 + 10**9), (5, 10**18)):
        at = stat_of(tmp_path / "file", size, mtime_ns)
        got, expected = compiled(t.ones(2), at), program(t.ones(2), at)
        gc.collect()  # which visits every field
        assert is_same(got[:-1], expected[:-1])
        assert type(got[-1]) is type(at) and repr(got[-1]) == repr(at)
        assert got[-1].st_mtime_ns == at.st_mtime_ns


def test_struct_sequences_across_breaks(tmp_path):
    def program(x, path):
        at = os.stat(path)
        return x * 2, at.st_size, at.st_mtime_ns, os.path.realpath(path)

    compiled = t.compile(program, backend="eager")
    for size in (3, 4, 5):
        stat_of(tmp_path / "file", size, 10**18 + size)
        path = str(tmp_path / "file")
        assert is_same(compiled(t.ones(2), path), program(t.ones(2), path))
        gc.collect()


def test_struct_sequences_of_tensors():
    def program(x):
        found = x.max(0)
        print(end="")
        return found.values * 2, found, type(found)

    compiled = t.compile(program, backend="eager")
    for size in (3, 4, 5):
        x = t.arange(size * 2.0).reshape(2, size)
        assert is_same(compiled(x), program(x))


# ---- methods that know their class ----


def test_methods_of_c_that_know_their_class():
    pattern = re.compile("a(.)")

    def program(x, text):
        match = pattern.match  # of a class whose methods are told it
        print(end="")
        return x * len(match(text).group(1)), text

    compiled = t.compile(program, backend="eager")
    for text in ("ab", "ac"):
        assert is_same(compiled(t.ones(2), text), program(t.ones(2), text))


def test_folders_that_are_walked(tmp_path):
    (tmp_path / "file").write_text("text")

    def program(x):
        with os.scandir(tmp_path) as entries:
            sizes = [entry.stat(follow_symlinks=False).st_size for entry in entries]
        return x * sum(sizes)

    compiled = t.compile(program, backend="eager")
    for _ in range(2):
        assert is_same(compiled(t.ones(2)), program(t.ones(2)))


# ---- the largest and the least of tensors ----

EXTREMES = {
    "two": lambda x, y: max(x.sum(), y.sum()),
    "a number": lambda x, y: min(max(x.mean(), 0), 1) + max(0.5, min(y.mean(), 1)),
    "a list": lambda x, y: min([x[0, :1], y[0, :1], x[1, :1]]),
    "an iterator": lambda x, y: max(map(lambda z: z.sum(), [x, y])),  # noqa: C417
    "a generator": lambda x, y: min(z.sum() for z in (x, y)),
    "a changing number": lambda x, y: max(x.sum(), y.shape[0] / 2),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_of_tensors_are_part_of_the_graph(name):
    function = EXTREMES[name]
    compiled = t.compile(function, backend="eager", fullgraph=True)
    nan = float("nan")
    for x, y in ((1.0, 2.0), (2.0, 1.0), (nan, 1.0), (1.0, nan), (0.3, 0.3)):
        one, other = t.full((2, 3), x), t.full((2, 3), y)
        got, want = compiled(one, other), function(one, other)
        assert t.equal(t.nan_to_num(got), t.nan_to_num(t.as_tensor(want, dtype=got.dtype)))


def test_extremes_that_differ_in_more_than_their_value_are_breaks():
    def program(x, y):
        return max(x.sum(), y.sum()) * 2

    compiled = t.compile(program, backend="eager")
    for y in (t.ones(2, 3, dtype=t.int64), t.ones(2, 3, dtype=t.int64) * 4):
        x = t.full((2, 3), 2.0)
        assert is_same(compiled(x, y), program(x, y))


def test_evaluated_texts_may_begin_with_spaces():
    compiled = t.compile(lambda x: x * eval(" 3\n"), backend="eager", fullgraph=True)
    assert t.equal(compiled(t.ones(2)), t.full((2,), 3.0))


def test_orders_that_a_function_tells():
    def program(x):
        key = functools.cmp_to_key(lambda a, b: b - a)
        rows = [3, 1, 2]
        rows.sort(key=key)
        return x * rows[0], sorted((1, 3, 2), key=key), key(1) < key(2), max(1, 2, key=key)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        assert is_same(compiled(t.ones(2)), program(t.ones(2)))


def test_numbers_alone_are_written_into_a_tensor():
    compiled = t.compile(lambda x: t.add(2, 3, out=x) + x, backend="eager", fullgraph=True)
    for _ in range(2):
        assert t.equal(compiled(t.zeros(())), t.tensor(10.0))
