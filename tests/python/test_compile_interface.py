"""The interface of taeda.compile: stances, filters of guards, callbacks, modes, options."""

import contextlib
import copy
import functools
import importlib
import importlib.metadata
import inspect
import pickle
import types

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
dynamo = importlib.import_module(f"{NAME}._dynamo")
inductor = importlib.import_module(f"{NAME}._inductor")
callback = importlib.import_module(f"{NAME}._dynamo.callback")
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters
CompileCounter = importlib.import_module(f"{NAME}._dynamo.testing").CompileCounter
compiler = t.compiler

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="asks for Taeda's own answers, too")

X = t.ones(2, 3)


@pytest.fixture(autouse=True)
def _fresh():
    counters.clear()
    yield
    compiler.set_stance("default")
    dynamo.reset()


# ---- stances ----


def test_a_stance_that_there_is_not():
    with pytest.raises(RuntimeError, match=r"invalid torch\.compile stance 'lazy'"):
        compiler.set_stance("lazy")
    with pytest.raises(RuntimeError, match="non-default stance cannot have force_backend set"):
        compiler.set_stance("force_eager", force_backend="eager")


def test_eager_on_recompile_compiles_nothing():
    count = CompileCounter()
    f = t.compile(lambda x: x + 1, backend=count)
    with compiler.set_stance("eager_on_recompile"):
        assert t.equal(f(X), X + 1) and count.frame_count == 0
    f(X)
    with compiler.set_stance("eager_on_recompile"):
        f(t.ones(5))
        f(X)
    assert count.frame_count == 1


def test_fail_on_recompile_names_the_function():
    def grown(x):
        return x * 2

    f = t.compile(grown, backend="eager", dynamic=False)
    f(X)
    with compiler.set_stance("fail_on_recompile"):
        f(X)
        with pytest.raises(RuntimeError, match=r"Detected recompile when torch\.compile stance is"):
            f(t.ones(7))
        with pytest.raises(RuntimeError, match=r"(?s)function name: 'grown'.*compiled again") as e:
            f(t.ones(4, 3))
    assert "expected 2, actual 4" in str(e.value)


def test_eager_then_compile_learns_sizes():
    count = CompileCounter()
    f = t.compile(lambda x: x * 2, backend=count)
    with compiler.set_stance("eager_then_compile"):
        for size, graphs in ((3, 0), (5, 1), (7, 1), (3, 1)):
            assert t.equal(f(t.ones(size)), t.full((size,), 2.0))
            assert count.frame_count == graphs


def test_aot_eager_then_compile_uses_the_backend_at_the_second_call():
    count = CompileCounter()
    f = t.compile(lambda x: x * 2, backend=count)
    with compiler.set_stance("aot_eager_then_compile"):
        for size, graphs in ((3, 0), (5, 1), (7, 1), (3, 1)):
            assert t.equal(f(t.ones(size)), t.full((size,), 2.0))
            assert count.frame_count == graphs


def test_a_stance_as_decorator_and_forced_backends():
    own, forced = CompileCounter(), CompileCounter()
    f = t.compile(lambda x: x - 1, backend=own)

    @compiler.set_stance("force_eager")
    def eagerly():
        return f(X)

    assert t.equal(eagerly(), X - 1) and own.frame_count == 0
    with compiler.set_stance(force_backend=forced):
        f(X)
    f(X)
    assert (own.frame_count, forced.frame_count) == (1, 1)


def test_skipped_guards_still_look_at_tensors():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.by = 2

        def forward(self, x):
            return x * self.by

    model = Scale()
    f = t.compile(model, backend="eager", dynamic=False)
    f(X)
    model.by = 3
    with compiler.set_stance(skip_guard_eval_unsafe=True):
        assert t.equal(f(X), X * 2)  # the program answers for it
        assert t.equal(f(t.ones(5)), t.full((5,), 3.0))
    assert t.equal(f(X), X * 3)


# ---- guards ----


