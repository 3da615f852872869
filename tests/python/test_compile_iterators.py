"""Loops with a break in their body: the iterator goes on in the next region."""

import collections
import copy
import itertools
import sys
import types

import pytest
from taeda._dynamo import graph_break
from taeda._dynamo.utils import counters

import taeda
from taeda import nn

X = taeda.ones(3)
FACTORS = [2.0, 3.0, 4.0]
LAYERS = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
NAMED = {"a": 1.0, "b": 2.0}


def over_range(x):
    for i in range(5):
        x = x + i
        graph_break()
        x = x * 2
    return x


def over_list(x):
    for factor in FACTORS:
        x = x * factor
        graph_break()
        x = x + 1
    return x


def over_reversed(x):
    for factor in reversed(FACTORS):
        x = x * factor
        graph_break()
        x = x + 1
    return x


def over_enumerate(x):
    for i, factor in enumerate(FACTORS, 3):
        x = x * factor
        graph_break()
        x = x + i
    return x


def over_zip(x):
    for i, (factor, number) in enumerate(zip(FACTORS, range(9), strict=False)):
        x = x * factor + i
        graph_break()
        x = x + number
    return x


def over_layers(x):
    for layer in LAYERS:
        x = layer(x)
        graph_break()
        x = x + 1
    return x


def over_items(x):
    for name, value in NAMED.items():
        x = x * value
        graph_break()
        x = x + len(name)
    return x


def over_parts(x):
    for part in x.chunk(3):
        x = x * part
        graph_break()
        x = x + 1
    return x


def nested(x):
    for i in range(2):
        for j, factor in enumerate(FACTORS):
            x = x * factor + i
            graph_break()
            x = x + j
    return x


def in_a_list(x):
    def inner(value):
        graph_break()
        return value + 1

    return sum([inner(x * i) for i in range(3)])


def taken_by_next(x):
    rest = iter(FACTORS)
    x = x * next(rest)
    graph_break()
    x = x + next(rest)
    graph_break()
    return x * next(rest) + next(rest, 7) + next(rest, 8)


def left_early(x):
    numbers = iter(range(9))
    for i in numbers:
        x = x + i
        graph_break()
        if i == 2:
            break
    return x + next(numbers)


