"""What a trace takes as one step or as a fixed value: wrap, concrete arguments, classes."""

import copy
import gc
import importlib
import pickle

import pytest
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")


@fx.wrap
def halves(x):
    return x[: len(x) // 2], x[len(x) // 2 :]


def triple(x):
    return x * 3


fx.wrap("triple")
fx.wrap("len")


def test_variadic_arguments_are_placeholders():
    def program(x, *args, y=1, **kwargs):
        return args[0] + kwargs["a"] + x

    traced = fx.symbolic_trace(program)
    assert "def forward(self, x, y = 1, *args, **kwargs):" in traced.code
    targets = [n.target for n in traced.graph.nodes if n.op == "placeholder"]
    assert targets == ["x", "y", "*args", "**kwargs"]


def test_wrapped_functions_are_one_step():
    def program(x):
        a, b = halves(x)
        return triple(a) + b * len(x)

    traced = fx.symbolic_trace(program)
    names = [n.target.__name__ for n in traced.graph.nodes if n.op == "call_function"]
    assert names[0] == "halves" and "triple" in names and "len" in names
    assert traced(t.arange(4.0)).tolist() == program(t.arange(4.0)).tolist()
    assert triple(2) == 6
    assert 'wrap("' in traced.code


def test_wrapped_functions_stay_one_step():
    traced = fx.symbolic_trace(lambda x: triple(x) + 1)
    for module in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        again = fx.symbolic_trace(module)
        assert [n.name for n in again.graph.nodes][1] == "triple"


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch keeps them")
def test_modules_with_wrapped_functions_are_freed():
    registry = fx._symbolic_trace._wrapped_fns_to_patch
    gc.collect()
    before = len(registry)
    for _ in range(3):
        fx.symbolic_trace(lambda x: triple(x))(t.ones(1))
    gc.collect()
    assert len(registry) == before


def test_autowrapped_functions():
    calls = []

    def program(x):
        calls.append(1)
        return scaled(x)

    tracer = fx.Tracer(autowrap_functions=(scaled,))
    graph = tracer.trace(program)
    assert [n.target for n in graph.nodes if n.op == "call_function"] == [scaled]
    assert calls == [1]


def scaled(x):
    if x.sum() > 0:
        return x
    return x * 2


def test_concrete_args_choose_a_branch():
    class Branch(nn.Module):
        def forward(self, x, flag):
            return x if flag else -x

    module = Branch()
    kept = fx.symbolic_trace(module, concrete_args={"flag": True})
    negated = fx.symbolic_trace(module, concrete_args={"flag": False})
    x = t.ones(2)
    assert kept(x, True).tolist() == [1, 1] and negated(x, False).tolist() == [-1, -1]
    with pytest.raises(AssertionError, match="flag has been specialized to have value True"):
        kept(x, False)


def test_concrete_args_in_containers():
    def program(x, n):
        return x["a"] + x["b"][0] if n is None else x

    PH = fx.PH
    traced = fx.symbolic_trace(program, concrete_args={"x": {"a": PH, "b": [PH, 3]}, "n": None})
    value = {"b": [t.ones(1), 3], "a": t.zeros(1)}
    assert traced(value, None).tolist() == [1]
    assert "fx_pytree.tree_flatten_spec" in traced.code
    assert len(traced.graph.process_inputs(value, None)) == 4


def test_parameter_shapes_may_be_constant():
    class Shaped(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(t.ones(3))

        def forward(self, x):
            return x * 2 if self.w.shape[0] == 3 and self.w.dim() == 1 else x

    graph = fx.Tracer(param_shapes_constant=True).trace(Shaped())
    assert "mul" in [n.name for n in graph.nodes]


def test_proxyable_classes():
    class Pair2(metaclass=fx.ProxyableClassMeta):
        def __init__(self, a, b):
            self.a, self.b = a, b

        def total(self):
            return self.a + self.b

    def program(x, y):
        return Pair2(x, y).total()

    traced = fx.symbolic_trace(program)
    assert [n.op for n in traced.graph.nodes][2:4] == ["call_function", "call_method"]
    assert traced(t.ones(1), t.ones(1)).tolist() == [2]
    assert Pair2(1, 2).total() == 3


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch misses them on this Python")
def test_asserts_may_be_recorded():
    class Asserting(fx.Tracer):
        trace_asserts = True

    # pytest rewrites the asserts of this file.
    scope = {}
    exec("def program(x):\n  assert x.shape[0] == 2\n  return x", scope)
    graph = Asserting().trace(scope["program"])
    assert t._assert in [n.target for n in graph.nodes]
    exec("def program(x):\n  assert not x.any(), 'some'\n  return x", scope)
    traced = fx.GraphModule(nn.Module(), Asserting().trace(scope["program"]))
    assert traced(t.zeros(2)).tolist() == [0, 0]
    with pytest.raises(AssertionError):
        traced(t.ones(2))


def test_tracers_can_be_copied():
    tracer = fx.Tracer()
    before = copy.deepcopy(tracer)
    graph = tracer.trace(lambda x: t.relu(x))
    assert str(copy.deepcopy(tracer).graph) == str(graph)
    assert not hasattr(before, "graph")
    assert str(before.trace(lambda x: t.relu(x))) == str(graph)
