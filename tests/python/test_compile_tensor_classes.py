"""Calls of tensors' classes inside of captured programs make tensors of the graph."""

import pytest
from under_test import t

X = t.arange(4.0).reshape(2, 2)
counters = t._dynamo.utils.counters
Tensor = t.Tensor


def shown(value):
    if isinstance(value, (tuple, list)):
        return type(value)(shown(item) for item in value)
    if isinstance(value, Tensor):
        return type(value), value.dtype, value.requires_grad, value.tolist(), vars(value)
    return value


class Own(Tensor):
    """A class with a method."""

    def doubled(self):
        return self * 2


class Tagged(Tensor):
    """A class that makes its objects by super()."""

    def __new__(cls, data, *, tag="a"):
        made = super().__new__(cls, data)
        made.tag = tag
        return made


class Wrapped(Tensor):
    """A class that makes its objects of a tensor's values."""

    @staticmethod
    def __new__(cls, data, factor):
        made = Tensor._make_subclass(cls, data)
        made.factor = factor
        return made


class Scaled(Tensor):
    """A class with an __init__ alone."""

    def __init__(self, data):
        self.scale = 3


class Settable(Tensor):
    """A class with a property that is set and deleted."""

    @property
    def scale(self):
        return self.kept

    @scale.setter
    def scale(self, value):
        self.kept = value * 2

    @scale.deleter
    def scale(self):
        self.kept = 1


class Unasked(Tensor):
    """A class whose results are plain."""

    __torch_function__ = t._C._disabled_torch_function_impl


def by_class(x):
    return type(x)([1.0, 2.0]) + x, x.__class__([[1, 2], [3, 4]]) * x


def of_numbers(x):
    return Tensor([1, 2.5]) + x, Tensor((3, 4)), Tensor([]), Tensor([True, False])


def of_sizes(x):
    return Tensor(2, 2).fill_(1) + x, Tensor(x.shape).zero_(), Tensor().numel(), Tensor(3).shape


def of_tensors(x):
    y = Tensor(x * 2)
    return y + 1, Tensor(x.long()), Tensor([x[0, 0], x[1, 1]])


def of_a_class(x):
    return Own(x).doubled(), Own([1.0, 2.0]) + x, type(Own(x) + 1).__name__


def by_super(x):
    y = Tagged(x * 2, tag="b")
    return y, y.tag, y + 1


def by_make_subclass(x):
    y = Wrapped(x, 3)
    return y * y.factor, Tensor._make_subclass(Own, x, False) + 1


def with_init(x):
    y = Scaled(x)
    return y, y * y.scale


def by_new(x):
    return Tensor.__new__(Own, x + 1) * 2, Tensor.__new__(Tensor, [1.0]) + x


def with_property(x):
    y, z = Settable(x), Settable(x)
    y.scale = z.scale = 3
    del z.scale
    return y, y * y.scale, z * z.scale


def of_unasked(x):
    y = Unasked(x * 2)
    return y, type(y).__name__, isinstance(y, Unasked), type(y + 1).__name__, y + 1


def of_parameters(x):
    y = t.nn.Parameter(x * 2, requires_grad=False)
    return y, type(y).__name__, y + 1


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize(
    "program",
    [
        *(by_class, of_numbers, of_sizes, of_tensors, of_a_class, by_super, by_make_subclass),
        *(with_init, by_new, with_property, of_unasked, of_parameters),
    ],
)
def test_calls_of_classes_are_captured(program, backend):
    compiled = t.compile(program, backend=backend, fullgraph=True)
    for x in (X, X + 1):
        assert shown(compiled(x)) == shown(program(x))


def test_the_class_of_an_argument():
    def program(x):
        return type(x)(x.as_subclass(Tensor) * 2).doubled(), x.__class__([1.0, 2.0]) + 1

    compiled = t.compile(program, backend="eager", fullgraph=True)
    x = X.as_subclass(Own)
    assert shown(compiled(x)) == shown(program(x))