@pytest.mark.parametrize(
    ("program", "breaks", "graphs"),
    [
        (over_range, 3, 4),
        (over_list, 3, 4),
        (over_reversed, 3, 4),
        (over_enumerate, 3, 4),
        (over_zip, 3, 4),
        (over_layers, 2, 3),
        (over_items, 2, 3),
        (over_parts, 2, 3),
        (nested, 5, 6),
        (in_a_list, 3, 4),
        (taken_by_next, 2, 3),
        (left_early, 5, 5),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_loop_breaks_in_its_body_alone(program, breaks, graphs):
    taeda.compiler.reset()
    counters.clear()
    compiled = taeda.compile(program, backend="eager")
    for scale in (1, 2, 1):
        assert taeda.equal(compiled(X * scale), program(X * scale))
    assert set(counters["graph_break"]) == {"call of graph_break, which is left alone"}
    assert sum(counters["graph_break"].values()) <= breaks
    assert counters["stats"]["unique_graphs"] <= graphs


def test_the_length_of_a_list_changes():
    def program(x, items):
        for item in items:
            x = x * item
            graph_break()
        return x + 1

    compiled = taeda.compile(program, backend="eager")
    for items in ([1, 2], [3], [], [2, 2, 2], [4, 5]):
        assert taeda.equal(compiled(X, items), program(X, items))


def test_a_list_that_grows_while_it_is_gone_through():
    def program(x, items):
        for item in items:
            x = x + item
            graph_break()
            if len(items) < 5:
                items.append(item + 1)
        return x

    plain, given = [1], [1]
    expected = program(X, plain)
    assert taeda.equal(taeda.compile(program, backend="eager")(X, given), expected)
    assert given == plain == [1, 2, 3, 4, 5]


def test_a_dict_that_grows_is_an_error():
    def program(x, named):
        for name in named:
            x = x + named[name]
            graph_break()
            named["more"] = 3
        return x

    with pytest.raises(RuntimeError, match="changed size"):
        taeda.compile(program, backend="eager")(X, {"a": 1, "b": 2})


def test_pairs_of_one_iterator():
    def program(x):
        rest = iter(range(6))
        for a, b in zip(rest, rest, strict=False):
            x = x * a + b
            graph_break()
        return x

    assert taeda.equal(taeda.compile(program, backend="eager")(X), program(X))


def test_an_iterator_that_the_program_uses_beside_its_loop():
    def program(x):
        rest = iter(range(8))
        for i, a in enumerate(rest):
            x = x + a * i
            graph_break()
            x = x * next(rest)
        return x

    assert taeda.equal(taeda.compile(program, backend="eager")(X), program(X))


def test_a_strict_zip_of_different_lengths():
    def program(x):
        for a, b in zip(FACTORS, range(2), strict=True):
            x = x * a + b
            graph_break()
        return x

    with pytest.raises(ValueError, match="shorter"):
        taeda.compile(program, backend="eager")(X)


def test_an_iterator_of_the_caller_is_where_the_program_left_it():
    def program(x, rest):
        return x * next(rest) + next(rest)

    given = iter([2, 3, 4, 5])
    compiled = taeda.compile(program, backend="eager", fullgraph=True)
    assert compiled(X, given).tolist() == [5, 5, 5]
    assert compiled(X, given).tolist() == [9, 9, 9]
    with pytest.raises(StopIteration):
        compiled(X, given)


def grows(named, x):
    for key in named:
        if key == "a":
            named["z"] = x
    return named


def grows_behind_a_break(named, x):
    for _ in named:
        named["z"] = x
        graph_break()
    return named


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("function", [grows, grows_behind_a_break])
def test_a_dict_that_grows_in_its_loop_is_an_error(function, backend):
    for _ in range(2):
        named = {"a": 1.0, "b": 2.0}
        with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
            taeda.compile(function, backend=backend)(named, X)
        assert list(named) == ["a", "b", "z"]


def items_of_a_deque(queue, x):
    for i, value in enumerate(queue):
        graph_break()
        if i == 0:
            queue[1] = 5.0
        x = x + value
    return x, list(queue)


def backwards_through_a_dict(named, x):
    for value in reversed(named.values()):
        graph_break()
        named["a"] = 7.0
        x = x + value
    return x


def test_writes_in_a_loop_are_seen_by_its_iterator():
    for function, make in (
        (items_of_a_deque, lambda: collections.deque([1.0, 2.0, 3.0])),
        (backwards_through_a_dict, lambda: {"a": 1.0, "b": 2.0}),
    ):
        expected = function(make(), X)
        for backend in ("eager", "inductor"):
            assert str(taeda.compile(function, backend=backend)(make(), X)) == str(expected)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="iterators of itertools do not tell")
def test_numbers_of_a_counter_of_the_program():
    numbers = itertools.count(3, 2)

    def program(x):
        return x + next(numbers) + next(numbers)

    counters.clear()
    compiled = taeda.compile(program, backend="eager", fullgraph=True)
    for first in (3, 7, 11, 15):
        assert taeda.equal(compiled(X), X + first + first + 2)
    assert next(numbers) == 19
    assert counters["stats"]["unique_graphs"] == 2


def test_an_item_that_no_graph_takes_is_not_lost():
    def program(items):
        seen = []
        for item in items:
            seen.append(item.imag.sum())
        return seen

    values = taeda.tensor([1 + 2j, 3 - 1j])
    items = [values, values.conj(), values]
    for _ in range(2):
        assert taeda.compile(program, backend="eager")(items) == program(items)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: list(map(float, x)),
        lambda x: list(map(taeda.Tensor.item, iter(list(x)))),
        lambda x: sum(map(float, x)),
        lambda x: [value * 2 for value in map(float, x)],
        lambda x: [*map(float, x), 0.0],
        lambda x: dict(zip("abc", map(float, x), strict=True)),
        lambda x: (lambda *numbers: numbers)(*map(float, x)),
        lambda x: (lambda numbers: (numbers.extend(map(float, x)), numbers))([0.0]),
        lambda x: (lambda it: (next(it), next(it), list(it)))(map(float, x)),
        lambda x: (lambda at: (list(at), list(at)))({"rest": map(float, x)}["rest"]),
        lambda x: dict([map(float, x[:2]), map(float, x[1:])]),
        lambda x: len(list(filter(lambda row: row > 1, x))),
        lambda x: len(list(filter(None, iter(x)))),
        lambda x: list(itertools.takewhile(lambda row: row < 3, iter(x))),
        lambda x: (lambda it: (any(it), list(it)))(iter(x)),
        lambda x: (lambda it: (2.0 in it, list(it)))(iter(x)),
        lambda x: (lambda it: (sorted(it, key=lambda row: -float(row)), list(it)))(iter(x)),
        lambda x: (min(iter(x)), max(iter(x)), sorted(iter(x))),
        lambda x: (lambda a, *rest: (a, rest))(*iter(x.tolist())),
    ],
)
def test_a_break_inside_of_c_takes_nothing_from_its_iterator(program):
    compiled = taeda.compile(program, backend="eager")
    for numbers in ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [4.0, 1.0, 2.0]):
        assert str(compiled(taeda.tensor(numbers))) == str(program(taeda.tensor(numbers)))


