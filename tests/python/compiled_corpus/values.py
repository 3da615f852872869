"""Programs around numbers, texts and namespaces beside tensors."""

# ruff: noqa: C416, UP032

import cmath
import fractions
import math
import random
import re
import string
import types

from compiled_case import case
from under_test import t

t.manual_seed(0)
X = t.randn(4, 3)


@case(X, 7, 3)
def integer_arithmetic(x, a, b):
    return x * (a // b) + a % b, divmod(-a, b), a**b, -a // b, a & b, a | b, a ^ b, ~a, a << b


@case(X, 7.5, 2)
def float_arithmetic(x, a, b):
    return x * a / b, a // b, a % b, round(a), round(a * 1.01, 1), abs(-a), int(a)


@case(X)
def math_functions(x):
    k = math.floor(2.7) + math.ceil(2.1) + math.gcd(12, 18) + math.factorial(3)
    return x * k, math.log2(8), math.hypot(3, 4), math.isclose(0.1 + 0.2, 0.3), math.inf


@case(X)
def math_of_sizes(x):
    scale = 1 / math.sqrt(x.shape[-1])
    pad = math.ceil(x.shape[0] / 3) * 3 - x.shape[0]
    return x * scale, pad, math.prod(x.shape)


@case(X)
def infinities_and_nans(x):
    low, high, nan = float("-inf"), float("inf"), float("nan")
    return x.clamp(min=low, max=high), nan != nan, low < high, math.isnan(nan)


@case(X, 2 + 3j)
def complex_numbers(x, z):
    return x * abs(z) ** 2 + z.real, z.conjugate(), cmath.phase(1j)


@case(X)
def bool_arithmetic(x):
    flags = [True, False, True]
    return x * sum(flags), True + True, int(False), bool(2)


@case(X, 3)
def conversions(x, n):
    return x * float(n), str(n), int("12"), float("1.5"), hex(255), bin(5), ord("a"), chr(98)


@case(X)
def min_max_sum(x):
    return x * max(1, 2, 3) + min([4, 5]), sum([1, 2], 10), max([], default=0)


@case(X)
def big_integers(x):
    n = 2**70
    return x + 1, n % 1000, (n >> 68), n.bit_length()


@case(X)
def fractions_of_numbers(x):
    half = fractions.Fraction(1, 2) + fractions.Fraction(1, 3)
    return x * float(half), half.numerator


@case(X, 10)
def number_methods(x, n):
    return x * n.bit_length(), (2.5).is_integer(), (0.5).as_integer_ratio(), n.__add__(3)


@case(X, "layer.0.weight")
def text_split_and_joined(x, name):
    parts = name.split(".")
    return x * int(parts[1]), ".".join(parts[::-1]), name.rpartition(".")[2], name.count("e")


@case(X, "weight")
def text_checks(x, name):
    if name.startswith("w") and name.endswith(("t", "s")) and "igh" in name:
        x = x + 1
    return x, name.isalpha(), "12".isdigit(), name.find("h"), name.index("e"), name[1:3]


@case(X, "  Ab c ")
def text_changed(x, s):
    return x, s.strip().lower(), s.upper(), s.replace(" ", "_"), s.title(), s.swapcase(), s.ljust(9)


@case(X, 3, 2.5)
def text_formats(x, n, f):
    a = f"{n:03d} {f:.2f} {n!r:>4} {x.shape} {n + 1=}"
    b = "{} {k}".format(n, k=f)
    c = "%d-%s" % (n, f)
    return x, a, b, c, format(f, "+.1f")


@case(X, ["b", "a"])
def text_joined_from_lists(x, names):
    key = "/".join(sorted(names)) + "!" * 2
    return x * len(key), key, key.encode(), key.encode().decode()


@case(X, "alpha=1, beta=2")
def text_parsed(x, line):
    table = dict(part.split("=") for part in line.split(", "))
    return x * int(table["beta"]), table


@case(X)
def text_translated(x):
    table = str.maketrans("ab", "xy")
    return x, "aabb".translate(table), "a-b_c".casefold(), "abc".zfill(5), string.ascii_letters[:3]


@case(X, "conv1.weight", breaks=1)  # patterns are another package's C function
def text_matched(x, name):
    found = re.match(r"conv(\d+)", name)
    return x * int(found.group(1))


@case(X, "abc")
def text_iterated(x, s):
    return x * len([c for c in s]), [ord(c) for c in s], s * 2, s + "d", sorted(s, reverse=True)


@case(X, b"ab")
def bytes_read(x, data):
    return x * data[0], data + b"c", data.hex(), data.decode()


@case(X)
def slices_as_objects(x):
    s = slice(1, None, 2)
    key = (slice(None), 1)
    return x[s], x[key], s.start, s.indices(7), [1, 2, 3, 4][s]


@case(X)
def hashes_and_ids(x):
    a = ("k", 1)
    return x, hash(a) == hash(("k", 1)), id(a) == id(a), a is a


@case(X)
def random_of_python(x):
    random.seed(3)
    return x * random.random(), random.randint(1, 6)


@case(X)
def random_generator_object(x):
    r = random.Random(5)
    return x * r.uniform(0, 1), r.choice([1, 2, 3])


@case(X)
def comparisons_of_texts(x):
    return x, "a" < "b", "a" == "a", "A" in "CAB", "" == "", "b" > "abc"


@case(X, 4)
def ternaries_with_numbers(x, n):
    step = 2 if n % 2 == 0 else 3
    sign = -1 if n < 0 else 1 if n > 0 else 0
    return x * step * sign


@case(X, 0.1, 3)
def number_arguments_of_operators(x, a, n):
    return x.add(1, alpha=a), x.pow(n), t.full((n,), a), x.clamp(-a, a), t.arange(n)


@case(X, True)
def bool_arguments(x, flag):
    return x.sum(0, keepdim=flag), x.argsort(descending=flag) if flag else x


@case(X, t.float64, "cpu")
def dtypes_and_devices_given(x, dtype, device):
    y = x.to(device=device, dtype=dtype)
    return y, y.dtype == dtype, str(dtype).split(".")[-1], t.finfo(dtype).eps > 0


SETTINGS = types.SimpleNamespace(scale=2.0, deep=types.SimpleNamespace(shifts=[1.0, 2.0]))


@case(X)
def namespace_of_settings(x):
    return x * SETTINGS.scale + SETTINGS.deep.shifts[0]


@case(X, types.SimpleNamespace(size=3, name="a"))
def namespace_asked(x, settings):
    found = hasattr(settings, "depth"), getattr(settings, "depth", 2), sorted(vars(settings))
    return x * settings.size, found, isinstance(settings, types.SimpleNamespace)


@case(X, types.SimpleNamespace(count=0))
def namespace_written(x, state):
    state.count += 1
    state.last = x * state.count
    return state.last + 1


@case(X)
def namespace_made(x):
    return types.SimpleNamespace(value=x * 2, parts=[1, x])


class Scaled(types.SimpleNamespace):
    """A namespace with a method."""

    def of(self, x):
        return x * self.scale


@case(X, Scaled(scale=3.0))
def namespace_with_a_method(x, scaled):
    return scaled.of(x), Scaled(scale=scaled.scale + 1).of(x)


@case(X, types.SimpleNamespace(a=1), breaks=1)
def namespaces_compared(x, settings):
    return x + 1, settings == types.SimpleNamespace(a=1)
