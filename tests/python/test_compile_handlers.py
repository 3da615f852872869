"""Captures know what classes with `__torch_dispatch__` answer, and what their handlers write."""

import collections
import dataclasses
import itertools
import sys
import typing

import pytest
from taeda.utils._python_dispatch import return_and_correct_aliasing
from taeda.utils._pytree import tree_map
from under_test import t

aten = t.ops.aten
counters = t._dynamo.utils.counters
BACKENDS = ["eager", "aot_eager", "inductor"]


def values():
    return t.arange(1.0, 5.0).reshape(2, 2)


class Scaled(t.Tensor):
    """`values * factor`; views and writes keep the class."""

    @staticmethod
    def __new__(cls, values, factor):
        return t.Tensor._make_wrapper_subclass(
            cls, values.shape, strides=values.stride(), dtype=values.dtype
        )

    def __init__(self, values, factor):
        self.values, self.factor = values, factor

    @property
    def half(self):
        return self.factor / 2

    def plain(self):
        return self.values * self.factor

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is aten.mul.Tensor and not isinstance(args[1], t.Tensor):
            return cls(args[0].values, args[0].factor * args[1])
        if func is aten.mul_.Tensor:
            args[0].factor = args[0].factor * args[1]
            return args[0]
        if func in (aten.detach.default, aten.view.default):
            out = cls(func(args[0].values, *args[1:]), args[0].factor)
            return return_and_correct_aliasing(func, args, kwargs, out)
        args, kwargs = tree_map(_as_plain, (args, kwargs or {}))
        return func(*args, **kwargs)


def _as_plain(value):
    return value.plain() if isinstance(value, Scaled) else value


class Two(t.Tensor):
    """Computes with two tensors at once."""

    __slots__ = ("a", "b")
    calls = 0

    @staticmethod
    def __new__(cls, a, b):
        self = t.Tensor._make_wrapper_subclass(
            cls, a.shape, strides=a.stride(), storage_offset=a.storage_offset(), dtype=a.dtype
        )
        self.a, self.b = a, b
        return self

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        note(func, args)
        a, b = (
            func(*tree_map(part, args), **tree_map(part, kwargs or {}))
            for part in (lambda v: getattr(v, "a", v), lambda v: getattr(v, "b", v))
        )
        out = tree_map(lambda x, y: cls(x, y) if isinstance(x, t.Tensor) else x, a, b)
        return return_and_correct_aliasing(func, args, kwargs or {}, out)


def note(func, args):
    """What handlers of `Two` write, which tests replace."""


def shown(value):
    if isinstance(value, Scaled):
        return "Scaled", shown(value.values), value.factor, value.requires_grad
    if isinstance(value, Two):
        return "Two", shown(value.a), shown(value.b), value.requires_grad
    if isinstance(value, t.Tensor):
        return type(value).__name__, value.tolist(), value.dtype, value.requires_grad
    return tree_map(shown, value) if isinstance(value, (tuple, list, dict)) else value


KINDS = {
    "scaled": lambda: Scaled(values(), 0.5),
    "two": lambda: Two(values(), values() * 3),
    "nested": lambda: Two(Scaled(values(), 0.5), Scaled(values() * 2, 0.25)),
    "inside": lambda: Scaled(Two(values(), values() + 1), 0.5),
}


def parts_of(y):
    return (y.values, y.factor, y.half) if isinstance(y, Scaled) else (y.a, y.b)


def classes(x):
    y = x * 2
    z = y + 1
    return type(y).__name__, type(z) is type(x), isinstance(y, (Scaled, Two)), y, z


def parts(x):
    y = x * 2
    return parts_of(y), hasattr(y, "none"), y * 3


def views(x):
    y = x.view(-1)
    a, b = x.unbind(0)
    return type(y).__name__, parts_of(y), y.shape, type(a).__name__, a + b


def writes(x):
    y = x * 2
    y.mul_(3)
    return parts_of(y), y


def writes_to_argument(x):
    x.mul_(2)
    return parts_of(x), x + 1


def items(x):
    y = t.cat([x, x * 2])
    y[0] = 5.0
    return type(y).__name__, y, y[1] * 2


