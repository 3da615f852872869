"""Operators, comparisons, slices, unpacking, and functions too large for one-byte arguments."""

from frames_corpus import over, pure


def _made(source):
    """The function `made` that a source text defines."""
    namespace = {}
    exec(source, namespace)
    return namespace["made"]


@pure
def case_chained_comparison(p):
    a, b, c = 1, 5, 9
    return a < b < c, a < b > c, a <= b != c >= b == 5, not a < b < 3 < 100


@pure
def case_comparison_kinds(p):
    a, b = [1], [1]
    return a == b, a != b, a is b, a is not b, 1 in a, 2 not in a, a <= b, a > b


@pure
def case_walrus(p):
    if (n := 10) > 5 and (m := n * 2) > 15:
        return n, m, (k := n + m), k
    return None


@pure
def case_conditional_expressions(p):
    def sign(x):
        return "negative" if x < 0 else "zero" if x == 0 else "positive"

    return sign(-1), sign(0), sign(1)


@pure
def case_short_circuit(p):
    empty, full, none = [], [1], None
    return (
        empty or full, full and empty, none or 0 or "", full and none and empty,
        not (empty or none), (empty and full) or (full and "last"),
    )  # fmt: skip


def case_short_circuit_calls(p):
    def say(name, value):
        p.log(name)
        return value

    first = say("a", 0) or say("b", 1) and say("c", 2)
    second = say("d", 0) and say("e", 1) or say("f", [])
    return first, second


@pure
def case_slices(p):
    data = list(range(10))
    low, high, step = 2, 8, 3
    return data[low:high], data[::step], data[high:low:-1], data[:], data[-3:], "text"[1:][:2]


def case_slice_stores(p):
    data = list(range(8))
    data[1:3] = "abc"
    data[::4] = [-1, -2, -3]
    del data[2:4]
    del data[-1]
    data[len(data) :] = (7,)
    return data


def case_subscript_in_place(p):
    data = {"a": [1, 2], "b": {"c": 3}}
    data["a"][0] += 10
    data["b"]["c"] **= 2
    data["a"] += [5]
    data["b"] |= {"d": 0}
    return data


def case_starred_displays(p):
    a, b, m = [1, 2], (3,), {"x": 1}
    return [*a, 0, *b], (*b, *a), {*a, *b}, {**m, "y": 2, **{"x": 3}}, [*range(2), *"ab"]


@pure
def case_unpacking(p):
    a, (b, *c), d = 1, "xyz", {2}
    *head, last = range(4)
    first, *middle, end = [1, 2, 3, 4]
    [one] = (1,)
    return a, b, c, d, head, last, first, middle, end, one


def case_unpacking_errors(p):
    def attempt(values):
        try:
            a, b = values
            return a + b
        except (TypeError, ValueError) as error:
            return str(error)

    def starred(values):
        try:
            a, *b, c = values
            return a, b, c
        except ValueError as error:
            return str(error)

    return [attempt(v) for v in ((1,), (1, 2, 3), 5, iter("ab"), "abc")], starred([1])


def case_swap_and_rotate(p):
    a, b, c, d = 1, 2, 3, 4
    a, b = b, a
    a, b, c = c, a, b
    a, b, c, d = d, c, b, a
    x = y = [a]
    y.append(b)
    return a, b, c, d, x


def case_in_place_operators(p):
    x, values = 100, [1]
    x += 5
    x -= 1
    x *= 2
    x //= 3
    x %= 50
    x <<= 3
    x >>= 1
    x |= 1
    x ^= 7
    x &= 0xFF
    y = x
    y /= 4
    values *= 3
    values += (9,)
    return x, y, values


def case_in_place_fallback(p):
    class Number:
        def __init__(self, value):
            self.value = value

        def __iadd__(self, other):
            p.log("iadd", other)
            self.value += other
            return self

        def __sub__(self, other):
            p.log("sub", other)
            return Number(self.value - other)

    first = second = Number(1)
    first += 4
    first -= 2
    return first.value, second.value


@pure
def case_big_numbers(p):
    a = 10**30
    return a * a // 7, a % 97, -a >> 40, (a - 1) & 0xFFFF, divmod(-a, 13), a / 3, 2**-3, 7 // -2


@pure
def case_matrix_and_reflected(p):
    class Left:
        def __matmul__(self, other):
            return NotImplemented

        def __lt__(self, other):
            return NotImplemented

    class Right:
        def __rmatmul__(self, other):
            return "rmatmul"

        def __gt__(self, other):
            return "gt"

    return Left() @ Right(), Left() < Right()


def case_operator_errors(p):
    results = []
    for make in (
        lambda: 1 + "a",
        lambda: [] < 1,
        lambda: -"a",
        lambda: None[0],
        lambda: 1 / 0,
        lambda: {}["k"],
        lambda: 3 in 4,
        lambda: [1][5],
    ):
        try:
            make()
        except Exception as error:
            results.append((type(error).__name__, str(error)))
    return results


