"""Settings and marks that say how programs are compiled: when they are read, and what they do."""

import importlib
import unittest
import warnings

import pytest
from under_test import NAME, t

CompileCounter = importlib.import_module(f"{NAME}._dynamo.testing").CompileCounter
config = t._dynamo.config


@pytest.fixture(autouse=True)
def fresh():
    """No test sees what another compiled."""
    t._dynamo.reset()


def graphs_of(function, *calls, around=None, **settings):
    """How many graphs the calls of a compiled function make; `around` is a scope of the calls."""
    counter = CompileCounter()
    compiled = t.compile(function, backend=counter, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if around is None:
            for args in calls:
                compiled(*args)
        else:
            with around:
                for args in calls:
                    compiled(*args)
    return counter.frame_count


def marked(mark, sizes, *dims):
    made = [t.ones(size, 3) for size in sizes]
    for tensor in made:
        mark(tensor, *dims)
    return [(tensor,) for tensor in made]


def plus_one(x):
    return x + 1


def with_length(x, text):
    return x + len(text)


TEXTS = [(t.ones(1), "a" * i) for i in range(5)]


# ---- marks ----


@pytest.mark.parametrize("dynamic", [True, None, False])
def test_sizes_that_are_marked_static_are_no_symbols(dynamic):
    for dims in ((0,), (), ([0, 1],)):
        calls = marked(t._dynamo.mark_static, (4, 6, 8), *dims)
        assert graphs_of(plus_one, *calls, dynamic=dynamic) == 3
        t._dynamo.reset()


def test_other_sizes_of_a_marked_tensor_are_symbols():
    calls = [(t.ones(4, n),) for n in (3, 5, 7)]
    for (tensor,) in calls:
        t._dynamo.mark_static(tensor, 0)
    assert graphs_of(plus_one, *calls, dynamic=True) == 1


def test_sizes_that_may_change_are_symbols_from_the_first_call_on():
    def branching(x):
        return x + 1 if x.shape[0] == 4 else x

    first, *others = [(t.ones(size, 3),) for size in (4, 5, 6)]
    t._dynamo.maybe_mark_dynamic(first[0], 0)
    assert graphs_of(plus_one, first, *others) == 1
    t._dynamo.reset()
    assert graphs_of(branching, first) == 1  # a branch on it is no error


# ---- settings ----


def test_the_limit_of_recompiles_is_read_when_a_call_compiles():
    assert graphs_of(with_length, *TEXTS) == 5
    t._dynamo.reset()
    assert graphs_of(with_length, *TEXTS, around=config.patch(recompile_limit=2)) == 2
    t._dynamo.reset()
    assert graphs_of(with_length, *TEXTS, around=config.patch(accumulated_recompile_limit=3)) == 3


def test_whether_sizes_change_is_read_when_a_call_compiles():
    calls = [(t.ones(size),) for size in (3, 4, 5)]
    assert graphs_of(plus_one, *calls) == 2
    t._dynamo.reset()
    assert graphs_of(plus_one, *calls, around=config.patch(automatic_dynamic_shapes=False)) == 3
    t._dynamo.reset()
    assert graphs_of(plus_one, *calls, around=config.patch(assume_static_by_default=False)) == 1


@pytest.mark.parametrize(
    ("setting", "numbers"), [("specialize_int", (5, 6, 7)), ("specialize_float", (1.5, 2.5, 3.5))]
)
def test_numbers_are_constants_where_settings_say_so(setting, numbers):
    calls = [(t.ones(2), number) for number in numbers]
    assert graphs_of(lambda x, n: x * n, *calls) == 2
    t._dynamo.reset()
    assert graphs_of(lambda x, n: x * n, *calls, around=config.patch({setting: True})) == 3


@pytest.mark.skipif(NAME != "taeda", reason="of settings that PyTorch has")
def test_settings_without_an_effect_say_so():
    with pytest.warns(UserWarning, match=r"verify_correctness has no effect here: .*check"):
        config.verify_correctness = True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.verify_correctness = False
        config.verbose = config.verbose
        with pytest.raises(UserWarning, match="repro_after"), config.patch(repro_after="aot"):
            pass
    assert config.repro_after is None


# ---- functions that are left alone ----


def test_functions_that_one_left_alone_calls_are_compiled():
    counter = CompileCounter()
    seen = []

    def inner(x):
        return (x * 2).sin()

    @t.compiler.disable
    def alone(x):
        seen.append(t.compiler.is_compiling())
        return inner(x)

    @t.compiler.disable(recursive=False)
    def shallow(x, n):
        seen.append(t.compiler.is_compiling())
        y = x.cos()  # no part of a graph
        if n > 0:
            return shallow(x, n - 1)
        return inner(y) + inner(x=y) + alone(y)

    compiled = t.compile(lambda x: shallow(x, 1) * 3, backend=counter)
    x = t.ones(2)
    expected = inner(x.cos()) * 9
    for _ in range(2):
        assert t.allclose(compiled(x), expected)
        assert seen == [False] * 3
        seen.clear()
    # `inner` once, and what follows the call.
    assert (counter.frame_count, counter.op_count) == (2, 3)
    # Nothing is compiled without a compiled program around it.
    counter.clear()
    shallow(x, 0)
    assert counter.frame_count == 0


def test_methods_and_errors_below_functions_that_are_left_alone():
    counter = CompileCounter()

    def failing(x):
        y = x + 1
        raise ValueError(f"{y.shape[0]}")

    class Model(t.nn.Module):
        def part(self, x):
            return x.relu() + 1

        @t.compiler.disable(recursive=False)
        def forward(self, x):
            try:
                failing(x)
            except ValueError as error:
                return self.part(x) * int(str(error))

    model = Model()
    compiled = t.compile(lambda x: model(x), backend=counter)
    x = t.ones(2)
    assert t.equal(compiled(x), model(x))
    assert counter.op_count >= 2


# ---- stances ----


def test_a_compiled_program_sets_no_stance():
    @t.compiler.set_stance("force_eager")
    def decorated(x):
        return x * 2

    def calls(x):
        t.compiler.set_stance("force_eager")
        return x + 1

    def enters(x):
        with t.compiler.set_stance("force_eager"):
            return x + 1

    def uses(x):
        return decorated(x) + 1

    for function in (calls, enters, uses):
        for fullgraph in (False, True):
            with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
                t.compile(function, backend="eager", fullgraph=fullgraph)(t.ones(2))
    assert graphs_of(plus_one, (t.ones(2),)) == 1  # the stance is what it was


def test_a_function_that_is_left_alone_may_set_a_stance():
    @t.compiler.disable
    def alone(x):
        with t.compiler.set_stance("force_eager"):
            return x * 2

    assert t.equal(t.compile(lambda x: alone(x) + 1, backend="eager")(t.ones(2)), t.full((2,), 3.0))


def test_settings_are_saved_and_loaded():
    config = t._dynamo.config
    saved, before = config.save_config(), config.recompile_limit
    assert isinstance(saved, bytes)
    try:
        config.recompile_limit = before + 3
        assert config.cache_size_limit == before + 3
    finally:
        config.load_config(saved)
    assert config.recompile_limit == before and config.to_dict() == config.get_config_copy()


def test_settings_that_differ_are_told_as_statements():
    with config.patch(recompile_limit=3, specialize_int=True):
        told = config.codegen_config().splitlines()
    assert f"{NAME}._dynamo.config.recompile_limit = 3" in told
    assert f"{NAME}._dynamo.config.specialize_int = True" in told
    assert "recompile_limit = 3" not in config.codegen_config()


def test_the_reason_of_a_disabled_function_is_told():
    @t.compiler.disable(reason="it talks to a server")
    def ask(x):
        return x

    with pytest.raises(t._dynamo.exc.Unsupported, match=r"\(reason: it talks to a server\)"):
        t.compile(lambda x: ask(x) + 1, fullgraph=True)(t.ones(2))


# ---- defaults that programs set ----


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_default_dtype_is_set_and_restored_inside(backend):
    def function(x):
        before = t.get_default_dtype()
        t.set_default_dtype(t.float64)
        try:
            return x + 1, t.zeros(2), t.tensor(1.5)
        finally:
            t.set_default_dtype(before)

    compiled = t.compile(function, backend=backend, fullgraph=True)
    for _ in range(2):
        assert [r.dtype for r in compiled(t.ones(2))] == [t.float32, t.float64, t.float64]
        assert t.get_default_dtype() == t.float32


def test_a_default_dtype_and_a_device_that_stay_set():
    def function(x):
        t.set_default_dtype(t.float64)
        t.set_default_device("meta")
        return x + 1, t.zeros(2)

    compiled = t.compile(function, backend="eager", fullgraph=True)
    try:
        assert [(r.dtype, r.device.type) for r in compiled(t.ones(2, device="cpu"))] == [
            (t.float32, "cpu"),
            (t.float64, "meta"),
        ]
        assert (t.get_default_dtype(), t.get_default_device().type) == (t.float64, "meta")
    finally:
        t.set_default_dtype(t.float32)
        t.set_default_device(None)


def test_a_default_dtype_that_is_none():
    def function(x):
        t.set_default_dtype(t.int64)
        return x

    with pytest.raises(TypeError, match="only floating-point types"):
        t.compile(function, backend="eager")(t.ones(2))
    assert t.get_default_dtype() == t.float32


def test_compiled_modules_and_objects_run_what_is_compiled():
    class Added:
        def __call__(self, x):
            return x + 1

    for made in (t.nn.Linear(3, 3), Added()):
        graphs = CompileCounter()
        compiled = t.compile(made, backend=graphs)
        compiled(t.ones(2, 3))
        run = t._dynamo.run(compiled)
        assert t.equal(run(t.ones(5, 3)), made(t.ones(5, 3)))
        assert graphs.frame_count == 1


@pytest.mark.parametrize("given", [3, "name", [1]])
def test_only_what_is_called_is_compiled(given):
    with pytest.raises(AssertionError, match="A callable function is expected, but <class"):
        t.compile(given)


@pytest.mark.parametrize("name", ["TAEDA_COMPILE_DISABLE", "TORCH_COMPILE_DISABLE"])
def test_a_variable_switches_compilation_off(monkeypatch, name):
    def plain(x):
        return x + 1

    monkeypatch.setenv(name, "1")
    assert t.compile(plain) is plain
    monkeypatch.setenv(name, "0")
    assert t.compile(plain) is not plain


def test_settings_of_a_class_of_tests():
    seen = []

    @config.patch(recompile_limit=3)
    class Tests(unittest.TestCase):
        def test_one(self):
            seen.append(config.recompile_limit)

    before = config.recompile_limit
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(result)
    assert result.wasSuccessful() and result.testsRun == 1
    assert Tests.__name__ == "Tests" and seen == [3] and config.recompile_limit == before
