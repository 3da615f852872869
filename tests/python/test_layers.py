"""Tests layers, losses and containers of nn: values against functions, shapes, bounds, errors.

Literals were read off PyTorch; the file passes on it as well.
"""

import math
from collections import OrderedDict

import pytest
from under_test import t

nn, F = t.nn, t.nn.functional


def texts(module):
    return [repr(child) for child in module.children()]


# ---- layers ----
def test_linear():
    t.manual_seed(0)
    layer, x = nn.Linear(100, 7), t.randn(3, 100)
    assert list(layer._parameters) == ["weight", "bias"]
    assert layer.weight.shape == (7, 100) and layer.bias.shape == (7,)
    assert 0.09 < layer.weight.abs().max().item() <= 0.1
    assert layer.bias.abs().max().item() <= 0.1
    assert t.allclose(layer(x), x @ layer.weight.T + layer.bias, atol=1e-5)
    plain = nn.Linear(100, 7, bias=False, dtype=t.float64)
    assert plain.bias is None and "bias" in plain._parameters and plain.weight.dtype == t.float64
    assert plain(x.double()).shape == (3, 7)
    t.manual_seed(5)
    first = nn.Linear(3, 3)
    t.manual_seed(5)
    weight = t.empty(3, 3).uniform_(-1 / math.sqrt(3), 1 / math.sqrt(3))
    bias = t.empty(3).uniform_(-1 / math.sqrt(3), 1 / math.sqrt(3))
    assert t.allclose(first.weight, weight) and t.allclose(first.bias, bias)


def test_linear_with_a_computed_weight():
    layer, x = nn.Linear(2, 2, bias=False), t.ones(1, 2)
    del layer.weight
    layer.weight = t.eye(2) * 4
    assert layer(x).tolist() == [[4, 4]]


def test_linear_of_no_features_warns():
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        layer = nn.Linear(0, 2)
    assert layer.bias.tolist() == [0, 0]


@pytest.mark.parametrize(
    "module, function",
    [
        (lambda: nn.ReLU(), lambda x: F.relu(x)),
        (lambda: nn.GELU(), lambda x: F.gelu(x)),
        (lambda: nn.GELU("tanh"), lambda x: F.gelu(x, approximate="tanh")),
        (lambda: nn.SiLU(), lambda x: x * x.sigmoid()),
        (lambda: nn.Tanh(), lambda x: x.tanh()),
        (lambda: nn.Sigmoid(), lambda x: x.sigmoid()),
        (lambda: nn.Softmax(1), lambda x: x.softmax(1)),
        (lambda: nn.LogSoftmax(0), lambda x: x.log_softmax(0)),
        (lambda: nn.Identity(), lambda x: x),
        (lambda: nn.Flatten(), lambda x: x.reshape(4, 6)),
        (lambda: nn.Flatten(0, 1), lambda x: x.reshape(12, 2)),
        (lambda: nn.Unflatten(1, (3, 1)), lambda x: x.reshape(4, 3, 1, 2)),
        (lambda: nn.Dropout(0.5).eval(), lambda x: x),
    ],
)
def test_module_is_its_function(module, function):
    x = t.randn(4, 3, 2)
    assert t.allclose(module()(x), function(x), atol=1e-6)


def test_inplace_and_dropout():
    x = t.tensor([-1.0, 2.0])
    assert nn.ReLU(inplace=True)(x) is x and x.tolist() == [0, 2]
    dropped = nn.Dropout(0.25)(t.ones(4000))
    kept = dropped != 0
    assert 0.7 < kept.float().mean().item() < 0.8
    assert t.allclose(dropped[kept], t.tensor(4 / 3))


def test_layer_norm():
    layer, x = nn.LayerNorm((3, 2)), t.randn(4, 3, 2)
    assert layer.weight.tolist() == [[1, 1]] * 3 and layer.bias.tolist() == [[0, 0]] * 3
    assert t.allclose(layer(x), F.layer_norm(x, (3, 2)), atol=1e-6)
    with t.no_grad():
        layer.weight.fill_(2)
        layer.bias.fill_(1)
    assert t.allclose(layer(x), F.layer_norm(x, (3, 2)) * 2 + 1, atol=1e-5)
    assert nn.LayerNorm(3, bias=False).bias is None
    bare = nn.LayerNorm(3, elementwise_affine=False)
    assert bare.weight is None and bare.bias is None and list(bare.state_dict()) == []