def test_a_property_that_breaks_behind_a_step_of_its_iterator():
    class Source:
        def __init__(self, rest):
            self.rest = rest

        @property
        def number(self):
            value = next(self.rest)
            graph_break()
            return value

    def program(x):
        source = Source(iter([2.0, 3.0]))
        return x * source.number + source.number

    assert taeda.equal(taeda.compile(program, backend="eager")(X), program(X))


def items_behind_an_append(items):
    items.append(1)
    items.append(2)
    return list(items_of(items))


def items_of_a_loop_that_began(items):
    numbers = iter(items)
    items.append(1)
    return [next(numbers), *items_of(numbers)]


def items_backwards(items):
    items.extend([1, 2, 3])
    numbers = reversed(items)
    return [next(numbers), *items_of(numbers)]


def items_of_two(items):
    items.append(1)
    return list(items_of(zip(items, enumerate(items), strict=False)))


def items_behind_a_new_key(items):
    items["new"] = 1
    return list(items_of(items.items()))


def items_behind_a_key_that_is_gone(items):
    items["new"] = 1
    del items["old"]
    return list(items_of(reversed(items)))


def items_of_an_iterator_that_is_kept(items):
    items.append(1)
    holder = types.SimpleNamespace(numbers=iter(items))
    first = next(holder.numbers)
    graph_break()
    return [first, *holder.numbers]


def items_of(numbers):
    taken = []
    for number in numbers:
        taken.append(number)
        graph_break()
        if len(taken) > 9:
            break
    return taken


@pytest.mark.parametrize(
    "program, items",
    [
        *itertools.product(
            [
                items_behind_an_append,
                items_backwards,
                items_of_two,
                items_of_an_iterator_that_is_kept,
            ],
            [[], [7], collections.deque([7])],
        ),
        (items_of_a_loop_that_began, [7]),
        (items_behind_a_new_key, {"old": 1}),
        (items_behind_a_new_key, collections.defaultdict(int)),
        (items_behind_a_key_that_is_gone, {"older": 0, "old": 1}),
    ],
)
def test_a_loop_over_what_the_region_wrote_to(program, items):
    compiled = taeda.compile(program, backend="eager")
    for _ in range(2):
        one, other = copy.copy(items), copy.copy(items)
        assert compiled(one) == program(other)
        assert one == other


