"""Compiled steps of optimizers: eager's parameters, one graph, rates and moments that change."""

import importlib
import os

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
optim = importlib.import_module(f"{NAME}.optim")
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters

BACKENDS = {"eager": {}, "inductor": {"options": {"native": "never"}}}

OPTIMIZERS = {
    name: getattr(optim, name)
    for name in dir(optim)
    if isinstance(getattr(optim, name), type)
    and issubclass(getattr(optim, name), optim.Optimizer)
    and name not in ("Optimizer", "LBFGS", "SparseAdam")  # a closure; sparse gradients
}
NO_FORMS = ("Muon", "Adafactor")  # lists change nothing
FUSED = ("SGD", "Adam", "AdamW", "Adagrad")

# Options that take other ways through the rules.
SETTINGS = [
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("SGD", {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01, "maximize": True}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.01, "maximize": True}),
    ("AdamW", {"amsgrad": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"weight_decay": 0.1, "maximize": True}),
    ("ASGD", {"t0": 2, "weight_decay": 0.1}),
    ("Adafactor", {"weight_decay": 0.1, "maximize": True}),
]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", os.environ.get("TAEDA_COMPILE_STRICT", "1"))
    t.compiler.reset()
    counters.clear()


def stepped(name, options, compile_step, dtype=t.float64):
    """Parameters after six steps, each with smaller rates and moments than the one before."""
    t.manual_seed(0)
    params = [nn.Parameter(t.randn(shape, dtype=dtype)) for shape in ((4, 3), (5, 2))]
    optimizer = OPTIMIZERS[name](params, **{"lr": 0.01, **options})
    step = compile_step(optimizer.step)
    for _ in range(6):
        for p in params:
            p.grad = t.randn(p.shape, dtype=dtype)
        step()
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * 0.9
            if group.get("momentum"):
                group["momentum"] *= 0.95
            if "betas" in group:
                group["betas"] = (group["betas"][0] * 0.95, group["betas"][1])
    return params


def assert_steps_alike(name, options, backend, dtype=t.float64):
    def compiled(step):
        return t.compile(step, backend=backend, fullgraph=True, **BACKENDS[backend])

    expected = stepped(name, options, lambda step: step, dtype)
    got = stepped(name, options, compiled, dtype)
    tolerance = 1e-6 if dtype == t.float32 else 1e-8
    for p, q in zip(expected, got):
        t.testing.assert_close(p, q, rtol=10 * tolerance, atol=tolerance)
    # The first step makes the states, all others are one graph.
    assert counters["stats"]["unique_graphs"] == 2, dict(counters["recompile"])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_steps(name, backend):
    assert_steps_alike(name, {}, backend)


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_steps_in_single_precision(name):
    # Numbers that eager steps compute in Python are not rounded to float32 in compiled ones.
    assert_steps_alike(name, {}, "eager", t.float32)


@pytest.mark.parametrize(("name", "options"), SETTINGS)
def test_settings(name, options):
    assert_steps_alike(name, options, "eager")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(
            (name, {"foreach": is_on})
            for name in OPTIMIZERS
            if name not in NO_FORMS
            for is_on in (False, True)
        ),
        *((name, {"fused": True}) for name in FUSED),
    ],
)
def test_forms(name, options):
    assert_steps_alike(name, options, "eager")


@pytest.mark.parametrize("momentum", [0, 0.9])
@pytest.mark.parametrize("rate", [0.1, t.tensor(0.1)])
def test_a_schedule_of_rates_compiles_no_step_again(rate, momentum):
    params = [nn.Parameter(t.ones(4, 3))]
    optimizer = optim.SGD(params, lr=rate, momentum=momentum)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    step = t.compile(optimizer.step, backend="eager")
    for _ in range(8):
        params[0].grad = t.ones(4, 3)
        step()
        scheduler.step()
    # A rate that is a tensor is an input from the first step on.
    graphs = 1 if isinstance(rate, t.Tensor) and momentum == 0 else 2
    assert counters["stats"]["unique_graphs"] == graphs, dict(counters["recompile"])


@pytest.mark.parametrize("name", FUSED)
def test_a_fused_step_that_unscales_under_a_scheduler(name):
    def run(wrap):
        t.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = OPTIMIZERS[name](model.parameters(), lr=0.1, fused=True)
        scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        scaler = t.amp.GradScaler("cpu", init_scale=4.0)
        step = wrap(lambda: scaler.step(optimizer))
        for _ in range(6):
            optimizer.zero_grad()
            scaler.scale(model(t.ones(2, 3)).pow(2).sum()).backward()
            step()
            scaler.update()
            scheduler.step()
        return [p.detach() for p in model.parameters()]

    expected = run(lambda step: step)
    counters.clear()
    found = run(lambda step: t.compile(step, backend="eager"))
    assert all(t.equal(a, b) for a, b in zip(expected, found, strict=True))
    # The optimizer keeps more after its first step.
    assert sum(counters["recompile"].values()) <= 1
    assert sum(counters["graph_break"].values()) <= 2
