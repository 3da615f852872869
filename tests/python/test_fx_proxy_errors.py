"""What cannot be traced, and how the errors say so."""

import importlib

import pytest
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")
TraceError = importlib.import_module(f"{NAME}.fx.proxy").TraceError

CONTROL = "symbolically traced variables cannot be used as inputs to control flow"
ITERATION = "Proxy object cannot be iterated"


def branch(x):
    if x.sum() > 0:
        return x
    return -x


def loop(x):
    total = 0
    for row in x:
        total = total + row
    return total


def while_loop(x):
    while x.sum() < 3:
        x = x + 1
    return x


def store(x):
    x[0] = 1
    return x


def number(x):
    return [1, 2, 3][x]


def integer(x):
    return int(x.sum())


def length(x):
    return len(x)


@pytest.mark.parametrize(
    ("program", "error", "words"),
    [
        (branch, TraceError, CONTROL),
        (while_loop, TraceError, CONTROL),
        (lambda x: x and 1, TraceError, CONTROL),
        (lambda x: not x, TraceError, CONTROL),
        (loop, TraceError, ITERATION),
        (lambda x: t.add(*x), TraceError, ITERATION),
        (lambda x: list(x), TraceError, ITERATION),
        (lambda x: 1 in x, TraceError, ITERATION),
        (lambda x: len(x), RuntimeError, "'len' is not supported in symbolic tracing by default"),
        (lambda x: range(x), TypeError, "cannot be interpreted as an integer"),
        (lambda x: x.__setitem__(0, 1), None, ""),
        (lambda x: int(x), TypeError, "or a real number, not 'Proxy'"),
        (lambda x: float(x), TypeError, "or a real number, not 'Proxy'"),
        (lambda x: t.add(x, object()), (TypeError, NotImplementedError), "object"),
    ],
)
def test_untraceable(program, error, words):
    if error is None:
        fx.symbolic_trace(program)
        return
    with pytest.raises(error, match=words):
        fx.symbolic_trace(program)


def test_item_assignment_is_refused():
    with pytest.raises(TypeError, match="'Proxy' object does not support item assignment"):
        fx.symbolic_trace(store)


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch asks for __cuda_array_interface__")
def test_no_tensor_is_made_from_a_proxy():
    with pytest.raises(RuntimeError, match="Could not infer dtype of Proxy"):
        fx.symbolic_trace(lambda x: t.tensor(x))


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch does not say where")
@pytest.mark.parametrize(
    ("program", "line", "remedy"),
    [
        (branch, "if x.sum() > 0:", "taeda.where"),
        (while_loop, "while x.sum() < 3:", "concrete_args"),
        (loop, "for row in x:", "taeda.fx.wrap"),
        (store, "x[0] = 1", "index_put"),
        (number, "return [1, 2, 3][x]", "concrete_args"),
        (integer, "return int(x.sum())", "taeda.fx.wrap"),
        (length, "return len(x)", "x.shape[0]"),
    ],
)
def test_errors_name_the_line_and_the_way_out(program, line, remedy):
    with pytest.raises((TraceError, TypeError, RuntimeError)) as caught:
        fx.symbolic_trace(program)
    text = str(caught.value)
    assert f"in {program.__name__}: {line}" in text
    assert f"test_fx_proxy_errors.py:{program.__code__.co_firstlineno + 1}" in text or (
        program is loop and f"py:{program.__code__.co_firstlineno + 2}" in text
    )
    assert remedy in text


def test_proxies_of_two_traces_do_not_mix():
    first, second = fx.Graph(), fx.Graph()
    x = fx.Proxy(first.placeholder("x"))
    y = fx.Proxy(second.placeholder("y"))
    with pytest.raises(RuntimeError, match="Found multiple different tracers"):
        t.add(x, y)


def test_modules_from_elsewhere_are_refused():
    stranger = nn.Linear(2, 2)
    with pytest.raises(NameError, match="module is not installed as a submodule"):
        fx.symbolic_trace(lambda x: stranger(x))


def test_dictionary_keys_are_no_values():
    def program(x):
        return t.relu({x: 1})

    with pytest.raises((RuntimeError, TypeError, NotImplementedError)):
        fx.symbolic_trace(program)


def test_what_is_no_function_is_refused():
    with pytest.raises(AssertionError, match="Expected FunctionType"):
        fx.symbolic_trace(3)


def test_wrap_is_for_the_top_level():
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level"):
        fx.wrap("len")
    with pytest.raises(RuntimeError, match="Must be either a callable or string name"):
        fx.wrap(3)


def test_a_tracer_may_answer():
    class Optimist(fx.Tracer):
        def to_bool(self, obj):
            return True

        def iter(self, obj):
            return iter([obj[0], obj[1]])

    graph = Optimist().trace(branch)
    assert "neg" not in [n.name for n in graph.nodes]
    assert [n.name for n in Optimist().trace(loop).nodes][1:3] == ["getitem", "getitem_1"]