def test_a_deque_that_changed_ends_the_loops_over_it():
    def program(items, x):
        numbers = iter(items)
        items.append(3)
        x = x + next(iter(items))
        graph_break()
        return x, next(numbers)

    for function in (program, taeda.compile(program, backend="eager")):
        with pytest.raises(RuntimeError, match="deque mutated"):
            function(collections.deque([1, 2]), X)


def over_deque(items, x):
    items.rotate(1)
    for item in items:
        x = x * item
        graph_break()
        x = x + 1
    return x


def over_deque_backwards(items, x):
    for i, item in enumerate(reversed(items)):
        x = x * item
        graph_break()
        x = x + i
    return x


def over_set(items, x):
    for item in items:
        x = x * item
        graph_break()
        x = x + 1
    return x


@pytest.mark.parametrize(
    "program, make",
    [
        (over_deque, collections.deque),
        (over_deque_backwards, collections.deque),
        (over_set, set),
    ],
)
def test_a_loop_breaks_where_its_body_does(program, make):
    taeda.compiler.reset()
    compiled = taeda.compile(program, backend="eager")
    counters.clear()
    one, other = make(FACTORS), make(FACTORS)
    for _ in range(3):
        assert taeda.equal(compiled(one, X), program(other, X))
        assert one == other
    assert all("graph_break" in reason for reason in counters["graph_break"])


@pytest.mark.parametrize("items", [{1: 2}, {1}, collections.deque([1])])
def test_a_container_that_grows_in_a_break_ends_its_loop(items):
    @taeda.compiler.disable
    def grow(items, wanted):
        if wanted:
            items.update({5: 1}) if hasattr(items, "update") else items.append(5)

    def program(items, wanted, x):
        done = []
        try:
            for item in items:
                x = x * 2
                grow(items, wanted)
                x = x + item
                done.append(x)
        except RuntimeError as error:
            return x, len(done), str(error)
        return x, len(done)

    taeda.compiler.reset()
    compiled = taeda.compile(program, backend="eager")
    for wanted in (False, True, False, True):
        got, expected = (f(copy.copy(items), wanted, X) for f in (compiled, program))
        assert taeda.equal(got[0], expected[0])
        assert got[1:] == expected[1:]


def by_methods(x, items):
    made = [1, 2, 3].__iter__()
    first = made.__next__()
    numbered = enumerate(items).__iter__()
    pairs = zip([4, 5], reversed([6, 7]).__iter__(), strict=True).__iter__()

    def counted():
        yield from (8, 9)

    counts = counted().__iter__()
    rest = (numbered.__next__(), pairs.__next__(), counts.__next__(), list(counts), list(made))
    try:
        made.__next__()
    except StopIteration:
        first += 10
    return x * first, rest, made.__iter__() is made


def by_methods_of_views(x, items):
    d = dict.fromkeys(items, 1)
    keys = d.keys()
    sizes = (keys.__len__(), d.values().__len__(), d.items().__len__())
    found = (keys.__contains__(2), keys.isdisjoint({7}), keys.__and__({2}), keys.__or__([9]))
    return x * len(d), sizes, found, list(d.values().__iter__()), list(keys.__reversed__())


def of_the_program(x, items):
    return x * items.__iter__().__next__(), list(items)


@pytest.mark.parametrize(
    "program, make",
    [
        (by_methods, list),
        (by_methods_of_views, list),
        (of_the_program, lambda items: dict.fromkeys(items).keys()),
    ],
)
def test_methods_of_iterators_and_views(program, make):
    compiled = taeda.compile(program, backend="eager", fullgraph=True)
    for items in ([1, 2], [1, 2], [2, 3, 4]):
        got, expected = compiled(X, make(items)), program(X, make(items))
        assert taeda.equal(got[0], expected[0]) and got[1:] == expected[1:]
