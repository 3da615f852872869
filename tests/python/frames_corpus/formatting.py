"""F-strings, format specifications, conversions and the % operator."""

import datetime
import string
from decimal import Decimal

from frames_corpus import over, pure


@pure
def case_plain(p):
    name, n = "x", 3
    return f"{name}", f"{name}{n}", f"a {name} b {n} c", f"", f"no fields", f"{n}joined{name}"


@pure
def case_conversions(p):
    value = "é\n"
    return f"{value!r}", f"{value!s}", f"{value!a}", f"{1!r:>5}", f"{value!r:*^10}"


@pure
def case_numbers(p):
    n, x = 1234567, 3.14159
    return f"{n:,}", f"{n:_x}", f"{n:#010b}", f"{x:.2f}", f"{x:+8.3e}", f"{0.25:.0%}", f"{n:>12d}"


@pure
def case_alignment(p):
    s = "ab"
    return f"[{s:<5}]", f"[{s:>5}]", f"[{s:^5}]", f"[{s:*^6}]", f"[{s:.1}]", f"{-5:=+4d}", f"{5:05}"


@pure
def case_nested_specifications(p):
    width, precision, fill = 8, 2, "."
    return f"{3.14159:{width}.{precision}f}", f"{'x':{fill}>{width}}", f"{5:{'0'}{width}}"


@pure
def case_debug(p):
    x, y = 3, "t"
    return f"{x=}", f"{x = }", f"{y=!s}", f"{x + 1=:>4}", f"{y=}"


@pure
def case_expressions(p):
    data, f = {"k": [1, 2]}, lambda a, b=2: a * b
    return (
        f"{data['k'][1]}",
        f"{f(3, b=4)}",
        f"{1 if data else 2}",
        f"{(lambda: 5)()}",
        f"{len(data):>3}",
    )


@pure
def case_escapes(p):
    x = 1
    return f"{{}}", f"{{{x}}}", f"\t{x}\n", rf"\d{x}", f"\N{BULLET}{x}"


def case_multiline(p):
    items = ["a", "b"]
    text = f"""head
    {len(items)} items
    {", ".join(items)}
    {items[0].upper()}"""
    return text


def case_custom_format(p):
    class Money:
        def __init__(self, n):
            self.n = n

        def __format__(self, spec):
            p.log("format", spec)
            return f"${self.n}" if not spec else f"{self.n:{spec}} USD"

        def __repr__(self):
            return "Money!"

        def __str__(self):
            return "money"

    m = Money(5)
    return f"{m}", f"{m:>4}", f"{m!r}", f"{m!s:>7}", format(m), str(m)


def case_format_errors(p):
    class Bad:
        def __format__(self, spec):
            return 5

    class Raises:
        def __repr__(self):
            raise KeyError("repr")

    out = []
    for make in (
        lambda: f"{'a':d}",
        lambda: f"{Bad()}",
        lambda: f"{Raises()!r}",
        lambda: f"{3:q}",
        lambda: f"{[]:>3}",
        lambda: f"{undefined}",
        lambda: f"{1 / 0}",
    ):
        try:
            out.append(make())
        except Exception as error:
            out.append((type(error).__name__, str(error)))
    return out


def case_evaluation_order(p):
    def f(name):
        p.log(name)
        return name

    return f"{f('a')}{f('b'):{f('>')}{f('4')}}{f('c')!r}"


def case_in_loops_and_closures(p):
    prefix = "n"
    rows = [f"{prefix}{i}:{i * i:>3}" for i in range(3)]
    makers = [lambda i=i: f"{prefix}-{i}" for i in range(2)]
    prefix = "m"
    return rows, [f() for f in makers]


@pure
def case_nested_fstrings(p):
    a, b = 1, "x"
    return f"{f'{a}{b}'}", f"{f'<{a:>{2}}>'}", f"{'%s' % b}"


@pure
def case_percent(p):
    values = {"a": 1, "b": 2.5}
    return (
        "%s and %r" % ("x", "y"),
        "%(a)d %(b).1f" % values,
        "%5.1f|%-4d|%%" % (2.25, 3),
        "%x" % 255,
    )


def case_percent_errors(p):
    out = []
    for text, value in (("%d", "a"), ("%s %s", (1,)), ("%(k)s", {}), ("%q", 1), ("%s", (1, 2))):
        try:
            out.append(text % value)
        except (TypeError, ValueError, KeyError) as error:
            out.append((type(error).__name__, str(error)))
    return out


def case_str_format(p):
    class A:
        x = [1, {"k": 2}]

    return (
        "{0} {1} {0}".format("a", "b"),
        "{a.x[1][k]} {b!r:>5}".format(a=A(), b="s"),
        "{:{}}|{:{w}.{p}}".format("x", 4, 3.14159, w=6, p=3),
        "{k}".format_map({"k": 1}),
    )


@pure
def case_dates_and_decimals(p):
    day = datetime.date(2024, 2, 29)
    return f"{day:%Y/%m/%d}", f"{day!s}", f"{Decimal('1.50'):.1f}", f"{day:%A}", f"{Decimal(5):>4}"


@over(string.Formatter.vformat, string.Formatter._vformat, string.Formatter.get_field)
def case_string_formatter(p):
    class Upper(string.Formatter):
        def convert_field(self, value, conversion):
            if conversion == "u":
                return str(value).upper()
            return super().convert_field(value, conversion)

        def get_value(self, key, args, kwargs):
            p.log("value", key)
            return super().get_value(key, args, kwargs)

    return Upper().format("{0!u} {name:>{width}}", "a", name="n", width=4)


@over(string.Template.substitute, string.Template.safe_substitute)
def case_template(p):
    text = string.Template("$who likes ${what}, $$5 $missing")
    try:
        text.substitute(who="a", what="b")
    except KeyError as error:
        p.log(repr(error))
    return text.safe_substitute({"who": "a"}, what="b")


@pure
def case_join_and_repeat(p):
    x = 5
    return "-" * x + f"{x}" + "=" * 2, " ".join((f"{x}", f"{x + 1}")), (f"ab{x}").upper()


@pure
def case_bytes_formatting(p):
    return b"%d %s" % (5, b"x"), b"%x" % 255, b"".join((b"a", b"%c" % 66)), f"{b'x'!r}"


def case_str_subclass(p):
    class Loud(str):
        def __format__(self, spec):
            p.log("spec", spec)
            return self.upper()

        def __str__(self):
            return "str"

    value = Loud("quiet")
    return f"{value}", f"{value!s}", "%s" % value, "{}".format(value), f"{value:x}"


def case_many_parts(p):
    a, b, c = 1, 2.5, "z"
    return f"{a}{b}{c}{a:02}{b:.2f}{c:>3}{a}{b}{c}{a:02}{b:.2f}{c:>3}|{a}-{b}-{c}-{a + 1}-{b * 2}-{c * 2}"


def case_walrus_and_lambda_inside(p):
    text = f"{(n := 5)} {n + 1} {(lambda x: x * 2)(n)} {[i for i in range(n) if i > 2]}"
    return text, n
