"""Every change of what a compiled program read is noticed, and nothing is kept alive by guards."""

import gc
import importlib
import math
import subprocess
import sys
import weakref

import pytest
from compiled_case import check_changes, is_same
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
counters = importlib.import_module(f"{NAME}.compiler._counters").counters
exc = importlib.import_module(f"{NAME}._dynamo.exc")

X = t.linspace(-1, 1, 6).reshape(2, 3)


class Scaled(nn.Module):
    def forward(self, x):
        return x * 10


def call(module, x):
    return module(x)


def model():
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3), Scaled())


MODULE_CHANGES = {
    "values": lambda m: m[0].weight.data.mul_(2),
    "parameter": lambda m: setattr(m[0], "weight", nn.Parameter(t.ones(3, 3))),
    "parameter in its dict": lambda m: m[0]._parameters.update(bias=nn.Parameter(t.ones(3))),
    "no parameter": lambda m: setattr(m[2], "bias", None),
    "data of another shape": lambda m: (
        setattr(m[0].weight, "data", t.ones(4, 3))
        or setattr(m[0].bias, "data", t.ones(4))
        or setattr(m[2].weight, "data", t.ones(3, 4))
    ),
    "requires_grad": lambda m: m.requires_grad_(False),
    "child": lambda m: m.__setitem__(1, nn.Tanh()),
    "more children": lambda m: m.append(Scaled()),
    "mode": lambda m: m.eval(),
    "hook": lambda m: m[0].register_forward_hook(lambda module, args, out: out + 1),
    "hook of a container": lambda m: m.register_forward_pre_hook(lambda module, args: args),
    "class of a child": lambda m: setattr(m[3], "__class__", nn.Identity),
    "forward of an instance": lambda m: setattr(m[1], "forward", lambda x: x * 5),
}


@pytest.mark.parametrize("change", MODULE_CHANGES)
def test_changes_of_modules_are_noticed(change):
    m = model()
    check_changes(call, [lambda: MODULE_CHANGES[change](m)], m, X)


def test_items_of_containers_are_watched():
    d = {"a": 1, "l": [1, 2, {"q": 3}]}
    changes = [
        lambda: d.update(a=2),
        lambda: d["l"].append(5),
        lambda: d["l"][2].update(q=9),
        lambda: d.update(l=[1, 2, {"q": 1}]),
        lambda: d.update(new=1),
    ]
    check_changes(lambda x, d: x * d["a"] + d["l"][2]["q"] + len(d["l"]) + len(d), changes, X, d)


FACTOR = 5


def times_factor(x):
    return x * FACTOR


def test_globals_closures_defaults_and_code_are_watched(monkeypatch):
    import sys

    here = sys.modules[__name__]
    check_changes(times_factor, [lambda: monkeypatch.setattr(here, "FACTOR", 6)], X)
    held, number = [3], 4

    def inner(x, extra=[1]):  # noqa: B006
        return x * held[0] + number + extra[0]

    def change():
        nonlocal number
        held[0] += 1
        number += 1

    changes = [
        change,
        change,
        lambda: inner.__defaults__[0].append(2),
        lambda: inner.__defaults__[0].__setitem__(0, 8),
        lambda: setattr(inner, "__defaults__", ([9],)),
    ]
    check_changes(inner, changes, X)

    def helper(x):
        return x + 1

    other = (lambda x: x * 8).__code__
    check_changes(lambda x: helper(x), [lambda: setattr(helper, "__code__", other)], X)
    check_changes(
        lambda x: x * math.floor(2.5), [lambda: monkeypatch.setattr(math, "floor", lambda v: 9)], X
    )


def test_functions_of_the_package_are_watched(monkeypatch):
    compiled = t.compile(lambda x: t.relu(x), backend="eager")
    assert t.equal(compiled(X), t.relu(X))
    monkeypatch.setattr(t, "relu", lambda x: x * 4)
    assert t.equal(compiled(X), X * 4)


