"""Programs that count in attributes of classes, modules and functions, and loops with breaks."""

import importlib
import types

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
graph_break = importlib.import_module(f"{NAME}._dynamo").graph_break

t.manual_seed(0)
X = t.randn(4, 3)
SETTINGS = types.ModuleType("settings")


class Counter:
    count = 0
    last = None

    @classmethod
    def next(cls):
        cls.count += 1
        return cls.count


class Derived(Counter):
    pass


class Counted(nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        type(self).calls += 1
        return self.linear(x) * type(self).calls


MODEL = Counted()


@case(X)
def class_counts(x):
    Counter.count = 0
    for _ in range(3):
        Counter.count += 1
        x = x * Counter.count
    return x, Counter.count


@case(X)
def class_of_a_module_counts(x):
    Counted.calls = 1
    first = MODEL(x)
    return first, MODEL(x), Counted.calls


@case(X)
def class_method_counts(x):
    Counter.count = 0
    return x * Counter.next() + Counter.next(), Counter.count


@case(X)
def derived_class_gets_its_own(x):
    Counter.count = 5
    Derived.count = 0
    y = x + Derived.next()
    return y + Counter.count, Derived.count, Counter.count


@case(X)
def class_keeps_a_tensor(x):
    Counter.last = x.sum(0)
    return x + Counter.last, Counter.last


@case(X)
def class_attribute_by_name(x):
    for name in ("scale", "shift"):
        setattr(Counter, name, len(name))
    y = x * Counter.scale + getattr(Counter, "shift", 0)
    del Counter.scale, Counter.shift
    return y, hasattr(Counter, "scale")


@case(X)
def module_of_settings_counts(x):
    SETTINGS.n = 1
    SETTINGS.n += 1
    return x * SETTINGS.n, SETTINGS.n


@case(X)
def function_counts(x):
    function_counts.calls = 0
    function_counts.calls += 2
    return x + function_counts.calls


@case(X, breaks=3, compiles=4)
def loop_over_range_breaks(x):
    for i in range(4):
        x = x + i
        graph_break()
        x = x * 2
    return x


@case(X, breaks=3, compiles=4)
def loop_over_pairs_breaks(x):
    for i, (a, b) in enumerate(zip([2.0, 3.0, 4.0], range(3), strict=False)):
        x = x * a + i
        graph_break()
        x = x + b
    return x


@case(X, breaks=3, compiles=4)
def loop_over_parts_breaks(x):
    out = []
    for part in x.chunk(4):
        out.append(part.sum())
        graph_break()
    return t.stack(out)


@case(X, [1, 2, 3])
def iterator_of_the_program(x, items):
    rest = iter(items)
    x = x * next(rest)
    return [x + item for item in rest], next(rest, None)
