"""Names of errors and limits that programs use."""

import importlib
import inspect
import sys
import types

import pytest
from compiled_case import is_same
from under_test import NAME, t

counters = importlib.import_module(f"{NAME}.compiler._counters").counters


def test_names_of_errors_that_programs_catch():
    exc = t._dynamo.exc
    names = (
        "BackendCompilerFailed CondOpArgsMismatchError InfiniteGeneratorError "
        "InternalTorchDynamoError InvalidBackend ObservedException PackageError RecompileError "
        "ResetRequired RestartAnalysis ShortenTraceback SkipFrame StepUnsupported "
        "TorchRuntimeError UncapturedHigherOrderOpError Unsupported UserError"
    )
    for name in names.split():
        assert issubclass(getattr(exc, name), exc.TorchDynamoException)
    assert issubclass(exc.BackendCompilerFailed, exc.ShortenTraceback)
    assert exc.UserErrorType.INVALID_INPUT.name == "INVALID_INPUT"
    dim = t.export.Dim("n")

    class Fixed(t.nn.Module):
        def forward(self, x):
            return x.view(3)

    with pytest.raises(exc.UserError) as caught:
        t.export.export(Fixed(), (t.ones(3),), dynamic_shapes=({0: dim},))
    assert caught.value.error_type is exc.UserErrorType.CONSTRAINT_VIOLATION


def test_limits_of_recursion_are_checked():
    t._dynamo.set_recursion_limit(100)
    t._dynamo.set_recursion_limit(-1)
    with pytest.raises(ValueError, match="recursion limit must be >= 1, or -1 to reset"):
        t._dynamo.set_recursion_limit(0)


ERRORS = {
    "dtypes of a product": lambda x: x @ t.ones(3, 2, dtype=t.int64),
    "sizes of a product": lambda x: x @ t.ones(4, 2),
    "sizes of a sum": lambda x: x + t.ones(x.shape[0] + 1, 3),
    "index": lambda x: x[:, 5],
    "linear layer": lambda x: t.nn.functional.linear(x, t.ones(2, 4)),
    "targets": lambda x: t.nn.functional.cross_entropy(x, t.zeros(x.shape[0] + 1, dtype=t.int64)),
    "write": lambda x: x.to(t.int64).add_(x),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_symbolic_sizes_are_those_of_eager(name):
    t.compiler.reset()
    compiled = t.compile(ERRORS[name], backend="eager", fullgraph=True, dynamic=True)
    for size in (6, 7, 8):
        with pytest.raises((RuntimeError, ValueError, IndexError)) as plain:
            ERRORS[name](t.ones(size, 3))
        with pytest.raises(plain.type) as own:
            compiled(t.ones(size, 3))
        assert own.type is plain.type and str(own.value) == str(plain.value)


def test_scopes_around_an_error_of_symbolic_sizes():
    left = []

    def function(x):
        try:
            with t.no_grad():
                return x @ t.ones(4, 2)
        except KeyError:
            return x
        finally:
            left.append(x.shape[0])

    t.compiler.reset()
    compiled = t.compile(function, backend="eager", fullgraph=True, dynamic=True)
    for size in (6, 7):
        with pytest.raises(RuntimeError, match=f"{size}x3 and 4x2"):
            compiled(t.ones(size, 3))
        assert left.pop() == size and not left and t.is_grad_enabled()


@pytest.mark.parametrize("is_bare", [True, False])
def test_a_program_that_handles_an_error_of_symbolic_sizes(is_bare):
    def bare(x):
        try:
            return x @ t.ones(4, 2)
        except:  # noqa: E722
            return x + 1

    def told(x):
        try:
            return x @ t.ones(4, 2)
        except RuntimeError as error:
            return str(error)

    function = bare if is_bare else told
    t.compiler.reset()
    with pytest.raises(t._dynamo.exc.Unsupported, match="may name sizes"):
        t.compile(function, backend="eager", fullgraph=True, dynamic=True)(t.ones(6, 3))
    t.compiler.reset()
    compiled = t.compile(function, backend="eager", dynamic=True)
    for size in (6, 7):
        x = t.ones(size, 3)
        got, expected = compiled(x), function(x)
        assert t.equal(got, expected) if is_bare else got == expected


def depth_of(depth, function, *args):
    return function(*args) if depth == 0 else depth_of(depth - 1, function, *args)


DEEP = {
    "a product": lambda x: x * 2 + 1,
    "functions that C calls": lambda x: [x * i for i in sorted([2, 1], key=lambda i: -i)],
    "a branch": lambda x: t.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,)),
    "a handled error": lambda x: x if hasattr(x, "nothing") else x + 1,
}


@pytest.mark.parametrize("name", DEEP)
def test_one_graph_near_the_recursion_limit(name):
    program = DEEP[name]

    def result(function, depth):
        try:
            return depth_of(depth, function, t.ones(2))
        except RecursionError:
            return "too deep"

    limit = sys.getrecursionlimit()
    here = len(inspect.stack(0))
    try:
        sys.setrecursionlimit(here + 60)
        for depth in range(15, 58):
            t.compiler.reset()
            compiled = t.compile(program, backend="eager", fullgraph=True)
            expected = result(program, depth)
            for _ in range(2):
                got = result(compiled, depth)
                # The call of a compiled function is one more.
                assert got == "too deep" or is_same(got, expected), (depth, got, expected)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("is_whole", [False, True])
def test_interruptions_of_a_captures_own_work_reach_the_caller(monkeypatch, kind, is_whole):
    known_calls = importlib.import_module(f"{NAME}.compiler._known_calls")
    tell, calls = known_calls.tell, []

    def interrupted(name):
        calls.append(name)
        raise kind("now")

    compiled = t.compile(lambda x: (x * 2, fresh_module.function(x)), backend="eager")
    if is_whole:
        compiled = t.compile(
            lambda x: fresh_module.function(x) * 2, backend="eager", fullgraph=True
        )
    fresh_module = types.ModuleType(f"fresh_{kind.__name__}_{is_whole}")
    exec("def function(x): return x + 1", vars(fresh_module))
    monkeypatch.setattr(known_calls, "tell", interrupted)
    if kind is MemoryError:  # it runs as it is, this time
        compiled(t.ones(2))
    else:
        with pytest.raises(kind, match="now"):
            compiled(t.ones(2))
    assert calls
    monkeypatch.setattr(known_calls, "tell", tell)
    counters.clear()
    compiled(t.ones(2))
    assert counters["stats"]["unique_graphs"] == 1
