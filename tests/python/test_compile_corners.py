"""Corners of captured programs: patterns, symbols that Python refuses, imports, classes that change."""

import collections
import dataclasses
import functools
import inspect
import re
import subprocess
import sys
import types
import warnings

import pytest
from compiled_case import is_same, outcome
from under_test import NAME, t

X = t.linspace(-1, 1, 6).reshape(2, 3)
BACKENDS = {"eager": {}, "inductor": {"options": {"native": "never"}}}


def check(function, *calls, backend="eager"):
    """Each call compiled as plainly, twice."""
    compiled = t.compile(function, backend=backend, **BACKENDS[backend])
    for args in calls:
        for _ in range(2):
            assert is_same(outcome(compiled, args), outcome(function, args))


@dataclasses.dataclass
class Point:
    a: object
    b: object = 0


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


@pytest.mark.parametrize("backend", BACKENDS)
def test_class_patterns_are_guarded(backend):
    def function(x, p):
        match p:
            case Point(a, b=int(b)) if b > 3:
                return x * a + b
            case Point(a="relu"):
                return x.relu()
            case Point(a, b):
                return x - a * b
            case Slotted(a=k) | types.SimpleNamespace(a=k):
                return x + k
            case [Point(a), *_]:
                return x * a * 100
            case int(n):
                return x * n
            case _:
                return x

    points = (Point(2, 3), Point(2, 5), Point(4, 5), Point("relu"), Point(7, 1))
    others = (Slotted(1.5), Slotted(2.5), types.SimpleNamespace(a=3), [Point(3)], [Point(4)], None)
    numbers = (2, 3, 4, 5)
    check(function, *((X, p) for p in (*points, *others, *numbers)), backend=backend)


