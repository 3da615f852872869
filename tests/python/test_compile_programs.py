"""Compiled programs as a whole: training, errors, threads, backends, random programs."""

import collections
import contextlib
import copy
import importlib
import threading
import warnings

import compile_fuzz
import pytest
from compiled_case import is_same
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
checkpoint = importlib.import_module(f"{NAME}.utils.checkpoint").checkpoint
compiler = importlib.import_module(f"{NAME}.compiler")
options = importlib.import_module(f"{NAME}.compiler._options")
counters = importlib.import_module(f"{NAME}.compiler._counters").counters
dynamo = importlib.import_module(f"{NAME}._dynamo")

INTERPRETED = {"options": {"native": "never"}}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 16), nn.Linear(16, 4)
        self.norm, self.drop = nn.BatchNorm1d(16), nn.Dropout(0.3)

    def forward(self, x):
        return self.last(self.drop(F.gelu(self.norm(self.first(x)))))


def losses(model, parameters):
    optimizer = t.optim.AdamW(parameters, lr=1e-2)
    t.manual_seed(3)
    found = []
    for step in range(6):
        rows = 6 + step % 3
        x, y = t.randn(rows, 8), t.randint(0, 4, (rows,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_training_gives_the_losses_of_eager(backend):
    t.manual_seed(0)
    model = Net()
    twin = copy.deepcopy(model)
    counters.clear()
    options = INTERPRETED if backend == "inductor" else {}
    compiled = t.compile(twin, backend=backend, **options)
    assert losses(compiled, twin.parameters()) == losses(model, model.parameters())
    assert is_same(dict(model.state_dict()), dict(twin.state_dict()))
    assert counters["stats"]["unique_graphs"] == 2 and not counters["graph_break"]


def test_a_decode_loop_compiles_twice():
    def step(x, cache):
        cache = t.cat([cache, x], 1)
        return (cache * 2).sum(1), cache

    counters.clear()
    compiled = t.compile(step, **INTERPRETED)
    cache = t.ones(1, 1, 4)
    for _ in range(8):
        x = t.ones(1, 1, 4)
        expected = step(x, cache)
        got = compiled(x, cache)
        assert is_same(got, expected)
        cache = got[1]
    assert counters["stats"]["unique_graphs"] == 2


def test_modules_stay_what_they_are():
    model = Net()
    compiled = t.compile(model, backend="eager")
    assert isinstance(compiled, dynamo.OptimizedModule) and isinstance(compiled, nn.Module)
    assert list(compiled.state_dict()) == ["_orig_mod." + name for name in model.state_dict()]
    assert compiled.first is model.first
    compiled.note = 5
    assert model.note == 5
    compiled.eval()
    assert not model.training
    again = copy.deepcopy(compiled)
    x = t.randn(3, 8)
    assert again._orig_mod is not model and is_same(again(x), compiled(x))
    model.train()
    model.compile(backend="eager")
    t.manual_seed(1)
    first = model(x)
    t.manual_seed(1)
    assert is_same(first, model._call_impl(x))


def test_errors_are_the_programs_own():
    def fails(x, i):
        y = x * 2
        return y[i], t.embedding(t.ones(3, 2), t.tensor([5]) + 0 * i)

    compiled = t.compile(fails, **INTERPRETED)
    for function in (fails, compiled):
        with pytest.raises(IndexError) as caught:
            function(t.ones(3), 1)
        assert caught.traceback[-1].lineno + 1 == fails.__code__.co_firstlineno + 2


def test_a_break_is_an_error_where_one_graph_is_asked_for():
    def noisy(x):
        y = x + 1
        print("hello")
        return y

    with pytest.raises(dynamo.exc.Unsupported, match="call of print") as caught:
        t.compile(noisy, backend="eager", fullgraph=True)(t.ones(2))
    assert f"line {noisy.__code__.co_firstlineno + 2}, in noisy" in str(caught.value)


def test_what_explain_tells(capsys):
    def noisy(x):
        y = x + 1
        if y.sum() > 0:
            y = y * 2
        return y

    told = dynamo.explain(noisy)(t.ones(2))
    assert (told.graph_count, told.graph_break_count) == (2, 1) and told.op_count >= 3
    (reason,) = told.break_reasons
    assert reason.source == "if y.sum() > 0:" and "taeda.where" in reason.remedy
    assert "Graph Break Count: 1" in str(told) and "L['x']" in str(told)


def test_generators_that_are_given_up_do_nothing():
    log = []

    @contextlib.contextmanager
    def scope():
        log.append("begin")
        try:
            yield
        finally:
            log.append("end")

    def program(x):
        with scope():
            y = x + 1
            print(end="")
        return y * 2

    compiled = t.compile(program, backend="eager")
    for _ in range(3):
        log.clear()
        compiled(t.ones(2))
        assert log == ["begin", "end"]


def test_backends_of_programs():
    seen = []

    def backend(gm, example_inputs):
        seen.append(([node.target for node in gm.graph.nodes], len(example_inputs)))
        return gm.forward

    compiled = t.compile(lambda x, y: (x + y).relu(), backend=backend)
    assert t.equal(compiled(t.ones(2), t.ones(2)), t.full((2,), 2.0))
    (targets, count) = seen[0]
    assert targets[0] == "L_x_" and targets[3] == "relu" and count == 2

    def raising(gm, example_inputs):
        raise ValueError("no")

    with pytest.raises(dynamo.exc.BackendCompilerFailed, match="ValueError: no"):
        t.compile(lambda x: x + 1, backend=raising)(t.ones(2))
    with pytest.raises(dynamo.exc.BackendCompilerFailed, match="did not return callable") as caught:
        t.compile(lambda x: x + 1, backend=lambda gm, inputs: 5)(t.ones(2))
    assert isinstance(caught.value.inner_exception, AssertionError)
    with pytest.raises(dynamo.exc.InvalidBackend, match="'nothing'"):
        t.compile(lambda x: x, backend="nothing")
    with pytest.raises(RuntimeError, match="Unexpected optimization option speed"):
        t.compile(lambda x: x, options={"speed": 1})
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        t.compile(lambda x: x, mode="fast")
    assert "inductor" in compiler.list_backends() and "eager" not in compiler.list_backends()


def test_threads_call_one_function():
    compiled = t.compile(lambda x: (x * 2).relu() + x.shape[0], **INTERPRETED)
    failures = []

    def work(rows):
        for _ in range(20):
            x = t.ones(rows, 3)
            if not t.equal(compiled(x), t.full((rows, 3), 2.0 + rows)):
                failures.append(rows)

    threads = [threading.Thread(target=work, args=(rows,)) for rows in (2, 3, 4, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_compiled_functions_inside_of_compiled_ones():
    inner = t.compile(lambda x: x * 3, backend="eager")
    counters.clear()
    outer = t.compile(lambda x: inner(x) + inner(x + 1), backend="eager", fullgraph=True)
    assert t.equal(outer(t.ones(2)), t.full((2,), 9.0))
    assert counters["stats"]["unique_graphs"] == 1


def test_marks_on_functions():
    calls = []

    @compiler.disable
    def left_alone(x):
        calls.append(type(x))
        return x + 1

    compiled = t.compile(lambda x: left_alone(x * 2) * 3, backend="eager")
    assert t.equal(compiled(t.ones(2)), t.full((2,), 9.0))
    assert calls == [t.Tensor]

    @compiler.assume_constant_result
    def settings():
        calls.append("settings")
        return 4

    compiled = t.compile(lambda x: x * settings(), backend="eager", fullgraph=True)
    assert t.equal(compiled(t.ones(2)), compiled(t.ones(2))) and calls.count("settings") == 1

    def knows(x):
        return x * 2 if compiler.is_compiling() else x

    assert t.equal(t.compile(knows, backend="eager")(t.ones(2)), t.full((2,), 2.0))
    assert t.equal(knows(t.ones(2)), t.ones(2))


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs(first):
    found = {n: compile_fuzz.run((n, "eager"))[1] for n in range(first, first + 20)}
    assert {n: text for n, text in found.items() if text} == {}


@pytest.mark.full
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("first", range(1000, 1500, 50))
def test_more_random_programs(first, backend):
    found = {n: compile_fuzz.run((n, backend))[1] for n in range(first, first + 50)}
    assert {n: text for n, text in found.items() if text} == {}


GATHERS = {
    "embedding": lambda index: t.embedding(t.ones(3, 2), index),
    "index_select": lambda index: t.ones(3, 2).index_select(0, index) * 2,
    "index": lambda index: t.zeros(3, 2)[index] * 2,
    "gather": lambda index: t.full((3, 2), 2.0).gather(0, index.view(1, 1)) * 2,
    "nll_loss": lambda index: F.nll_loss(t.zeros(1, 3), index),
}


@pytest.mark.parametrize("name", GATHERS)
def test_indices_into_values_without_memory_are_checked(name):
    program = GATHERS[name]
    compiled = t.compile(program, **INTERPRETED)
    for index in (t.tensor([5]), t.tensor([1]), t.tensor([-7])):
        try:
            expected = program(index)
        except (IndexError, RuntimeError) as error:
            with pytest.raises(type(error), match=str(error)[:20]):
                compiled(index)
        else:
            assert is_same(compiled(index), expected)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_gradients_behind_a_scope_without(backend):
    w = t.ones(3, requires_grad=True)

    def program(x):
        with t.no_grad():
            b = x * w
            print(end="")
            c = b * w
        return c, w * 2

    results = t.compile(program, backend=backend)(t.ones(3))
    assert [result.requires_grad for result in results] == [False, True]

    def inner(x):
        with t.enable_grad():
            return x * w

    with t.no_grad():
        assert t.compile(inner, backend=backend)(t.ones(3)).requires_grad


def test_graphs_that_cannot_be_compiled_run_as_they_are(monkeypatch, recwarn):
    def refuse(*_):
        raise NotImplementedError("no kernel")

    def program(x):
        return x + 1

    monkeypatch.setattr(options.InductorBackend, "compile_captured", refuse)
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "0")
    assert t.equal(t.compile(program, **INTERPRETED)(t.ones(3)), t.full((3,), 2.0))
    assert any("could not be compiled" in str(w.message) for w in recwarn)
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")
    compiler.reset()
    with pytest.raises(dynamo.exc.BackendCompilerFailed):
        t.compile(program, **INTERPRETED)(t.ones(3))


def test_arguments_that_no_graph_holds_break():
    generator = t.Generator().manual_seed(5)
    compiled = t.compile(lambda x: t.rand(3, generator=generator) + x, backend="eager")
    first = compiled(t.ones(3))
    assert t.equal(first, t.rand(3, generator=t.Generator().manual_seed(5)) + 1)


def test_inputs_with_gaps_of_several_sizes():
    compiled = t.compile(lambda x: x * 2, **INTERPRETED)
    for size in (8, 12, 20):
        x = t.arange(float(size))[::2]
        assert t.equal(compiled(x), x * 2)


def test_warnings_are_told_at_every_call():
    def function(x):
        warnings.warn(f"rows: {x.shape[0]}", stacklevel=2)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return x + 1

    def heard(called):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            called(t.ones(2))
        return [(str(w.message), w.category, w.filename, w.lineno) for w in told]

    compiled = t.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        assert heard(compiled) == heard(function)


@pytest.mark.parametrize("kind", [list, dict, set, tuple], ids=lambda kind: kind.__name__)
def test_classes_derived_from_containers_are_made_of_what_is_given(kind):
    class Own(kind):
        pass

    def function(given, x):
        made = Own(given)
        return made, type(made).__name__, x + len(made)

    given = kind({"a": 1, "b": 2})
    expected = function(given, t.ones(2))
    assert is_same(t.compile(function, backend="eager")(given, t.ones(2)), expected)


BACKENDS = {"eager": {}, "inductor": INTERPRETED}


@pytest.mark.parametrize("backend", BACKENDS)
def test_casts_switched_off_inside_of_autocast(backend):
    def function(x):
        y = x @ x
        with t.autocast("cpu", enabled=False):
            z = x @ x
        return y, z

    compiled = t.compile(function, backend=backend, **BACKENDS[backend])
    x = t.randn(4, 4)
    with t.autocast("cpu", dtype=t.bfloat16):
        for _ in range(2):
            assert is_same(compiled(x), function(x))


def test_a_break_while_a_lock_is_held(capsys):
    lock = threading.Lock()

    def function(x):
        with lock:
            y = x + 1
            print("held", lock.locked())
            return y * 2

    compiled = t.compile(function, backend="eager")
    for _ in range(2):
        assert is_same(compiled(t.ones(2)), function(t.ones(2)))
    assert not lock.locked()


def test_functions_given_to_checkpoint_that_write_to_the_program():
    log = []

    def body(x):
        log.append(len(log))
        return x.sin()

    def function(x):
        return checkpoint(body, x, use_reentrant=False).sum()

    compiled = t.compile(function, backend="eager")
    for count in (1, 2, 3):
        compiled(t.ones(2))
        assert log == list(range(count))


def test_autograd_functions_that_write_to_the_program():
    log = []

    class Noted(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            log.append("forward")
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            log.append("backward")
            return grad * 2

    compiled = t.compile(lambda x: Noted.apply(x).sum(), backend="eager")
    for count in (1, 2, 3):
        compiled(t.ones(2, requires_grad=True)).backward()
        assert log == ["forward", "backward"] * count


def test_warnings_that_are_errors_are_handled():
    def function(x):
        try:
            warnings.warn("bad", stacklevel=1)
        except UserWarning:
            return x - 1
        return x + 1

    compiled = t.compile(function, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_same(compiled(t.ones(2)), t.zeros(2))


def test_global_hooks_see_modules_of_the_program_alone():
    seen = []
    handle = nn.modules.module.register_module_forward_hook(
        lambda module, args, out: seen.append(type(module).__name__)
    )
    try:
        model = nn.Linear(2, 2)
        t.compile(lambda x: model(x), backend="eager")(t.ones(1, 2))
        assert seen == ["Linear"]
    finally:
        handle.remove()


def test_the_order_of_ordered_dicts_is_guarded():
    def function(d, x):
        return x * next(iter(d.values()))

    d = collections.OrderedDict(a=2.0, b=3.0)
    compiled = t.compile(function, backend="eager")
    for _ in range(3):
        assert is_same(compiled(d, t.ones(2)), function(d, t.ones(2)))
        d.move_to_end("a")
        assert is_same(compiled(d, t.ones(2)), function(d, t.ones(2)))
