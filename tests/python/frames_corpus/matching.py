"""The match statement: every kind of pattern, and the errors of its protocols."""

import collections
import dataclasses

from frames_corpus import pure


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


@pure
def case_literals(p):
    def kind(value):
        match value:
            case 1:
                return "one"
            case -2:
                return "minus two"
            case 1.5:
                return "float"
            case 1 + 2j:
                return "complex"
            case "text":
                return "text"
            case b"bytes":
                return "bytes"
            case _:
                return "other"

    return kind(1), kind(-2), kind(1.5), kind(1 + 2j), kind("text"), kind(b"bytes"), kind(True)


@pure
def case_singletons(p):
    def kind(value):
        match value:
            case True:
                return "true"
            case False:
                return "false"
            case None:
                return "none"
        return "else"

    return kind(True), kind(False), kind(None), kind(1), kind(0)


@pure
def case_captures_and_wildcard(p):
    def kind(value):
        match value:
            case (x, _, y):
                return x, y
            case whole:
                return "whole", whole

    return kind((1, 2, 3)), kind(5)


@pure
def case_alternatives(p):
    def kind(value):
        match value:
            case 1 | 2 | 3:
                return "few"
            case ("a", x) | ("b", _, x):
                return x
            case int() | float() as number:
                return "number", number

    return kind(2), kind(("a", 1)), kind(("b", 1, 2)), kind(9.5), kind("z")


def case_guards(p):
    def check(name, result):
        p.log(name)
        return result

    match 5:
        case x if check("first", x > 10):
            return "first"
        case x if check("second", x > 3) and check("third", True):
            return "second", x


@pure
def case_sequences(p):
    def kind(value):
        match value:
            case []:
                return "empty"
            case [x]:
                return "one", x
            case [1, *rest]:
                return "starts", rest
            case [*_, 9]:
                return "ends"
            case [a, *middle, b]:
                return a, middle, b

    return kind([]), kind((5,)), kind([1, 2, 3]), kind([4, 9]), kind(range(3)), kind((2, 3, 4))


@pure
def case_not_sequences(p):
    def kind(value):
        match value:
            case [*_]:
                return "sequence"
            case str():
                return "str"
            case _:
                return "other"

    values = ("ab", b"ab", bytearray(b"a"), {1: 2}, {1}, iter([]), collections.deque([1]), [1])
    return tuple(map(kind, values))


def case_nested_sequences(p):
    def kind(value):
        match value:
            case [[a, b], [c, [d, *e]]]:
                return a, b, c, d, e
            case [(1 | 2) as n, *_] if n == 2:
                return "n"

    return kind([[1, 2], (3, [4, 5, 6])]), kind([2, 3]), kind([1])


@pure
def case_mappings(p):
    def kind(value):
        match value:
            case {"type": "circle", "r": r}:
                return "circle", r
            case {"type": t, **rest} if rest:
                return t, rest
            case {}:
                return "mapping"
        return "none"

    return (
        kind({"type": "circle", "r": 2, "more": 0}), kind({"type": "x", "a": 1}), kind({"type": 1}),
        kind({}), kind([]),
    )  # fmt: skip


def case_mapping_keys(p):
    class Keys:
        ONE = 1
        NAME = "name"

    def kind(value):
        match value:
            case {Keys.ONE: x, Keys.NAME: y}:
                return x, y
            case {None: z, True: w, -1: v}:
                return z, w, v

    return kind({1: "a", "name": "b"}), kind({None: 1, True: 2, -1: 3}), kind({1: 2})


def case_mapping_duplicate_keys(p):
    class Keys:
        A = "k"
        B = "k"

    try:
        match {"k": 1, "z": 2}:
            case {Keys.A: x, Keys.B: y}:
                return x, y
    except ValueError as error:
        return str(error)


def case_mapping_uses_get(p):
    data = collections.defaultdict(list, a=1)
    match data:
        case {"missing": _}:
            return "never"
        case {"a": x}:
            return x, dict(data)


def case_mapping_protocol(p):
    class Lookup(collections.abc.Mapping):
        def __getitem__(self, key):
            p.log("getitem", key)
            if key == "b":
                raise KeyError(key)
            return key * 2

        def __iter__(self):
            return iter("ac")

        def __len__(self):
            p.log("len")
            return 2

    match Lookup():
        case {"b": _}:
            return "b"
        case {"a": x, "c": y}:
            return x, y


@pure
def case_classes(p):
    def kind(value):
        match value:
            case Point(0, 0):
                return "origin"
            case Point(x, y=0):
                return "axis", x
            case Point(x=x, y=y):
                return x, y

    return kind(Point(0, 0)), kind(Point(3, 0)), kind(Point(1, 2)), kind((0, 0))


@pure
def case_builtin_classes(p):
    def kind(value):
        match value:
            case bool(b):
                return "bool", b
            case int(n):
                return "int", n
            case str(s):
                return "str", s
            case list([a, *_]):
                return "list", a
            case dict(d):
                return "dict", d
            case tuple(()) | set():
                return "tuple or set"

    return kind(True), kind(5), kind("s"), kind([1, 2]), kind({}), kind(()), kind({1}), kind(1.5)


