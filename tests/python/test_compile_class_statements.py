"""Class statements inside of compiled programs: part of the region where the class ends with it."""

import pytest
from under_test import t

X = t.ones(3)


class Registered:
    names = []

    def __init_subclass__(cls):
        Registered.names = [*Registered.names, cls.__name__]


def with_methods(x):
    class Scaled:
        scale = 3

        def __init__(self, value):
            self.value = value

        def get(self):
            return self.value * self.scale

        @property
        def doubled(self):
            return self.value * 2

        @staticmethod
        def next(number):
            return number + 1

        @classmethod
        def of(cls, value):
            return cls(value)

        def __len__(self):
            return 7

    made = Scaled.of(Scaled(x).get())
    return made.doubled, len(made), Scaled.next(2), Scaled.__name__, isinstance(made, Scaled)


def of_containers(x):
    class Doubled(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value * 2)

        def __missing__(self, key):
            return key

    class Rows(list):
        pass

    rows = Rows([1, 2, 3])
    rows[0] = x
    rows.append(4)
    doubled = Doubled()
    doubled["a"] = rows[0]
    return doubled["a"], doubled["b"], list(rows)


def with_slots(x):
    class Slotted:
        __slots__ = ("one", "two")

        def __init__(self):
            self.one = 1

    made = Slotted()
    made.two = x
    try:
        made.three = 3
    except AttributeError:
        return made.two + made.one


def of_an_error(x):
    class OwnError(ValueError):
        pass

    try:
        raise OwnError("text")
    except ValueError as error:
        return x + 1, str(error), type(error).__name__


def in_a_loop(x):
    for _ in range(3):

        class Step:
            def go(self, y):
                return y + 1

        x = Step().go(x)
    return x


def of_a_base_that_is_told(x):
    class Derived(Registered):
        pass

    return x + len(Registered.names)


def of_modules(x):
    class Own(t.nn.Module):
        def forward(self, x):
            return x.relu() + 1

    return Own()(x)


WHOLE = (with_methods, of_containers, with_slots, of_an_error, in_a_loop)


def given_back(x):
    class Holder:
        def __init__(self, value):
            self.value = value

    return Holder, Holder(x.sin())


def that_is_written_to(x):
    class Counter:
        count = 0

    Counter.count += 1
    return x + Counter.count


def of_variables(x):
    y = x + 1

    class Holder:
        def get(self):
            return y

    return Holder().get()


def of_default_values(x):
    class Holder:
        def get(self, value=x):
            return value + 1

    return Holder().get()


def with_a_list(x):
    class Holder:
        rows = []

    Holder.rows.append(1)
    return x + len(Holder.rows)


def over_a_break(x):
    class Holder:
        def get(self, y):
            return y + 1

    made = Holder()
    x = made.get(x)
    t.compiler.graph_break()
    return made.get(x)


PARTS = (
    *(that_is_written_to, of_variables, of_default_values, with_a_list, over_a_break),
    of_modules,
)


def shown(result):
    if isinstance(result, t.Tensor):
        return result.tolist()
    return [shown(part) for part in result] if isinstance(result, (tuple, list)) else result


@pytest.mark.parametrize("program", WHOLE, ids=lambda f: f.__name__)
def test_they_are_captured(program):
    compiled = t.compile(program, backend="eager", fullgraph=True)
    for x in (X, X * 2):
        assert shown(compiled(x)) == shown(program(x))


@pytest.mark.parametrize("program", PARTS, ids=lambda f: f.__name__)
def test_classes_that_hold_values_or_change_are_made_by_the_program(program):
    compiled = t.compile(program, backend="eager")
    for x in (X, X * 2, X * 3):
        assert shown(compiled(x)) == shown(program(x))


def test_a_class_that_is_given_back_is_another_one_at_each_call():
    compiled = t.compile(given_back, backend="eager")
    (first, one), (second, two) = compiled(X), compiled(X)
    assert first is not second and type(one) is first and type(two) is second
    assert t.equal(one.value, X.sin())


def test_a_function_of_a_class_is_another_one_at_each_call():
    def program(x):
        class Holder:
            def get(self):
                return x

        class Fixed:
            def get(self):
                return 1

        return Holder.get, Fixed.get, Fixed().get() + x

    compiled = t.compile(program, backend="eager")
    first, second = compiled(X), compiled(X)
    assert first[0] is not second[0] and first[1] is not second[1]
    assert t.equal(first[2], X + 1) and second[1](None) == 1


def test_a_base_is_told_at_each_call():
    compiled = t.compile(of_a_base_that_is_told, backend="eager", fullgraph=True)
    Registered.names = []
    assert [compiled(X)[0].item() for _ in range(3)] == [2, 3, 4]
    assert Registered.names == ["Derived"] * 3
