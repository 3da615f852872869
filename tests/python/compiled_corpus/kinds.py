"""Programs with classes of classes, generic classes, views of dicts, paths, durations and frames' names."""

import datetime
import importlib
import inspect
import json
import pathlib
import types
import typing

from compiled_case import case
from under_test import NAME, t

t.manual_seed(0)
X = t.randn(4, 3)
while_loop = importlib.import_module(f"{NAME}._higher_order_ops.while_loop").while_loop


class Counted(type):
    """Notes what it makes, and has items, a length and members."""

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.is_noted = True
        return made

    def __getitem__(cls, key):
        return key * 3

    def __len__(cls):
        return 9


class Scale(metaclass=Counted):
    def __init__(self, by, *, shift=0):
        self.by, self.shift = by, shift


class One(type):
    _made = {}

    def __call__(cls, *args):
        if cls not in cls._made:
            cls._made[cls] = super().__call__(*args)
        return cls._made[cls]


class Settings(metaclass=One):
    def __init__(self):
        self.scale = 4


Item = typing.TypeVar("Item")


class Box(typing.Generic[Item]):
    def __init__(self, value):
        self.value = value


class Table:
    def __class_getitem__(cls, key):
        return key + 2


class Row(typing.TypedDict):
    width: int
    name: str


def scaled(x, by=2, *, shift=3):
    return x * by + shift


@case(X)
def made_by_a_class_of_classes(x):
    scale = Scale(2, shift=1)
    return x * scale.by + scale.shift, scale.is_noted, Scale(3)


@case(X)
def items_of_classes(x):
    return x * Scale[2] + Table[3] + len(Scale)


@case(X)
def made_once(x):
    return x * Settings().scale, Settings() is Settings()


@case(X)
def generic_classes(x):
    box = Box[int](2)
    return x * box.value, list[int], dict[str, int] == dict[str, int], len(list[int]([1, 2]))


@case(X)
def typed_dicts(x):
    row = Row(width=3, name="a")
    return x + row["width"], row


@case(X, {"a": 2.0, "b": 3.0})
def views_passed_on(x, given):
    def total(values, names, pairs):
        return sum(values) + len(names & {"a"}) + sum(v for _, v in pairs)

    return x * total(given.values(), given.keys(), given.items())


def _given_views(make):
    def through(x, view):
        return [x * i for i, _ in enumerate(view)], len(view)

    made = {"a": 1, "b": 2}
    through.__name__ = f"{make}_given"
    # Views cannot be copied: the programs make them of what is copied.
    view = getattr(made, make)()
    through.__defaults__ = (view,)
    return through


for _make in ("keys", "values", "items"):
    case(X)(_given_views(_make))


@case(X, {"a": 1})
def mapping_shown(x, given):
    shown = types.MappingProxyType(given)
    return x + shown["a"], list(shown.keys()), len(shown)


@case(X, datetime.timedelta(days=2))
def durations(x, given):
    step = datetime.timedelta(hours=6)
    return x + given.days, x * given.total_seconds(), given + step, given // step


@case(X, pathlib.PurePosixPath("/models/small"))
def paths(x, root):
    file = root / "weights" / "a.bin"
    return x + len(file.parts), file.suffix, str(file.with_suffix(".txt")), file.parent.name


@case(X)
def names_of_the_module(x):
    return x + ("Scale" in globals()), globals()["scaled"](x)


@case(X)
def keyword_defaults_read(x):
    names = inspect.getfullargspec(scaled)
    return x + scaled.__kwdefaults__["shift"], names.args, names.kwonlydefaults


@case(X)
def arguments_bound(x):
    bound = inspect.signature(scaled).bind(x, shift=1)
    bound.apply_defaults()
    return scaled(*bound.args, **bound.kwargs), dict(bound.arguments)["by"]


@case(X, slice(1, 3))
def slice_given(x, part):
    return x[part], part.start, x[:, slice(0, part.stop)]


@case(X, {"a": [1, 2]}, breaks=2)
def text_of_settings(x, settings):
    return x * 2, json.dumps(settings), x + 1


@case(X)
def note_on_an_error(x):
    try:
        raise ValueError("no")
    except ValueError as error:
        error.add_note("told")
        notes = list(error.__notes__)
    return x + 1, notes


@case(X)
def loop_of_integers(x):
    number, last = while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2), (0, x))
    return last + 1, number


class Shadowed(type):
    __dict__ = property(lambda cls: {"a": 1})


class Bare(metaclass=Shadowed):
    scale = 3


@case(X)
def classes_read_by_descriptors(x):
    names = type.__dict__["__dict__"].__get__(Bare)
    lines = type.__dict__["__mro__"].__get__(Bare)
    return x * names["scale"] + Bare.__dict__["a"], [one.__name__ for one in lines]