def test_embedding():
    table = nn.Embedding(5, 3, padding_idx=-2)
    assert table.padding_idx == 3 and table.weight[3].tolist() == [0, 0, 0]
    index = t.tensor([[0, 3], [4, 0]])
    output = table(index)
    assert output.shape == (2, 2, 3) and output[1, 0].equal(table.weight[4])
    output.sum().backward()
    assert table.weight.grad[:, 0].tolist() == [2, 0, 0, 0, 1]
    frozen = nn.Embedding.from_pretrained(t.ones(2, 3))
    assert not frozen.weight.requires_grad and frozen.embedding_dim == 3
    assert nn.Embedding.from_pretrained(t.ones(2, 3), freeze=False).weight.requires_grad


def test_losses():
    x, y = t.randn(4, 3), t.randn(4, 3)
    classes, weight = t.tensor([0, 2, 1, 2]), t.tensor([1.0, 2.0, 3.0])
    assert nn.MSELoss()(x, y).equal(F.mse_loss(x, y))
    assert nn.L1Loss(reduction="sum")(x, y).equal(F.l1_loss(x, y, reduction="sum"))
    loss = nn.CrossEntropyLoss(weight, ignore_index=1, label_smoothing=0.1)
    wanted = F.cross_entropy(x, classes, weight, ignore_index=1, label_smoothing=0.1)
    assert loss(x, classes).equal(wanted) and list(loss.state_dict()) == ["weight"]
    logs = x.log_softmax(1)
    wanted = F.nll_loss(logs, classes, weight, reduction="none")
    assert nn.NLLLoss(weight, reduction="none")(logs, classes).equal(wanted)
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.MSELoss(size_average=False).reduction == "sum"


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: nn.Dropout(2), ValueError, "dropout probability has to be between 0 and 1, but got 2"),
        (lambda: nn.Embedding(3, 4, 5), AssertionError, "Padding_idx must be within num_embeddings"),
        (lambda: nn.Embedding(3, 4, _weight=t.ones(2, 2)), AssertionError, "Shape of weight does not match num_embeddings and embedding_dim"),
        (lambda: nn.Embedding.from_pretrained(t.ones(2)), AssertionError, "Embeddings parameter is expected to be 2-dimensional"),
        (lambda: nn.Unflatten(1, 3), TypeError, "unflattened_size must be a tuple of ints, but found type int"),
        (lambda: nn.Unflatten(1, [2, "a"]), TypeError, "unflattened_size must be tuple of ints, but found element of type str at pos 1"),
        (lambda: nn.Sequential() + 3, ValueError, "add operator supports only objects of Sequential class, but <class 'int'> is given."),
        (lambda: nn.Sequential(nn.ReLU())[3], IndexError, "index 3 is out of range"),
        (lambda: nn.Sequential(nn.ReLU()).insert(5, nn.ReLU()), IndexError, "Index out of range: 5"),
        (lambda: nn.Sequential().append(5), TypeError, "int is not a Module subclass"),
        (lambda: nn.ModuleList(3), TypeError, "ModuleList.extend should be called with an iterable, but got int"),
        (lambda: nn.ModuleDict(3), TypeError, "ModuleDict.update should be called with an iterable of key/value pairs, but got int"),
        (lambda: nn.ModuleDict([3]), TypeError, "ModuleDict update sequence element #0 should be Iterable; isint"),
        (lambda: nn.ModuleDict([(1, 2, 3)]), ValueError, "ModuleDict update sequence element #0 has length 3; 2 is required"),
        (lambda: nn.ModuleDict({"keys": nn.ReLU()}), KeyError, "\"attribute 'keys' already exists\""),
        (lambda: nn.ParameterList(3), TypeError, "ParameterList.extend should be called with an iterable, but got int"),
        (lambda: nn.ParameterList([t.ones(1)])[1], IndexError, "index 1 is out of range"),
        (lambda: nn.ParameterList()(3), RuntimeError, "ParameterList should not be called."),
        (lambda: nn.ParameterDict([(1, 2, 3)]), ValueError, "ParameterDict update sequence element #0 has length 3; 2 is required"),
        (lambda: nn.init.xavier_uniform_(t.ones(2)), ValueError, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"),
        (lambda: nn.init.kaiming_uniform_(t.ones(2, 2), mode="x"), ValueError, "Mode x not supported, please use one of ['fan_in', 'fan_out']"),
        (lambda: nn.init.calculate_gain("x"), ValueError, "Unsupported nonlinearity x"),
        (lambda: nn.init.calculate_gain("leaky_relu", "x"), ValueError, "negative_slope x not a valid number"),
        (lambda: nn.init.eye_(t.ones(2)), ValueError, "Only tensors with 2 dimensions are supported"),
        (lambda: nn.init.dirac_(t.ones(2)), ValueError, "Only tensors with 3, 4, or 5 dimensions are supported"),
    ],
)  # fmt: skip
def test_errors(make, kind, text):
    with pytest.raises(kind) as error:
        make()
    assert str(error.value) == text


