"""Tests functional_call and stack_module_state, alone and under grad and vmap."""

import copy
import importlib

import pytest
from under_test import NAME, t

nn, func = t.nn, t.func
functional_call, stack_module_state = func.functional_call, func.stack_module_state


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.LayerNorm(4)
        self.last = nn.Linear(4, 2)
        self.register_buffer("shift", t.randn(2))
        self.register_buffer("calls", t.zeros(()))

    def forward(self, x, factor=1.0):
        return self.last(self.norm(self.first(x)).tanh()) * factor + self.shift


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x))


def state(module, factor=1.0):
    return {name: value.detach() * factor for name, value in module.named_parameters()}


def members(module):
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def close(a, b, tolerance=1e-5):
    return t.allclose(a, b, rtol=tolerance, atol=tolerance)


# ---- the call ----
def test_replaces_and_restores():
    net, x = Net(), t.randn(5, 3)
    before, expected = members(net), Net()
    expected.load_state_dict({**state(net, 2.0), "shift": net.shift, "calls": net.calls})
    assert functional_call(net, state(net, 2.0), x).equal(expected(x))
    assert functional_call(net, state(net, 2.0), (x, 3.0)).equal(expected(x, 3.0))
    assert functional_call(net, state(net, 2.0), (x,), {"factor": 3.0}).equal(expected(x, 3.0))
    assert all(members(net)[name] is value for name, value in before.items())


def test_parts_and_buffers():
    net, x = Net(), t.randn(5, 3)
    moved = functional_call(net, {"shift": net.shift + 1}, x)
    assert close(moved, net(x) + 1)
    both = functional_call(net, (state(net), {"shift": net.shift + 1}), x)
    assert close(both, moved)


def test_gradient_reaches_the_given_tensors():
    net = nn.Linear(2, 1, bias=False)
    weight = t.ones(1, 2, requires_grad=True)
    doubled = weight * 2
    functional_call(net, {"weight": doubled}, t.ones(1, 2)).sum().backward()
    assert weight.grad.tolist() == [[2.0, 2.0]] and net.weight.grad is None


def test_restores_after_an_error():
    net = Net()
    before = members(net)
    with pytest.raises(RuntimeError):
        functional_call(net, state(net), t.randn(5, 7))
    with pytest.raises(AttributeError, match="Net has no attribute `missing`"):
        functional_call(net, {**state(net), "missing.weight": t.ones(1)}, t.randn(5, 3))
    with pytest.raises(TypeError, match="attribute `in_features`: 3 is not an instance of"):
        functional_call(net, {**state(net), "first.in_features": t.ones(1)}, t.randn(5, 3))
    with pytest.raises(TypeError, match=r"3 is not an instance of torch\.Tensor"):
        functional_call(net, {**state(net), "last.bias": 3}, t.randn(5, 3))
    assert all(members(net)[name] is value for name, value in before.items())


def test_buffers_written_in_forward_come_back_in_the_dictionary():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", t.zeros(()))

        def forward(self, x):
            self.count = self.count + 1
            return x

    counter = Counter()
    given = {"count": t.tensor(5.0)}
    functional_call(counter, given, t.ones(1))
    assert given["count"].item() == 6 and counter.count.item() == 0


def test_unknown_names_are_attributes_during_the_call():
    class Reads(nn.Module):
        def forward(self, x):
            return x + self.offset

    module = Reads()
    assert functional_call(module, {"offset": t.tensor(4.0)}, t.tensor(1.0)).item() == 5
    assert not hasattr(module, "offset")


def test_strict():
    net, x = nn.Linear(2, 2), t.ones(1, 2)
    with pytest.raises(RuntimeError) as error:
        functional_call(net, {"weight": t.ones(2, 2), "more": t.ones(1)}, x, strict=True)
    assert str(error.value) == (
        "Error(s) in reparametrizing for Linear:\n\tUnexpected key(s): 'more'.\n"
        "\tMissing key(s): 'bias'."
    )
    assert functional_call(net, dict(net.named_parameters()), x, strict=True).equal(net(x))


def test_dictionaries_are_checked():
    net, x = nn.Linear(2, 2), t.ones(1, 2)
    with pytest.raises(ValueError, match="Expected all elements of parameter_and_buffer_dicts"):
        functional_call(net, [{}, 3], x)
    with pytest.raises(ValueError, match="or a list/tuple of dicts, but got <class 'int'>"):
        functional_call(net, 3, x)
    weight = {"weight": t.ones(2, 2)}
    with pytest.raises(ValueError, match=r"\['weight'\] appeared in multiple dictionaries"):
        functional_call(net, (weight, weight), x)