@pure
def case_rich_comparison_results(p):
    class Vague:
        def __eq__(self, other):
            return "maybe"

        def __lt__(self, other):
            return []

    v = Vague()
    return v == 1, v != 1, v < 2, (v < 2 < 3), 1 == v, (v == 1 == v)


def case_truth_values(p):
    class Truth:
        def __init__(self, value):
            self.value = value

        def __bool__(self):
            p.log("bool", self.value)
            return self.value

    yes, no = Truth(True), Truth(False)
    out = []
    if yes and not no:
        out.append(1)
    while no:
        out.append(2)
    out.append((yes or no) is yes)
    out.append("t" if no else "f")
    return out


def case_truth_errors(p):
    class Bad:
        def __bool__(self):
            raise ValueError("undecided")

    for attempt in range(3):
        try:
            if attempt == 0 and Bad():
                return "if"
            if attempt == 1:
                while Bad():
                    return "while"
            if attempt == 2:
                return not Bad()
        except ValueError as error:
            p.log(attempt, str(error))
    return "none"


@pure
def case_lambdas_in_expressions(p):
    return (lambda x: lambda y: x * y)(3)(4), (lambda *a, **k: (a, k))(1, 2, z=3)


def case_while_else(p):
    n, out = 10, []
    while n > 0:
        n -= 3
        if n == 4:
            continue
        out.append(n)
    else:
        out.append("else")
    while True:
        n += 1
        if n > 2:
            break
    else:
        out.append("never")
    return n, out


def case_for_else(p):
    out = []
    for limit in (3, 9):
        for i in range(5):
            if i == limit:
                break
        else:
            out.append(("exhausted", limit))
            continue
        out.append(("broke", i))
    return out


@pure
def case_string_operations(p):
    s = "abc"
    return s * 2 + s[::-1], s < "abd", "b" in s, s.upper(), "%s-%05.1f" % (s, 2.25)


@pure
def case_constants(p):
    return ..., None, True, b"bytes", 1.5e300, 2j, (1, (2, (3,))), frozenset({1}), "é€", -0.0


def case_attribute_stores(p):
    class Box:
        pass

    box = Box()
    box.a = 1
    box.a += 4
    box.b = box.c = [box.a]
    box.b[0] -= 2
    del box.c
    box.inner = Box()
    box.inner.value = 3
    box.inner.value *= box.a
    return sorted((k, v) for k, v in vars(box).items() if k != "inner"), box.inner.value


def case_evaluation_order(p):
    def f(name, value=0):
        p.log(name)
        return value

    data = [0, 0, 0]
    data[f("index", 1)] = f("value", 5)
    {f("k1", "a"): f("v1"), f("k2", "b"): f("v2")}
    f("callee", max)(f("arg1", 1), f("arg2", 2), *f("star", [3]), key=f("key", None))
    f("left", 1) + f("right", 2) * f("third", 3)
    return data


_many_constants = _made(
    "def made(n):\n    total = 0\n"
    + "".join(f"    total += {1000 + i} * n\n" for i in range(300))
    + "    return total\n"
)

_many_locals = _made(
    "def made(n):\n"
    + "".join(f"    local_{i} = n + {i % 7}\n" for i in range(280))
    + "    return local_279 + local_3 - local_260\n"
)

_many_names = _made(
    "def made(box):\n"
    + "".join(f"    box.name_{i} = box.name_{max(i - 1, 0)} + 1\n" for i in range(270))
    + "    return box.name_269\n"
)

_long_jump = _made(
    "def made(n):\n    total = 0\n    for i in range(n):\n        if i % 2:\n"
    + "            total += i\n" * 150
    + "        else:\n"
    + "            total -= i\n" * 150
    + "    return total\n"
)

_many_cells = _made(
    "def made(n):\n"
    + "".join(f"    cell_{i} = n + {i}\n" for i in range(260))
    + "    return lambda: cell_0 + cell_259 + "
    + " + ".join(f"cell_{i}" for i in range(1, 259))
    + "\n"
)

_long_list = _made(
    "def made(n):\n    return ["
    + ", ".join(f"n + {i}" for i in range(300))
    + "], ("
    + ", ".join(f"n - {i}" for i in range(260))
    + ")\n"
)

_many_arguments = _made(
    "def made(" + ", ".join(f"a{i}" for i in range(260)) + ", *, k=1):\n    return a0 + a259 + k\n"
)


@pure
@over(_many_constants)
def case_extended_constants(p):
    return _many_constants(3)


@pure
@over(_many_locals)
def case_extended_locals(p):
    return _many_locals(3)


@over(_many_names)
def case_extended_names(p):
    class Box:
        name_0 = 1

    return _many_names(Box())


@over(_long_jump)
def case_extended_jumps(p):
    return _long_jump(4)


@over(_many_cells)
def case_extended_cells(p):
    return _many_cells(2)()


@over(_long_list)
def case_extended_displays(p):
    first, second = _long_list(1)
    return sum(first), sum(second), first[299], second[259]


@over(_many_arguments)
def case_extended_arguments(p):
    return _many_arguments(*range(260)), _many_arguments(*range(260), k=7)