def scaled(by):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.by = by

        def forward(self, x):
            return self.linear(x) * self.by

    return Scaled()


def test_a_filter_sees_every_guard():
    seen = []

    def keep(entries):
        seen.extend(entries)
        return [True] * len(entries)

    model = scaled(2)
    f = t.compile(model, backend="eager", options={"guard_filter_fn": keep})
    f(X)
    by_type = {entry.guard_type for entry in seen}
    assert {"TENSOR_MATCH", "CONSTANT_MATCH", "TYPE_MATCH", "SHAPE_ENV", "GLOBAL_STATE"} <= by_type
    (weight,) = [entry for entry in seen if entry.value is model.linear.weight]
    assert weight.has_value and "weight" in weight.name and not weight.is_global
    assert weight.orig_guard.source.is_unspecialized_builtin_nn_module()
    (number,) = [e for e in seen if e.guard_type == "CONSTANT_MATCH" and e.name.endswith(".by")]
    assert number.value == 2 and number.orig_guard.source.is_unspecialized_nn_module()
    assert not number.orig_guard.source.is_unspecialized_builtin_nn_module()
    assert number.orig_guard.text.endswith(".by == 2")


def test_a_filter_reads_names_and_values_as_the_program_does():
    seen = {}

    def keep(entries):
        seen.update({entry.name: repr(entry.value) for entry in entries})
        return [not (entry.name == "y" and entry.value is None) for entry in entries]

    @t.compile(backend="eager", options={"guard_filter_fn": keep})
    def f(x, y):
        return x + 1 if y is None else x + y

    assert t.equal(f(X, None), X + 1)
    assert seen["x"] == repr(X)
    with compiler.set_stance("fail_on_recompile"):
        assert t.equal(f(X, t.ones(3)), X + 1)


@pytest.mark.parametrize(
    "name, notices_by, notices_size",
    [
        ("skip_all_guards_unsafe", False, False),
        ("skip_guard_on_all_nn_modules_unsafe", False, True),
        ("skip_guard_on_inbuilt_nn_modules_unsafe", True, True),
        ("skip_guard_on_globals_unsafe", True, True),
        ("keep_tensor_guards_unsafe", False, True),
        ("keep_portable_guards_unsafe", False, True),
    ],
)
def test_filters_drop_what_they_say(name, notices_by, notices_size):
    count = CompileCounter()
    model = scaled(2)
    keep = getattr(compiler, name)
    f = t.compile(model, backend=count, dynamic=False, options={"guard_filter_fn": keep})
    f(X)
    model.by = 3
    is_new = t.equal(f(X), model(X))
    assert is_new == notices_by and count.frame_count == 1 + notices_by
    before = count.frame_count
    assert f(t.ones(4, 3)).shape == (4, 3)
    assert count.frame_count == before + notices_size


def test_without_guards_nonsense_is_an_error_and_no_crash():
    f = t.compile(
        lambda x: x.relu() + 1, options={"guard_filter_fn": compiler.skip_all_guards_unsafe}
    )
    f(X)
    for value in (None, "text", t.ones(2, 3, dtype=t.int64), t.ones(7), t.ones(0)):
        with contextlib.suppress(TypeError, RuntimeError, AttributeError, ValueError):
            f(value)


def test_filters_of_the_wrong_length_or_kind():
    f = t.compile(lambda x: x + 1, backend="eager", options={"guard_filter_fn": lambda g: [True]})
    with pytest.raises(RuntimeError, match="a bool per guard: got 1, expected"):
        f(X)

    def fails(entries):
        raise KeyError("mine")

    f = t.compile(lambda x: x + 1, backend="eager", options={"guard_filter_fn": fails})
    with pytest.raises(KeyError, match="mine"):
        f(X)