def test_tied_weights():
    module, x = Tied(), t.ones(1, 2)
    one, other = t.eye(2) * 3, t.eye(2) * 5
    assert functional_call(module, {"a.weight": one}, x).tolist() == [[9.0, 9.0]]
    assert functional_call(module, {"b.weight": one}, x).tolist() == [[9.0, 9.0]]
    assert functional_call(module, {"a.weight": one, "b.weight": one}, x).tolist() == [[9.0, 9.0]]
    with pytest.raises(
        ValueError, match=r"multiple values for keys \['a.weight', 'b.weight'\], which are tied"
    ):
        functional_call(module, {"a.weight": one, "b.weight": other}, x)
    untied = functional_call(module, {"a.weight": one, "b.weight": other}, x, tie_weights=False)
    assert untied.tolist() == [[15.0, 15.0]]
    assert module.a.weight is module.b.weight


def test_older_path_warns():
    stateless = importlib.import_module(f"{NAME}.nn.utils.stateless")
    net, x = nn.Linear(2, 2), t.ones(1, 2)
    with pytest.warns(FutureWarning, match="use .*func.functional_call` instead"):
        assert stateless.functional_call(net, state(net), x).equal(net(x))


# ---- with transforms ----
def test_grad_of_a_module():
    net, x, y = Net(), t.randn(5, 3), t.randn(5, 2)

    def loss(parameters):
        return ((functional_call(net, parameters, x) - y) ** 2).mean()

    gradients = func.grad(loss)(state(net))
    ((net(x) - y) ** 2).mean().backward()
    for name, parameter in net.named_parameters():
        assert close(gradients[name], parameter.grad)


def test_gradients_for_each_example():
    net, x, y = Net(), t.randn(6, 3), t.randn(6, 2)

    def loss(parameters, example, target):
        return ((functional_call(net, parameters, example.unsqueeze(0)) - target) ** 2).sum()

    each = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(state(net), x, y)
    for i in range(6):
        net.zero_grad()
        ((net(x[i : i + 1]) - y[i]) ** 2).sum().backward()
        for name, parameter in net.named_parameters():
            assert close(each[name][i], parameter.grad, 1e-4)


def test_hessian_vector_product_of_a_module():
    net, x = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)), t.randn(4, 2)

    def loss(parameters):
        return (functional_call(net, parameters, x) ** 2).sum()

    at = state(net)
    along = {name: t.ones_like(value) for name, value in at.items()}
    _, product = func.jvp(func.grad(loss), (at,), (along,))
    step = 1e-2
    plus, minus = (
        func.grad(loss)({name: value + sign * step for name, value in at.items()})
        for sign in (1, -1)
    )
    for name in at:
        assert close(product[name], (plus[name] - minus[name]) / (2 * step), 1e-2)


@pytest.mark.parametrize("shared", [True, False])
def test_ensemble(shared):
    models = [Net() for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    assert list(parameters) == [name for name, _ in models[0].named_parameters()]
    assert parameters["first.weight"].shape == (3, 4, 3) and parameters["last.bias"].is_leaf
    assert parameters["last.bias"].requires_grad and not buffers["shift"].requires_grad
    base = copy.deepcopy(models[0]).to("meta")
    x = t.randn(5, 3) if shared else t.randn(3, 5, 3)

    def call(parameters, buffers, x):
        return functional_call(base, (parameters, buffers), (x,))

    outputs = func.vmap(call, (0, 0, None if shared else 0))(parameters, buffers, x)
    for i, model in enumerate(models):
        assert close(outputs[i], model(x if shared else x[i]))
    outputs.sum().backward()
    for i, model in enumerate(models):
        model(x if shared else x[i]).sum().backward()
        assert close(parameters["first.weight"].grad[i], model.first.weight.grad, 1e-4)


def test_stack_errors():
    with pytest.raises(RuntimeError, match="Expected at least one model, got 0"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="Expected all models to be of the same class"):
        stack_module_state([nn.Linear(2, 2), nn.Tanh()])
    with pytest.raises(RuntimeError, match="the same training/eval mode"):
        stack_module_state([nn.Linear(2, 2), nn.Linear(2, 2).eval()])
    frozen = nn.Linear(2, 2).requires_grad_(False)
    with pytest.raises(
        RuntimeError, match=r"Expected weight from each model to have the same \.requires_grad"
    ):
        stack_module_state([nn.Linear(2, 2), frozen])
    parameters, _ = stack_module_state([frozen, frozen])
    assert not parameters["weight"].requires_grad


def test_batches_cannot_move_shared_statistics():
    norm = nn.BatchNorm1d(3)
    x = t.randn(2, 4, 3)
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input while the"):
        func.vmap(norm)(x)
    model = nn.Sequential(norm, nn.Identity())
    assert func.replace_all_batch_norm_modules_(model) is model
    assert norm.running_mean is norm.running_var is norm.num_batches_tracked is None
    assert not norm.track_running_stats
    t.testing.assert_close(func.vmap(model)(x), t.stack([model(part) for part in x]))