def composites(x):
    y = t.nn.functional.linear(t.ones(3, 2), x)
    return type(y).__name__, y.relu(), x.new_ones(2), t.zeros_like(x)


def structures(x):
    y = x * 2
    return {"all": [y, (parts_of(y), y.sin())]}, [type(part).__name__ for part in y.chunk(2)]


def attributes(x):
    y = x * 2
    y.note = 5
    y.more = [1, parts_of(y)[0]]
    return y.note, len(y.more), y.cos() if y.note == 4 else y


def in_loops(x):
    y = x
    for _ in range(3):
        y = y * 2 if isinstance(y, (Scaled, Two)) else y + 1
    return y


def matched(x):
    match x * 2:
        case Scaled(factor=factor):
            return factor
        case Two(a=a):
            return a


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "program",
    [
        *(classes, parts, views, writes, writes_to_argument, items, composites),
        *(structures, attributes, in_loops, matched),
    ],
)
def test_answers_are_known(program, kind, backend):
    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(2):
        one, other = KINDS[kind](), KINDS[kind]()
        assert shown(compiled(one)) == shown(program(other))
        assert shown(one) == shown(other)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind, backend):
    def program(x):
        y = x * 2
        with t.no_grad():
            z = y * 3
        w = t.nn.functional.linear(t.ones(3, 2), y)
        return w.sin() + 1, y.requires_grad, type(z).__name__, z.requires_grad, type(w).__name__

    if kind == "inside":
        pytest.skip("its detach is no view")
    compiled = t.compile(program, backend=backend, fullgraph=True)
    found = []
    for function in (compiled, program):
        x = KINDS[kind]().requires_grad_()
        result = function(x)
        result[0].sum().backward()
        found.append((shown(result), shown(x.grad)))
    assert found[0] == found[1]


def of_grad(x):
    made = t.func.grad(lambda q: (q * q).sum())(x)
    return type(made).__name__, made


def of_vmap(x):
    made = t.func.vmap(lambda q: q * 2 + 1)(x)
    return type(made).__name__, made, made.sin()


def of_vjp(x):
    out, pull = t.func.vjp(lambda q: q * 2, x)
    return type(out).__name__, type(pull(out)[0]).__name__, pull(out)[0]


@pytest.mark.parametrize("program", [of_grad, of_vmap, of_vjp])
def test_answers_inside_of_function_transforms(program):
    compiled = t.compile(program, backend="eager", fullgraph=True)
    assert shown(compiled(KINDS["two"]())) == shown(program(KINDS["two"]()))


def test_guards_of_answers():
    def program(x):
        y = x * 2
        return y.factor, y

    class Shifted(Scaled):
        shift = 1.0

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is aten.mul.Tensor:
                return cls(args[0].values, args[0].factor * args[1] + cls.shift)
            return super().__torch_dispatch__(func, types, args, kwargs)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for factor in (0.5, 0.5, 2.0, 3.0):
        assert compiled(Scaled(values(), factor))[0] == factor * 2
    assert compiled(Shifted(values(), 1.0))[0] == 3
    Shifted.shift = 5.0
    assert compiled(Shifted(values(), 1.0))[0] == 7
    assert compiled(Shifted(t.ones(3, dtype=t.float64), 1.0))[1].values.dtype == t.float64
    Shifted.__torch_dispatch__ = classmethod(lambda cls, func, types, args, kwargs=None: args[0])
    assert compiled(Shifted(values(), 1.0))[0] == 1


def test_sizes_that_change():
    def program(x):
        y = x * 2
        return y.a.shape, y.shape, y

    t._dynamo.reset()
    counters.clear()
    compiled = t.compile(program, backend="eager", fullgraph=True)
    for n in (2, 3, 4, 5):
        x = Two(t.ones(n, 2), t.zeros(n, 2))
        assert shown(compiled(x)) == shown(program(x))
    assert counters["stats"]["unique_graphs"] == 2