def test_hooks_of_optimize():
    exported, failed = [], []

    def double(x):
        return x * 2

    f = dynamo.optimize("eager", guard_export_fn=exported.append, guard_fail_fn=failed.append)(
        double
    )
    f(X)
    f(t.ones(5, 3))
    assert len(exported) == 2 and any(g.name == "L['x']" for g in exported[0])
    (failure,) = failed
    assert failure.orig_code is double.__code__ and "expected 2, actual 5" in failure.reason
    used = pytest.raises(RuntimeError, match="is used with a context manager")
    with used, dynamo.optimize("eager"):
        pass


def test_what_a_function_that_is_told_of_guards_raises_is_logged(caplog):
    def fails(failure):
        raise KeyError(failure.reason)

    f = dynamo.optimize("eager", guard_fail_fn=fails)(lambda x: x * 2)
    f(X)
    with caplog.at_level("ERROR"):
        assert t.equal(f(t.ones(5, 3)), t.full((5, 3), 2.0))
    (record,) = caplog.records
    assert "guard_fail_fn" in record.message and record.exc_info[0] is KeyError


# ---- callbacks ----


def test_callbacks_around_compilations():
    log = []
    handler = callback.callback_handler

    @callback.on_compile_start
    def begin(args):
        log.append(("begin", args.callback_trigger.name))

    @callback.on_compile_end
    def end(args):
        log.append(("end", args.callback_trigger.name))

    try:
        f = t.compile(lambda x: x + 1, backend="eager")
        f(X)
        f(X)
        assert log == [("begin", "DYNAMO"), ("end", "DYNAMO")]
        log.clear()

        def fails(gm, inputs):
            raise ValueError("no")

        with pytest.raises(dynamo.exc.BackendCompilerFailed):
            t.compile(lambda x: x + 1, backend=fails)(X)
        assert [what for what, _ in log] == ["begin", "end"]
    finally:
        handler.clear()
    assert not handler.start_callbacks and not handler.end_callbacks


def test_callbacks_are_called_after_one_that_raised():
    log = []
    handler = callback.callback_handler

    def fails(args):
        raise ValueError("no")

    try:
        callback.on_compile_start(fails)
        with pytest.raises(ValueError, match="no"):
            t.compile(lambda x: x + 1, backend="eager")(X)
        handler.remove_start_callback(fails)
        callback.on_compile_start(lambda args: log.append("begin"))
        callback.on_compile_end(lambda args: log.append("end"))
        t.compile(lambda x: x + 1, backend="eager")(X)
        assert log == ["begin", "end"]
    finally:
        handler.clear()


# ---- configs ----


def test_two_configs_and_their_aliases():
    config = compiler.config
    with config.patch(recompile_limit=3):
        assert dynamo.config.recompile_limit == dynamo.config.cache_size_limit == 3
    dynamo.config.cache_size_limit = 5
    assert config.recompile_limit == 5
    dynamo.config.recompile_limit = 8
    with pytest.raises(AttributeError, match="does not exist"):
        config.nonsense = 1
    with pytest.raises(AttributeError, match="does not exist"):
        dynamo.config.nonsense  # noqa: B018


def test_dynamic_sources_are_symbols_at_once():
    count = CompileCounter()
    f = t.compile(lambda x, y: x.sum() + y.sum(), backend=count)
    with compiler.config.patch(dynamic_sources="L['x']"):
        f(t.ones(4), t.ones(2))
        f(t.ones(6), t.ones(2))
        assert count.frame_count == 1
        f(t.ones(6), t.ones(3))
        assert count.frame_count == 2


@pytest.mark.parametrize(
    "sources, shapes, graphs",
    [
        ("L['x']:0", [(4, 2), (5, 2), (6, 2)], 1),
        ("L['x']:0", [(4, 2), (4, 3), (4, 4)], 3),
        ("L['x']:0, L['x']:1", [(4, 2), (5, 3), (6, 4)], 1),
        (r"L\['", [(4, 2), (5, 3), (6, 4)], 1),
        (r"L\['.*'\]:1", [(4, 2), (4, 3)], 1),
        (".*", [(4, 2), (5, 3)], 1),
        ("L['x.*']", [(4, 2), (5, 2), (6, 2)], 3),
        ("x", [(4, 2), (5, 2)], 2),
    ],
)
def test_entries_of_dynamic_sources(sources, shapes, graphs):
    count = CompileCounter()
    f = t.compile(lambda x: x.sum(), backend=count, dynamic=False)
    with compiler.config.patch(dynamic_sources=sources):
        for shape in shapes:
            f(t.ones(shape))
    assert count.frame_count == graphs


