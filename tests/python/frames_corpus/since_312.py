"""Syntax that came with CPython 3.12: type parameters, type aliases, free f-strings."""

import typing

from frames_corpus import pure


def case_generic_function(p):
    def first[T](items: list[T], default: T | None = None) -> T | None:
        p.log("called", len(items))
        return items[0] if items else default

    return first([1, 2]), first([], "d"), [str(t) for t in first.__type_params__]


def case_generic_function_defaults(p):
    def value(name):
        p.log(name)
        return name

    def f[T](a=value("a"), *, b: T = value("b")):
        return a, b

    return f(), f(1, b=2), f.__defaults__, f.__kwdefaults__


def case_generic_decorated(p):
    def mark(function):
        p.log("mark", len(function.__type_params__))
        return function

    @mark
    def f[*Ts, **P](*args: *Ts) -> None:
        return args

    return f(1, 2), [str(t) for t in f.__type_params__]


def case_type_variable_bounds(p):
    def f[T: int, S: (str, bytes)](a: T, b: S) -> T:
        return a

    t, s = f.__type_params__
    return t.__bound__, s.__constraints__, f(1, "x")


def case_lazy_bound(p):
    def f[T: undefined_bound](a):
        return a

    (t,) = f.__type_params__
    try:
        t.__bound__
    except NameError as error:
        return f(1), str(error)


def case_generic_class(p):
    class Box[T]:
        kind = "box"

        def __init__(self, value: T):
            self.value = value

        def map[S](self, f: typing.Callable[[T], S]) -> "Box[S]":
            return Box(f(self.value))

    return Box(3).map(str).value, Box[int].__args__, [str(t) for t in Box.__type_params__], Box.kind


def case_generic_class_bases(p):
    class Base:
        def __init_subclass__(cls, tag=None):
            p.log("subclass", cls.__name__, tag)

    class Child[T](Base, tag="t"):
        def me(self):
            return __class__.__name__, super().__repr__()[:1]

    return Child().me(), [b.__name__ for b in Child.__mro__]


def case_generic_method_closure(p):
    def make(n):
        class Inner[T]:
            size = n

            def get(self, x: T) -> T:
                return x, n, T.__name__

        return Inner

    return make(1)().get(5), make(2).size


def case_type_alias(p):
    type Pair[T] = tuple[T, T]
    type Tree = dict[str, Tree] | None
    return str(Pair.__value__), Pair.__name__, str(Tree), Pair[int].__args__


def case_type_alias_lazy(p):
    type Later = missing_name
    try:
        Later.__value__
    except NameError as error:
        p.log(str(error))
    missing_name = int
    return Later.__value__


def case_type_alias_in_class(p):
    class A:
        element = int
        type Elements = list[element]

        def read(self):
            return self.Elements.__value__

    return A().read(), A.Elements.__name__


def case_annotations_with_parameters(p):
    def f[T](a: T, b: list[T]) -> dict[str, T]:
        return {}

    return sorted(f.__annotations__), str(f.__annotations__["b"])


@pure
def case_same_quotes(p):
    d = {"k": [1, 2]}
    return f"{d["k"]}", f"{", ".join(["a", "b"])}", f"{f"{f"{1 + 1}"}"}", f"{d["k"][0]:>{"4"}}"  # fmt: skip


@pure
def case_backslashes_in_fields(p):
    parts = ("a", "b")
    return f"{"\n".join(parts)}", f"{'\t'!r}", f"{"\N{BULLET}"}"  # fmt: skip


def case_multiline_fields(p):
    items = [3, 1, 2]
    return f"sum {
        sum(  # the total
            x for x in items
            if x > 1
        )
    } max {max(items)}"  # fmt: skip


def case_lambda_and_walrus_fields(p):
    return f"{(x := 5)!r:>3}{(lambda y: y + x)(2)}", f"{x=}", f"{ {"a": 1}["a"] }"  # fmt: skip


def case_comprehension_locals(p):
    def f(items):
        outer = 1
        seen = [sorted(n for n in locals() if n != "seen") for _ in items][:1]
        return [x + outer for x in items], len(seen)

    return f([1, 2])


def case_comprehension_in_class_reads_cell(p):
    def make(n):
        class A:
            rows = [[n + i + j for j in range(2)] for i in range(2)]
            calls = [lambda: n for _ in range(1)]

        return A.rows, A.calls[0]()

    return make(10)


def case_inlined_comprehension_exception(p):
    x, y = "x", "y"
    try:
        [[1 // x for x in (1, y)] for y in (1, 0)]
    except ZeroDivisionError:
        p.log(x, y)
    return x, y


def case_inlined_comprehension_cells(p):
    x = "outer"
    functions = [(lambda: x) for x in range(3)]
    inner = [[(lambda: (x, y)) for y in range(2)] for x in "ab"]
    return x, [f() for f in functions], [[f() for f in row] for row in inner]


def case_generator_expression_in_comprehension(p):
    return [sum(x * y for x in range(y)) for y in range(4)], [*(x for x in range(2) for _ in "ab")]


def case_unpack_in_subscript(p):
    class Key:
        def __class_getitem__(cls, item):
            return item

    ts = (1, 2)
    return Key[*ts], Key[0, *ts, 3], Key[*ts, *ts]


def case_except_star_with_return(p):
    def f():
        for i in range(2):
            try:
                raise ExceptionGroup("g", [ValueError(i)])
            except* ValueError as found:
                p.log(found.exceptions[0].args)
            finally:
                p.log("finally")
        return "end"

    return f()


def case_override_and_buffer(p):
    class Base:
        def f(self):
            return 1

    class Child(Base):
        @typing.override
        def f(self):
            return super().f() + 1

        def __buffer__(self, flags):
            p.log("buffer")
            return memoryview(b"abc")

    return Child().f(), bytes(Child()), Child.f.__override__


def case_generic_async(p):
    async def f[T](x: T) -> T:
        return x

    async def g[T](n: T):
        yield n

    async def main():
        return await f(1), [x async for x in g(2)]

    try:
        main().send(None)
    except StopIteration as stop:
        return stop.value
