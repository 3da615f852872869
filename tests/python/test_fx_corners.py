"""Corners of fx that programs written for PyTorch rely on."""

import pickle
from collections import namedtuple

import pytest
from taeda.fx.experimental.rewriter import RewritingTracer
from taeda.fx.graph import CodeGen
from taeda.utils._pytree import tree_flatten

import taeda
from taeda import fx, nn

Point = namedtuple("Point", ["x", "y"])
LIMIT = 3


# ---- rewriting assert statements ----
class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(taeda.tensor(2.0))

    def forward(self, x, y=1, *, z=1):
        assert y == z, "sizes differ"
        return x * self.scale


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Checked()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, y):
        assert y < LIMIT
        return self.linear(self.inner(x, y, z=y))


def test_asserts_become_steps():
    module = Outer()
    tracer = RewritingTracer()
    graph = tracer.trace(module)
    gm = fx.GraphModule(tracer.root, graph)
    checks = [n for n in gm.graph.nodes if n.target is taeda._assert]
    assert [n.args[1] for n in checks] == ["", "sizes differ"]
    x = taeda.ones(2)
    assert taeda.equal(gm(x, 1), module(x, 1))
    with pytest.raises(AssertionError):
        gm(x, LIMIT)
    assert module.inner.scale is tracer.root.inner.scale
    assert type(module.inner) is Checked  # the module itself is as it was


def test_asserts_of_functions_see_their_closure():
    bound = 5

    def f(x, y=2):
        assert x.sum() < bound, "too much"
        return x + y

    tracer = RewritingTracer()
    gm = fx.GraphModule(nn.Module(), tracer.trace(f))
    assert gm(taeda.ones(2)).tolist() == [3, 3]
    with pytest.raises(AssertionError, match="too much"):
        gm(taeda.ones(6))
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(f)


# ---- writes ----
def test_writes_are_refused_on_request():
    def f(x):
        y = taeda.rand_like(x)
        taeda.sigmoid(x, out=y)
        return y

    class Strict(fx.Tracer):
        check_mutable_operations = True

    with pytest.raises(RuntimeError, match=r"mutable operation aten::sigmoid\.out"):
        Strict().trace(f)
    fx.symbolic_trace(f)


# ---- code ----
class TakesAList(CodeGen):
    def gen_fn_def(self, free_vars, maybe_return_annotation):
        return f"def forward(self, values){maybe_return_annotation}:\n    {', '.join(free_vars)} = values"

    def process_inputs(self, *inputs):
        return inputs[0]


def test_a_generator_with_its_own_head():
    gm = fx.symbolic_trace(lambda a, b: a + b)
    gm.graph.set_codegen(TakesAList())
    gm.recompile()
    values = [taeda.ones(2), taeda.ones(2)]
    assert gm(values).tolist() == [2, 2]
    assert fx.Interpreter(gm).run(values).tolist() == [2, 2]


def test_a_transformer_of_code_acts_when_recompiled():
    gm = fx.symbolic_trace(lambda x: x + 1)
    with gm.graph.on_generate_code(lambda before: lambda body: ["x = x * 10\n", *body]):
        gm.recompile()
    assert gm(2) == 21
    gm.recompile()
    assert gm(2) == 3


# ---- containers ----
@pytest.mark.parametrize(
    "value", [[fx.PH, fx.PH], {"a": fx.PH, "b": (fx.PH,)}, Point(fx.PH, {"k": fx.PH})]
)
def test_graphs_of_containers_can_be_pickled(value):
    def leaves(x):
        return tree_flatten(x)[0]

    def f(x):
        return sum(leaves(x))

    gm = fx.symbolic_trace(f, concrete_args={"x": value})
    loaded = pickle.loads(pickle.dumps(gm))
    given = tree_flatten(value)[1].unflatten([2, 3])
    assert loaded(given) == gm(given) == 5


def test_specs_can_be_pickled():
    spec = tree_flatten([1, {"a": (2, 3)}, Point(4, 5)])[1]
    assert pickle.loads(pickle.dumps(spec)) == spec


# ---- names ----
def test_fresh_names():
    tracer = fx.Tracer()
    tracer.root = nn.Module()
    assert tracer.get_fresh_qualname("part") == "part0"
    tracer.root.part0 = 1
    assert tracer.get_fresh_qualname("part") == "part1"