@pytest.mark.parametrize(
    "settings, graphs",
    [
        ({}, 2),
        ({"assume_static_by_default": False}, 1),
        ({"automatic_dynamic_shapes": False}, 3),
    ],
)
def test_settings_of_sizes(settings, graphs):
    count = CompileCounter()
    with dynamo.config.patch(settings):
        f = t.compile(lambda x: x + 1, backend=count)
        for size in (3, 5, 7):
            f(t.ones(size))
    assert count.frame_count == graphs


def test_limits_of_recompiles():
    count = CompileCounter()
    f = t.compile(lambda x, name: x + len(name), backend=count, recompile_limit=2)
    with pytest.warns(UserWarning, match="compiled 2 times"):
        for name in "abc":
            f(X, name * 3 + name)
    whole = t.compile(lambda x, n: x + len(n), backend="eager", fullgraph=True, recompile_limit=1)
    whole(X, "a")
    with pytest.raises(dynamo.exc.FailOnRecompileLimitHit):
        whole(X, "b")
    with pytest.raises(ValueError, match="at least 1"):
        t.compile(lambda x: x, recompile_limit=0)


def test_suppressed_errors_of_backends():
    def fails(gm, inputs):
        raise ValueError("no")

    warned = pytest.warns(UserWarning, match="ValueError: no")
    with dynamo.config.patch(suppress_errors=True), warned:
        assert t.equal(t.compile(lambda x: x + 1, backend=fails)(X), X + 1)


# ---- modes, options, backends ----


def test_modes_and_options_by_name():
    modes = inductor.list_mode_options()
    assert list(modes) == [
        "default",
        "lite",
        "reduce-overhead",
        "max-autotune-no-cudagraphs",
        "max-autotune",
    ]
    assert inductor.list_mode_options("reduce-overhead") == {"triton.cudagraphs": True}
    assert "pattern_matcher" in inductor.list_options()
    for mode in modes:
        f = t.compile(lambda x: x.relu() + 1, mode=mode)
        assert t.equal(f(X), X + 1) and f.get_compiler_config() == modes[mode]
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast, should be one of: default, "):
        t.compile(lambda x: x, mode="fast")
    with pytest.raises(RuntimeError, match="Unexpected optimization option nonsense, known"):
        t.compile(lambda x: x, options={"nonsense": 1})
    with pytest.raises(RuntimeError, match="attr max_autotune, got str should be bool"):
        t.compile(lambda x: x, options={"max_autotune": "yes"})
    with pytest.raises(RuntimeError, match="both can't be specified"):
        t.compile(lambda x: x, mode="default", options={})
    with pytest.raises(TypeError, match="are a dict, got int"):
        t.compile(lambda x: x, options=3)
    for dynamic in ("x", 1, 0.0):
        with pytest.raises(AssertionError, match="Expected enable to be a bool, got <class"):
            t.compile(lambda x: x, dynamic=dynamic)


def test_the_mode_lite_keeps_the_numbers_of_eager():
    def f(x):
        return (x.exp().softmax(-1) @ x.t()).tanh().sum(0)

    t.manual_seed(0)
    x = t.randn(33, 17)
    compiled = t.compile(f, mode="lite")
    assert t.equal(compiled(x), f(x))
    t.compiler.wait()
    assert t.equal(compiled(x), f(x))


