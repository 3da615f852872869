"""Backends of the program whose functions fail when they run."""

import importlib

import pytest
from under_test import NAME, t

testing = importlib.import_module(f"{NAME}._dynamo.testing")
common = importlib.import_module(f"{NAME}._dynamo.backends.common")
X = t.ones(3)


def raising(gm, _inputs):
    def run(*_args):
        raise RuntimeError("my backend is broken")

    return run


def of_number(gm, _inputs):
    return lambda *_args: 3


def of_too_few(gm, _inputs):
    return lambda *_args: (t.zeros(5),)


def of_a_wrong_graph(gm, _inputs):
    for node in gm.graph.nodes:
        if node.op.startswith("call"):
            node.args = (node.args[0], "nothing")
    gm.recompile()
    return gm.forward


@pytest.mark.parametrize(
    ("backend", "error", "text"),
    [
        (raising, RuntimeError, "my backend is broken"),
        (of_number, TypeError, "'int' object is not subscriptable"),
        (of_too_few, IndexError, "tuple index out of range"),
        (of_a_wrong_graph, TypeError, None),
    ],
)
def test_errors_of_a_programs_backend_are_raised(backend, error, text):
    seen = []

    def function(x):
        seen.append(1)
        return [x + 1, x * 2]

    compiled = t.compile(function, backend=backend)
    for _ in range(2):
        with pytest.raises(error, match=text):
            compiled(X)
    assert seen == []


def test_errors_of_compilers_below_aot_autograd_are_raised():
    backend = common.aot_autograd(fw_compiler=raising)
    with pytest.raises(RuntimeError, match="my backend is broken"):
        t.compile(lambda x: x + 1, backend=backend)(X)


BACKENDS = {
    "eager": "eager",
    "aot_eager": "aot_eager",
    "inductor": "inductor",
    "forward": lambda gm, _: gm.forward,
    "module": lambda gm, _: gm,
    "counted aot_eager": testing.CompileCounterWithBackend("aot_eager"),
    "counted inductor": testing.CompileCounterWithBackend("inductor"),
}


@pytest.mark.skipif(NAME != "taeda", reason="the line of the error is Taeda's own promise")
@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_errors_of_the_program_are_its_own_with_every_backend(backend):
    seen = []

    def function(x, i):
        seen.append(1)
        y = x[i]
        return y * 2

    compiled = t.compile(function, backend=backend)
    compiled(X, t.tensor([1]))
    with pytest.raises(IndexError) as caught:
        compiled(X, t.tensor([7]))
    lines = [e for e in caught.traceback if e.name == "function"]
    assert [str(line.statement).strip() for line in lines] == ["y = x[i]"]
    assert seen == [1, 1]
