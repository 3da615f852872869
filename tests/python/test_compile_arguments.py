"""Arguments whose numbers and views change between calls, and integers that are told to change."""

import datetime
import math
import sys
import types

import pytest
from compiled_case import is_same
from taeda._dynamo.testing import CompileCounter
from under_test import t

VIEWS = {
    "keys": dict.keys,
    "values": dict.values,
    "items": dict.items,
    "proxy": types.MappingProxyType,
}


def sized(x, view):
    return [x * i for i, _ in enumerate(view)], len(view)


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_dicts_are_what_their_dict_is_now(name):
    counter = CompileCounter()
    compiled = t.compile(sized, backend=counter, fullgraph=True)
    given = {"a": 1.0, "b": 2.0}
    for _ in range(2):
        assert is_same(
            compiled(t.ones(2), VIEWS[name](given)), sized(t.ones(2), VIEWS[name](given))
        )
    assert counter.frame_count == 1
    given["c"] = 3.0
    assert is_same(compiled(t.ones(2), VIEWS[name](given)), sized(t.ones(2), VIEWS[name](given)))


def test_a_view_follows_what_the_program_writes():
    def program(x, given, values):
        given["c"] = x
        return sum(values), list(values)

    compiled = t.compile(program, backend="eager")
    for _ in range(2):
        plain, own = {"a": 1.0}, {"a": 1.0}
        expected = program(t.ones(2), plain, plain.values())
        assert is_same(compiled(t.ones(2), own, own.values()), expected)
        assert is_same(own, plain)


def test_slices_that_change_compile_twice():
    counter = CompileCounter()
    compiled = t.compile(lambda x, part: (x[part], part.stop), backend=counter, fullgraph=True)
    x = t.arange(8.0)
    for begin, end in ((1, 3), (2, 5), (3, 7), (2, 8)):
        got, stop = compiled(x, slice(begin, end))
        assert t.equal(got, x[begin:end]) and stop == end
    assert counter.frame_count == 2


@pytest.mark.parametrize("values", [(2, 3, 4), (2.5, 3.5, -1.5)])
def test_numbers_change_from_the_first_call_where_all_do(values):
    counter = CompileCounter()
    compiled = t.compile(lambda x, n: x * n, backend=counter, dynamic=True, fullgraph=True)
    for value in values:
        assert t.equal(compiled(t.ones(3), value), t.full((3,), float(value)))
    assert counter.frame_count == 1


def test_numbers_of_objects_and_one_are_constants_where_all_change():
    class Layer(t.nn.Module):
        heads = 4

        def forward(self, x, dim):
            return x.reshape(-1, self.heads).sum(dim)

    seen = []

    def backend(gm, inputs):
        seen.append(len(inputs))
        return gm.forward

    compiled = t.compile(Layer(), backend=backend, dynamic=True, fullgraph=True)
    assert t.equal(compiled(t.ones(8), 1), t.full((2,), 4.0))
    assert seen == [1]


def test_durations_are_guarded_by_value():
    compiled = t.compile(lambda x, d: x * d.total_seconds(), backend="eager", fullgraph=True)
    for seconds in (3, 5, 3):
        duration = datetime.timedelta(seconds=seconds)
        assert t.equal(compiled(t.ones(2), duration), t.full((2,), float(seconds)))


def test_coroutines_that_never_wait():
    async def add(x):
        return x + 1

    async def both(x):
        return await add(x) * await add(x + 1)

    def program(x):
        coroutine = both(x)
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value

    compiled = t.compile(program, backend="eager", fullgraph=True)
    assert t.equal(compiled(t.ones(2)), t.full((2,), 6.0))


def test_a_class_of_classes_that_changes_is_noticed():
    class Meta(type):
        def __call__(cls, value):
            made = super().__call__()
            made.value = value
            return made

        def __getitem__(cls, key):
            return key

    class Made(metaclass=Meta):
        pass

    def program(x):
        return x * Made(2).value + Made[3]

    compiled = t.compile(program, backend="eager")
    assert t.equal(compiled(t.ones(2)), t.full((2,), 5.0))
    Meta.__getitem__ = lambda cls, key: key * 10
    assert t.equal(compiled(t.ones(2)), t.full((2,), 32.0))
    Meta.__call__ = lambda cls, value: type.__call__(cls)
    Made.value = 7
    assert t.equal(compiled(t.ones(2)), t.full((2,), 37.0))


def test_errors_of_calls_of_classes_are_the_programs_own():
    class Meta(type):
        def __call__(cls, *args):
            return super().__call__(*args)

    class Made(metaclass=Meta):
        def __init__(self, one):
            self.one = one

    def program(x, *args):
        return x * Made(*args).one

    compiled = t.compile(program, backend="eager")
    assert t.equal(compiled(t.ones(2), 2), t.full((2,), 2.0))
    for function in (program, compiled):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'one'"):
            function(t.ones(2))


def test_coroutines_around_a_break(recwarn):
    log = []

    async def waits(x):
        try:
            print(end="")
            return x + 1
        finally:
            log.append("end")

    async def both(x):
        return await waits(x * 2) + await waits(x)

    def program(x):
        y = x * 3
        coroutine = both(y)
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value

    compiled = t.compile(program, backend="eager")
    for count in (2, 4, 6):
        assert t.equal(compiled(t.ones(2)), t.full((2,), 11.0))
        assert log == ["end"] * count
    assert not [w for w in recwarn if "never awaited" in str(w.message)]


def test_numbers_that_change_have_what_numbers_have():
    def program(x, n, v):
        parts = n.real, n.imag, n.numerator, n.denominator, ~n, v.real, v.imag
        return parts, hasattr(n, "is_integer"), hasattr(v, "node"), x * n * v

    counter = CompileCounter()
    compiled = t.compile(program, backend=counter, fullgraph=True)
    for n, v in ((2, 2.5), (3, 3.5), (-4, -4.25)):
        assert is_same(compiled(t.ones(1), n, v), program(t.ones(1), n, v))
    assert counter.frame_count == 2
    assert program(t.ones(1), 2, 2.5)[1:3] == (sys.version_info >= (3, 12), False)


def test_attributes_that_numbers_lack_are_errors():
    compiled = t.compile(lambda x, n: x * n.node, backend="eager", dynamic=True)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'node'"):
        compiled(t.ones(1), 3)


def test_questions_about_finite_numbers_compile_once():
    def program(x, v):
        if math.isnan(v) or math.isinf(v) or not math.isfinite(v):
            return x - 1
        return x * v, math.isfinite(v * 2)

    counter = CompileCounter()
    compiled = t.compile(program, backend=counter, fullgraph=True)
    for v in (2.5, 3.5, -4.25, 1e300, 5.5):
        assert is_same(compiled(t.ones(1), v), program(t.ones(1), v))
    assert counter.frame_count == 2
    for v in (math.inf, -math.inf, math.nan, 1.7e308, 2.0):
        assert is_same(compiled(t.ones(1), v), program(t.ones(1), v))