def test_memory_is_shared_and_history_is_not():
    def program(x, y):
        Tensor(x).add_(1)
        z = Tensor(y)
        return x * 2, z.requires_grad, y * z

    compiled = t.compile(program, backend="eager", fullgraph=True)
    y = X.clone().requires_grad_()
    got, expected = compiled(X.clone(), y), program(X.clone(), y)
    assert shown(got[:2]) == shown(expected[:2])
    got[2].sum().backward()
    assert y.grad.equal(X)


def test_numbers_and_sizes_that_change():
    def program(x, n):
        return Tensor([n, 2 * n]) + 1, Tensor(x.shape[0], 2).fill_(n)

    t._dynamo.reset()
    counters.clear()
    compiled = t.compile(program, backend="eager", fullgraph=True)
    for n in (2, 3, 4, 5):
        assert shown(compiled(t.ones(n, 2), n)) == shown(program(t.ones(n, 2), n))
    assert counters["stats"]["unique_graphs"] == 2


@pytest.mark.parametrize("data", ["ab", 1.5, None, [1j]])
def test_errors_are_the_programs(data):
    def program(x):
        try:
            return Tensor(data) + x
        except TypeError as error:
            return str(error), x + 1

    compiled = t.compile(program, backend="eager")
    assert shown(compiled(X)) == shown(program(X))


def test_a_class_that_sees_operators_is_a_break():
    class Seen(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            with t._C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    names = []

    def program(x):
        return Seen(x * 2).add(1).sum(), (x * 3).as_subclass(Seen).mul(2).sum()

    expected = shown(program(X))
    seen, names = names, []
    assert shown(t.compile(program, backend="eager")(X)) == expected
    assert names == seen


class Slotted(t.Tensor):
    __slots__ = ("_other", "tag")


class Counted(t.Tensor):
    __slots__ = ("tag",)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, Counted):
            result.tag = getattr(args[0], "tag", 0) + 1
        return result


def write_slots(y):
    y.tag = y.tag * 2
    y._other = y.abs()
    return y * y.tag + y._other


def delete_slot(y):
    had = y.tag
    del y.tag
    texts = []
    for ask in (lambda: y.tag, lambda: delattr(y, "tag")):
        try:
            ask()
        except AttributeError as error:
            texts.append(str(error))
    return y.sin(), had, hasattr(y, "tag"), texts


def make_slots(y):
    made = (y * 2).as_subclass(Slotted)
    made.tag = y.tag
    return made, hasattr(made, "_other")


SLOTS = {
    "read": lambda y: y * y.tag,
    "absent": lambda y: y * getattr(y, "_other", 5),
    "write": write_slots,
    "delete": delete_slot,
    "make": make_slots,
    "of a result": lambda y: (y * 2 + 1) * getattr(y * 2, "tag", 7),
}


@pytest.mark.parametrize("name", SLOTS)
@pytest.mark.parametrize("kind", [Slotted, Counted])
def test_slots_of_tensors(kind, name):
    def tensor(tag):
        y = t.tensor([1.0, -2.0]).as_subclass(kind)
        y.tag = tag
        return y

    def slots_of(value):
        names = [n for n in ("tag", "_other") if hasattr(value, n)]
        return [(n, repr(getattr(value, n))) for n in names]

    compiled = t.compile(SLOTS[name], backend="eager", fullgraph=True)
    for tag in (3, 3, 4):
        given = [tensor(tag), tensor(tag)]
        results = [function(y) for function, y in zip((compiled, SLOTS[name]), given, strict=True)]
        assert repr(results[0]) == repr(results[1])
        assert slots_of(given[0]) == slots_of(given[1])
        first = [r[0] if isinstance(r, tuple) else r for r in results]
        assert type(first[0]) is type(first[1]) and slots_of(first[0]) == slots_of(first[1])
