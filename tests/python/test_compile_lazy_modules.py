"""Lazy modules whose first call is a compiled one: initialized once, then captured as plain ones."""

import copy
import importlib

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters

OPTIONS = {"eager": {}, "inductor": {"options": {"native": "never"}}}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")
    t.compiler.reset()
    counters.clear()


@pytest.fixture(params=OPTIONS)
def compiled(request):
    def compile_with(program, **options):
        return t.compile(program, backend=request.param, **OPTIONS[request.param], **options)

    return compile_with


def image_model():
    return nn.Sequential(
        nn.LazyConv2d(4, 3),
        nn.LazyBatchNorm2d(),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(5),
        nn.Linear(5, 2),
    )


def outcomes(model, run, inputs):
    t.manual_seed(0)
    found = []
    for x in inputs:
        result = run(x)
        result.sum().backward()
        found.append(result.detach())
    gradients = [p.grad for p in model.parameters()]
    return [*found, *gradients, *model.state_dict().values()]


@pytest.mark.parametrize("dynamic", [None, True])
def test_the_first_call_is_one_graph(compiled, dynamic):
    inputs = [t.arange(75.0 * n).reshape(n, 3, 5, 5).sin() for n in (2, 2)]
    plain = image_model()
    model = copy.deepcopy(plain)
    wanted = outcomes(plain, plain, inputs)
    run = compiled(model, fullgraph=True, dynamic=dynamic)
    for one, other in zip(outcomes(model, run, inputs), wanted, strict=True):
        t.testing.assert_close(one, other)
    assert [type(m) for m in model] == [type(m) for m in plain]
    assert type(model[4].in_features) is int
    assert counters["stats"]["unique_graphs"] == 1
    assert not counters["graph_break"]


def test_a_lazy_module_behind_a_break(compiled):
    model = nn.LazyLinear(2)
    seen = []

    def program(x):
        h = x * 2
        seen.append(float(h.sum()))
        return model(h[:, :2])

    result = compiled(program)(t.ones(3, 4))
    assert seen == [24.0]
    assert type(model) is nn.Linear and model.weight.shape == (2, 2)
    t.testing.assert_close(result, model(t.full((3, 2), 2.0)))


def test_modules_of_the_program_with_keyword_arguments(compiled):
    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()
            self.count = 0

        def initialize_parameters(self, x, *, offset):
            self.count += 1
            with t.no_grad():
                self.weight.materialize((x.shape[-1],))
                self.weight.fill_(float(offset.shape[0]))

        def forward(self, x, *, offset):
            return x * self.weight + offset.sum()

    model = Scale()
    run = compiled(model, fullgraph=True)
    for _ in range(2):
        assert run(t.ones(2, 3), offset=t.ones(4)).tolist() == [[8.0] * 3] * 2
    assert model.count == 1 and not model.has_uninitialized_params()


def test_an_initialization_that_fails_is_the_programs_error(compiled):
    model = nn.LazyConv2d(2, 3)
    with pytest.raises(RuntimeError) as plain:
        copy.deepcopy(model)(t.ones(3))
    with pytest.raises(RuntimeError) as found:
        compiled(model)(t.ones(3))
    assert str(found.value) == str(plain.value)
    assert model.has_uninitialized_params()
    assert compiled(model)(t.ones(1, 1, 3, 3)).shape == (1, 2, 1, 1)