def case_class_missing_attribute(p):
    class Partial:
        __match_args__ = ("a", "b")

        def __getattr__(self, name):
            p.log("getattr", name)
            if name == "b":
                raise AttributeError(name)
            return name

    match Partial():
        case Partial("a", "b"):
            return "both"
        case Partial(x):
            return "first", x


def case_class_errors(p):
    class NoArgs:
        pass

    class BadArgs:
        __match_args__ = ["x"]

    class BadNames:
        __match_args__ = (1,)

    def positional(value, kind):
        try:
            match value:
                case kind(1):
                    return "matched"
            return "no"
        except TypeError as error:
            return str(error).split(".")[-1]

    return [positional(k(), k) for k in (NoArgs, BadArgs, BadNames)], positional(5, int)


def case_class_too_many(p):
    try:
        match Point(1, 2):
            case Point(1, 2, 3):
                return "never"
    except TypeError as error:
        return str(error)


def case_class_duplicate_attribute(p):
    try:
        match Point(1, 2):
            case Point(1, x=1):
                return "never"
    except TypeError as error:
        return str(error)


def case_class_not_a_type(p):
    shape = 5
    try:
        match 5:
            case shape():
                return "never"
    except TypeError as error:
        return str(error)


def case_attribute_error_propagates(p):
    class Raises:
        __match_args__ = ("x",)

        @property
        def x(self):
            raise KeyError("from property")

    try:
        match Raises():
            case Raises(1):
                return "never"
    except KeyError as error:
        return repr(error)


def case_dataclasses(p):
    @dataclasses.dataclass
    class Node:
        left: object
        right: object
        value: int = 0

    def total(tree):
        match tree:
            case None:
                return 0
            case Node(None, None, v):
                return v
            case Node(left, right, value=v):
                return total(left) + total(right) + v

    return total(Node(Node(None, None, 1), Node(None, Node(None, None, 2), 3), 4))


@pure
def case_value_patterns(p):
    class Color:
        RED = 1
        GREEN = 2

    def kind(value):
        match value:
            case Color.RED:
                return "red"
            case Color.GREEN:
                return "green"
            case p.missing if False:
                return "never"

    return kind(1), kind(2)


def case_value_pattern_compares(p):
    class Odd:
        def __eq__(self, other):
            p.log("eq", other)
            return other == 3

    match Odd():
        case 1:
            return "one"
        case 3:
            return "three"


def case_bindings_stay(p):
    match [1, 2, 3]:
        case [a, b]:
            pass
        case [c, *d] if False:
            pass
        case [e, _, f]:
            pass
    return "a" in locals(), c, d, e, f


def case_no_match(p):
    match 5:
        case 6:
            x = "six"
    return "x" in locals()


def case_in_loop(p):
    out, stack = [], [1, "a", [2, [3]], None, {"stop": True}, 9]
    while stack:
        match stack.pop(0):
            case int(n):
                out.append(n)
            case [*items]:
                stack = items + stack
            case None:
                continue
            case {"stop": True}:
                break
            case other:
                out.append(("other", other))
    return out


def case_commands(p):
    def run(line):
        match line.split():
            case ["go", ("north" | "south") as where]:
                return where
            case ["drop", *objects] if objects:
                return objects
            case ["quit" | "exit"]:
                return "bye"
            case [word, *_]:
                return f"unknown {word}"
            case []:
                return "nothing"

    return [run(t) for t in ("go north", "go up", "drop a b", "drop", "exit", "")]


def case_subject_tuple(p):
    def kind(a, b):
        match a, b:
            case 0, _:
                return "first"
            case _, 0:
                return "second"
            case x, y if x == y:
                return "equal"
            case x, y:
                return x - y

    return [kind(*v) for v in ((0, 1), (1, 0), (2, 2), (5, 3))]


def case_subject_walrus_and_star(p):
    rest = [2, 3]
    match (n := len(rest)), *rest:
        case k, 2, *more:
            return n, k, more


def case_capture_in_closure(p):
    def make(value):
        match value:
            case {"f": x, **others}:
                return lambda: (x, others)
            case [x]:
                return lambda: x

    return make({"f": 1, "g": 2})(), make([3])()


def case_irrefutable_return_paths(p):
    def f(value):
        try:
            match value:
                case 1:
                    return "one"
                case 2:
                    raise KeyError("two")
                case _:
                    pass
        except KeyError:
            return "caught"
        finally:
            p.log("finally", value)
        return "end"

    return f(1), f(2), f(3)


def case_len_protocol(p):
    class Fixed(collections.abc.Sequence):
        def __len__(self):
            p.log("len")
            return 2

        def __getitem__(self, index):
            p.log("item", index)
            if index >= 2:
                raise IndexError
            return index * 10

    match Fixed():
        case [_]:
            return "one"
        case [a, b]:
            return a, b
