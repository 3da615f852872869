"""Expressions, loops, closures and calls."""

import sys

from frames_corpus import pure


@pure
def case_arithmetic(p):
    a, b = 7, 3
    c = (a + b) * (a - b) // 2 % 5
    c **= 2
    c <<= 1
    return c, -a, ~b, not a, +b, a / b, a & b | 8 ^ 1


def case_nested_calls(p):
    def inner(x, y=2, *rest, z, **more):
        return x + y + sum(rest) + z + sum(more.values())

    def middle(*values, **named):
        return inner(*values, **named) * 2

    return middle(1, 2, 3, 4, z=5, w=6) + inner(1, z=0) + inner(y=1, x=2, z=3)


def case_closure_counts(p):
    total = 0

    def add(value):
        nonlocal total
        total += value
        p.log(total)
        return lambda: total + value

    functions = [add(i) for i in range(4)]
    return [f() for f in functions]


def case_try_finally_order(p):
    def work(kind):
        for i in range(3):
            try:
                if kind == "break" and i == 1:
                    break
                if kind == "continue":
                    continue
                if kind == "return":
                    return i
                if kind == "raise":
                    raise KeyError(kind)
            except KeyError as error:
                p.log("caught", error.args)
                raise ValueError(i) from error
            else:
                p.log("else", i)
            finally:
                p.log("finally", kind, i)
        return kind

    results = []
    for kind in ("break", "continue", "return", "none"):
        results.append(work(kind))
    try:
        work("raise")
    except ValueError as error:
        results.append((error.args, type(error.__cause__).__name__))
    return results


def case_uncaught(p):
    def inner(x):
        if x == 0:
            raise LookupError("deep", p is not None)
        return inner(x - 1)

    return inner(3)


def case_generator_delegation(p):
    def inner():
        received = yield 1
        p.log("received", received)
        try:
            yield 2
        except ValueError as error:
            p.log("thrown", error.args)
            yield 3
        return "inner done"

    def outer():
        result = yield from inner()
        yield result

    g = outer()
    out = [next(g), g.send("hello"), g.throw(ValueError("x")), next(g)]
    try:
        next(g)
    except StopIteration as stop:
        out.append(stop.value)
    return out


def case_with_managers(p):
    class Manager:
        def __init__(self, name, swallow=False):
            self.name, self.swallow = name, swallow

        def __enter__(self):
            p.log("enter", self.name)
            return self

        def __exit__(self, kind, value, tb):
            p.log("exit", self.name, kind and kind.__name__)
            return self.swallow

    with Manager("a") as a, Manager("b", swallow=True):
        p.log(a.name)
        raise ValueError("inside")
    with Manager("c"):
        return sys._getframe().f_code.co_name


def case_super_and_class_cell(p):
    class A:
        def f(self, x):
            return ["A", x]

    class B(A):
        def f(self, x):
            return ["B", *super().f(x), __class__.__name__]

    return B().f(3)


def case_match(p):
    class Point:
        __match_args__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    def kind(value):
        match value:
            case Point(0, y=b):
                return "axis", b
            case Point(x=a, y=b):
                return "point", a, b
            case {"k": v, **rest}:
                return "map", v, rest
            case [a, *_, b] if a != b:
                return "ends", a, b
            case str() as s:
                return "str", s
            case 1 | 2:
                return "few"
        return None

    values = [Point(0, 1), Point(2, 3), {"k": 1, "z": 2}, [1, 2, 3], "s", 2, 9]
    return [kind(v) for v in values]
