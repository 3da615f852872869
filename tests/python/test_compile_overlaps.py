"""Arguments that look at parts of one memory, written to by compiled programs."""

import operator

import pytest
from under_test import t

BACKENDS = ["eager", "aot_eager", "inductor"]


def write_second(b, c):
    c.add_(1)
    return b * 2


def write_both(b, c):
    b.mul_(2)
    c.view(-1).add_(1)
    return b + c.view(-1)[: b.numel()].view_as(b)


def give_view(b, c):
    c.add_(1)
    return c[1:], b[2:]


def narrow(b, c):
    c.add_(1)
    c.squeeze_()
    return b.sum()


def slices(memory):
    return memory[3:9], memory[6:]


def rows(memory):
    table = memory.view(6, 2)
    return table[1:3], table[2:4]


def shapes(memory):
    return memory[2:8], memory[2:8].view(2, 3)


def columns(memory):
    return memory[2:8], memory[4:10].view(6, 1)


CALLS = [
    (write_second, slices),
    (write_second, rows),
    (write_second, columns),
    (write_both, shapes),
    (give_view, slices),
    (give_view, rows),
    (narrow, columns),
]


def outcome(program, views):
    memory = t.arange(12.0)
    args = views(memory)
    given = program(*args)
    looks = [(a.shape, a.stride(), a.storage_offset()) for a in args]
    given = given if isinstance(given, tuple) else (given,)
    return memory.tolist(), looks, [(g.tolist(), g.storage_offset()) for g in given]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("program", "views"), CALLS)
def test_memory_that_begins_behind_its_storage(program, views, backend):
    compiled = t.compile(program, backend=backend)
    plain = outcome(program, views)
    assert [outcome(compiled, views) for _ in range(2)] == [plain, plain]


def view_of_result(c, w):
    d = c * 1
    v = d.view(-1)
    d.mul_(w)
    return v


def view_of_input(c, w):
    v = c.view(-1)
    c.mul_(w)
    return v


def other_view(c, w):
    v, u = c[:2], c[2:]
    v.mul_(w[:2])
    return u, c


def view_of_view(c, w):
    v = c.view(-1)
    u = v[1:]
    u.add_(w[1:])
    return c, v, u


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [view_of_result, view_of_input, other_view, view_of_view])
def test_views_get_the_history_of_later_writes(program, backend):
    def run(function):
        c, w = t.arange(4.0), t.full((4,), 2.0, requires_grad=True)
        given = function(c, w)
        given = given if isinstance(given, tuple) else (given,)
        sum(g.sum() for g in given).backward()
        return [g.requires_grad for g in given], [g.tolist() for g in given], w.grad.tolist()

    assert run(t.compile(program, backend=backend)) == run(program)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("places", [(2, 4), (0, 4), (0, 0)])
def test_a_write_with_gradients_reaches_all_views(places, backend):
    def program(a, b, x):
        a.mul_(x)
        return b * 2 if b.requires_grad else b * 3

    def run(function):
        base = t.arange(12.0)
        first, second = places
        x = t.full((4,), 2.0, requires_grad=True)
        result = function(base[first : first + 4], base[second : second + 4], x)
        result.sum().backward()
        return result.tolist(), x.grad.tolist(), base.tolist()

    assert run(t.compile(program, backend=backend)) == run(program)


ITEMS = {
    "number": lambda y: y.__setitem__(0, y[0].add_(1)),
    "row": lambda y: operator.setitem(y, 1, operator.iadd(y[1], y[0])),
    "slice": lambda y: operator.setitem(y, slice(1, None), operator.imul(y[1:], 2)),
    "columns": lambda y: operator.setitem(y, (..., 0), operator.isub(y[..., 0], 3)),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ITEMS)
def test_items_that_are_written_in_place(name, backend):
    """`y[0] += 1` writes an item to itself."""

    def program(x):
        y = x * 1
        ITEMS[name](y)
        y[0] += 1
        x[:, 1] *= 2
        return y * 2

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for n in (3, 4, 5):
        one, other = (t.arange(2.0 * n).reshape(n, 2) for _ in range(2))
        assert t.equal(compiled(one), program(other)) and t.equal(one, other)