PATCHED = """
import math
import taeda
from unittest import mock

def check(function, place, name, with_, expected):
    now = [2]
    compiled = taeda.compile(function, backend="eager")
    with mock.patch.object(place, name, lambda *args: with_(now[0], *args)):
        for now[0] in (3, 4):
            assert compiled(x).tolist() == (x * now[0]).tolist(), name
    assert compiled(x).tolist() == expected.tolist(), name
    counts.clear()
    taeda.compile(lambda x: function(x), backend="eager")(x)
    assert not counts, counts

x = taeda.tensor([-1.0, 2.0])
counts = taeda._dynamo.utils.counters["graph_break"]
times = lambda n, x: x * n
check(lambda x: x.relu(), taeda.Tensor, "relu", times, x.relu())
check(lambda x: x * math.floor(1.5) * math.sqrt(4), math, "sqrt", lambda n, x: n, x * 2)
check(lambda x: taeda.relu(x), taeda, "relu", times, x.relu())
check(lambda x: taeda.ops.aten.relu(x), taeda.ops.aten, "relu", times, x.relu())
"""


def test_functions_that_are_patched_at_the_first_capture():
    subprocess.run([sys.executable, "-c", PATCHED], check=True)


def test_numbers_that_change_compile_twice():
    counters.clear()
    compiled = t.compile(lambda x, n: x * n, backend="eager")
    for n in (5, 2000, 3000, 7) * 3:
        assert t.equal(compiled(X, n), X * n)
    assert counters["stats"]["unique_graphs"] == 2


def test_sizes_that_change_compile_twice():
    counters.clear()
    compiled = t.compile(lambda x: x.reshape(-1).sum() + x.shape[0], backend="eager")
    for rows in (2, 3, 4, 9, 2):
        x = t.arange(rows * 3.0).reshape(rows, 3)
        assert t.equal(compiled(x), x.reshape(-1).sum() + rows)
    assert counters["stats"]["unique_graphs"] == 2


def test_lists_that_become_one_are_noticed():
    def grow(a, b):
        a.append(1)
        return len(b)

    compiled = t.compile(grow, backend="eager")
    assert compiled([], []) == 0
    one = []
    assert compiled(one, one) == 1 and one == [1]


def test_inputs_that_become_one_are_noticed():
    def write(a, b):
        a.add_(1)
        return a * b

    compiled = t.compile(write, options={"native": "never"})
    for make in (lambda a: (a, a.clone()), lambda a: (a, a), lambda a: (a, a[:])):
        a, b = make(t.arange(3.0))
        expected = write(*make(t.arange(3.0)))
        assert t.equal(compiled(a, b), expected) and t.equal(a, t.arange(1.0, 4.0))


def test_guards_keep_nothing_alive():
    class Settings:
        factor = 2

    compiled = t.compile(lambda s, x: x * s.factor, backend="eager")
    settings, x = Settings(), t.ones(3)
    references = weakref.ref(settings), weakref.ref(x)
    for _ in range(2):
        compiled(settings, x)
    del settings, x
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_the_limit_of_recompiles(recwarn):
    config = importlib.import_module(f"{NAME}._dynamo").config
    with config.patch(recompile_limit=2):
        compiled = t.compile(lambda x, name: x + len(name), backend="eager")
        for name in ("a", "bb", "ccc", "dddd"):
            assert t.equal(compiled(X, name), X + len(name))
    (warning,) = [w for w in recwarn if "taeda.compile" in str(w.message)]
    assert "'name'" in str(warning.message) and compiled.num_entries == 2


def test_stances():
    compiler = importlib.import_module(f"{NAME}.compiler")
    compiled = t.compile(lambda x: x + 1, backend="eager")
    with compiler.set_stance("force_eager"):
        compiled(X)
        assert compiled.num_entries == 0
    compiled(X)
    with compiler.set_stance("eager_on_recompile"):
        compiled(X.double())
    assert compiled.num_entries == 1
    with compiler.set_stance("fail_on_recompile"), pytest.raises(exc.RecompileError, match="dtype"):
        compiled(X.double())
    compiler.reset()
    assert compiled.num_entries == 0 and t.equal(compiled(X), X + 1)