# ---- containers ----
def test_sequential():
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh(), c=nn.Sigmoid()))
    assert list(named._modules) == ["a", "b", "c"] and isinstance(named.b, nn.Tanh)
    assert list(named[1:]._modules) == ["b", "c"] and isinstance(named[-1], nn.Sigmoid)
    x = t.tensor([-1.0, 1.0])
    assert named(x).equal(x.relu().tanh().sigmoid())
    named.append(nn.Tanh())
    assert list(named._modules) == ["a", "b", "c", "3"]
    del named[0]
    assert texts(named) == ["Tanh()", "Sigmoid()", "Tanh()"]
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    with pytest.raises(KeyError, match="1"):
        named.insert(1, nn.Sigmoid())
    assert list(named._modules) == ["a", "b"]
    plain = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert texts(plain.insert(-1, nn.Sigmoid())) == ["ReLU()", "Sigmoid()", "Tanh()"]
    assert len(plain + plain) == 6 and len(2 * plain) == 6 and len(list(plain)) == 3
    plain *= 2
    assert len(plain) == 6 and list(plain._modules) == [str(i) for i in range(6)]
    plain += nn.Sequential(nn.Identity())
    assert repr(plain.pop(-1)) == "Identity()" and len(plain) == 6
    plain[0] = nn.Identity()
    assert repr(plain[0]) == "Identity()"
    assert list(nn.Sequential().children()) == [] and nn.Sequential()(3) == 3


def test_module_list():
    modules = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    modules.insert(1, nn.Sigmoid())
    modules += [nn.Identity()]
    assert texts(modules) == ["ReLU()", "Sigmoid()", "Tanh()", "Identity()"]
    assert texts(modules[1:3]) == ["Sigmoid()", "Tanh()"]
    assert len(modules + [nn.ReLU()]) == 5 and modules.append(nn.SiLU()) is modules
    modules[0] = nn.SiLU()
    del modules[1:3]
    assert texts(modules) == ["SiLU()", "Identity()", "SiLU()"]
    assert list(modules._modules) == ["0", "1", "2"]
    assert repr(modules.pop(1)) == "Identity()" and len(modules) == 2
    assert [repr(m) for m in modules] == ["SiLU()", "SiLU()"]
    with pytest.raises(NotImplementedError):
        modules(3)


def test_module_dict():
    modules = nn.ModuleDict([("a", nn.ReLU()), ("b", nn.Tanh())])
    modules["c"] = nn.Sigmoid()
    modules.update({"a": nn.SiLU()})
    assert list(modules) == list(modules.keys()) == ["a", "b", "c"] and "b" in modules
    assert repr(modules["a"]) == "SiLU()" and len(modules) == 3
    assert [name for name, _ in modules.items()] == ["a", "b", "c"]
    assert repr(modules.pop("b")) == "Tanh()" and "b" not in modules
    del modules["a"]
    assert [repr(m) for m in modules.values()] == ["Sigmoid()"]
    modules.clear()
    assert len(modules) == 0


def test_parameter_list():
    values = nn.ParameterList([t.ones(2), 3, nn.Parameter(t.zeros(1))])
    assert isinstance(values[0], nn.Parameter) and values[1] == 3 and len(values) == 3
    assert [name for name, _ in values.named_parameters()] == ["0", "2"]
    values[-1] = t.ones(4)
    assert values[2].shape == (4,) and len(values[:2]) == 2
    values += [t.ones(1)]
    assert len(list(values)) == 4 and list(values.state_dict()) == ["0", "2", "3"]


def test_parameter_dict():
    values = nn.ParameterDict({"b": t.ones(2), "a": 3})
    assert isinstance(values["b"], nn.Parameter) and len(values) == 2
    assert set(values) == {"a", "b"} and "a" in values and values.get("z", 5) == 5
    assert values.setdefault("c", t.ones(1)).shape == (1,)
    joined = values | nn.ParameterDict({"d": t.ones(3)})
    assert "d" in joined and "d" not in values
    assert values.pop("a") == 3 and values.popitem()[0] == "c"
    assert list(values.keys()) == ["b"] and [k for k, _ in values.items()] == ["b"]
    assert next(reversed(joined)) == "d" and list(values.copy()) == ["b"]
    assert sorted(values.fromkeys(["x", "y"], 1)) == ["x", "y"]
    values.clear()
    assert len(values) == 0 and list(values.parameters()) == []