def test_signatures_of_what_is_compiled():
    def f(a, b=2, *, c):
        return a * b + c

    linear = nn.Linear(3, 2)
    assert str(inspect.signature(t.compile(f))) == "(a, b=2, *, c)"
    assert inspect.signature(t.compile(linear.forward)) == inspect.signature(linear.forward)
    for of_any in (t.compile(linear).forward, t.compile(linear), t.compile(functools.partial(f))):
        kinds = [one.kind.name for one in inspect.signature(of_any).parameters.values()]
        assert kinds == ["VAR_POSITIONAL", "VAR_KEYWORD"]


def test_options_hold_for_their_function_alone():
    f = t.compile(lambda x: x.relu() + 1, options={"native": "never", "max-autotune": True})
    assert t.equal(f(X), X + 1)
    assert f.get_compiler_config() == {"native": "never", "max_autotune": True}
    assert inductor.config.native == "background"


def test_other_backends_get_mode_and_options():
    seen = []

    def backend(gm, inputs, mode=None, options=None):
        seen.append((mode, options))
        return gm.forward

    t.compile(lambda x: x + 1, backend=backend)(X)
    t.compile(lambda x: x + 1, backend=backend, mode="mine")(X)
    t.compile(lambda x: x + 1, backend=backend, options={"mine": 1})(X)
    assert seen == [(None, None), ("mine", None), (None, {"mine": 1})]


@pytest.mark.parametrize("group", ["torch_dynamo_backends", "taeda_dynamo_backends"])
def test_backends_of_other_packages(monkeypatch, group):
    count = CompileCounter()
    name = f"backend_of_{group}"
    point = types.SimpleNamespace(name=name, load=lambda: count)

    def entry_points(group=None, wanted=group):
        return [point] if group == wanted else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert name in compiler.list_backends()
    t.compile(lambda x: x + 1, backend=name)(X)
    assert count.frame_count == 1


def test_the_default_backend():
    count = CompileCounter()
    assert compiler.get_default_backend() == "inductor"
    compiler.set_default_backend(count)
    try:
        t.compile(lambda x: x + 1)(X)
        assert count.frame_count == 1
    finally:
        compiler.set_default_backend(None)
    with pytest.raises(TypeError, match="must be a string or callable"):
        compiler.set_default_backend(3)
    with pytest.raises(dynamo.exc.InvalidBackend, match="Invalid backend: 'nobody'"):
        t.compile(lambda x: x, backend="nobody")


def test_backends_of_operators():
    graphs = []
    common = importlib.import_module(f"{NAME}._dynamo.backends.common")

    def keep(gm, inputs):
        graphs.append([str(n.target) for n in gm.graph.nodes if n.op == "call_function"])
        return gm.forward

    f = t.compile(lambda x: (x * 2).relu().sum(), backend=common.aot_autograd(fw_compiler=keep))
    x = X.clone().requires_grad_()
    f(x).backward()
    assert t.equal(x.grad, t.full((2, 3), 2.0))
    assert len(graphs) == 2 and all("aten." in name for names in graphs for name in names)


# ---- regions ----


def test_equal_regions_share_one_function():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        @compiler.nested_compile_region
        def forward(self, x):
            return self.linear(x).relu() + x

    model = nn.Sequential(Layer(), Layer(), Layer())
    graphs = []

    def keep(gm, inputs):
        graphs.append(gm)
        return gm.forward

    expected = model(X)
    assert t.equal(t.compile(model, backend=keep, fullgraph=True)(X), expected)
    (gm,) = graphs
    calls = [n for n in gm.graph.nodes if n.op == "call_function"]
    assert [n.target.__name__ for n in calls] == ["invoke_subgraph", "getitem"] * 3
    assert len(list(gm.children())) == 1
    compiled = t.compile(model, fullgraph=True)
    out = compiled(X)
    assert t.allclose(out, expected, atol=1e-6)
    out.sum().backward()
    grads = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(X).sum().backward()
    assert all(t.allclose(g, p.grad) for g, p in zip(grads, model.parameters(), strict=True))


