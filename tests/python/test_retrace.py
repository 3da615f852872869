"""Closed graphs again: `_fx.retrace`, with decompositions written in Python."""

import pytest
from taeda._C import _fx
from taeda.fx.control_flow._regions import with_regions

import taeda as t
from taeda.fx import GraphModule

aten = t.ops.aten

TEXT = """graph(x) {
  y = aten::silu(x)
  row = aten::select.int(y, 0, 1)
  w = aten::mul_.Scalar(row, 3)
  return (y,)
}"""


def retraced(text, *inputs, **options):
    return _fx.retrace(_fx.parse_graph(text), list(inputs), {"functionalizes": True, **options})


def silu_by_writes(x):
    out = x.sigmoid()
    out.mul_(x)
    return out


def test_a_decomposition_in_python_may_write_to_what_it_makes():
    x = t.randn(2, 3)
    table = {aten.silu.default: silu_by_writes}
    graph, constants, written, tangents, gradients = retraced(TEXT, x, decompositions=table)
    assert constants == {} and written == tangents == gradients == []
    names = [node.target.__name__ for node in graph.nodes if node.op == "call_function"]
    assert "sigmoid.default" in names and "silu.default" not in names
    assert not any(name.split(".")[0].endswith("_") for name in names)
    expected = t.nn.functional.silu(x)
    expected[1] *= 3
    t.testing.assert_close(GraphModule(t.nn.Module(), graph)(x)[0], expected)


def test_a_decomposition_may_decline():
    x = t.randn(2, 3)
    graph, *_ = retraced(TEXT, x, decompositions={aten.silu.default: lambda x: NotImplemented})
    assert any(node.target is aten.silu.default for node in graph.nodes)


def test_the_joint_graph_takes_tangents_and_returns_gradients():
    x = t.randn(2, 3, requires_grad=True)
    graph, _, written, tangents, gradients = retraced(TEXT, x, differentiates=True)
    assert (written, tangents, gradients) == ([], [0], [0])
    tangent = t.randn(2, 3)
    _, found = GraphModule(t.nn.Module(), graph)(x.detach(), tangent)
    y = t.nn.functional.silu(x) * t.tensor([[1.0], [3.0]])
    t.testing.assert_close(found, t.autograd.grad(y, x, tangent)[0])


class Writes(t.nn.Module):
    """Writes under no_grad, through detach() and to a buffer."""

    def __init__(self):
        super().__init__()
        self.w = t.nn.Parameter(t.randn(3, 3))
        self.register_buffer("count", t.zeros(()))

    def forward(self, x):
        a = x @ self.w
        with t.no_grad():
            a.clamp_(-0.5, 0.5)
        b = a.sin() * 2
        b.detach().add_(1)
        self.count.add_(1)
        return b * 3


def test_gradients_of_an_exported_program_are_eagers():
    module, x = Writes(), t.randn(2, 3, requires_grad=True)
    program = t.export.export(module, (x,))
    inputs = [module.w, module.count, x]
    closed = with_regions(program.graph_module)
    options = {"functionalizes": True, "differentiates": True}
    graph, _, written, tangents, gradients = _fx.retrace(closed, inputs, options)
    assert (written, tangents, gradients) == ([1], [1], [0, 2])
    tangent = t.randn(2, 3)
    given = [v.detach().clone() for v in inputs]
    count, y, *found = GraphModule(t.nn.Module(), graph)(*given, tangent)
    expected = module(x)
    t.testing.assert_close((count, y), (module.count, expected))
    t.testing.assert_close(tuple(found), t.autograd.grad(expected, [module.w, x], tangent))


def test_new_nodes_know_where_they_come_from():
    origins = {}
    graph, *_ = retraced(
        TEXT, t.randn(2, 3), on_node=lambda made, source: origins.update({made.name: source.name})
    )
    assert origins["silu"] == "y"
    assert set(origins) == {n.name for n in graph.nodes if n.op == "call_function"}


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="retrace takes a Graph"):
        _fx.retrace(TEXT, [], {})
    with pytest.raises(TypeError, match="a decomposition table is a dict"):
        retraced(TEXT, t.randn(2, 3), decompositions=[1])
    with pytest.raises(RuntimeError, match="a trace before autograd has no gradients"):
        retraced(TEXT, t.randn(2, 3), differentiates=True, is_before_autograd=True)


SHARED = """graph(x, y) {
  w = aten::mul_.Scalar(y, 2)
  z = aten::sin(x)
  return (z,)
}"""


def test_inputs_that_share_memory_may_be_written():
    x = t.randn(2, 3)
    graph, _, written, _, _ = retraced(SHARED, x, x[1])
    assert written == [0, 1]
    given = x.clone()
    new_x, new_y, z = GraphModule(t.nn.Module(), graph)(given, given[1])
    x[1] *= 2
    t.testing.assert_close((new_x, new_y, z), (x, x[1], x.sin()))


def test_the_gradient_of_shared_memory_goes_to_the_input_that_covers_it():
    leaf = t.randn(2, 3, requires_grad=True)
    x = leaf.clone()
    graph, _, written, tangents, gradients = retraced(SHARED, x, x[1], differentiates=True)
    assert (written, tangents, gradients) == ([0, 1], [0, 1, 2], [0, 1])
    weights = [t.randn(2, 3), t.randn(3), t.randn(2, 3)]
    given = x.detach().clone()
    *_, grad_x, grad_y = GraphModule(t.nn.Module(), graph)(given, given[1], *weights)
    assert grad_y is None
    y = x[1]
    y.mul_(2)
    loss = sum((w * v).sum() for w, v in zip(weights, (x, y, x.sin())))
    t.testing.assert_close(grad_x, t.autograd.grad(loss, leaf)[0])