def test_numbers_that_symbols_cannot_be():
    compiled = t.compile(lambda x, k: (x + 10 // k, k**3, 7 % k), options={"native": "never"})
    for k in (3, 2, 5, -4, 1, 2**40, 7):
        assert is_same(compiled(X, k), (X + 10 // k, k**3, 7 % k))
    with pytest.raises(ZeroDivisionError):
        compiled(X, 0)


def test_objects_that_become_one_are_noticed():
    class Thing:
        pass

    a, b = Thing(), Thing()
    compiled = t.compile(lambda x, p, q: x + 1 if p is q else x - 1, backend="eager")
    assert t.equal(compiled(X, a, b), X - 1) and t.equal(compiled(X, a, a), X + 1)
    compiled = t.compile(lambda x, y: x + 1 if x is y else x - 1, backend="eager")
    assert t.equal(compiled(X, X.clone()), X - 1) and t.equal(compiled(X, X), X + 1)


def test_items_that_are_inputs_too():
    compiled = t.compile(lambda items, y: items[0] * 2 + y, backend="eager")
    a, b = t.ones(3), t.full((3,), 5.0)
    items = [a]
    for _ in range(2):
        compiled(items, a)
    items[0] = b
    assert t.equal(compiled(items, a), b * 2 + a)


def test_ways_in_which_inputs_overlap_are_noticed():
    def write(x, y):
        x.add_(1)
        y.mul_(2)
        return x + y

    compiled = t.compile(write, options={"native": "never"})
    for make in (lambda c: (c[:4], c[2:]), lambda c: (c, c.view(6)), lambda c: (c[:3], c[3:])):
        own, other = t.ones(6), t.ones(6)
        assert is_same(compiled(*make(own)), write(*make(other))) and t.equal(own, other)


def test_functions_of_equal_code_and_other_globals():
    import types

    def product(x):
        return x * K  # noqa: F821

    compiled = t.compile(lambda x, f: f(x), backend="eager")
    for k in (2, 3):
        function = types.FunctionType(product.__code__, {"K": k, "__builtins__": __builtins__})
        assert t.equal(compiled(X, function), X * k)


def test_metadata_of_tensors_is_not_burnt_in():
    compiled = t.compile(lambda x: (x.storage_offset(), x.is_leaf, x._version), backend="eager")
    b, w = t.ones(4), t.ones(2, requires_grad=True)
    for x in (b[:2], b[2:], w, w * 1, b.add_(1)[:2]):
        assert compiled(x) == (x.storage_offset(), x.is_leaf, x._version)


def test_weak_references_are_asked():
    class Thing:
        pass

    thing = Thing()
    reference = weakref.ref(thing)
    compiled = t.compile(lambda x: x + 1 if reference() is None else x - 1, backend="eager")
    for _ in range(2):
        assert t.equal(compiled(X), X - 1)
    del thing
    gc.collect()
    assert t.equal(compiled(X), X + 1)


def test_order_of_sets_and_dicts():
    compiled = t.compile(lambda x, s: (x, list(s)), backend="eager")
    for s in ({8, 0}, {0, 8}):
        assert compiled(X, s)[1] == list(s)

    class Thing:
        pass

    o = Thing()
    o.u, o.v = 1, 2

    def move(x):
        del o.u
        o.w = x
        o.u = 5
        return list(vars(o))

    assert t.compile(move, backend="eager")(X) == ["v", "w", "u"] == list(vars(o))


def test_dicts_keyed_by_tensors_follow_their_changes():
    first, second = t.ones(3), t.full((3,), 2.0)
    table = {first: t.ones(3) * 10}

    def function(key):
        return table[key] + 1 if key in table else key * 100

    compiled = t.compile(function, backend="eager")
    for key in (first, second, first):
        assert is_same(compiled(key), function(key))
    table[second] = t.ones(3) * 20
    assert is_same(compiled(second), function(second))
    del table[first]
    assert is_same(compiled(first), function(first))


def test_members_of_sets_stay_different_objects():
    def function(a, b, c):
        return a + len({a, b, c}) + (2 if any(a is item for item in [b, c]) else 0)

    x, y, z = t.ones(2), t.zeros(2), t.full((2,), 5.0)
    compiled = t.compile(function, backend="eager")
    for args in ((x, y, z), (y, x, z), (x, x, x), (x, y, x), (z, y, x)):
        assert is_same(compiled(*args), function(*args))


def test_members_that_a_set_is_given_stay_different_objects():
    def grown(a, b, c):
        seen = set()
        for one in (a, b, c):
            if one not in seen:
                seen.add(one)
        return a * len(seen)

    def changed(a, b, c):
        seen = {a}
        seen.add(b)
        seen ^= {b, c}
        seen.add(b)
        return a * len(seen)

    x, y, z = t.ones(2), t.zeros(2), t.full((2,), 5.0)
    for function in (grown, changed):
        compiled = t.compile(function, backend="eager")
        for args in ((x, y, z), (y, x, z), (x, x, z), (x, y, x), (z, y, y), (x, x, x), (x, y, z)):
            assert is_same(compiled(*args), function(*args)), (function.__name__, args)


def test_parameters_have_one_guard_that_they_are_different():
    model = nn.Sequential(*(nn.Linear(1, 1) for _ in range(20)))

    def count(x):
        return x * sum(p.numel() for p in model.parameters())

    told = t._dynamo.explain(count)(X)
    texts = [guard.text for guard in told.out_guards if " is not " in guard.text]
    assert 0 < len(texts) <= 4, texts  # of parameters, and of modules by class
    compiled = t.compile(count, backend="eager")
    assert is_same(compiled(X), X * 40)
    model[3].weight = model[2].weight
    assert is_same(compiled(X), X * 39)


def test_floats_that_change_become_symbols():
    def function(x, rate):
        return x * rate + (1 if rate > 0.5 else 0)

    counters.clear()
    compiled = t.compile(function, backend="eager")
    for rate in (0.1, 0.2, 0.3, 0.25, 0.7, 0.8, math.inf, 0.9, -0.0, math.nan, 0.4):
        assert is_same(compiled(X, rate), function(X, rate))
    # The constant of the first call, and each side of the branch.
    assert counters["stats"]["unique_graphs"] == 3


MODES = {
    "no_grad": t.no_grad,
    "inference": t.inference_mode,
    "autocast": lambda: t.autocast("cpu", dtype=t.bfloat16),
    "default device": lambda: t.device("meta"),
}


@pytest.mark.parametrize("name", MODES)
def test_modes_around_a_call_are_noticed(name):
    weight = nn.Parameter(t.ones(3, 3))

    def function(x):
        return x @ weight, t.zeros(2).device, t.is_grad_enabled()

    compiled = t.compile(function, backend="eager")
    for _ in range(2):
        assert is_same(compiled(X), function(X))
        with MODES[name]():
            assert is_same(compiled(X), function(X))


def test_a_break_inside_of_a_scope_keeps_the_scope(capsys):
    def function(x):
        with t.autocast("cpu", dtype=t.bfloat16):
            y = x @ x.t()
            print("here")
            z = x @ x.t()
        return y.dtype, z.dtype, (x @ x.t()).dtype, t.is_autocast_enabled("cpu")

    compiled = t.compile(function, backend="eager")
    for _ in range(3):
        assert compiled(X) == function(X)
    assert not t.is_autocast_enabled("cpu")


def test_slots_of_objects_survive_a_break(capsys):
    class Slotted:
        __slots__ = ("a", "b", "unset")

        def __init__(self, a):
            self.a = a
            self.b = [a]

    def function(x):
        made = Slotted(x + 1)
        print("here")
        return made.a * 2, made.b, hasattr(made, "unset")

    assert is_same(t.compile(function, backend="eager")(X), function(X))


def test_a_transform_that_breaks_runs_as_it_is(capsys):
    def function(x):
        return t.vmap(lambda row: print("row") or row * 2)(x) + 1

    compiled = t.compile(function, backend="eager")
    for _ in range(2):
        assert is_same(compiled(X), function(X))


def test_functions_of_autograd_that_read_the_program_are_followed():
    scale = [2.0]

    class Scale(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * scale[0]

        @staticmethod
        def backward(ctx, grad):
            return grad * scale[0] * 10

    def function(x):
        return Scale.apply(x).sum()

    compiled = t.compile(function, backend="inductor", options={"native": "never"})
    for value in (2.0, 3.0, 5.0):
        scale[0] = value
        x = X.clone().requires_grad_()
        compiled(x).backward()
        assert is_same(x.grad, t.full_like(X, value * 10))


def test_a_compiled_function_inside_of_a_transform():
    compiled = t.compile(lambda row: row * 2 + 1, backend="eager")
    assert is_same(t.vmap(compiled)(X), X * 2 + 1)
    assert is_same(t.func.grad(lambda x: compiled(x).sum())(X), t.full_like(X, 2))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_inputs_that_share_memory_at_the_first_call_alone(backend):
    def program(x, y):
        x.add_(1)
        return y * 2

    compiled = t.compile(program, backend=backend)
    base = t.arange(8.0)
    compiled(base[:4], base[2:6])
    x, y = t.arange(4.0), t.arange(4.0)
    assert compiled(x, y).tolist() == [0, 2, 4, 6]
    assert (x.tolist(), y.tolist()) == ([1, 2, 3, 4], [0, 1, 2, 3])
    base, plain = t.arange(8.0), t.arange(8.0)
    expected = program(plain[:4], plain[1:5])
    assert compiled(base[:4], base[1:5]).tolist() == expected.tolist()
    assert base.tolist() == plain.tolist()


def test_guards_hold_no_weak_references():
    class Thing:
        def __init__(self, by):
            self.by = by

    thing, model = Thing(3), nn.Linear(3, 3)
    compiled = t.compile(lambda x, thing, model: model(x) * thing.by, backend="eager")
    for _ in range(3):
        compiled(X, thing, model)
    assert weakref.getweakrefcount(thing) == weakref.getweakrefcount(model) == 0


def test_the_end_of_a_module_that_is_asked_for():
    references = []

    class Doubled(nn.Module):
        def __init__(self):
            super().__init__()
            references.append(weakref.ref(self))

        def forward(self, x):
            return x * 2

    def inner(x, model):
        y = model(x)
        del model
        return y, references[-1]() is None

    def program(x):
        return inner(x, Doubled())

    compiled = t.compile(program, backend="eager")
    for _ in range(3):
        y, is_gone = compiled(X)
        assert t.equal(y, X * 2) and is_gone


@pytest.mark.parametrize("nan", [float("nan"), -float("nan")])
def test_nan_is_any_nan(nan):
    counters.clear()
    compiled = t.compile(lambda x, v, many: x * v + many[0], backend="eager")
    for value in (nan, float("inf") - float("inf"), -nan, float("nan")):
        assert compiled(X, value, [value]).isnan().all()
    assert counters["stats"]["unique_graphs"] == 1


def test_numbers_made_of_changing_ones_may_be_nan():
    counters.clear()

    def program(x, v):
        return x * t.zeros(2).new_full((), v * 1e308 * 1e308 - v * 1e308 * 1e308).item()

    compiled = t.compile(program, backend="eager")
    for value in (1.5, 2.5, 3.5, 4.5, 5.5):
        assert compiled(X, value).isnan().all()
    assert counters["stats"]["unique_graphs"] <= 4


def test_gradients_that_are_retained_are_watched():
    leaf = X.clone().requires_grad_()
    held = leaf * 1
    check_changes(lambda x: x * (2 if x.retains_grad else 3), [held.retain_grad], held)


def test_sizes_outside_of_marked_limits_are_compiled_for_themselves():
    marked = t.ones(5, 3)
    t._dynamo.mark_dynamic(marked, 0, min=2, max=10)
    compiled = t.compile(lambda x: x * x.shape[0], backend="eager")
    counters.clear()
    for size, graphs in ((5, 1), (9, 1), (12, 2)):
        x = marked if size == 5 else t.ones(size, 3)
        assert is_same(compiled(x), x * size)
        assert counters["stats"]["unique_graphs"] == graphs


def first_of_each(model, x):
    """Takes each parameter once, as optimizers do: they are told apart by what they are."""
    seen = set()
    for p in model.parameters():
        seen.add(p)
    return x * len(seen)


def test_parameters_that_become_one_are_noticed():
    m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))

    def tie():
        m[1].weight = m[0].weight

    def tie_again():
        m[1].bias = m[0].bias

    def untie():
        m[1].weight = nn.Parameter(t.ones(3, 3))

    check_changes(first_of_each, [tie, tie_again, untie], m, X)


def test_two_arguments_that_become_one_are_noticed():
    def f(a, b, x):
        return x * (1 if a is b else 2) * (3 if a[0].weight is b[0].weight else 5)

    compiled = t.compile(f, backend="eager")
    one, other = model(), model()
    tied = model()
    tied[0].weight = one[0].weight
    for a, b in [(one, other), (one, tied), (one, one), (other, one), (one, other), (tied, one)]:
        for _ in range(2):
            assert is_same(compiled(a, b, X), f(a, b, X))


def test_a_search_in_a_list_is_one_guard():
    names = [f"name{i}" for i in range(300)]
    numbers = [*range(300)]

    def program(x, name, number):
        return x * (2 if name in names else 3) + (1 if number in numbers else 5)

    t.compiler.reset()
    compiled = t.compile(program, backend="eager", fullgraph=True)
    calls = ("name7", 3), ("name299", 4), ("other", 5), ("name7", 3), ("name7", 1000), ("name7", 8)
    for call in calls:
        assert t.equal(compiled(X, *call), program(X, *call))
    assert len(t.compiler.explain(program)(X, *calls[0]).out_guards) < 60
    counters.clear()
    names.insert(0, "first")
    assert t.equal(compiled(X, *calls[-1]), program(X, *calls[-1])) and not counters["recompile"]
    names.remove("name7")
    assert t.equal(compiled(X, *calls[-1]), program(X, *calls[-1])) and counters["recompile"]


def test_a_search_in_a_list_of_objects_that_compare():
    class Odd:
        def __eq__(self, other):
            return other == "b"

    items = ["a"]
    changes = [
        lambda: items.append(Odd()),
        lambda: items.append("b"),
        lambda: items.__setitem__(slice(None), [1.0, True]),
        lambda: items.clear(),
    ]
    check_changes(lambda x: (x, "b" in items, 1 in items, None in items), changes, X)


class Weighted(t.autograd.Function):
    @staticmethod
    def forward(ctx, x, shift=2, scale=1):
        ctx.scale = scale
        return x * scale + shift

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.scale, None, None


class WeightedBySetup(t.autograd.Function):
    @staticmethod
    def forward(x, shift=2, scale=1):
        return x * scale + shift

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, _, ctx.scale = inputs

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.scale, None, None


@pytest.mark.parametrize("kind", [Weighted, WeightedBySetup])
@pytest.mark.parametrize(
    "f",
    [
        lambda kind, x: kind.apply(x),
        lambda kind, x: kind.apply(x, scale=3),
        lambda kind, x: kind.apply(x, scale=3, shift=5),
        lambda kind, x: kind.apply(scale=4, x=x),
    ],
)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_functions_with_arguments_by_name(kind, f, backend):
    x, y = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
    got, want = t.compile(f, backend=backend, fullgraph=True)(kind, x), f(kind, y)
    (got * got).sum().backward()
    (want * want).sum().backward()
    assert t.equal(got, want) and t.equal(x.grad, y.grad)
