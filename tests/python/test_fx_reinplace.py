"""fx.passes.reinplace: writes come back, and results do not change."""

import random

import pytest
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.fx.passes.reinplace import reinplace

import taeda
from taeda import fx
from taeda.func import functionalize

aten = taeda.ops.aten


def targets(gm):
    return [n.target for n in gm.graph.nodes if n.op == "call_function"]


def rewritten(function, *args):
    gm = reinplace(make_fx(function)(*args), *args)
    copies = [a.clone() for a in args]
    expected = function(*args)
    got = gm(*copies)
    for a, b in zip(expected, got, strict=True) if isinstance(got, tuple) else [(expected, got)]:
        assert taeda.equal(a, b)
    for a, b in zip(args, copies, strict=True):
        assert taeda.equal(a, b), "an argument was written to"
    return gm


X = taeda.arange(16.0).reshape(4, 4)


def test_a_fresh_value_is_written_over():
    gm = rewritten(lambda x: x.clone().add(1).mul(2), X)
    assert targets(gm) == [aten.clone.default, aten.add_.Tensor, aten.mul_.Tensor]
    assert gm.graph.output_node().args[0].target is aten.clone.default


def test_arguments_are_not_written_to():
    assert targets(rewritten(lambda x: x.add(1), X)) == [aten.add.Tensor]
    assert aten.add.Tensor in targets(rewritten(lambda x: x.view(-1).add(1), X))


def test_attributes_are_not_written_to():
    weight = taeda.nn.Parameter(taeda.ones(4, 4), requires_grad=False)
    module = taeda.nn.Module()
    module.weight = weight
    graph = fx.Graph()
    graph.output(graph.call_function(aten.add.Tensor, (graph.get_attr("weight"), 1)))
    gm = reinplace(fx.GraphModule(module, graph))
    assert targets(gm) == [aten.add.Tensor]


def test_a_value_that_is_read_again_stays():
    def f(x):
        a = x + 1
        return a * 2, a.view(-1)

    assert targets(rewritten(f, X)) == [aten.add.Tensor, aten.mul.Tensor, aten.view.default]


def test_a_view_read_again_keeps_its_base():
    def f(x):
        a = x.clone()
        v = a[0]
        b = a + 1
        return b + v

    found = targets(rewritten(f, X))
    assert found[:3] == [aten.clone.default, aten.select.int, aten.add.Tensor]


def test_an_operand_that_shares_memory_is_no_target():
    def f(x):
        a = x + 1
        return a + a.t()

    assert targets(rewritten(f, X))[-1] is aten.add.Tensor


def test_results_of_other_types_and_sizes_are_new():
    found = targets(rewritten(lambda x: x.clone() > 1, X))
    assert not any("gt_" in str(t) for t in found)
    found = targets(rewritten(lambda x: x.new_ones(1).add(x), X))
    assert aten.add.Tensor in found
    found = targets(rewritten(lambda x: x.new_ones(4, 1).expand(4, 4).add(x), X))
    assert aten.add.Tensor in found


@pytest.mark.parametrize(
    "scatter, view",
    [
        (lambda a, s: a.slice_scatter(s, 0, 1, 3), "slice.Tensor"),
        (lambda a, s: a.select_scatter(s[0], 0, 2), "select.int"),
        (lambda a, s: a.diagonal_scatter(s[0]), "diagonal.default"),
        (lambda a, s: a.as_strided_scatter(s, (2, 4), (4, 1), 4), "as_strided.default"),
    ],
)
def test_a_scatter_becomes_a_copy_into_the_view(scatter, view):
    gm = rewritten(lambda x, s: scatter(x.clone(), s), X, taeda.ones(2, 4))
    found = [str(t) for t in targets(gm)]
    assert f"aten.{view}" in found and "aten.copy_.default" in found
    assert not any("scatter" in name for name in found)


def test_a_write_through_a_view_comes_back_as_a_write():
    def f(x):
        a = x.clone()
        a[0:2].mul_(3)
        a.view(-1).add_(1)
        return a

    gm = reinplace(make_fx(functionalize(f))(X), X)
    found = targets(gm)
    assert aten.mul_.Tensor in found and aten.add_.Tensor in found
    assert not any("scatter" in str(t) or "copy_" in str(t) for t in found)
    assert taeda.equal(gm(X), f(X))


def test_a_view_of_a_base_that_lies_elsewhere():
    """What a scatter puts where it already is, by another view of the same memory."""

    def f(x, place):
        a = x.clone()
        part = a[:, 1][1] + 1
        return a.as_strided((4,), (4,), 1).select_scatter(part, 0, place)

    def run(place):
        gm = reinplace(make_fx(lambda x: f(x, place))(X), X)
        assert taeda.equal(gm(X), f(X, place))
        return aten.add_.Tensor in targets(gm)

    assert run(1) and not run(0)


def test_strides_matter_where_they_are_seen():
    def hidden(x):
        a = x.clone()
        return a.diagonal_scatter(a.diagonal() + 1)

    def shown(x):
        return x.clone().diagonal() + 1

    assert aten.add_.Tensor in targets(rewritten(hidden, X))
    assert aten.add_.Tensor not in targets(rewritten(shown, X))


def random_program(seed):
    rng = random.Random(seed)
    steps = [(rng.randrange(7), rng.randrange(4), rng.randrange(4)) for _ in range(8)]

    def run(x):
        values = [x.clone(), x + 1]
        for kind, i, j in steps:
            a = values[i % len(values)]
            if kind == 0:
                values.append(a.t())
            elif kind == 1:
                a[j].mul_(2)
            elif kind == 2:
                a[:, 1:3].add_(values[j % len(values)][:, :2])
            elif kind == 3:
                values.append(a * 2 + values[j % len(values)])
            elif kind == 4:
                values.append(taeda.relu(a - 3))
            elif kind == 5:
                a.diagonal().copy_(values[j % len(values)][0])
            else:
                values.append(a.reshape(2, 8).reshape(4, 4).sin())
        return tuple(v + 0 for v in values[-2:])

    return run


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_keep_their_results(seed):
    f = random_program(seed)
    gm = reinplace(make_fx(functionalize(f))(X), X)
    for a, b in zip(f(X), gm(X), strict=True):
        assert taeda.allclose(a, b)
