"""Parameters that a compiled program makes of its inputs: leaves with gradients of their own."""

import pytest
from under_test import t

nn = t.nn
counters = t._dynamo.utils.counters


@pytest.fixture(autouse=True)
def fresh():
    t.compiler.reset()
    counters.clear()


@pytest.fixture(params=["eager", "aot_eager", "inductor"])
def whole(request):
    """Compiles a program that has no break."""
    return lambda program: t.compile(program, backend=request.param, fullgraph=True)


def values():
    return t.arange(6.0).reshape(2, 3)


def test_a_parameter_of_an_input_is_a_leaf_in_its_memory(whole):
    def program(x):
        weight = nn.Parameter(x)
        return (weight * x).sum(), weight

    compiled = whole(program)
    for scale in (1, 2):
        x = (values() * scale).requires_grad_()
        loss, weight = compiled(x)
        assert type(weight) is nn.Parameter and weight.is_leaf and weight.requires_grad
        assert weight.data_ptr() == x.data_ptr()
        loss.backward()
        assert t.equal(weight.grad, x.detach()) and t.equal(x.grad, x.detach())
    assert counters["stats"]["unique_graphs"] == 1


def test_each_call_makes_another(whole):
    def program(x):
        weights = [nn.Parameter(x) for _ in range(3)]
        return sum((w * (i + 1)).sum() for i, w in enumerate(weights)), weights

    compiled = whole(program)
    loss, weights = compiled(values())
    loss.backward()
    assert [w.grad[0, 0].item() for w in weights] == [1, 2, 3]
    assert compiled(values())[1][0] is not weights[0]


def test_a_module_gets_a_parameter(whole):
    model = nn.Linear(3, 2)

    def program(weight, x):
        model.weight = nn.Parameter(weight)
        return model(x).sum()

    compiled = whole(program)
    for scale in (1, 2):
        given = values() * scale
        compiled(given, t.ones(4, 3)).backward()
        assert t.equal(model.weight, given) and model.weight.data_ptr() == given.data_ptr()
        assert t.equal(model.weight.grad, t.full((2, 3), 4.0))
        assert dict(model.named_parameters())["weight"] is model.weight


def test_writes_to_either_are_seen_in_both(whole):
    def program(x):
        weight = nn.Parameter(x)
        with t.no_grad():
            weight.mul_(3)
        x.add_(1)
        return (weight * 2).sum(), weight, x + 1

    x = values()
    loss, weight, more = whole(program)(x)
    loss.backward()
    assert t.equal(x, values() * 3 + 1) and t.equal(weight, x) and t.equal(more, x + 1)
    assert loss == x.sum() * 2 and t.equal(weight.grad, t.full((2, 3), 2.0))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_parameter_of_what_the_graph_wrote_to_is_a_break(backend):
    def program(x):
        x.t_()
        x.add_(1)
        weight = nn.Parameter(x)
        return (weight * 2).sum(), weight

    x = values()
    loss, weight = t.compile(program, backend=backend)(x)
    loss.backward()
    assert weight.shape == (3, 2) and t.equal(weight, values().t() + 1)
    assert weight.data_ptr() == x.data_ptr() and t.equal(weight.grad, t.full((3, 2), 2.0))


def test_its_sizes_are_symbols_where_the_inputs_are(whole):
    compiled = whole(lambda x: (nn.Parameter(x) * x).sum())
    for size in (2, 3, 4, 5):
        assert compiled(t.ones(size, 3)) == 3 * size
    assert counters["stats"]["unique_graphs"] == 2