def test_marked_sizes_hold_for_the_tensors_inside():
    def program(x):
        y = x * 2
        return y.a, y.shape[0], y

    t._dynamo.reset()
    counters.clear()
    compiled = t.compile(program, backend="eager", fullgraph=True)
    for n in (4, 5, 6):
        x = Two(t.ones(n, 3), t.ones(n, 3))
        t._dynamo.mark_dynamic(x, 0)
        assert shown(compiled(x)) == shown(program(x))
    assert counters["stats"]["unique_graphs"] == 1


def test_offsets_are_guarded():
    def program(x):
        return x + 1, x[1:].storage_offset()

    compiled = t.compile(program, backend="eager", fullgraph=True)
    memory = t.arange(10.0)
    for start in (0, 3, 3, 5):
        x = memory[start : start + 4]
        assert compiled(x)[1] == start + 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrappers_that_the_program_makes(backend):
    def program(x):
        y = Scaled(x * 2, 3.0)
        z = y * 2
        y.factor = 10.0
        w = Two(x, x.cos())
        return z.factor, z.values, y * 2, type(w.sin()).__name__, (w * 2).b, w

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(2):
        assert shown(compiled(values())) == shown(program(values()))


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a wrapper holds its numbers."""

    bits: int
    by_row: bool = True


Settings = collections.namedtuple("Settings", "pad")


class Rounded(t.Tensor):
    """Numbers of few bits, with a table of handlers."""

    __slots__ = ("layout", "numbers", "scale", "settings")
    table: typing.ClassVar[dict] = {}

    @staticmethod
    def __new__(cls, numbers, scale, layout, settings=Settings(0)):
        self = t.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=scale.dtype)
        self.numbers, self.scale, self.layout, self.settings = numbers, scale, layout, settings
        return self

    @classmethod
    def of(cls, x, layout):
        scale = x.abs().amax(1, keepdim=True) / 2 ** (layout.bits - 1)
        return cls((x / scale).round().to(t.int8), scale, layout)

    def plain(self):
        return self.numbers.to(self.scale.dtype) * self.scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func not in cls.table:
            raise NotImplementedError(f"no {func}")
        return cls.table[func](func, *args, **(kwargs or {}))


def each(func, x):
    return Rounded(func(x.numbers), func(x.scale), x.layout, x.settings)


def rounded_product(func, a, b):
    assert b.settings.pad == 0 and b.layout.by_row
    return func(a, b.numbers.to(a.dtype)) * b.scale


Rounded.table |= {aten.t.default: each, aten.detach.default: each, aten.mm.default: rounded_product}


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrappers_with_settings(backend):
    def program(x, w):
        made = Rounded.of(x, Layout(w.layout.bits + 1))
        y = t.nn.functional.linear(x, w)
        same = made.t().layout == Layout(5), w.t().settings, type(made.t()).__name__
        return y, same, made.plain(), t.nn.functional.linear(x, made), made.layout.bits

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(2):
        w = Rounded.of(values() + 1, Layout(4))
        assert shown(compiled(values(), w)) == shown(program(values(), w))


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrappers_as_parameters_and_buffers(backend):
    class Layer(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = t.nn.Parameter(KINDS["two"]())
            self.register_buffer("bias", Two(t.ones(2), t.ones(2) * 2))
            self.last = None

        def forward(self, x):
            y = x @ self.weight + self.bias
            self.last = y
            return y.relu(), type(y).__name__, y.a

    layer = Layer()
    compiled = t.compile(layer, backend=backend, fullgraph=True)
    found = []
    for module in (compiled, layer):
        layer.weight.grad = layer.last = None
        result = module(t.ones(3, 2))
        result[0].sum().backward()
        found.append((shown(result), shown(layer.last), shown(layer.weight.grad)))
    assert found[0] == found[1]


# ---- what handlers write ----

CALLS, SEEN, TABLE = [], set(), {}
RECENT = collections.deque()
COUNTER = itertools.count()
TOTAL = 0


class State:
    """An object that handlers count in."""

    count = 0


STATE = State()


def count_in_global(func, args):
    global TOTAL
    TOTAL += 1


def count_in_object(func, args):
    STATE.count += 1


def count_in_class(func, args):
    State.count += 1


def count_by_iterator(func, args):
    STATE.count = next(COUNTER)


def count_in_dict(func, args):
    TABLE[str(func)] = TABLE.get(str(func), 0) + 1


WRITERS = {
    "list": lambda func, args: CALLS.append(f"{func} {func.__name__}"),
    "shape": lambda func, args: CALLS.append(tuple(args[0].shape)),
    "set": lambda func, args: SEEN.add(func.__name__),
    "deque": lambda func, args: RECENT.append(func),
    "length": lambda func, args: CALLS.append(1) or CALLS.append(len(CALLS)),
    "print": lambda func, args: print("called", func),
    **{
        function.__name__: function
        for function in (
            *(count_in_global, count_in_object, count_in_class, count_by_iterator),
            count_in_dict,
        )
    },
}


def reset(monkeypatch):
    for container in (CALLS, SEEN, TABLE, RECENT):
        container.clear()
    for name, value in (("TOTAL", 0), ("COUNTER", itertools.count()), ("STATE", State())):
        monkeypatch.setitem(globals(), name, value)
    State.count = 0


def state():
    return (*map(list, (CALLS, sorted(SEEN), TABLE.items(), RECENT)), TOTAL, STATE.count)


def no_reads(x):
    return (x * 2).sin().a


def reads_before(x):
    before = len(CALLS), TOTAL, STATE.count
    return (x * 2).a, before


def reads_behind(x):
    y = x * 2
    return y.a, len(CALLS), TOTAL, STATE.count, sorted(SEEN), len(TABLE), len(RECENT)


def writes_around(x):
    global TOTAL
    CALLS.append("before")
    STATE.count = TOTAL = 5
    y = x * 2
    CALLS.append("behind")
    STATE.count += 1
    TOTAL += 1
    return y.sin().b


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("program", [no_reads, reads_before, reads_behind, writes_around])
def test_what_handlers_write_is_seen_in_time(program, writer, monkeypatch, capsys):
    monkeypatch.setitem(globals(), "note", WRITERS[writer])
    found = []
    for function in (t.compile(program, backend="eager"), program):
        reset(monkeypatch)
        results = [shown(function(KINDS["two"]())) for _ in range(3)]
        found.append((results, state(), capsys.readouterr().out))
    assert found[0] == found[1]


# Since Python 3.12 iterators of itertools do not tell where they are.
UNSEEN = {"length"} | ({"count_by_iterator"} if sys.version_info >= (3, 12) else set())


@pytest.mark.parametrize("writer", [w for w in WRITERS if w not in UNSEEN])
def test_handlers_that_write_break_nothing_and_need_no_new_versions(writer, monkeypatch):
    monkeypatch.setitem(globals(), "note", WRITERS[writer])
    reset(monkeypatch)
    t._dynamo.reset()
    counters.clear()
    compiled = t.compile(no_reads, backend="eager", fullgraph=True)
    for _ in range(6):
        compiled(KINDS["two"]())
    assert counters["stats"]["unique_graphs"] <= 3


def ask_address(func, args):
    TABLE[id(args[0])] = 1


def ask_value(func, args):
    CALLS.append(args[0].a.sum().item())


@pytest.mark.parametrize("writer", [ask_address, ask_value])
def test_handlers_that_are_not_known_are_breaks(writer, monkeypatch):
    monkeypatch.setitem(globals(), "note", writer)
    reset(monkeypatch)
    counters.clear()
    compiled = t.compile(reads_behind, backend="eager")
    expected = shown(reads_behind(KINDS["two"]())[0])
    assert shown(compiled(KINDS["two"]())[0]) == expected
    assert any("in a __torch_dispatch__" in reason for reason in counters["graph_break"])


def test_errors_of_handlers_are_the_programs():
    class Refusing(Two):
        __slots__ = ()

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is aten.sin.default:
                raise ValueError("no sine")
            return super().__torch_dispatch__(func, types, args, kwargs)

    def program(x):
        try:
            return x.sin()
        except ValueError as error:
            return str(error), x * 2

    compiled = t.compile(program, backend="eager")
    x = Refusing(values(), values())
    assert shown(compiled(x)) == shown(program(x))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_that_fails_leaves_wrappers_as_they_were(backend):
    class Adding(Two):
        __slots__ = ()

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is aten.add_.Tensor:
                args[0].a.add_(args[1])
                return args[0]
            return super().__torch_dispatch__(func, types, args, kwargs)

    def program(x, rows, i):
        x.add_(1)
        try:
            return (x * 2).a, rows[i]
        except IndexError:
            return "out of range", x + 0

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for i in (0, 9, 1):
        found = []
        for function in (compiled, program):
            x = Adding(values(), values())
            found.append((shown(function(x, t.ones(3), t.tensor([i]))), shown(x)))
        assert found[0] == found[1]


def test_classes_with_memory():
    class Noted(t.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            CALLS.append(func.__name__)
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    def program(x):
        y = (x * 2).as_subclass(Noted)
        z = y + 1
        return type(y).__name__, type(z).__name__, z

    compiled = t.compile(program, backend="eager", fullgraph=True)
    CALLS.clear()
    assert shown(compiled(values())) == shown(program(values()))
    assert CALLS == ["add.Tensor"] * 2


def test_memory_that_handlers_look_at():
    def program(x, v):
        v.add_(1)
        y = x + 1
        v.mul_(2)
        return y, x.values, x + 0, v

    for backend in BACKENDS:
        found = []
        for function in (t.compile(program, backend=backend, fullgraph=True), program):
            v = values()
            found.append(shown(function(Scaled(v, 0.5), v)))
        assert found[0] == found[1]


def test_sizes_that_a_class_tells_are_breaks():
    class Rows(t.Tensor):
        @staticmethod
        def __new__(cls):
            return t.Tensor._make_wrapper_subclass(
                cls, (0, 3), dispatch_sizes_strides_policy="sizes"
            )

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return [7, 3] if func is aten.sym_size.default else NotImplemented

    assert t.compile(lambda x: x.shape, backend="eager")(Rows()) == (7, 3)


def test_a_handler_remembers_by_sizes():
    class Kept(Scaled):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            made = super().__torch_dispatch__(func, types, args, kwargs)
            made.factor = kept.setdefault((func, args[0].shape), len(kept))
            return made

    def program(x):
        y = x * 2 * 3
        return y.values, y.factor

    compiled = t.compile(program, backend="eager")
    found, wanted = {}, {}
    for n in (2, 3, 2, 4):
        results = []
        for function, memory in ((compiled, found), (program, wanted)):
            kept = memory
            results.append(shown(function(Kept(t.ones(n, 2), 1))))
        assert results[0] == results[1]
        assert found == wanted


@pytest.mark.parametrize("backend", BACKENDS)
def test_new_data_leaves_attributes_alone(backend):
    def program(x, y):
        x.data = y * 2
        return x + 1

    def run(function):
        x = KINDS["two"]()
        return shown(function(x, Two(values() * 5, values()))), shown(x)

    assert run(t.compile(program, backend=backend)) == run(program)


class MadeAside(Two):
    """Its methods are left alone by captures, and run with the graph."""

    @staticmethod
    @t.compiler.disable
    def __new__(cls, a, b):
        return Two.__new__(cls, a, b)

    @t.compiler.disable
    def both(self):
        return self.a, self.b

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        first, second = args[0].both()
        return cls(func(first, *args[1:]), func(second, *args[1:]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_handlers_with_functions_that_are_left_alone(backend):
    def program(x):
        return (x * 2).sin()

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(2):
        x = MadeAside(values(), values() * 3)
        assert shown(compiled(x)) == shown(program(x))


def test_marked_sizes_are_those_of_tensors_inside():
    def program(x):
        return x * 2

    compiled = t.compile(program, backend="eager", fullgraph=True, dynamic=False)
    before = counters["stats"]["unique_graphs"]
    for n in (3, 4, 5):
        x = Two(t.ones(n, 2), t.ones(n, 2))
        t._dynamo.mark_dynamic(x, 0)
        assert shown(compiled(x)) == shown(program(x))
    assert counters["stats"]["unique_graphs"] == before + 1
