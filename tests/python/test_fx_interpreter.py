"""Interpreter and Transformer."""

import gc
import importlib
import weakref

import pytest
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.scale = nn.Parameter(t.full((3,), 2.0))

    def forward(self, x, y=1.0):
        return {"out": t.relu(self.linear(x)) * self.scale + y, "sin": x.sin()}


def test_runs_as_the_module_does():
    module = fx.symbolic_trace(Model())
    x = t.randn(2, 3)
    ours, theirs = fx.Interpreter(module).run(x, 2.0), module(x, 2.0)
    assert t.equal(ours["out"], theirs["out"]) and t.equal(ours["sin"], theirs["sin"])


def test_defaults_and_missing_arguments():
    module = fx.symbolic_trace(Model())
    x = t.ones(1, 3)
    assert t.equal(fx.Interpreter(module).run(x)["out"], module(x)["out"])
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x"):
        fx.Interpreter(module).run()


def test_variadic_placeholders_take_the_rest():
    module = fx.symbolic_trace(lambda x, *rest: x + rest[0] + rest[1])
    assert fx.Interpreter(module).run(t.ones(1), 2, 3).item() == 6


def test_methods_can_be_overridden():
    class Negating(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            result = super().call_function(target, args, kwargs)
            return -result if target is t.relu else result

        def call_method(self, target, args, kwargs):
            return super().call_method("cos" if target == "sin" else target, args, kwargs)

    module = fx.symbolic_trace(Model())
    x = t.zeros(1, 3)
    result = Negating(module).run(x, 0.0)
    assert (result["out"] <= 0).all() and result["sin"].tolist() == [[1, 1, 1]]


@pytest.mark.slow
def test_values_are_freed():
    seen = []

    class Watching(fx.Interpreter):
        def run_node(self, n):
            gc.collect()
            seen.append((n.name, [r() is not None for r in refs]))
            result = super().run_node(n)
            if n.op != "output":
                refs.append(weakref.ref(result))
            return result

    def program(x):
        return x.sin().cos().tan()

    refs = []
    module = fx.symbolic_trace(program)
    Watching(module).run(t.ones(1))
    # Before the output runs only tan is alive, and x, which the caller holds.
    assert seen[-1] == ("output", [True, False, False, True])
    refs.clear()
    Watching(module, garbage_collect_values=False).run(t.ones(1))
    assert seen[-1] == ("output", [True, True, True, True])


def test_initial_values_are_not_computed():
    module = fx.symbolic_trace(lambda x: x.sin() + 1)
    sin = next(n for n in module.graph.nodes if n.name == "sin")
    x = next(n for n in module.graph.nodes if n.name == "x")
    result = fx.Interpreter(module).run(initial_env={x: None, sin: t.tensor(4.0)})
    assert result.item() == 5


def test_boxed_run_empties_the_list():
    module = fx.symbolic_trace(lambda x, y: x + y)
    arguments = [t.ones(1), t.ones(1)]
    assert fx.Interpreter(module).boxed_run(arguments).item() == 2
    assert arguments == []


def test_another_graph_may_run():
    module = fx.symbolic_trace(Model())
    graph = fx.Graph()
    graph.output(graph.get_attr("scale"))
    assert fx.Interpreter(module, graph=graph).run() is module.scale


def test_errors_name_the_node():
    module = fx.symbolic_trace(lambda x: t.relu(x).missing())
    with pytest.raises(AttributeError, match="While executing %missing") as caught:
        fx.Interpreter(module).run(t.ones(1))
    assert "has no attribute 'missing'" in str(caught.value)
    graph = fx.Graph()
    graph.output(graph.get_attr("a.b"))
    with pytest.raises(RuntimeError, match="Node referenced nonexistent target a"):
        fx.Interpreter(module, graph=graph).run()


def test_containers_in_and_out():
    module = fx.symbolic_trace(
        lambda x: {"sum": x["a"] + x["b"]}, concrete_args={"x": {"a": fx.PH, "b": fx.PH}}
    )
    value = {"a": t.ones(1), "b": t.ones(1)}
    assert fx.Interpreter(module).run(value)["sum"].item() == 2


def test_transformer_copies():
    module = fx.symbolic_trace(Model())
    copied = fx.Transformer(module).transform()
    x = t.randn(1, 3)
    assert copied.code == module.code
    assert t.equal(copied(x)["out"], module(x)["out"])


def test_transformer_rewrites():
    class Smooth(fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is t.relu:
                return t.sigmoid(*args) * 2
            return super().call_function(target, args, kwargs)

        def call_module(self, target, args, kwargs):
            return super().call_module(target, args, kwargs) + 1

    module = fx.symbolic_trace(Model())
    rewritten = Smooth(module).transform()
    names = [n.name for n in rewritten.graph.nodes]
    assert "relu" not in names and names[2:6] == ["linear", "add", "sigmoid", "mul"]
    x = t.randn(1, 3)
    expected = t.sigmoid(module.linear(x) + 1) * 2 * module.scale + 1.0
    assert t.allclose(rewritten(x)["out"], expected)


@pytest.mark.parametrize("count, kind", [(1, "missing"), (3, "extra")])
def test_boxed_arguments_are_counted(count, kind):
    interpreter = fx.Interpreter(fx.symbolic_trace(lambda a, b: a + b))
    args = [t.ones(1)] * count
    with pytest.raises(RuntimeError, match=f"expected 2 .* received {count} .{kind} arguments"):
        interpreter.boxed_run(args)
    assert len(args) == count