def test_regions_that_differ_are_two():
    @compiler.nested_compile_region
    def scale(x, by):
        return (x * by, by)

    graphs = []

    def keep(gm, inputs):
        graphs.append(gm)
        return gm.forward

    def program(x):
        a, b = scale(x, 2)
        c, d = scale(a, 3)
        return c + b + d + scale(x, 2)[0]

    f = t.compile(program, backend=keep, fullgraph=True)
    assert t.equal(f(X), program(X))
    assert len(list(graphs[0].children())) == 2
    with pytest.raises(TypeError, match="takes a function"):
        compiler.nested_compile_region(3)


def test_functions_of_arrays_take_tensors():
    numpy = pytest.importorskip("numpy")

    @compiler.wrap_numpy
    def outer(a, b):
        return {"outer": numpy.multiply.outer(a, b), "sum": a.sum(), "n": 3}

    def program(x):
        return outer(x * 2, x)["outer"] + 1

    out = outer(t.ones(2), t.ones(3))
    assert out["outer"].shape == (2, 3) and out["sum"].item() == 2 and out["n"] == 3
    x = t.tensor([1.0, 2.0])
    assert t.equal(t.compile(program, backend="eager")(x), program(x))


# ---- names ----

# What PyTorch 2.13 lists in torch.compiler and torch._dynamo, less what is absent by choice:
# programs compiled ahead of time (load_compiled_function), the debugger of bytecode and records of
# captures (bytecode_debugger, replay), contexts of recompiles and the recursion limit of C.
_OF_COMPILER = """
    compile config assume_constant_result reset allow_in_graph substitute_in_graph list_backends
    disable set_default_backend get_default_backend set_stance set_enable_guard_collectives
    cudagraph_mark_step_begin wrap_numpy is_compiling is_dynamo_compiling is_exporting
    save_cache_artifacts load_cache_artifacts keep_portable_guards_unsafe
    skip_guard_on_inbuilt_nn_modules_unsafe skip_guard_on_all_nn_modules_unsafe
    keep_tensor_guards_unsafe skip_guard_on_globals_unsafe skip_all_guards_unsafe
    nested_compile_region
"""
_OF_DYNAMO = """
    allow_c_slot allow_in_graph assume_constant_result config disable disable_nested_graph_breaks
    disallow_in_graph dont_skip_tracing error_on_graph_break explain export forbid_in_graph
    graph_break is_compiling is_dynamo_disable_recursive list_backends lookup_backend mark_dynamic
    mark_static mark_static_address mark_unbacked maybe_mark_dynamic nonstrict_trace optimize
    optimize_assert override_cudagraphs override_optimization_hint patch_dynamo_config
    register_backend reset run set_stance skip_frame step_unsupported substitute_in_graph
    OptimizedModule callback
"""


@pytest.mark.parametrize("module, names", [(compiler, _OF_COMPILER), (dynamo, _OF_DYNAMO)])
def test_pytorchs_names_are_there(module, names):
    absent = [name for name in names.split() if not hasattr(module, name)]
    assert absent == [] and set(names.split()) <= set(dir(module))


def test_results_of_training_for_tests():
    testing = importlib.import_module(f"{NAME}._dynamo.testing")
    model = nn.Linear(3, 3)
    compiled = t.compile(model, backend="eager")
    results = []
    for one in (model, compiled):
        model.zero_grad()
        x = testing.clone_me(X.requires_grad_())
        out = one(x)
        loss = testing.reduce_to_scalar_loss(out)
        assert testing.requires_bwd_pass(out) and not testing.requires_bwd_pass([None, 3])
        loss.backward()
        results.append(testing.collect_results(one, out.detach(), loss.detach(), [x]))
        results[-1][2] = {name: grad.clone() for name, grad in results[-1][2].items()}
    X.requires_grad_(False)
    assert testing.same(results[0], results[1])
    result, graphs, forward, backward = testing.extract_graph(lambda x: x.relu(), X)
    assert t.equal(result, X) and len(graphs) == 1 and len(forward) == 1 and backward == []


