"""Calls of tensors' classes inside of captured programs make tensors of the graph."""

import pytest
from taeda.utils._pytree import tree_map
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


def test_a_class_that_sees_operators_sees_those_of_its_objects():
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


class Held(Tensor):
    """A wrapper whose handler wraps results."""

    @staticmethod
    def __new__(cls, inner, tag="a"):
        return Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner, tag="a"):
        self.inner, self.tag = inner, tag

    def tripled(self):
        return self * 3

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def inner(value):
            return value.inner if isinstance(value, Held) else value

        made = func(*tree_map(inner, args), **tree_map(inner, kwargs or {}))
        return cls(made, "made") if isinstance(made, Tensor) else made


class Indexed(Held):
    """A wrapper with operators of Python's own."""

    def __add__(self, other):
        return self * 100

    def __len__(self):
        return 77

    def sin(self):
        return self * 10


def class_of_answer(x):
    y = x * 2
    return type(y).__name__, isinstance(y, Held), isinstance(y, Tensor), y.inner


def choose_by_class(x):
    y = x.cos() + 1
    z = y * 2 if isinstance(y, (int, Held)) else y * 3
    return z.inner


def parts_of_answer(x):
    y = (x * 2).exp()
    y.note = 5
    return y.tag, hasattr(y, "inner"), hasattr(y, "none"), y.note, y.tripled().inner, x.tag


def own_operators(x):
    return (x + 1).inner, len(x), x.sin().inner, ((x * 2) + 1).inner, len(x * 2)


def write_and_ask(x):
    x.inner = x.inner + 1
    y = (x * 2).exp()
    x.inner.add_(1)
    return y.inner, (x * 2).inner, x.inner


def match_answer(x):
    match x * 2:
        case Held(tag=tag):
            return tag, x.inner
        case _:
            return "none", x.inner


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("kind", [Held, Indexed])
@pytest.mark.parametrize(
    "program",
    [
        *(class_of_answer, choose_by_class, parts_of_answer, own_operators, match_answer),
        write_and_ask,
    ],
)
def test_the_class_of_an_answer_is_the_handlers(program, kind, backend):
    if program is own_operators and kind is Held:
        pytest.skip("has none")
    compiled = t.compile(program, backend=backend)
    for x in (X, X + 1):
        assert repr(compiled(kind(x))) == repr(program(kind(x)))


def test_answers_that_nobody_asks_for_their_class_are_captured():
    def program(x, w):
        y = t.nn.functional.linear(x, w)
        return y.relu() * y.shape[0] + (1 if isinstance(y, Tensor) else 2)

    counters.clear()
    compiled = t.compile(program, fullgraph=True)
    assert compiled(X, Held(X)).inner.equal(program(X, X))


class Named(t.nn.Parameter):
    """A parameter with methods, properties and operators."""

    factor = 3

    def __new__(cls, data, scale=2):
        made = super().__new__(cls, data)
        made.scale = scale
        return made

    def scaled(self):
        return self * self.scale

    @property
    def half(self):
        return self / 2

    @classmethod
    def named(cls):
        return cls.__name__

    def __add__(self, other):
        return self * 10

    def __len__(self):
        return 77

    def __getitem__(self, place):
        return self * 100

    def sin(self):
        return self * 1000


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_methods_of_classes_of_parameters(backend):
    def values_of(x):
        return weight.scaled() + x, weight.half, weight + x, weight[0], weight.sin(), t.sin(weight)

    def told(x):
        return x + 1, len(weight), weight.factor, weight.named(), type(weight).__name__

    weight = Named(X)
    for function in (values_of, told):
        compiled = t.compile(function, backend=backend, fullgraph=True)
        for scale in (2, 2, 5):
            weight.scale = scale
            got, expected = compiled(X), function(X)
            for one, other in zip(got, expected, strict=True):
                is_like = t.equal(one, other) if isinstance(one, Tensor) else one == other
                assert is_like and type(one) is type(other)


class Bumped(Tensor):
    """Operators that go on to those of tensors."""

    def __add__(self, other):
        return super().__add__(other) * 10

    def cos(self):
        return super().cos() + 1


class BumpedParameter(t.nn.Parameter):
    """The same of a parameter."""

    def __add__(self, other):
        return super().__add__(other) * 10


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("make", [lambda: X.as_subclass(Bumped), lambda: BumpedParameter(X)])
def test_operators_of_a_class_run_once(make, backend):
    def program(x):
        return x + 1

    x = make()
    compiled = t.compile(program, backend=backend, fullgraph=True)
    assert compiled(x).equal(program(x)) and type(compiled(x)) is type(program(x))
    if isinstance(x, Bumped):
        compiled = t.compile(lambda x: x.cos(), backend=backend, fullgraph=True)
        assert t.allclose(compiled(x), x.cos())


class Watched(t.nn.Parameter):
    """Attributes are set and deleted in its own way."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value * 2 if name == "doubled" else value)

    def __delattr__(self, name):
        super().__setattr__("gone", name)
        super().__delattr__(name)


def test_attributes_that_a_class_of_tensors_sets():
    def program(x, p):
        p.doubled = p.other = 4
        del p.other
        return p * p.doubled, p.gone, hasattr(p, "other"), x + 1

    compiled = t.compile(program, backend="eager", fullgraph=True)
    one, other = Watched(X), Watched(X)
    for _ in range(2):
        got, expected = compiled(X, one), program(X, other)
        assert shown(got) == shown(expected) and shown(one) == shown(other)


class Preset(Tensor):
    """An attribute of the class that objects replace."""

    tag = "class"


def test_attributes_of_tensors_come_before_those_of_their_class():
    compiled = t.compile(lambda x: (x + 1, x.tag), backend="eager", fullgraph=True)
    x = X.as_subclass(Preset)
    assert compiled(x)[1] == "class"
    x.tag = "own"
    assert compiled(x)[1] == "own"


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


class Shifted(Held):
    """A wrapper whose handler reads what the program writes to."""

    amounts, shift = [0.0], 0.0

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        made = super().__torch_dispatch__(func, types, args, kwargs)
        return cls(made.inner + cls.amounts[0] + cls.shift + AMOUNT.get("a", 0))


AMOUNT = {}


def write_to_an_item(x, number):
    Shifted.amounts[0] = number
    return x * 2


def write_to_a_class(x, number):
    Shifted.shift = number
    return x * 2


def write_for_a_while(x, number):
    y = x * 2
    AMOUNT["a"] = number
    z = y + 1
    del AMOUNT["a"]
    return z * 3


@pytest.mark.parametrize("program", [write_to_an_item, write_to_a_class, write_for_a_while])
def test_handlers_see_what_the_program_wrote_before(program, monkeypatch):
    answers = []
    for function in (program, t.compile(program, backend="eager")):
        monkeypatch.setattr(Shifted, "amounts", [0.0])
        monkeypatch.setattr(Shifted, "shift", 0.0)
        answers.append([function(Shifted(t.ones(2)), n).inner.tolist() for n in (1.0, 2.0, 3.0)])
    assert answers[0] == answers[1]