REFUSED = {
    "inverted": lambda n: ~n,
    "modular power": lambda n: pow(n, 2, 5),
    "complex": lambda n: n + 1j,
    "formatted": lambda n: f"{n:>3}" + f"{n:>4}",
    "longest": lambda n: collections.deque([1, 2, 3, 4], maxlen=n),
    "index": lambda n: t.arange(12)[[n, 1]],
    "rounded": lambda n: round(n, -1),
    "ratio": lambda n: 1 / (n - 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_symbols_do_not_have(name):
    operation = REFUSED[name]

    def function(x, n):
        try:
            result = operation(n)
        except Exception as error:
            result = type(error).__name__
        return x * 2, result

    check(function, *((X, n) for n in (2, 3, 4, 7)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_powers_of_floats_that_change(backend):
    def function(x, n):
        try:
            result = n**0.5
        except (OverflowError, ZeroDivisionError):
            result = 0.0
        return x * 2, result

    check(function, *((X, n) for n in (2.5, 3.5, -1.5, 4.5)), backend=backend)


def test_names_that_a_function_imports(monkeypatch):
    module = types.ModuleType("compiled_corner")
    module.number, module.function = 2, lambda x: x * 3
    monkeypatch.setitem(sys.modules, "compiled_corner", module)

    def function(x):
        from compiled_corner import function, number

        return function(x) * number

    compiled = t.compile(function, backend="eager")
    for number in (2, 3, 5):
        module.number = number
        assert is_same(compiled(X), function(X))
    module.function = lambda x: x - 1
    assert is_same(compiled(X), function(X))


def test_objects_of_classes_that_are_replaced():
    class Held:
        def __init__(self, value):
            self.value = value

    class Owner:
        held = Held(1)

    def function(owner, x):
        return x * owner.held.value

    owner = Owner()
    compiled = t.compile(function, backend="eager")
    for value in range(2, 8):
        assert is_same(compiled(owner, X), function(owner, X))
        Owner.held = Held(value)
        assert is_same(compiled(owner, X), function(owner, X))


def test_tensors_whose_values_are_still_to_be_turned():
    z = t.complex(X, X + 1)
    for given in (z.conj(), z.conj().imag):
        check(lambda x: x * 2, (given,), (given.resolve_conj().resolve_neg(),), backend="inductor")


def test_errors_of_a_running_graph_are_the_programs():
    def function(log, x, i):
        log.append("a")
        try:
            y = x[i]
        except IndexError:
            y = x.sum()
        return y

    check(function, *(([], t.ones(2), t.tensor([i])) for i in (0, 1, 7)))


def test_classes_of_tensors_by_dtype():
    check(lambda x: (isinstance(x, t.FloatTensor), isinstance(x, t.DoubleTensor), x + 1), (X,))


def test_tangents_run_as_they_are():
    compiled = t.compile(lambda x: x * x, options={"native": "never"})
    with t.autograd.forward_ad.dual_level():
        dual = t.autograd.forward_ad.make_dual(X, t.ones_like(X))
        tangent = t.autograd.forward_ad.unpack_dual(compiled(dual)).tangent
        assert is_same(tangent, 2 * X)


def test_methods_that_are_compiled_already():
    class Model:
        @t.compile(backend="eager")
        def call(self, x):
            return x + 1

    assert is_same(t.compile(Model().call, backend="eager")(X), X + 1)


def test_warnings_become_errors_behind_a_capture():
    def function(x):
        try:
            warnings.warn("bad", stacklevel=1)
        except UserWarning:
            return x - 1
        return x + 1

    compiled = t.compile(function, backend="eager")
    for action in ("ignore", "error", "ignore"):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            assert is_same(compiled(X), function(X))


def test_the_first_program_of_a_process_makes_a_named_tuple():
    """Frames of named tuples have no builtins, which an import inside of them would ask for."""
    program = (
        f"import collections, {NAME} as t\n"
        "Pair = collections.namedtuple('Pair', 'a b')\n"
        "f = t.compile(lambda x: Pair(x + 1, 2), backend='eager', fullgraph=True)\n"
        "assert f(t.ones(2)).b == 2 and t.equal(f(t.ones(2)).a, t.full((2,), 2.0))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def breaks(v):
    print(end="")
    return v * 2


def of_map(x):
    return list(map(breaks, [x, x + 1, x + 2]))


def of_kept_map(x):
    items = map(breaks, [x, x + 1])
    return [next(items), *items]


def of_loop(x):
    return [v + 1 for v in map(breaks, (x, x + 1))]


def of_zip(x):
    return dict(zip("ab", map(breaks, [x, x + 1]), strict=True))


def of_sum(x):
    return sum(map(breaks, [x, x + 1]), start=x)


def of_dict(x):
    table = {"a": 1, "b": 2, "c": 3}
    seen = []
    for name, value in table.items():
        seen.append((name, breaks(x * value)))
        table["c"] = table["c"] * 10
    return seen, [breaks(v) for v in table.values()], [k + breaks("k") for k in table]


def of_dict_that_grows(x):
    table = {"a": 1}
    for name in table:
        table[breaks(name)] = x
    return table


@pytest.mark.parametrize(
    "program", [of_dict, of_dict_that_grows, of_map, of_kept_map, of_loop, of_zip, of_sum]
)
def test_iterators_lose_nothing_at_a_break(program):
    check(program, (X,), (X + 1,))


def count_of_graphs(program, calls, backend="eager"):
    """How many graphs the calls took, whose results were compared."""
    graphs = []

    def counting(gm, inputs):
        graphs.append(gm)
        return t._dynamo.lookup_backend(backend)(gm, inputs)

    fast = t.compile(program, backend=counting)
    for args in calls:
        assert is_same(outcome(program, args), outcome(fast, args))
    return len(graphs)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("least", [min, max])
def test_the_least_and_the_largest_are_expressions(least, backend):
    def of_two(x, n):
        return x[: least(n, 4)] * 2

    def of_many(a, b, c):
        n = max(x.shape[0] for x in (a, b, c))
        return [t.nn.functional.pad(x, (0, n - x.shape[0])) for x in (a, b, c)]

    x = t.arange(9.0)
    assert count_of_graphs(of_two, [(x, n) for n in (3, 5, 7, 2, 4, 9, 6)], backend) == 2
    sizes = [(2, 3, 4), (5, 4, 2), (3, 7, 5), (4, 6, 8), (6, 6, 6)]
    assert count_of_graphs(of_many, [tuple(map(t.ones, s)) for s in sizes], backend) == 2


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_integers_that_change_have_any_sign(backend):
    def program(x, n):
        return x * n + n // 3 + n % 5, x.roll(n) if n > 0 else x

    x = t.arange(6.0)
    # The first, one symbol for each side of the question, and 0 and 1 where no other fits.
    assert count_of_graphs(program, [(x, n) for n in (4, 9, 1, 3, 2**20 + 7)], backend) == 2
    assert count_of_graphs(program, [(x, n) for n in (-4, -9, 0, -1, -(2**20))], backend) == 2


def test_divisors_of_any_sign():
    def program(x, n):
        return x + 7 // n + 7 % n

    calls = [(t.ones(2), n) for n in (3, -2, -3, 5, 0, 1, -1)]
    assert count_of_graphs(program, calls) == 2


def test_properties_of_a_derived_class():
    class counted(property):
        def __init__(self, getter):
            super().__init__(getter)
            self.note = "counted"

    class Scale:
        by = 2

        @counted
        def double(self):
            return self.by * 2

    scale = Scale()
    fast = t.compile(lambda x: x * scale.double, backend="eager", fullgraph=True)
    assert fast(t.ones(1)).item() == 4
    Scale.by = 3
    assert fast(t.ones(1)).item() == 6


class Mapped:
    """Reads its attributes by other names, as configurations do."""

    names = {"width": "hidden_size"}

    def __init__(self):
        self.hidden_size = 3

    def __getattribute__(self, key):
        if key != "names" and key in super().__getattribute__("names"):
            key = super().__getattribute__("names")[key]
        return super().__getattribute__(key)


@dataclasses.dataclass
class Output(collections.OrderedDict):
    """Results by name and by place, without those that are None."""

    logits: object = None
    loss: object = None
    states: tuple = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else tuple(self.values())[key]


def test_attributes_that_a_getattribute_does_not_have():
    mapped = Mapped()

    def program(x):
        absent = getattr(mapped, "absent", None) is None and not hasattr(mapped, "absent")
        return x * mapped.width + (1 if absent else 0)

    fast = t.compile(program, backend="eager", fullgraph=True)
    assert fast(t.ones(2)).tolist() == [4, 4]
    assert t._dynamo.explain(program)(t.ones(2)).graph_count == 1
    mapped.hidden_size = 5
    assert fast(t.ones(2)).tolist() == [6, 6]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_results_of_a_class_derived_from_ordered_dict(backend):
    def program(x, has_loss):
        inner = Output(logits=x * 2, states=(x, x + 1))
        return inner, Output(logits=inner[0] + 1, loss=inner["logits"].sum() if has_loss else None)

    fast = t.compile(program, backend=backend, fullgraph=True)
    for has_loss in (False, True):
        got, expected = fast(t.ones(2), has_loss), program(t.ones(2), has_loss)
        for one, other in zip(got, expected):
            assert (
                type(one) is Output
                and list(one) == list(other)
                and vars(one).keys() == vars(other).keys()
            )
            assert t.equal(one.logits, other.logits) and one.logits is one["logits"] is one[0]
            assert (one.loss is None) == (other.loss is None)


def test_a_partial_with_keywords_lives_on_behind_a_break():
    def scaled(x, by, plus):
        return x * by + plus

    def program(x):
        chosen = functools.partial(scaled, by=3, plus=x)
        t._dynamo.graph_break()
        return chosen(x), chosen.keywords["by"], chosen.args

    assert is_same(
        outcome(program, (t.ones(2),)), outcome(t.compile(program, backend="eager"), (t.ones(2),))
    )


def test_what_a_function_takes():
    def inner(x, by=2, *, plus=1):
        return x * by + plus

    def program(x, function):
        code = function.__code__
        names = inspect.signature(function).parameters
        return (
            function(x) * len(names) + code.co_varnames.index("by") + (1 if "plus" in names else 0)
        )

    fast = t.compile(program, backend="eager", fullgraph=True)
    assert t.equal(fast(t.ones(2), inner), program(t.ones(2), inner))
    assert t._dynamo.explain(program)(t.ones(2), inner).graph_count == 1


def test_nodes_know_their_lines_in_long_functions(tmp_path):
    count = 3000
    lines = ["def f(x):"]
    for i in range(count):
        lines += ["    x = (x +", f"         {i % 7})"]
    lines += ["    return x"]
    path = tmp_path / "long.py"
    path.write_text("\n".join(lines) + "\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    graphs = []

    def keep(gm, _inputs):
        graphs.append(gm)
        return gm.forward

    t.compile(names["f"], backend=keep)(X)
    traces = [n.meta["stack_trace"] for n in graphs[0].graph.nodes if n.op.startswith("call")]
    assert len(traces) == count
    for i in (0, 1, count // 2, count - 1):
        assert f'File "{path}", line {2 * i + 2}, in f' in traces[i]


def test_filters_of_a_program_are_those_of_its_warnings():
    def program(x):
        warnings.warn("told", stacklevel=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("not told", stacklevel=1)
            x = x + 1
        warnings.simplefilter("ignore")
        return x

    compiled = t.compile(program, backend="eager")
    for function in (program, compiled, compiled):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert t.equal(function(t.ones(2)), t.full((2,), 2.0))
            assert warnings.filters[0][0] == "ignore"
        assert [str(one.message) for one in told] == ["told"]


def test_warnings_that_a_program_records_itself():
    def program(x):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warnings.warn("one", stacklevel=1)
            warnings.warn("two", stacklevel=1)
        return x * len(told)

    compiled = t.compile(program, backend="eager")
    for _ in range(2):
        assert t.equal(compiled(t.ones(2)), t.full((2,), 2.0))


def test_filters_without_a_warning_are_no_break():
    def program(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return x + 1

    before = list(warnings.filters)
    compiled = t.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        assert t.equal(compiled(t.ones(2)), t.full((2,), 2.0))
        assert warnings.filters == before


def test_a_tensor_without_memory_that_only_tells_its_device():
    def program(x):
        with t.device("meta"):
            made = t.ones(2)
        return made.device, x + made.shape[0]

    device, result = t.compile(program, fullgraph=True)(t.ones(3))
    assert device == t.device("meta") and t.equal(result, t.full((3,), 3.0))


def index_of_itself(items, x):
    items.append(items)
    return items[100], x


def comparison_with_itself(items, x):
    items.append([items, (items,)])
    return items + 3, x


@pytest.mark.parametrize("function", [index_of_itself, comparison_with_itself])
def test_errors_of_lists_that_hold_themselves(function):
    for _ in range(2):
        with pytest.raises((IndexError, TypeError)) as expected:
            function([1], X)
        with pytest.raises(expected.type, match=re.escape(str(expected.value))):
            t.compile(function, backend="eager")([1], X)


def test_lists_that_hold_themselves_several_times():
    def program(items, x):
        items.append(items)
        items.append(items)
        items.append(items)
        items.append(items)
        if items:
            items.clear()
        items.append(x)
        return x + 1

    items = []
    assert t.equal(t.compile(program, backend="eager")(items, X), X + 1)
    assert len(items) == 1 and items[0] is X


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_sizes_that_only_data_tells_have_the_right_sum(backend):
    def program(x, sizes):
        return x.split(sizes.tolist())

    compiled = t.compile(program, backend=backend, fullgraph=True)
    assert [p.tolist() for p in compiled(t.arange(3.0), t.tensor([1, 2]))] == [[0.0], [1.0, 2.0]]
    for sizes in ([1, 1], [2, 2]):
        with pytest.raises(RuntimeError):
            compiled(t.arange(3.0), t.tensor(sizes))
