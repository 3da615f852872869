"""Constants in tuples and lists: guarded where the program looked at them, and nowhere else."""

import collections
import importlib

import pytest
from compiled_case import check_changes, is_same
from under_test import NAME, t

CompileCounter = importlib.import_module(f"{NAME}._dynamo.testing").CompileCounter

Field = collections.namedtuple("Field", "name size unit")
X = t.ones(3)


def second(x, items):
    return x + items[1]


UNREAD = {
    "tuple": (lambda x, s: x + s[1], lambda i: ("a" * i, 2, None if i else 1)),
    "list": (lambda x, s: x + s[1], lambda i: ["a" * i, 2, float(i)]),
    "from the end": (lambda x, s: x + s[-1], lambda i: ("a" * i, i * i, 2)),
    "field": (lambda x, s: x + s.size, lambda i: Field("a" * i, 2, float(i))),
    "length": (lambda x, s: x + len(s), lambda i: ("a" * i, i)),
    "class": (lambda x, s: x + isinstance(s, (list, tuple)), lambda i: ["a" * i, i]),
    "handed on": (lambda x, s: second(x, items=s), lambda i: ("a" * i, 2, i)),
    "nested": (lambda x, s: x + s[0][1], lambda i: (("a" * i, 2), i)),
    "given back": (lambda x, s: (s, x + s[1]), lambda i: ("a" * i, 2)),
}


@pytest.mark.parametrize("name", UNREAD)
def test_items_that_nobody_reads_change_freely(name):
    function, make = UNREAD[name]
    count = CompileCounter()
    compiled = t.compile(function, backend=count, fullgraph=True)
    for i in range(5):
        assert is_same(compiled(X, make(i)), function(X, make(i)))
    assert count.frame_count == 1


@pytest.mark.parametrize("kind", [tuple, list])
def test_a_number_that_is_read_becomes_an_input_at_its_first_change(kind):
    count = CompileCounter()
    compiled = t.compile(second, backend=count, fullgraph=True)
    for i in range(2, 7):
        assert t.equal(compiled(X, kind((i, i))), X + i)
    assert count.frame_count == 2


def looked_up(x, *items):
    return {(("a", "b"),): 1}.get(items, 2)


READ = {
    "key": lambda x, s: {("a", "b"): 1}.get(s, 2),
    "item by key": lambda x, s: {("a", "b"): 1, ("a", "c"): 2, ("b", "c"): 3}[s],
    "key of arguments": looked_up,
    "text": lambda x, s: f"{s}",
    "remainder": lambda x, s: "%s %s" % (s, 1),
    "comparison": lambda x, s: (s, 1) == (("a", "b"), 1),
    "search": lambda x, s: "b" in s,
    "search for it": lambda x, s: ("a", "b") in [s],
    "unpacked": lambda x, s: [part for part in s][1],  # noqa: C416
    "arguments": lambda x, s: (lambda a, b: b)(*s),
    "set": lambda x, s: len({s, ("a", "b")}),
    "slice": lambda x, s: s[1:],
    "sorted": lambda x, s: sorted([s, ("a", "b")]),
    "dict": lambda x, s: dict([s]),
    "sum": lambda x, s: s + ("c",),
    "error": lambda x, s: str(ValueError(s)),
    "join": lambda x, s: "".join(s),
    "method": lambda x, s: s.count("b"),
    "hash": lambda x, s: hash(s) == hash(("a", "b")),
}


@pytest.mark.parametrize("name", READ)
def test_items_that_are_read_are_guarded(name):
    function = READ[name]
    compiled = t.compile(function, backend="eager")
    for items in (("a", "b"), ("a", "c"), ("b", "c"), ("a", "b")):
        assert is_same(compiled(X, items), function(X, items))


def test_items_behind_a_break():
    def program(x, items):
        y = x + items[0]
        t._dynamo.graph_break()
        return y + items[1]

    compiled = t.compile(program, backend="eager")
    for i in range(5):
        assert t.equal(compiled(X, (1, i)), X + 1 + i)


def test_frames_whose_variables_have_one_name():
    def inner(x, items):
        x = x + items[0]
        t._dynamo.graph_break()
        return x * items[0] + items[1]

    def program(x, items, others):
        return inner(x, others) + items[0] * items[1]

    compiled = t.compile(program, backend="eager")
    for i in range(5):
        for j in range(3):
            arguments = (2, i), (3 + j, i)
            assert t.equal(compiled(X, *arguments), program(X, *arguments))


def test_a_list_whose_item_was_read_is_written_to():
    def program(x, items):
        first = items[0]
        items[1] = 7
        items.append(first)
        return x + first

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for i in range(4):
        mine, plain = [i, i, "x" * i], [i, i, "x" * i]
        assert is_same(compiled(X, mine), program(X, plain)) and mine == plain


def test_lists_and_tuples_of_objects_are_followed():
    class Model:
        sizes = [1, 2, "a"]
        names = ("a", 1)

    def program(x):
        return x + Model.sizes[1] + Model.names[1]

    changes = [
        lambda: Model.sizes.__setitem__(1, 5),
        lambda: Model.sizes.__setitem__(2, "b"),
        lambda: Model.sizes.reverse(),
        lambda: setattr(Model, "names", ("b", 3)),
        lambda: Model.sizes.append(4),
    ]
    check_changes(program, changes, X)