@t.compile
def _doubled(x):
    return x.relu() * 2


class _WithCompiled(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.act = t.nn.Linear(2, 2), _doubled

    def forward(self, x):
        return self.act(self.linear(x))


def test_compiled_functions_are_copied_and_pickled_as_functions_are():
    assert copy.copy(_doubled) is _doubled and copy.deepcopy(_doubled) is _doubled
    assert pickle.loads(pickle.dumps(_doubled)) is _doubled
    model, x = _WithCompiled(), t.randn(3, 2)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin.act is _doubled and t.equal(twin(x), model(x))
    averaged = importlib.import_module(f"{NAME}.optim.swa_utils").AveragedModel(model)
    assert t.equal(averaged(x), model(x))
    with pytest.raises((pickle.PicklingError, AttributeError), match="<lambda>"):
        pickle.dumps(t.compile(lambda x: x))


def test_a_module_whose_forward_is_compiled_is_copied():
    model, x = t.nn.Linear(2, 2), t.randn(3, 2)
    model.forward = t.compile(model.forward)
    twin = copy.deepcopy(model)
    with t.no_grad():
        twin.weight.zero_()
    assert t.equal(twin(x), twin.bias.expand(3, 2)) and not t.equal(model(x), twin(x))


def test_what_a_compiled_function_tells_of_its_code():
    def f(x, *, scale=2):
        return x * scale

    compiled = t.compile(f)
    assert compiled.__code__ is f.__code__ and compiled.__globals__ is f.__globals__
    assert compiled.__kwdefaults__ == {"scale": 2} and compiled.__defaults__ is None
    assert compiled.__closure__ is None


def test_decorators_leave_functions_that_wrap_others_whole():
    """functools.wraps copies what a decorator noted about the function that it wraps."""

    @t.compile(backend="eager")
    def inner(x):
        return x + 1

    @functools.wraps(inner)
    def outer(x):
        return inner(x) * 2

    for made in (t.compile(outer, backend="eager"), t._dynamo.disable(outer)):
        assert made(t.ones(2)).tolist() == [4.0, 4.0]
        assert t._dynamo.eval_frame.innermost_fn(made) is outer


def test_methods_are_decorated_once_more():
    class Holder:
        def run(self, x):
            return self.step(x)

        @t._dynamo.disable
        def step(self, x):
            return x + 1

    holder = Holder()
    for again in (t._dynamo.disable, functools.partial(t.compile, backend="eager")):
        holder.step = again(holder.step)
        assert holder.run(t.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("inner_is_whole", [False, True])
@pytest.mark.parametrize("outer_is_whole", [False, True])
def test_a_function_that_is_compiled_whole_stays_so_in_another_one(inner_is_whole, outer_is_whole):
    @t.compile(backend="eager", fullgraph=inner_is_whole)
    def inner(x):
        t._dynamo.graph_break()
        return x + 1

    @t.compile(backend="eager", fullgraph=outer_is_whole)
    def outer(x):
        return inner(x) * 2

    if not inner_is_whole and not outer_is_whole:
        assert outer(t.ones(2)).tolist() == [4.0, 4.0]
        return
    with pytest.raises(t._dynamo.exc.Unsupported):
        outer(t.ones(2))


def test_error_on_graph_break_takes_a_bool():
    with pytest.raises(TypeError, match="takes True or False, got str"):
        t._dynamo.error_on_graph_break("yes")


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second


def test_same_compares_objects_by_their_attributes():
    x = t.ones(2)
    same = dynamo.utils.same
    if NAME == "taeda":  # PyTorch knows such classes by their names
        assert same(Pair(x, [Pair(x, 1)]), Pair(x + 0, [Pair(x, 1)]))
        assert not same(Pair(x, 1), Pair(x + 1, 1)) and not same(Pair(x, 1), Pair(x, 2))