# ---- initial values ----
def test_gains():
    gain = nn.init.calculate_gain
    assert gain("tanh") == 5 / 3 and gain("relu") == math.sqrt(2) and gain("conv2d") == 1
    assert gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04) and gain("selu") == 0.75


@pytest.mark.parametrize(
    "fill, bound, std",
    [
        (lambda x: nn.init.uniform_(x, -2, 2), 2, 2 / math.sqrt(3)),
        (lambda x: nn.init.normal_(x, 0, 3), None, 3),
        (lambda x: nn.init.trunc_normal_(x, 0, 1, -1, 1), 1, 0.5396),
        (lambda x: nn.init.xavier_uniform_(x, 2.0), 2 * math.sqrt(6 / 300), 2 * math.sqrt(2 / 300)),
        (lambda x: nn.init.xavier_normal_(x), None, math.sqrt(2 / 300)),
        (lambda x: nn.init.kaiming_uniform_(x), math.sqrt(6 / 100), math.sqrt(2 / 100)),
        (lambda x: nn.init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu"), None, math.sqrt(2 / 200)),
    ],
)  # fmt: skip
def test_random_fills(fill, bound, std):
    t.manual_seed(3)
    x = nn.Parameter(t.zeros(200, 100))
    assert fill(x) is x and x.grad_fn is None
    assert abs(x.mean().item()) < 0.03 * std and abs(x.std().item() / std - 1) < 0.03
    if bound is not None:
        assert 0.98 * bound < x.abs().max().item() <= bound * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
def test_a_truncated_tail_far_from_the_mean_ends():
    x = nn.init.trunc_normal_(t.ones(2, 3), float(2**64))
    assert (x == 2).all()


def test_fixed_fills():
    assert nn.init.constant_(t.zeros(2), 3).tolist() == [3, 3]
    assert nn.init.ones_(t.zeros(2)).tolist() == [1, 1]
    assert nn.init.zeros_(t.ones(2)).tolist() == [0, 0]
    assert nn.init.eye_(t.ones(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert nn.init.dirac_(t.ones(2, 2, 3)).tolist() == [
        [[0, 1, 0], [0, 0, 0]],
        [[0, 0, 0], [0, 1, 0]],
    ]
    with pytest.warns(FutureWarning, match="`nn.init.constant` is now deprecated"):
        nn.init.constant(t.zeros(1), 1)


# ---- services ----
def with_grads(*values):
    parameters = [nn.Parameter(t.zeros(len(value))) for value in values]
    for parameter, value in zip(parameters, values):
        parameter.grad = t.tensor(value)
    return parameters


@pytest.mark.parametrize("norm, total", [(2.0, 13.0), (1, 19.0), (math.inf, 12.0)])
def test_clip_grad_norm(norm, total):
    parameters = with_grads([3.0, 4.0], [12.0])
    before = nn.utils.clip_grad_norm_(parameters, total / 2, norm)
    assert abs(before.item() - total) < 1e-4
    assert t.allclose(parameters[0].grad, t.tensor([1.5, 2.0]), atol=1e-4)
    assert t.allclose(parameters[1].grad, t.tensor([6.0]), atol=1e-4)
    nn.utils.clip_grad_norm_(iter(parameters), 100.0)
    assert t.allclose(parameters[1].grad, t.tensor([6.0]), atol=1e-4)


def test_clip_grad_edges():
    assert nn.utils.clip_grad_norm_([nn.Parameter(t.ones(1))], 1.0).item() == 0
    (parameter,) = with_grads([math.inf])
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        nn.utils.clip_grad_norm_(parameter, 1.0, error_if_nonfinite=True)
    (parameter,) = with_grads([-5.0, 0.5])
    nn.utils.clip_grad_value_(parameter, 1.0)
    assert parameter.grad.tolist() == [-1.0, 0.5]


def test_parameters_as_a_vector():
    layer = nn.Linear(2, 2)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (6,) and vector.grad_fn is not None
    nn.utils.vector_to_parameters(t.arange(6.0), layer.parameters())
    assert layer.weight.tolist() == [[0, 1], [2, 3]] and layer.bias.tolist() == [4, 5]
    with pytest.raises(TypeError, match=r"expected torch\.Tensor, but got: list"):
        nn.utils.vector_to_parameters([1], layer.parameters())
