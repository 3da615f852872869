"""Exported programs whose modules use control-flow operators."""

import io
import zipfile

import pytest
from exported_forms import reloaded
from taeda._higher_order_ops import scan, while_loop

import taeda
from taeda import nn
from taeda.export import Dim, export, save

X = taeda.tensor([[0.5, 1.0], [1.5, -1.0], [2.0, 0.25]])


class Branching(nn.Module):
    """Branches that use everything a module holds, a local tensor, and one made inside."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.register_buffer("shift", taeda.full((2,), 0.5))
        self.scale = taeda.full((2,), 3.0)

    def forward(self, x):
        doubled = x * 2

        def written(a):
            b = a.clone()
            b.add_(1)
            b[0] = 4.0
            return b * taeda.tensor([1.0, 2.0]) * self.scale

        return taeda.cond(x.sum() > 0, lambda a: self.lin(a) + self.shift + doubled, written, (x,))


def test_what_branches_use_are_operands():
    module = Branching()
    program = export(module, (X,))
    (cond,) = (n for n in program.graph.nodes if n.target is taeda.ops.higher_order.cond)
    names = [operand.name for operand in cond.args[3]]
    assert names == [
        "x",
        *("p_lin_weight", "p_lin_bias", "b_shift", "mul"),
        *("c_scale", "c_lifted_tensor_0"),
    ]
    for each in (program, reloaded(program)):
        for x in (X, -X):
            assert taeda.allclose(each.module()(x), module(x))
        for graph in (m.graph for m in each.graph_module.children()):
            assert not any(n.op == "get_attr" for n in graph.nodes)
    lowered = program.run_decompositions()
    for graph in (m.graph for m in lowered.graph_module.children()):
        assert not any("_." in str(n.target) for n in graph.nodes)  # nothing is written to
    for x in (X, -X):
        assert taeda.allclose(lowered.module()(x), module(x))


def test_gradients_reach_parameters():
    module = Branching()
    program = export(module, (X,)).module()
    program(X).square().sum().backward()
    module(X).square().sum().backward()
    assert taeda.allclose(program.lin.weight.grad, module.lin.weight.grad)


def test_decompositions_reach_branches():
    def f(x):
        return taeda.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))

    program = export(f, (X,))
    table = {taeda.ops.aten.sin.default: lambda a: a * 2}
    for each in (program, reloaded(program)):
        assert taeda.equal(each.run_decompositions(table).module()(X), X * 2)


def test_regions_in_files():
    program = export(lambda x: taeda.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1), (X,))
    file = io.BytesIO()
    save(program, file)
    assert b"higher_order::cond(gt, graph(" in zipfile.ZipFile(file).read("graph")


def test_dynamic_sizes():
    def f(x, w):
        total = while_loop(lambda a: a.sum() < 9, lambda a: (a + w.abs(),), (w * 0,))[0]
        return scan(lambda c, a: (c * w + a, c * a), w, x), total

    program = export(f, (X, taeda.ones(2)), dynamic_shapes=({0: Dim("n", min=2)}, None))
    w = taeda.tensor([0.5, 2.0])
    for each in (program, reloaded(program)):
        for x in (X, taeda.ones(7, 2)):
            (carry, out), total = each.module()(x, w)
            (expected_carry, expected_out), expected_total = f(x, w)
            assert taeda.allclose(carry, expected_carry) and taeda.allclose(out, expected_out)
            assert taeda.equal(total, expected_total)


def test_integers_in_a_loop():
    def f(x, w):
        n = x.shape[0]
        return while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * w + i), (0, w))

    program = export(f, (X, taeda.ones(2)), dynamic_shapes=({0: Dim("n", min=2)}, None))
    for each in (program, reloaded(program)):
        steps, a = each.module()(taeda.ones(5, 2), taeda.full((2,), 0.5))
        expected_steps, expected = f(taeda.ones(5, 2), taeda.full((2,), 0.5))
        assert steps == expected_steps == 5 and taeda.equal(a, expected)


@pytest.mark.parametrize(
    ("branch", "message"),
    [
        (lambda a: a.add_(1) * 2, "Encountered input mutation"),
        (lambda a: a[:1], "Encountered aliasing"),
        (lambda a: a.double(), "expected same dtype"),
    ],
)
def test_branches_that_cannot_be_exported(branch, message):
    def f(x):
        return taeda.cond(x.sum() > 0, branch, lambda a: a + 1, (x,))

    with pytest.raises(RuntimeError, match=message):
        export(f, (X,))
