"""Operators that write to arguments, inside of compiled programs."""

import pytest

import taeda as t


@t.library.custom_op("test_writing_operators::add_ten", mutates_args={"y"})
def add_ten(x: t.Tensor, y: t.Tensor) -> t.Tensor:
    y.add_(10)
    return x.clone()


@add_ten.register_fake
def _(x, y):
    return t.empty_like(x)


@t.library.custom_op("test_writing_operators::add_each", mutates_args={"ys"})
def add_each(x: t.Tensor, ys: list[t.Tensor]) -> t.Tensor:
    for i, y in enumerate(ys):
        y.add_(i + 1)
    return x * 2


@add_each.register_fake
def _(x, ys):
    return t.empty_like(x)


@t.library.custom_op("test_writing_operators::nothing", mutates_args={"y"})
def nothing(x: t.Tensor, y: t.Tensor) -> None:
    y.mul_(3)


_LIBRARY = t.library.Library("test_writing_operators_by_schema", "DEF")
_LIBRARY.define("same(Tensor x, Tensor(a!) y) -> Tensor(a!)")


@t.library.impl(_LIBRARY, "same", "CompositeExplicitAutograd")
def _(x, y):
    return y.add_(x)


same = t.ops.test_writing_operators_by_schema.same


def read_behind(x, a):
    add_ten(x, a)
    return a + 1


def read_before_and_behind(x, a):
    before = a * 3
    add_ten(x, a)
    return before, a * 3


def temporary(x, a):
    b = a * 1
    y = add_ten(x, b)
    return b * 2 + y, a


def equal_temporaries(x, a):
    b, c = a * 1, a * 1
    add_ten(x, b)
    return b, c


def written_twice(x, a):
    add_ten(x, a)
    add_ten(a, a.clone())
    add_ten(x, a)
    return a.sum()


def part(x, a):
    rows = a[1:]
    add_ten(x, rows)
    return a * 2


def many(x, a):
    b, c = x + 1, x + 1
    y = add_each(x, [a, b, c])
    return a + 1, b - c, y


def without_a_result(x, a):
    nothing(x, a)
    return a + x


def the_argument_itself(x, a):
    y = same(x + 1, a)
    return y * 2, a + 1


PROGRAMS = [
    read_behind,
    read_before_and_behind,
    temporary,
    equal_temporaries,
    written_twice,
    part,
    many,
    without_a_result,
    the_argument_itself,
]


@pytest.mark.parametrize("native", ["wait", "never"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_read_behind_a_write_is_what_was_written(f, native):
    compiled = t.compile(f, options={"native": native})
    x, a = t.arange(6.0).view(3, 2), t.ones(3, 2)
    if f is part:
        x = x[1:]
    have_a, want_a = a.clone(), a.clone()
    for _ in range(2):
        have, want = compiled(x, have_a), f(x, want_a)
        pairs = zip(have, want, strict=True) if isinstance(have, tuple) else [(have, want)]
        assert all(t.equal(one, other) for one, other in pairs)
        assert t.equal(have_a, want_a)


@pytest.mark.parametrize("is_trained", [False, True])
def test_rows_of_an_embedding_are_scaled_where_they_lie(is_trained):
    want = t.nn.Embedding(5, 3, max_norm=1.0)
    with t.no_grad():
        want.weight.mul_(5)
    have = t.nn.Embedding(5, 3, max_norm=1.0)
    have.load_state_dict(want.state_dict())
    compiled, rows = t.compile(have), t.tensor([0, 1, 1, 4])
    with t.set_grad_enabled(is_trained):
        out, other = want(rows), compiled(rows)
    assert t.equal(out, other) and t.equal(want.weight, have.weight)
    if is_trained:
        (out * t.arange(3.0)).sum().backward()
        (other * t.arange(3.0)).sum().backward()
        assert t.equal(want.weight.grad, have.weight.grad)
